"""Compile all entry points: in the background for this CPU, or ahead of time for a wheel.

    python -m px4lockstep.entry_points           # started by a flight that uses the wheel's code
    python -m px4lockstep.entry_points FOLDER    # started by the build of a wheel, with NUMBA_CPU_NAME=generic

An entry point is a compiled function that Python calls or that the loop calls by address. Loading it from the cache
loads everything that it calls, so a wheel needs no other entries.
"""

import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from px4lockstep import __version__
from px4lockstep.autopilots.native import exchange_address
from px4lockstep.autopilots.px4_library.exchange import step_px4
from px4lockstep.campaigns.tilt import compiled_tilts, write_tilts
from px4lockstep.engine import loop
from px4lockstep.engine.bus import BUS
from px4lockstep.engine.compilation import background_turn, compiled_loop
from px4lockstep.jit import ahead
from px4lockstep.jit.cache import KernelCache, cache_root
from px4lockstep.jit.sources import SOURCES
from px4lockstep.log.angles import compiled_angles, write_angles
from px4lockstep.sensors.suite import stage_address, step_sensors
from px4lockstep.vehicle.special_rotor import special_units, write_special_outputs, write_special_rates

KERNELS = (
    loop.advance,
    step_sensors,
    write_special_rates,
    write_special_outputs,
    step_px4,
    write_angles,
    write_tilts,
)
FIRST_TO_KILL = "1000"
"""For Linux, if memory runs out."""


def compile_all() -> None:
    """Compile every entry point, or load it from the cache."""
    compiled_loop()
    stage_address()
    special_units()
    exchange_address(BUS)
    compiled_angles()
    compiled_tilts()


def compile_in_background() -> None:
    """Compile for this CPU into the user's cache, unless another process does so or several were killed."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_KILL)
    with background_turn(counts=True) as is_free:
        if is_free:
            compile_all()


def compile_for_wheel(folder: Path) -> None:
    """Compile into the cache, and copy the code of the entry points to the folder of a wheel."""
    compile_all()
    folder.mkdir(parents=True)
    for kernel in KERNELS:
        function: Any = kernel
        cache = KernelCache(function.py_func)
        module = folder / Path(cache.cache_path).name
        module.mkdir(exist_ok=True)
        for file in sorted(Path(cache.cache_path).glob(f"{Path(cache._cache_file._index_path).name}*")):
            shutil.copy(file, module)
    shutil.copy(cache_root() / SOURCES, folder)
    stamp = KernelCache(loop.advance.py_func)._cache_file._source_stamp  # type: ignore[attr-defined]
    about = {"px4lockstep": __version__, "stamp": stamp, **ahead.versions()}
    (folder / ahead.ABOUT).write_text(json.dumps(about, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        compile_for_wheel(Path(sys.argv[1]))
    else:
        compile_in_background()
