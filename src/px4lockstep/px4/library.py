"""Find, load and check PX4's library, and start the one PX4 that a process can run."""

import ctypes
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

from px4lockstep.errors import InputError, Px4Error
from px4lockstep.px4.abi import FUNCTIONS, HANDSHAKE, PREFIX, SIZES, VERSION, Config
from px4lockstep.px4.binary import check_binary
from px4lockstep.px4.finding import find_library
from px4lockstep.px4.handle import Functions, Px4
from px4lockstep.px4.uorb import LayoutSources

REBUILD = f"build the library from a PX4 with interface version {VERSION}"


class _Lives:
    """PX4s that run or have run in this process: PX4 keeps its state in the library, not in the handle."""

    running: Path | None = None
    ended: ClassVar[list[int]] = []
    """System handles of libraries whose PX4 has stopped."""


class Library:
    """PX4's library `libpx4_lockstep`, loaded and checked.

    with Library.load().create() as px4:
        motors = px4.subscriber("actuator_motors")
        px4.step(4000)

    `addresses` maps function names without `px4_lockstep_` to addresses, for calls from compiled code; the handle to
    pass is `Px4.handle`.

    Args:
        path: The library, or a PX4 build folder; by default, `find_library` searches for it.

    Raises:
        InputError: If it is not found, can't be loaded, or does not have version 3 of the interface.
    """

    def __init__(self, path: str | PathLike[str] | None = None):
        self.path = find_library(path)
        check_binary(self.path)
        try:
            self._library = ctypes.CDLL(str(self.path))
        except OSError as error:
            raise InputError(f"{self.path} can't be loaded: {error}; build PX4 on this machine") from error
        self._shake_hands()
        self._functions = self._bind(FUNCTIONS)
        self.addresses: Mapping[str, int] = MappingProxyType(
            {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in self._functions.items()}
        )

    @classmethod
    def load(cls, path: str | PathLike[str] | None = None) -> Self:
        """Find and load the library; equivalent to calling the class."""
        return cls(path)

    def create(
        self,
        config: Config | None = None,
        *,
        msg_dir: str | PathLike[str] | None = None,
        allow_second_life: bool = False,
    ) -> Px4:
        """Start PX4. A process can run only one at a time, and should run only one in total.

        Args:
            config: Rates and switches; defaults if omitted.
            msg_dir: PX4's folder `msg`, for messages that neither the library nor this package describes.
            allow_second_life: Whether PX4 may start again after it was closed in this process. The second flight then
                differs: parameters keep their values, and topics are still advertised.

        Raises:
            Px4Error: If PX4 is already running in this process, has run before and `allow_second_life` is false, or
                fails to start.
        """
        chosen = config or Config()
        sources = LayoutSources(msg_dir)
        if _Lives.running is not None:
            raise Px4Error(
                f"PX4 is already running in this process ({_Lives.running}); close it first, or use another process"
            )
        if self._library._handle in _Lives.ended and not allow_second_life:
            raise Px4Error(
                "PX4 has already run in this process, and its parameters and topics persist: a second flight would "
                "differ from the first. Fly in a new process, or pass allow_second_life=True if that is acceptable"
            )
        handle = self._functions["create"](chosen.as_c())
        if not handle:
            raise Px4Error(
                f"{PREFIX}create({chosen}) returned NULL: PX4 did not start; check its output, and whether another "
                "PX4 is running in this process"
            )
        _Lives.running = self.path
        stop_autosave = getattr(self._library, "param_control_autosave", None)
        if stop_autosave is not None:
            stop_autosave.argtypes, stop_autosave.restype = (ctypes.c_bool,), None
        return Px4(self._functions, stop_autosave, handle, chosen, sources, self._ended)

    def _ended(self) -> None:
        _Lives.running = None
        _Lives.ended.append(self._library._handle)

    def _shake_hands(self) -> None:
        """Reject a library with a different interface version or different record sizes."""
        version = self._bind({"abi_version": HANDSHAKE["abi_version"]})["abi_version"]()
        if version != VERSION:
            raise InputError(f"{self.path} has interface version {version}, but px4lockstep needs {VERSION}; {REBUILD}")
        found = [ctypes.c_uint32(0) for _ in SIZES]
        self._bind({"sizes": HANDSHAKE["sizes"]})["sizes"](*map(ctypes.byref, found))
        sizes = tuple(each.value for each in found)
        if sizes != SIZES:
            raise InputError(
                f"{self.path} has records of {sizes} bytes (input, output, configuration), but px4lockstep needs "
                f"{SIZES}; {REBUILD}"
            )

    def _bind(self, wanted: Mapping[str, tuple[Any, tuple[Any, ...]]]) -> Functions:
        """Return functions by name, with their types set; an error lists all missing ones."""
        bound: Functions = {name: getattr(self._library, PREFIX + name, None) for name in wanted}
        missing = [PREFIX + name for name, function in bound.items() if function is None]
        if missing:
            raise InputError(
                f"{self.path} is not a PX4 library of version {VERSION}: it lacks {', '.join(missing)}; {REBUILD}"
            )
        for name, function in bound.items():
            function.restype, function.argtypes = wanted[name]
        return bound
