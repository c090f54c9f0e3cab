"""Flights of the conformance double: from the command line in a child process, or in this process with a copy."""

import os
import sys
from pathlib import Path

from commands import run_command
from px4_double import OPTIONS, build_double

import px4lockstep
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

COMMAND = (sys.executable, "-m", "px4lockstep")
SHORT = {"timeline.t_end_s": 4.0, "scenario.arm_time_s": 0.2, "scenario.mission_time_s": 0.4}
"""Off the ground at 1.5 s."""


def run(*arguments, cwd, double=None, **environment):
    """Run the command line; `double` are the double's options."""
    told = {} if double is None else {OPTIONS: double}
    script = Path(px4lockstep.__file__).parent / "__main__.py"  # unloads libraries at exit, as an interpreter does
    return run_command(*map(str, arguments), cwd=cwd, env={**os.environ, **told, **environment}, script=script)


def settings(changes, library=None):
    """Return command line options for a flight of the double."""
    path = build_double() if library is None else library
    values = {"autopilot.kind": "px4", "px4.libpath": path, **changes}
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


def flight_of(folder, aircraft="iris", changes=None, library=None):
    """Return a flight in this process with a separate double in a folder; the caller closes its simulation."""
    path = build_double(folder) if library is None else library
    return build(load_spec(aircraft, {"autopilot.kind": "px4", "px4.libpath": str(path), **(changes or {})}))


def warnings_of(flown):
    """Return the warnings about a flight, except that the machine was busy."""
    return [warning for warning in flown.summary.warnings if not warning.startswith("PX4 was slow or the machine was")]
