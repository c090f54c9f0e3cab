"""`px4lockstep params`: list PX4's parameters, and compare those of files, runs and specs."""

from fnmatch import fnmatchcase
from pathlib import Path

from rich.table import Table

from px4lockstep.autopilots.kinds import users_of
from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json, write_out
from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.flights.parameters import parameter_differences, read_parameters
from px4lockstep.px4.parameters import Parameter, description_of, known_parameters

SAME, DIFFERENT = 0, 1
WILDCARDS = "*?["
SHOWN = 4
USED_BY_ALL = "MPC_THR_HOVER"
FILE_WIDTH = 200
"""Width of the table in a file or a pipe: one line for each parameter."""


def list_params(as_json: bool, pattern: str = "*") -> int:
    """Print the known parameters whose names match a pattern, or contain it if it has no wildcards."""
    wanted = pattern.upper() if any(sign in pattern for sign in WILDCARDS) else f"*{pattern.upper()}*"
    found = [each for name, each in sorted(known_parameters().items()) if fnmatchcase(name, wanted)]
    if not found:
        hint = did_you_mean(pattern, known_parameters())
        raise InputError(f"no parameter matches {pattern!r}; {hint}px4lockstep params lists all that are known")
    if as_json:
        print_json([_row(each) for each in found])
        return SAME
    table = Table()
    for title in ("name", "default", "range", "unit", "used by"):
        table.add_column(title, no_wrap=True)
    table.add_column("description")
    for each in found:
        used = users_of(each.name)
        used_by = "all" if len(used) == len(users_of(USED_BY_ALL)) else ", ".join(used)
        row = (_number(each.default), _range(each), each.units, used_by, description_of(each.name))
        table.add_row(each.name, *row)
    console = Console(soft_wrap=True, markup=False, highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    console.print(table)
    return SAME


def diff_params(a: str, b: str, as_json: bool) -> int:
    """Print the parameters that differ between two files, runs or specs; return 1 if there are any."""
    found = parameter_differences(read_parameters(a), read_parameters(b))
    if as_json:
        values = {name: {"a": one, "b": other} for name, (one, other) in found.values.items()}
        print_json({"differ": values, "only_a": list(found.only_a), "only_b": list(found.only_b)})
        return DIFFERENT if found.values else SAME
    if found.values:
        table = Table("name", *(Path(source).name or source for source in (a, b)), "unit")
        known = known_parameters()
        for name, (one, other) in found.values.items():
            table.add_row(name, _number(one), _number(other), known[name].units if name in known else "")
        Console(soft_wrap=True, markup=False, highlight=False).print(table)
    count = len(found.values)
    write_out(f"{count} parameter{'' if count == 1 else 's'} differ{'s' if count == 1 else ''}\n")
    for source, names in ((a, found.only_a), (b, found.only_b)):
        if names:
            more = ", …" if len(names) > SHOWN else ""
            write_out(f"only in {source}: {len(names)}: {', '.join(names[:SHOWN])}{more}\n")
    return DIFFERENT if count else SAME


def _row(each: Parameter) -> dict[str, object]:
    return {
        "name": each.name,
        "type": each.kind,
        "default": each.default,
        "min": each.minimum,
        "max": each.maximum,
        "unit": each.units or None,
        "used_by": users_of(each.name),
        "description": description_of(each.name),
    }


def _number(value: float | int) -> str:
    return f"{value:.9g}"


def _range(each: Parameter) -> str:
    low, high = each.minimum, each.maximum
    if low is None and high is None:
        return ""
    return f"{'' if low is None else _number(low)} … {'' if high is None else _number(high)}".strip()
