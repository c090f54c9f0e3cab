"""`px4lockstep spec`: the aircraft files that ship, one of them resolved, checked, or their schema."""

import json
import sys
from collections.abc import Sequence

from px4lockstep.cli.watched import in_child
from px4lockstep.px4.console import STANDARD_ERROR, console_into
from px4lockstep.spec.build import build
from px4lockstep.spec.json_schema import json_schema
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.shipped import shipped_aircraft, shipped_missions
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.toml_text import to_toml


def list_specs() -> int:
    """Print the aircraft and missions that ship with the package."""
    for title, found in (("aircraft", shipped_aircraft()), ("missions", shipped_missions())):
        sys.stdout.write(f"{title}\n")
        for name in sorted(found):
            sys.stdout.write(f"  {name}\n")
    return 0


def show_spec(spec: str, settings: Sequence[str] = ()) -> int:
    """Print an aircraft file with all that it inherits and all defaults."""
    sys.stdout.write(to_toml(load_spec(spec, settings=settings)))
    return 0


def check_spec(spec: str, settings: Sequence[str] = ()) -> int:
    """Load and build an aircraft file; what is wrong with it is an error."""
    loaded = load_spec(spec, settings=settings)
    if not loaded.autopilot.capabilities.needs_child:
        return _check(spec, loaded)
    return in_child(lambda: _check(spec, loaded))


def _check(name: str, spec: Spec) -> int:
    """Build a flight."""
    with console_into(STANDARD_ERROR):
        flight = build(spec)
        flight.simulation.close()
    for warning in flight.warnings:
        sys.stdout.write(f"warning: {warning}\n")
    sys.stdout.write(f"{name}: good\n")
    return 0


def print_schema() -> int:
    """Print the JSON schema of aircraft files, for editors."""
    sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")
    return 0
