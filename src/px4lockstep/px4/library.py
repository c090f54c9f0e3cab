"""PX4's library: found, loaded, checked; and the one PX4 that a process can run."""

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

REBUILD = f"build the library from a PX4 whose interface has version {VERSION}"


class _Lives:
    """What has run in this process: PX4 keeps its state in the library, not in the handle."""

    running: Path | None = None
    ended: ClassVar[list[int]] = []
    """The system's handles of libraries whose PX4 has ended."""


class Library:
    """PX4's library `libpx4_lockstep`, loaded and checked.

    with Library.load().create() as px4:
        motors = px4.subscriber("actuator_motors")
        px4.step(4000)

    `addresses` has the functions by name without `px4_lockstep_`, for calls from compiled code; the handle that they
    take is `Px4.handle`.

    Args:
        path: The library, or a folder that PX4 was built in; if left out, it is looked for as in `find_library`.

    Raises:
        InputError: If it is not found, can't be loaded here, or is not version 3 of the interface.
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
        """Find and load the library; the same as calling the class."""
        return cls(path)

    def create(
        self,
        config: Config | None = None,
        *,
        msg_dir: str | PathLike[str] | None = None,
        allow_second_life: bool = False,
    ) -> Px4:
        """Start PX4. A process can run one at a time, and should run one only.

        Args:
            config: Rates and switches; the defaults if left out.
            msg_dir: PX4's folder `msg`, for messages that neither the library nor the package describes.
            allow_second_life: Whether to start it again after it was closed in this process. It is another flight than
                the first, then: its parameters are those that were set before, and topics are still advertised.

        Raises:
            Px4Error: If one is running in this process, or was and a second life is not allowed, or PX4 refuses.
        """
        chosen = config or Config()
        sources = LayoutSources(msg_dir)
        if _Lives.running is not None:
            raise Px4Error(
                f"a PX4 is running in this process ({_Lives.running}); close it first, or fly in a process of its own"
            )
        if self._library._handle in _Lives.ended and not allow_second_life:
            raise Px4Error(
                "PX4 has run and ended in this process, and its parameters and topics have stayed: a second flight "
                "would differ from a first. Fly in a new process, or say allow_second_life=True if that does not matter"
            )
        handle = self._functions["create"](chosen.as_c())
        if not handle:
            raise Px4Error(
                f"{PREFIX}create({chosen}) returned nothing: PX4 did not start; see what it printed, and whether "
                "another PX4 runs in this process"
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
        """Refuse a library of another version, or whose records have other sizes."""
        version = self._bind({"abi_version": HANDSHAKE["abi_version"]})["abi_version"]()
        if version != VERSION:
            raise InputError(
                f"{self.path} has version {version} of the interface, px4lockstep needs {VERSION}; {REBUILD}"
            )
        found = [ctypes.c_uint32(0) for _ in SIZES]
        self._bind({"sizes": HANDSHAKE["sizes"]})["sizes"](*map(ctypes.byref, found))
        sizes = tuple(each.value for each in found)
        if sizes != SIZES:
            raise InputError(
                f"{self.path} has records of {sizes} bytes (input, output, configuration), px4lockstep needs {SIZES}; "
                f"{REBUILD}"
            )

    def _bind(self, wanted: Mapping[str, tuple[Any, tuple[Any, ...]]]) -> Functions:
        """Return functions by name, with their types; an error names all that the library lacks."""
        bound: Functions = {name: getattr(self._library, PREFIX + name, None) for name in wanted}
        missing = [PREFIX + name for name, function in bound.items() if function is None]
        if missing:
            raise InputError(
                f"{self.path} is no PX4 library of version {VERSION}: it lacks {', '.join(missing)}; {REBUILD}"
            )
        for name, function in bound.items():
            function.restype, function.argtypes = wanted[name]
        return bound
