"""Values that the shell completes: aircraft, missions, run and campaign folders, control loops, files.

Completion runs at each press of the tab key, so it only lists folders and imports nothing of the simulator.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import px4lockstep
from px4lockstep.flights.latest import CAMPAIGNS, LATEST, RUNS

LOOPS = (
    *("roll_rate", "pitch_rate", "yaw_rate", "roll", "pitch", "yaw"),
    *("vel_north", "vel_east", "vel_down", "pos_north", "pos_east", "height"),
)
FORMATS = ("csv", "parquet", "ulog", "kml", "gpx", "mat", "params")
SHIPPED = Path(px4lockstep.__file__).parent / "spec"


def specs(incomplete: str) -> list[str]:
    """Return built-in aircraft, `latest`, run folders, spec files and folders."""
    names = [file.stem for file in (SHIPPED / "aircraft").glob("*.toml")]
    return _matching(incomplete, [*names, LATEST, *_folders(RUNS)], (".toml",))


def missions(incomplete: str) -> list[str]:
    """Return built-in missions, mission files and folders."""
    names = [file.stem for file in (SHIPPED / "missions").glob("*.waypoints")]
    return _matching(incomplete, names, (".plan", ".waypoints"))


def runs_and_files(incomplete: str) -> list[str]:
    """Return `latest`, run folders, logs, recordings and folders."""
    return _matching(incomplete, [LATEST, *_folders(RUNS)], (".ulg", ".csv", ".parquet", ".h5", ".params", ".toml"))


def campaigns(incomplete: str) -> list[str]:
    """Return `latest`, campaign folders and folders."""
    return _matching(incomplete, [LATEST, *_folders(CAMPAIGNS)], ())


def formats(incomplete: str) -> list[str]:
    """Return the formats of `export`."""
    return [name for name in FORMATS if name.startswith(incomplete)]


def loops(incomplete: str) -> list[str]:
    """Return the control loops of `step` and `chirp`."""
    return [name for name in LOOPS if name.startswith(incomplete)]


def _matching(incomplete: str, names: Iterable[str], endings: tuple[str, ...]) -> list[str]:
    """Return the names and the paths that begin with what was typed; folders end in a slash."""
    folder, name = os.path.split(incomplete)
    found = [each for each in names if each.startswith(incomplete)]
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return sorted(found)
    for entry in entries:
        path = os.path.join(folder, entry.name)
        is_hidden = entry.name.startswith(".") and not name.startswith(".")
        if entry.name.startswith(name) and not is_hidden and path not in found:
            if entry.is_dir():
                found.append(f"{path}/")
            elif entry.name.lower().endswith(endings):
                found.append(path)
    return sorted(found)


def _folders(root: str) -> list[str]:
    try:
        return [f"{root}/{entry.name}" for entry in os.scandir(root) if entry.is_dir()]
    except OSError:
        return []
