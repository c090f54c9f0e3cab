"""Code that a wheel brings along, compiled ahead of time for the generic CPU target.

A wheel for one Python version has a folder of cache entries, one for each entry point of a flight: loop, sensors,
special rotors, tilts. The first flight loads those and starts at once; code for this CPU is compiled later, in the
background (`entry_points.py`). Both give the same bits. The entries are machine code, which the engine of a native
process loads too, so nothing else in the process is compiled for the generic target.

`about.json` in that folder names the versions that the code was built with. If one differs, the code is ignored, and
`px4lockstep doctor` says so. An edited source is noticed by its stamp, as in the user's cache. A checkout and the wheel
for any Python (`py3-none-any`) have no such folder.

`PX4LOCKSTEP_NATIVE` selects when code for this CPU is compiled:

    background  after the first flight has started (default)
    now         before the flight; the wheel's code is not used
    off         never, if the wheel's code can be used (default if `CI` is set)
"""

import functools
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba

from px4lockstep.errors import InputError

FOLDER = Path(__file__).resolve().with_name("ahead_of_time")
ABOUT = "about.json"
GENERIC = "generic"
VARIABLE = "PX4LOCKSTEP_NATIVE"
BACKGROUND, NOW, OFF = "background", "now", "off"


class GenericTarget:
    """Stands for Numba's code generator in the key of a cache entry."""

    @staticmethod
    def magic_tuple() -> tuple[str, str, str]:
        """Return triple, CPU name and CPU features, as Numba does with `NUMBA_CPU_NAME=generic`."""
        return llvmlite.binding.get_process_triple(), GENERIC, ""


def native_policy() -> str:
    """Return when code for this CPU is compiled: `BACKGROUND`, `NOW` or `OFF`."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen in (BACKGROUND, NOW, OFF):
        return chosen
    if chosen:
        raise InputError(f"{VARIABLE} = {chosen!r} is not allowed; use {BACKGROUND!r}, {NOW!r} or {OFF!r}")
    return OFF if os.environ.get("CI", "").lower() not in ("", "0", "false") else BACKGROUND


_loaded: list[str] = []  # entry points of this process whose code is the wheel's


def note_loaded(name: str) -> None:
    """Note that this process runs the wheel's code for an entry point."""
    _loaded.append(name)


def was_loaded() -> bool:
    """Return whether this process runs code of the wheel."""
    return bool(_loaded)


def versions() -> dict[str, str]:
    """Return the versions that code compiled ahead of time depends on, and the machine that it is for."""
    return {
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "Python": str(sys.implementation.cache_tag),
        "machine": llvmlite.binding.get_process_triple(),
    }


@functools.cache
def problem(folder: Path) -> str:
    """Return why the code in a folder can't be used on this installation; empty if it can."""
    try:
        about: Any = json.loads((folder / ABOUT).read_bytes())
        built_with = {name: str(about[name]) for name in versions()}
    except FileNotFoundError:
        return "there is none"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{ABOUT} can't be read ({error})"
    differ = [
        f"{name} {built_with[name]}, not {value}" for name, value in versions().items() if built_with[name] != value
    ]
    return f"built for {'; '.join(differ)}" if differ else ""


def identity() -> str:
    """Return a name for this build of the wheel's code on this kind of CPU."""
    cpu = llvmlite.binding.get_host_cpu_name()
    return hashlib.sha256((FOLDER / ABOUT).read_bytes() + cpu.encode()).hexdigest()[:16]


def describe() -> str:
    """Return whether the wheel's code is used, for people."""
    if not (FOLDER / ABOUT).exists():
        return "none: a checkout, or the wheel for any Python"
    found = problem(FOLDER)
    return f"ignored: {found}" if found else "OK"


def is_used() -> bool:
    """Return whether the wheel's code is used where the user's cache has no code for this CPU."""
    target = numba.config.CPU_NAME
    return target in (None, GENERIC) and native_policy() != NOW and not problem(FOLDER)
