"""Load a campaign file as a `Campaign`, checked completely before the first flight."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from px4lockstep.campaigns.campaign import Campaign, refuse_inputs
from px4lockstep.campaigns.criteria import check_criteria
from px4lockstep.campaigns.distributions import SAMPLED, SMALLEST, check_distribution, value_of
from px4lockstep.campaigns.file_tables import MAX_RUNS, CampaignFile, Vary
from px4lockstep.campaigns.functions import read_source
from px4lockstep.campaigns.metrics import metrics_of, refuse_functions
from px4lockstep.campaigns.sampling import full_length
from px4lockstep.campaigns.stopping import check_target
from px4lockstep.errors import InputError
from px4lockstep.part import Key, freeze, keys_of, show
from px4lockstep.part.wording import unknown
from px4lockstep.reading import read_text
from px4lockstep.spec.code import class_keys, refuse_code, value_at
from px4lockstep.spec.files import Layers, find_file, read_toml
from px4lockstep.spec.load import checked
from px4lockstep.spec.overrides import apply_overrides, canonical_key
from px4lockstep.spec.report import Report
from px4lockstep.spec.shipped import is_name, mission_file, shipped_aircraft
from px4lockstep.spec.spec import Places
from px4lockstep.trust import Chosen, place_of
from px4lockstep.user_code import MAX_BYTES, module_file, named, names_code

Tables = dict[str, Any]
OF_DICT = "the campaign"
"""Name of a campaign without a file in messages."""
MAX_CHECKED = 1_000
"""Maximum number of listed values checked before the first flight; a longer list is sampled evenly."""


def load_campaign(path: str | Path | Mapping[str, Any], runs: int | None = None, *, trust: bool = False) -> Campaign:
    """Load a campaign file, or the same tables as a dict, complete and checked.

    Args:
        path: The TOML file; or its tables, with paths relative to the working directory.
        runs: Number of runs, instead of the file's.
        trust: Whether to run the code that its files name, wherever they are: see docs/howto/untrusted_files.md. A
            dict is trusted, but not the files that it names.

    Raises:
        InputError: If the campaign file or the spec file has errors, all of which are in one report; or if they name
            code, such as a metric in Python, and are not trusted.
    """
    if isinstance(path, Mapping):
        try:
            given = freeze(dict(path))
        except RecursionError:
            raise InputError(f"{OF_DICT} is nested too deeply") from None
        return _load(given, Chosen(OF_DICT), Path.cwd(), runs, trust)
    file = Path(path)
    _refuse_aircraft(file)
    return _load(read_toml(file), place_of(file, trust=trust), file.parent, runs, trust)


def _load(given: Tables, place: str, folder: Path, runs: int | None, trust: bool) -> Campaign:
    """Load the tables of a campaign; paths are relative to the folder."""
    report = Report(Places(place), CampaignFile)
    tables = _tables(given, report)
    _check_inputs(tables, report)
    _check_metrics(tables, folder, report)
    layers = _base(given, folder, report, trust)
    report.raise_if_any()
    assert layers is not None  # otherwise there is an error in the report
    tables["vary"] = tuple(_with_paths(vary, folder) for vary in tables["vary"])
    own = CampaignFile(**tables)
    functions = [table.function for table in own.metric if table.function is not None]
    sources = {function.rpartition(":")[0]: read_source(function, folder)[1] for function in functions}
    sources |= _sources_of_classes(layers.data, own.vary, folder)
    try:
        where = str(folder.absolute())
        # The checks above have refused untrusted code.
        campaign = Campaign(own, _runs(own, runs), layers.data, _mission(layers), sources, where, is_trusted=True)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error
    _check_values(campaign, report)
    report.raise_if_any()
    return campaign


def _sources_of_classes(base: Tables, inputs: Iterable[Vary], folder: Path) -> dict[str, str]:
    """Return the text of the files with the user's classes that the spec or an input names, by path."""
    found: dict[str, str] = {}
    for key, place in class_keys().items():
        named_at = [(value_at(base, key), value_at(base, place))]
        for vary in inputs:
            if canonical_key(vary.key) == key:
                named_at += [(value, folder.absolute()) for value in vary.values or ()]
        for value, own_folder in named_at:
            kind = named(value)
            path = None if kind is None or not names_code(value) else module_file(kind.module, own_folder)
            if path is not None:
                found[str(path)] = read_text(path, MAX_BYTES, "a Python file")
    return found


def _refuse_aircraft(file: Path) -> None:
    """Raise if the name of a built-in aircraft is given instead of a campaign file."""
    name = str(file)
    if not file.exists() and is_name(name) and name in shipped_aircraft():
        raise InputError(
            f'{name} is a built-in aircraft, not a campaign file; write a campaign file with base = "{name}" in its '
            "table [campaign] and give the path of that file: see docs/howto/campaigns.md"
        )


def _tables(given: Tables, report: Report) -> Tables:
    """Return the valid tables."""
    tables: Tables = {}
    fields = keys_of(CampaignFile)
    for name, value in given.items():
        if name not in fields:
            report.add((name,), unknown((name,), value, CampaignFile))
    for name, field in fields.items():
        annotation: Any = field.annotation
        if name not in given and not field.is_required():
            tables[name] = field.default
            continue
        try:
            limited: Any = Annotated[(annotation, *field.metadata)] if field.metadata else annotation
            tables[name] = TypeAdapter(limited).validate_python(given.get(name, {}))
        except ValidationError as error:
            report.add_validation((name,), error)
    return tables


