"""`px4lockstep trust`: the folders whose files may name code to run."""

from pathlib import Path

from px4lockstep.cli.output import write_out
from px4lockstep.errors import InputError
from px4lockstep.trust import VARIABLE, distrust_folder, folders_of_environment, trust_folder, trusted_folders


def change_trust(listed: bool, folder: Path | None = None, remove: Path | None = None) -> int:
    """Trust a folder, stop trusting one, or list the trusted folders; return the exit code."""
    if listed + (folder is not None) + (remove is not None) != 1:
        raise InputError("give exactly one of DIR, --remove DIR and --list")
    if folder is not None:
        write_out(f"trusted: {trust_folder(folder)}\n")
    elif remove is not None:
        write_out(f"no longer trusted: {distrust_folder(remove)}\n")
    else:
        write_out("".join(f"{path}\n" for path in trusted_folders()))
        write_out("".join(f"{path} ({VARIABLE})\n" for path in folders_of_environment()))
    return 0
