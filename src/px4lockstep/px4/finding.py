"""Finding PX4's library: `px4.libpath`, `PX4_LOCKSTEP_LIB`, PX4's sources in the home folder.

A path that was given is the only one that is tried, so that no other PX4 flies by accident. It may be the library, with
the suffix of another system, or a folder that PX4 was built in.
"""

import os
import sys
from os import PathLike
from pathlib import Path

from px4lockstep.errors import InputError
from px4lockstep.reading import user_path

VARIABLE = "PX4_LOCKSTEP_LIB"
SUFFIXES = (".dylib", ".so") if sys.platform == "darwin" else (".so", ".dylib")
NAME = "libpx4_lockstep"
IN_BUILD = Path("src", "lib", "px4_lockstep")
IN_SOURCES = Path("build", "px4_sitl_lockstep")
"""Where PX4's build puts it: below the folder of the build, and that below the sources."""
SOURCES = Path("~", "PX4-Autopilot")
"""Where it is looked for if nobody said; never in the working directory, which may have come from a stranger."""
REMEDY = (
    f"set px4.libpath in the aircraft file (or --set px4.libpath=PATH), or the environment's {VARIABLE}, to the "
    'library or to the folder that PX4 was built in; autopilot.kind = "builtin" flies without it'
)


def find_library(path: str | PathLike[str] | None = None) -> Path:
    """Return the path of PX4's library, which is a file.

    Args:
        path: Where it is, `px4.libpath` of the aircraft file; None if it was not said.

    Raises:
        InputError: If it is not there; the message lists every place that was tried.
    """
    given = os.environ.get(VARIABLE)
    if path is not None:
        reason, places = f"px4.libpath = {os.fspath(path)}", _places_of(user_path(path))
    elif given:
        reason, places = f"{VARIABLE} = {given}", _places_of(user_path(given))
    else:
        reason = f"px4.libpath and {VARIABLE} are not set"
        sources = user_path(SOURCES)
        places = _library_in(sources / IN_SOURCES / IN_BUILD) if sources.is_absolute() else []
    for place in places:
        if place.is_file():
            return place.resolve()
    lines = "\n".join(f"  {place.absolute()}" for place in places)
    raise InputError(f"PX4's library was not found ({reason}); it was looked for at\n{lines}\n{REMEDY}")


def _places_of(path: Path) -> list[Path]:
    """Return where the library may be if this is what the user gave."""
    if path.is_dir():
        folders = (path, path / IN_BUILD, path / IN_SOURCES / IN_BUILD)
        return [place for folder in folders for place in _library_in(folder)]
    if path.suffix in SUFFIXES:
        return [path, *(path.with_suffix(suffix) for suffix in SUFFIXES if suffix != path.suffix)]
    return [path]


def _library_in(folder: Path) -> list[Path]:
    return [folder / (NAME + suffix) for suffix in SUFFIXES]
