"""`px4lockstep spec`: write a new spec file, list the built-in aircraft, show or check a spec, print the schema."""

import os
from collections.abc import Sequence
from pathlib import Path

from px4lockstep.autopilots.kinds import locate_code
from px4lockstep.cli.output import print_json, write_out
from px4lockstep.errors import InputError
from px4lockstep.flights.latest import spec_source
from px4lockstep.io import atomic_write, check_new
from px4lockstep.spec.build import build
from px4lockstep.spec.code import refuse_code
from px4lockstep.spec.json_schema import json_schema
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.report import Report
from px4lockstep.spec.shipped import is_name, shipped_aircraft, shipped_missions
from px4lockstep.spec.starting import starting_spec
from px4lockstep.spec.toml_text import to_toml


def new_spec(file: Path, base: str, force: bool) -> int:
    """Write a spec file to start from; return the exit code."""
    target, spec = check_new(file, force=force), load_spec(base)
    inherited = base if is_name(base) else os.path.relpath(base, target.parent)
    with atomic_write(target) as written:
        written.write(starting_spec(spec, inherited, str(target), target.stem).encode())
    write_out(f"{target}\nedit it, then: px4lockstep spec check {target} && px4lockstep run {target}\n")
    return 0


def list_specs() -> int:
    """Print the built-in aircraft and missions."""
    for title, found in (("aircraft", shipped_aircraft()), ("missions", shipped_missions())):
        write_out(f"{title}\n")
        for name in sorted(found):
            write_out(f"  {name}\n")
    return 0


def show_spec(spec: str, settings: Sequence[str] = (), compat: bool = False) -> int:
    """Print a spec with everything it inherits and all defaults."""
    write_out(to_toml(load_spec(spec_source(spec), settings=settings, compat=compat)))
    return 0


def check_spec(spec: str, settings: Sequence[str] = (), compat: bool = False) -> int:
    """Load and build a spec; raise if it is invalid. Code that it names is located but not run."""
    loaded = load_spec(spec_source(spec), settings=settings, compat=compat)
    flight = build(loaded, runs_code=False)
    flight.simulation.close()
    try:
        code = locate_code(loaded.autopilot, loaded.px4)
    except InputError as error:
        report = Report(loaded.places)
        report.add(("px4",), str(error), ("autopilot", "px4"))
        raise report.error() from error
    for warning in flight.warnings:
        write_out(f"warning: {warning}\n")
    if code is not None:
        write_out(f"{loaded.autopilot.capabilities.name}: {code}, not loaded\n")
        try:
            refuse_code(loaded)
        except InputError as error:
            write_out(f"warning: it can't be flown yet: {error}\n")
    count = len(flight.warnings)
    write_out(f"{spec}: OK\n" if not count else f"{spec}: OK, {count} warning{'s' if count > 1 else ''}\n")
    return 0


def print_schema() -> int:
    """Print the JSON schema of spec files, for editors."""
    print_json(json_schema(), indent=2)
    return 0