def _check_inputs(tables: Tables, report: Report) -> None:
    """Check each input, and that no two inputs overlap."""
    seen: dict[Key, int] = {}
    inside: dict[Key, Key] = {}  # for a table or an array, the first key in it
    for i, vary in enumerate(tables.get("vary", ())):
        try:
            key = canonical_key(vary.key)
        except InputError as error:
            report.add(("vary", i, "key"), f"vary[{i}].key: {error}")
            continue
        clashes = {key: "is the same as"} | {key[:n]: "is part of" for n in range(1, len(key))}
        other = next((other for other in clashes if other in seen), None) or inside.get(key)
        if other is not None:
            text = f"{vary.key!r} {clashes.get(other, 'contains')} vary[{seen[other]}].key; remove one of them"
            report.add(("vary", i, "key"), f"vary[{i}].key = {text}")
        seen.setdefault(key, i)
        for n in range(1, len(key)):
            inside.setdefault(key[:n], key)
        for option, text in check_distribution(vary, f"vary[{i}]"):
            report.add(("vary", i, option), text)


def _check_metrics(tables: Tables, folder: Path, report: Report) -> None:
    """Check metrics, pass criteria and the stop rule."""
    if "metric" not in tables:
        return
    try:
        if not isinstance(report.places.main, Chosen):
            refuse_functions(tables["metric"])
            refuse_inputs(tables.get("vary", ()))
        metrics = metrics_of(tables["metric"], folder)
        check_criteria(tables.get("pass", ()), metrics)
        if tables.get("stop") is not None:
            check_target(tables["stop"], [metric.name for metric in metrics], bool(tables.get("pass")))
    except InputError as error:
        report.add((), str(error))


def _base(given: Tables, folder: Path, report: Report, trust: bool) -> Layers | None:
    """Return the spec file with the overrides common to all runs, if the campaign file names one."""
    about, changes = given.get("campaign"), given.get("set", {})
    if not isinstance(about, dict) or not isinstance(about.get("base"), str) or not isinstance(changes, dict):
        return None
    try:
        layers = Layers(Places(str(find_file(about["base"], folder))), trust=trust)
        layers.add_file(Path(layers.places.main))
        layers.report.raise_if_any()
        apply_overrides(layers, changes, (), folder, is_chosen=isinstance(report.places.main, Chosen))
        refuse_code(checked(layers), is_strict=True)  # for any autopilot, because an input may select another one
    except InputError as error:
        report.add(("campaign", "base"), f"campaign.base: {error}")
        return None
    return layers


def _runs(own: CampaignFile, runs: int | None) -> int:
    """Return the number of runs."""
    if runs is not None and not 1 <= runs <= MAX_RUNS:
        raise InputError(f"runs = {runs} is out of range; it must be 1 to {MAX_RUNS:,}")
    count = runs if runs is not None else own.campaign.runs if own.campaign.runs is not None else full_length(own.vary)
    if count is None:
        raise InputError("campaign.runs is missing; only grids and lists determine the number of runs")
    if count > MAX_RUNS:
        raise InputError(f"the grids have {count:,} combinations; set campaign.runs to at most {MAX_RUNS:,}")
    return count


def _mission(layers: Layers) -> tuple[str, str] | None:
    """Return name and text of the mission if it is a user's file."""
    path = layers.data.get("px4", {}).get("mission_path")
    if path is None or is_name(path):
        return None
    mission = layers.missions[path]
    return mission_file(mission), mission.text


def _with_paths(vary: Vary, folder: Path) -> Vary:
    """Return an input with its paths resolved from the folder of the campaign file."""
    if vary.values is None:
        return vary
    *table, name = canonical_key(vary.key)
    layers = Layers(Places(""))
    values = (layers.respell({name: value}, tuple(table), "", folder)[name] for value in vary.values)
    return vary.model_copy(update={"values": tuple(values)})


def _check_values(campaign: Campaign, report: Report) -> None:
    """Check that the spec file accepts each input: all listed values, and the limits of sampled ones."""
    for i, vary in enumerate(campaign.vary):
        if report.is_full:
            return
        for value, how in _extremes(vary, campaign.runs):
            try:
                campaign.spec({vary.key: value})
            except InputError as error:
                text = f"vary[{i}], {vary.key} = {show(value)}{how}: {'; '.join(error.findings)}"
                report.add(("vary", i), text)
                break


def _extremes(vary: Vary, runs: int) -> Iterator[tuple[Any, str]]:
    """Yield the extreme values of an input, each with a remark on where it comes from."""
    if vary.distribution not in SAMPLED or vary.distribution == "choice":
        values = list(dict.fromkeys(vary.values or ()))
        step = -(-len(values) // MAX_CHECKED)
        yield from ((value, "") for value in dict.fromkeys((*values[::step], min(values), max(values), values[-1])))
        return
    for u, end in ((0.5 / runs, vary.low), (1.0 - 0.5 / runs, vary.high)):
        if vary.distribution == "uniform" or end is not None:
            yield value_of(vary, SMALLEST if u < 0.5 else 1.0 - SMALLEST), ""
        else:
            yield value_of(vary, u), f", about the {'min' if u < 0.5 else 'max'} of {runs:,} runs"
