"""Built-in aircraft and missions, and missions by name or path."""

import functools
import os
from importlib import resources
from pathlib import Path

from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.px4.missions import Mission, load_mission


@functools.cache
def shipped(kind: str, suffix: str) -> dict[str, Path]:
    """Return the built-in files of a kind, by name."""
    folder = Path(str(resources.files("px4lockstep.spec"))) / kind
    return {path.stem: path for path in sorted(folder.glob(f"*{suffix}"))}


def shipped_aircraft() -> dict[str, Path]:
    """Return the spec files of the built-in aircraft, by name."""
    return shipped("aircraft", ".toml")


def shipped_missions() -> dict[str, Path]:
    """Return the files of the built-in missions, by name."""
    return shipped("missions", ".waypoints")


def is_name(text: str) -> bool:
    """Return whether a string is a name rather than a path: it has neither a slash nor a suffix."""
    return bool(text) and not any(sign in text for sign in ("/", os.sep, ".", "\0"))


def mission_of(mission_path: str) -> Mission:
    """Return the mission of a path or of a built-in name."""
    if is_name(mission_path):
        known = shipped_missions()
        if mission_path not in known:
            hint = did_you_mean(mission_path, known).replace("did", "Did", 1)
            raise InputError(
                f"px4.mission_path = {mission_path!r} is unknown. {hint}Built-in missions: {', '.join(known)}. "
                f"For a file, give a path with a suffix, such as {mission_path}.waypoints"
            )
        return _shipped_mission(mission_path)
    return load_mission(mission_path)


def check_strictly(mission: Mission, is_strict: bool) -> None:
    """Raise an error if `px4.mission_strict` is set and a part of the mission is not flown."""
    if is_strict and mission.not_flown:
        raise InputError("\n".join(f"px4.mission_path: {text}" for text in mission.not_flown))


@functools.cache
def _shipped_mission(name: str) -> Mission:
    return load_mission(shipped_missions()[name])


def mission_file(mission: Mission) -> str:
    """Return the file name of a mission in a run folder."""
    return f"mission{Path(mission.source).suffix or '.waypoints'}"
