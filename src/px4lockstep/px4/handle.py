"""A running PX4: steps, parameters, mission and topics."""

import os
from collections.abc import Callable
from ctypes import byref, c_char_p, c_float, c_int32, c_uint8, c_uint32
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self

from px4lockstep.errors import InputError, LayoutError, Px4Error, TimeError, suggestion
from px4lockstep.px4.abi import Config
from px4lockstep.px4.codes import CODES, NO_FIELD_STRING, UNKNOWN, WRONG_TYPE, refused
from px4lockstep.px4.parameters import Kind, Parameter, known_parameters, problem, stored
from px4lockstep.px4.topics import Publisher, Subscriber
from px4lockstep.px4.uorb import Layout, LayoutSources, TopicMetadata, shipped_layouts

Functions = dict[str, Any]
"""ctypes functions by name."""
INSTANCES = 10
"""PX4's ORB_MULTI_MAX_INSTANCES."""


@dataclass(eq=False, repr=False)
class Px4:
    """A running PX4, created by `Library.create`, and stopped by `close` or at the end of a `with` block.

    All calls run in the caller's thread. After `os.fork()`, it continues in both processes independently.
    """

    _functions: Functions
    _stop_autosave: Callable[[bool], Any] | None
    _handle: int | None
    config: Config
    _sources: LayoutSources
    _on_close: Callable[[], None]
    time_us: int | None = field(default=None, init=False)
    """Time of the last step; None before the first."""
    _layouts: dict[str, Layout] = field(default_factory=dict, init=False)

    @property
    def handle(self) -> int:
        """Handle of the library, for calls by address.

        Raises:
            Px4Error: If it is closed.
        """
        if self._handle is None:
            raise Px4Error(
                "this PX4 is closed; PX4 can run only once per process, so start the next one in a new process"
            )
        return self._handle

    def call(self, function: str, about: str, *arguments: Any) -> None:
        """Call a function of the library that returns a code.

        Args:
            function: Its name without the prefix.
            about: The arguments as shown in errors.
            arguments: The arguments after the handle.

        Raises:
            Px4Error: If the code is negative.
        """
        code = self._functions[function](self.handle, *arguments)
        if code < 0:
            raise refused(function, about, code)

    def close(self) -> None:
        """Stop PX4. A second call has no effect."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._functions["destroy"](handle)
            self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def step(self, time_us: int) -> None:
        """Publish the queued messages, and run the modules that are due.

        Args:
            time_us: PX4's time, which must increase with every step.

        Raises:
            TimeError: If it does not increase.
            Px4Error: If a message could not be published; in that case no module has run.
        """
        if isinstance(time_us, bool) or not hasattr(time_us, "__index__"):
            raise TimeError(f"time_us = {time_us!r} must be a whole number of microseconds")
        time = time_us.__index__()
        if not 0 <= time < 2**64:
            raise TimeError(f"time_us = {time} is out of range; it must be an unsigned 64-bit integer")
        if self.time_us is not None and time <= self.time_us:
            raise TimeError(f"time_us = {time} must be later than the previous step, {self.time_us}")
        self.call("step_uorb", f"time_us = {time}", time)
        self.time_us = time

    def load_mission(self, path: str | PathLike[str]) -> None:
        """Load a mission in QGC WPL 110 format. `Mission.lost_by_library` returns what PX4 would drop from it.

        Raises:
            InputError: If the file does not exist.
            Px4Error: If PX4 rejects it.
        """
        if not Path(path).is_file():
            raise InputError(f"mission file not found: {os.fspath(path)}; correct px4.mission_path")
        self.call("load_mission_qgc_wpl", os.fspath(path), os.fsencode(path))

    def param_kind(self, name: str) -> Kind:
        """Return the type of a parameter, as reported by the library.

        Raises:
            InputError: If this PX4 has no such parameter.
        """
        code = self._functions["param_get_i32"](self.handle, _text("parameter", name), byref(c_int32()))
        if code == 0:
            return "int32"
        if code == UNKNOWN:
            raise InputError(f"this PX4 has no parameter {name!r}{suggestion(name, known_parameters())}")
        if code == WRONG_TYPE:
            self.call("param_get_f32", name, _text("parameter", name), byref(c_float()))
            return "float"
        raise refused("param_get_i32", name, code)

    def param_get(self, name: str) -> int | float:
        """Return the value of a parameter: an int, or a float that a float32 can hold.

        Raises:
            InputError: If this PX4 has no such parameter.
        """
        is_whole = self.param_kind(name) == "int32"
        value = c_int32() if is_whole else c_float()
        function = "param_get_i32" if is_whole else "param_get_f32"
        self.call(function, name, _text("parameter", name), byref(value))
        return value.value

    def param_set(self, name: str, value: float | int) -> None:
        """Set a parameter; to apply it, call `param_notify`, and `control_alloc_update_params` for the allocator.

        Args:
            name: Its name.
            value: A number; an integer if the parameter is an int32.

        Raises:
            InputError: If this PX4 has no such parameter, or the value is invalid for it.
        """
        kind = self.param_kind(name)
        number = _param_value(name, kind, value)
        if self._stop_autosave is not None:
            # On Linux, PX4 never initializes its parameter autosave timer, and setting a parameter can block on it.
            self._stop_autosave(False)
            self._stop_autosave = None
        function = "param_set_i32" if kind == "int32" else "param_set_f32"
        self.call(function, f"{name}, {number}", _text("parameter", name), number)

    def param_notify(self) -> None:
        """Notify all modules that parameters have changed."""
        self.call("param_notify", "")

    def control_alloc_update_params(self) -> None:
        """Make the control allocator reload its parameters."""
        self.call("control_alloc_update_params", "")

    def metadata(self, topic: str) -> TopicMetadata:
        """Return the library's metadata of a topic.

        Raises:
            LayoutError: If the library has no such topic.
        """
        fields, queue = c_char_p(), c_uint8()
        size, size_no_padding, message_hash = c_uint32(), c_uint32(), c_uint32()
        out = map(byref, (fields, size, size_no_padding, message_hash, queue))
        code = self._functions["orb_topic_metadata"](self.handle, _text("topic", topic), *out)
        if code == UNKNOWN:
            meaning, remedy = CODES["orb_topic_metadata"][code]
            raise LayoutError(f"{topic}: {meaning}; {remedy}{suggestion(topic, shipped_layouts())}")
        if code < 0 and code != NO_FIELD_STRING:
            raise refused("orb_topic_metadata", topic, code)
        text = None if code == NO_FIELD_STRING or fields.value is None else fields.value.decode("latin-1")
        return TopicMetadata(topic, size.value, size_no_padding.value, message_hash.value, queue.value, text)

    def layout(self, topic: str) -> Layout:
        """Return the layout of a topic in this library.

        Raises:
            LayoutError: If it is unknown; the message includes a remedy.
        """
        if topic not in self._layouts:
            self._layouts[topic] = self._sources.fitting(self.metadata(topic), self)
        return self._layouts[topic]

    def publisher(self, topic: str, instance: int = -1, queue: int = 0, priority: int = 0) -> Publisher:
        """Create a publisher. PX4 advertises the topic in the first step after a message.

        Args:
            topic: Topic name.
            instance: Topic instance; -1 for the next free one.
            queue: Expected queue length of the topic; 0 to skip the check.
            priority: Must be 0.

        Raises:
            LayoutError: If the topic or its layout is unknown.
            Px4Error: If the library rejects it.
        """
        layout = self.layout(topic)
        _check_range("instance", instance, -1, INSTANCES - 1)
        _check_range("queue", queue, 0, 255)
        _check_range("priority", priority, 0, 0)
        number, given, size = c_int32(-1), c_int32(-1), c_uint32(0)
        about = f"{topic}, priority {priority}, queue {queue}, instance {instance}"
        out = (byref(number), byref(given), byref(size))
        self.call("orb_create_publisher_ex", about, _text("topic", topic), priority, queue, instance, *out)
        _check_size("orb_create_publisher_ex", layout, size.value)
        return Publisher(self, number.value, layout)

    def subscriber(self, topic: str, instance: int = 0) -> Subscriber:
        """Create a subscriber to one instance of a topic.

        Raises:
            LayoutError: If the topic or its layout is unknown.
            Px4Error: If the library rejects it.
        """
        layout = self.layout(topic)
        _check_range("instance", instance, 0, INSTANCES - 1)
        number, size = c_int32(-1), c_uint32(0)
        about = f"{topic}, instance {instance}"
        self.call("orb_create_subscriber", about, _text("topic", topic), instance, byref(number), byref(size))
        _check_size("orb_create_subscriber", layout, size.value)
        return Subscriber(self, number.value, instance, layout)


def _text(what: str, name: str) -> bytes:
    """Return a name as a C string."""
    if not isinstance(name, str) or not name.isascii() or not name.isprintable() or not name:
        raise InputError(f"{name!r} is not a valid {what} name; it must consist of printable ASCII characters")
    return name.encode("ascii")


def _check_range(what: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        allowed = f"{low}" if low == high else f"a whole number from {low} to {high}"
        raise InputError(f"{what} = {value!r} must be {allowed}")


def _check_size(function: str, layout: Layout, size: int) -> None:
    if size != layout.size:
        raise LayoutError(
            f"{layout.topic}: {function} reports {size} bytes, but its layout has {layout.size}; rebuild the library"
        )


def _param_value(name: str, kind: Kind, value: Any) -> int | float:
    """Return a value converted to the type of the parameter."""
    parameter = Parameter(name, kind, 0)
    if problem(parameter, value) is not None:
        must = "a 32-bit integer, PX4's type for it" if kind == "int32" else "a finite number that fits a float32"
        raise InputError(f"parameter {name} = {value!r} must be {must}")
    return stored(parameter, value)
