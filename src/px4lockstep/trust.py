"""Trusted folders: files in them may name code to run.

A spec or campaign file is data, except where it names code: the PX4 library or executable, or a metric in Python. Such
code runs only if the user chose it on the command line, in Python or by the environment, or if the file that names it
is in a folder of the user's list (`px4lockstep trust DIR`) or of `PX4LOCKSTEP_TRUST`. See
docs/howto/untrusted_files.md.
"""

import json
import os
from pathlib import Path

from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write

VARIABLE = "PX4LOCKSTEP_TRUST"


class Chosen(str):
    """Name of a source whose values the user chose; any other source has a plain string."""

    __slots__ = ()


def place_of(file: str | Path, *, trust: bool = False) -> str:
    """Return the name of a file as the source of its values: `Chosen` if the user trusts it, or with `trust`."""
    return Chosen(file) if trust or is_trusted(file) else str(file)


def refusal(named: str, instead: str) -> str:
    """Return the message for code that the user has not chosen; `instead` says how to name the code explicitly."""
    return (
        f"{named} names code, and files run code only if you trust them. If you know who wrote it, trust its folder "
        f"(px4lockstep trust FOLDER) or this one command (--trust; in Python trust=True); or {instead}"
    )


def is_trusted(file: str | Path) -> bool:
    """Return whether a file and the folder that its relative paths start from are both in trusted folders.

    Symbolic links are resolved: a link to a trusted file must not make its relative paths start in another folder.
    """
    trusted = (*folders_of_environment(), *trusted_folders())
    places = (Path(os.path.realpath(file)), Path(os.path.realpath(os.path.dirname(file) or ".")))
    return all(any(place.is_relative_to(folder) for folder in trusted) for place in places)


def folders_of_environment() -> list[Path]:
    """Return the folders listed in `PX4LOCKSTEP_TRUST`, separated by colons."""
    names = [os.path.expanduser(name) for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    for name in names:
        if not os.path.isabs(name):
            raise InputError(f"{VARIABLE}: {name!r} is not an absolute path; give absolute paths of folders")
    return [Path(os.path.realpath(name)) for name in names]


def trusted_folders() -> list[Path]:
    """Return the folders in the user's list."""
    file = _list_file()
    try:
        names = json.loads(file.read_bytes()) if file is not None else []
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file}, the list of trusted folders, can't be read: {error}; repair or remove it") from error
    if not isinstance(names, list) or not all(isinstance(name, str) and os.path.isabs(name) for name in names):
        raise InputError(f"{file} is not a list of trusted folders: it must have absolute paths; repair or remove it")
    return [Path(name) for name in names]


def trust_folder(folder: str | Path) -> Path:
    """Add a folder to the user's list; return its real path."""
    real = Path(os.path.realpath(folder))
    if not real.is_dir():
        raise InputError(f"{folder} is not a folder; trust the folder that the file is in")
    _write({*trusted_folders(), real})
    return real


def distrust_folder(folder: str | Path) -> Path:
    """Remove a folder from the user's list; return the path that was in it."""
    known = trusted_folders()
    found = [path for path in (Path(os.path.realpath(folder)), Path(os.path.abspath(folder))) if path in known]
    if not found:
        listed = ", ".join(map(str, known)) or "none"
        raise InputError(f"{folder} is not in the list of trusted folders; listed: {listed}")
    _write({*known} - {found[0]})
    return found[0]


def _write(folders: set[Path]) -> None:
    file = _list_file()
    if file is None:
        raise InputError(f"no home folder for the list of trusted folders; set XDG_CONFIG_HOME or {VARIABLE}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{file.parent} can't be created: {error.strerror}") from error
    with atomic_write(file) as written:
        written.write(json.dumps(sorted(map(str, folders)), indent=1).encode())


def _list_file() -> Path | None:
    """Return the file of the list, or None without a home folder: the working directory must not provide one."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    root = given if os.path.isabs(given) else os.path.expanduser("~/.config")
    return Path(root, "px4lockstep", "trusted.json") if os.path.isabs(root) else None
