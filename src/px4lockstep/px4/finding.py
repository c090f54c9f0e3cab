"""Find PX4's library: by `px4.libpath`, by `PX4_LOCKSTEP_LIB`, or in PX4's source tree in the home folder.

If a path is given, no other is tried, so that no other PX4 flies by accident. It may be the library, with the suffix of
any platform, or a PX4 build folder.
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
"""Location of the library in a build folder."""
IN_SOURCES = Path("build", "px4_sitl_lockstep")
"""Location of the build folder in PX4's source tree."""
SOURCES = Path("~", "PX4-Autopilot")
"""Default location of PX4's sources. The working directory is never searched, because it may not be trusted."""
REMEDY = (
    f"set px4.libpath in the spec file (or --set px4.libpath=PATH) or the environment variable {VARIABLE} to the "
    'library or to a PX4 build folder; autopilot.kind = "builtin" flies without PX4'
)


def find_library(path: str | PathLike[str] | None = None) -> Path:
    """Return the path of PX4's library, an existing file.

    Args:
        path: `px4.libpath` from the spec file; None if it is not set.

    Raises:
        InputError: If the library is not found; the message lists every path that was tried.
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
    raise InputError(f"PX4's library was not found ({reason}); tried\n{lines}\n{REMEDY}")


def _places_of(path: Path) -> list[Path]:
    """Return the candidate paths of the library for a path given by the user."""
    if path.is_dir():
        folders = (path, path / IN_BUILD, path / IN_SOURCES / IN_BUILD)
        return [place for folder in folders for place in _library_in(folder)]
    if path.suffix in SUFFIXES:
        return [path, *(path.with_suffix(suffix) for suffix in SUFFIXES if suffix != path.suffix)]
    return [path]


def _library_in(folder: Path) -> list[Path]:
    return [folder / (NAME + suffix) for suffix in SUFFIXES]
