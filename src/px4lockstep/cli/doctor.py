"""`px4lockstep doctor`: describe this installation, for bug reports."""

import os
import platform
from typing import Any

from px4lockstep import __version__
from px4lockstep.cli.output import print_json, write_out
from px4lockstep.px4.abi import VERSION


def run_doctor(as_json: bool) -> int:
    """Print the description of this installation; return the exit code."""
    found = diagnose()
    if as_json:
        print_json(found)
        return 0
    for name, value in found.items():
        write_out(f"{name:16} {value}\n")
    return 0


def diagnose() -> dict[str, Any]:
    """Return versions, the target processor, the state of the cache, and which PX4 was found."""
    import llvmlite.binding
    import numba
    import numpy as np

    from px4lockstep.jit import JIT_ENABLED, ahead
    from px4lockstep.jit.cache import cache_root

    root = cache_root()
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) if root.is_dir() else 0
    return {
        "px4lockstep": __version__,
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "cpu_target": numba.config.CPU_NAME or llvmlite.binding.get_host_cpu_name(),
        "jit": "on" if JIT_ENABLED else "off (NUMBA_DISABLE_JIT)",
        "cache": f"{root}, {size / 1e6:.1f} MB",
        "loop": _loop(),
        "ahead_of_time": ahead.describe(),
        "px4_library": _px4_library(),
        "px4_sitl": _px4_sitl(),
    }


def _loop() -> str:
    """Return whether the loop is compiled, and for which CPU."""
    from px4lockstep.engine import loop
    from px4lockstep.engine.compilation import example_arrays
    from px4lockstep.jit import ahead, from_cache

    if from_cache(loop.advance, example_arrays(), 0) is None:
        return "will be compiled at the first flight"
    if not ahead.was_loaded():
        return "compiled"
    if ahead.native_policy() == ahead.BACKGROUND:
        return "compiled ahead of time; the next flight compiles it for this CPU in the background"
    return f"compiled ahead of time; {ahead.VARIABLE}={ahead.NOW} compiles it for this CPU"


def _px4_sitl() -> str:
    """Return where stock PX4 was found; or why it can't be flown, such as pymavlink missing."""
    from px4lockstep.autopilots.mavlink.dialect import common
    from px4lockstep.autopilots.px4_sitl.process import find_build
    from px4lockstep.errors import InputError

    try:
        common()
        return str(find_build(None))
    except InputError as error:
        return f"none: {error}"


def _px4_library() -> str:
    """Return the library that was found, or why it can't be used. A child process loads it, since it may crash."""
    from px4lockstep.processes import ask_child, crash_of
    from px4lockstep.px4 import Library

    def load() -> str:
        return f"{Library.load().path}, interface version {VERSION}"

    if not hasattr(os, "fork"):
        return "none: the PX4 library needs Linux or macOS"
    code, said = ask_child(load)
    return said if code == 0 else f"none: {said if code > 0 else crash_of(-code)}"
