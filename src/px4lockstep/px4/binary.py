"""Check the platform of a shared library by its file header, because the system's loader gives unclear errors."""

import platform
import sys
from pathlib import Path

from px4lockstep.errors import InputError

ELF_MACHINES = {0x03: "i386", 0x28: "arm", 0x3E: "x86_64", 0xB7: "aarch64", 0xF3: "riscv64"}
MACH_MACHINES = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
MACH_FAT = b"\xca\xfe\xba\xbe"
MACH_64 = b"\xcf\xfa\xed\xfe"
NAMES = {"arm64": "aarch64", "amd64": "x86_64"}
"""Alternative names of processors."""


def check_binary(path: Path) -> None:
    """Raise an error if a file is not a shared library, or is built for another platform."""
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error
    system = "Darwin" if sys.platform == "darwin" else "Linux"
    if head[:4] == b"\x7fELF" and len(head) == 20:
        made_for, machine = "Linux", ELF_MACHINES.get(int.from_bytes(head[18:20], "little"), "another processor")
    elif head[:4] == MACH_64:
        made_for, machine = "Darwin", MACH_MACHINES.get(int.from_bytes(head[4:8], "little"), "another processor")
    elif head[:4] == MACH_FAT:
        made_for, machine = "Darwin", _processor()  # the loader chooses among several
    else:
        raise InputError(f"{path} is not a shared library; use the libpx4_lockstep from a PX4 build")
    if (made_for, machine) != (system, _processor()):
        raise InputError(
            f"{path} is built for {made_for} on {machine}, but this is {system} on {_processor()}; "
            "build PX4 for this platform"
        )


def _processor() -> str:
    name = platform.machine().lower()
    return NAMES.get(name, name)
