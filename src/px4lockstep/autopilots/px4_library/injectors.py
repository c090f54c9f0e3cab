"""Injectors: uORB messages that the user's Python functions write, published to PX4 like those of the simulator.

def hover_thrust(time_us, inputs, message):
    message["hover_thrust"] = 0.6
    message["valid"] = True

Px4Library(mission, injectors=[Injector("hover_thrust_estimate", hover_thrust, period_us=20_000)])

A function runs at event boundaries only: at the ticks at which its topic is due, between the estimator and PX4.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from px4lockstep.errors import InputError, suggestion
from px4lockstep.px4 import Publisher, Px4
from px4lockstep.px4.presets import Published
from px4lockstep.timebase import check_us

STAMP = "timestamp"


class InjectedMessage(np.void):  # type: ignore[misc]  # final in the type stubs only
    """A message that an injector fills in by field: `message["param1"] = 1.0`, `message["current"]["lat"] = 47.4`.

    Unlike a plain NumPy record, it rejects values with another shape than the field's, and those that its type can't
    hold.
    """

    def __setitem__(self, name: Any, value: Any) -> None:
        """Set a field, or raise an `InputError` that names it."""
        fields: Mapping[str, Any] = self.dtype.fields or {}
        if name not in fields:
            raise InputError(f"the message has no field {name!r}{suggestion(name, fields)}; it has {', '.join(fields)}")
        kind, given = fields[name][0], np.asarray(value)
        if kind.base.names is not None:
            raise InputError(f"{name} is a nested message; set its fields, message[{name!r}][...] = ...")
        if given.shape != kind.shape:
            raise InputError(f"{name} has shape {kind.shape}, but the value {value!r:.80} has shape {given.shape}")
        with np.errstate(invalid="ignore"), suppress(TypeError, ValueError, OverflowError):
            held = given.astype(kind.base)
            if kind.base.kind == "f" or np.array_equal(held, given):
                super().__setitem__(name, held if kind.shape else held[()])
                return
        raise InputError(f"{name} = {value!r:.80} is not a value of {kind.base.name}")


Fill = Callable[[int, Any, InjectedMessage], bool | None]


@dataclass(frozen=True)
class Injector:
    """A uORB topic that a Python function publishes to real PX4.

    Args:
        topic: Name of the topic; any that the library has and the simulator does not publish itself.
        fill: Function `fill(time_us, inputs, message)`. It is called at each tick at which the topic is due, after the
            estimator and before PX4 runs. `inputs` is read-only: `inputs.bus.estimate`, `inputs.bus.battery[0]`,
            `inputs.plant`, as for an autopilot in Python. `message` is a NumPy record with the fields of the topic. It
            is zero at first and keeps its values; `timestamp` is already set. If the function returns False, nothing is
            published at this tick.
        period_us: Period, a whole number of ticks; 0 means every tick.
        phase_us: Time of the first message after the first tick, a whole number of ticks.
        instance: Instance of the topic; -1 for the next free one.
        queue: Expected queue length of the topic; 0 to skip the check.

    Raises:
        InputError: If an argument is invalid. Topic, instance and queue are checked when PX4 starts, before the flight.
    """

    topic: str
    fill: Fill
    period_us: int = 0
    phase_us: int = 0
    instance: int = -1
    queue: int = 0

    def __post_init__(self) -> None:
        """Check everything that does not need the library."""
        if not callable(self.fill):
            raise InputError(f"the injector of {self.topic} needs a function fill(time_us, inputs, message)")
        for name in ("period_us", "phase_us"):
            check_us(f"{name} of the injector of {self.topic}", getattr(self, name))


class _Injection:
    """An injector in flight."""

    def __init__(self, injector: Injector, publisher: Publisher, period_ticks: int, phase_ticks: int) -> None:
        self.injector = injector
        self.publisher = publisher
        self.warning: str | None = None
        self.phase_ticks = phase_ticks
        self._period_ticks = period_ticks
        self._is_advertised: bool | None = None  # None: no message yet
        self._message = _message_of(publisher)

    def run(self, tick: int, time_us: int, inputs: Any) -> None:
        """Fill in and queue the message if it is due."""
        if self._is_advertised is False:  # since the step after its first message
            self._note_instance()
            self._is_advertised = True
        since = tick - self.phase_ticks
        if since < 0 or since % self._period_ticks:
            return
        if self.fill(self.injector.fill, self._message, time_us, inputs):
            self.publisher.publish(self._message)
            self._is_advertised = bool(self._is_advertised)

    def fill(self, fill: Fill, message: Any, time_us: int, inputs: Any) -> bool:
        """Call the function; return whether the message is to be published."""
        if STAMP in message.dtype.names:
            message[STAMP] = max(time_us, 1)
        try:
            return fill(time_us, inputs, message) is not False
        except InputError as error:
            raise InputError(f"injector of {self.injector.topic}: {error}") from error

    def rehearse(self, time_us: int, inputs: Any) -> None:
        """Call a copy of the function with a scratch message, to find fields that do not exist before the flight.

        Any other exception may be due to the early call, so it is left for the flight.
        """
        try:
            self.fill(copy.deepcopy(self.injector.fill), _message_of(self.publisher), time_us, inputs)
        except InputError:
            raise
        except Exception:
            return

    def _note_instance(self) -> None:
        """Note a warning if PX4 assigned another instance than 0."""
        instance = self.publisher.instance
        if instance > 0 and self.injector.instance < 0:
            self.warning = (
                f"the injector of {self.injector.topic} publishes instance {instance}, because another publisher has "
                f"instance 0; most modules of PX4 read instance 0. Set instance={instance} if this is intended"
            )


class Injections:
    """The injectors of a flight, called with the time and the stage inputs at each tick, before PX4 runs."""

    def __init__(self, px4: Px4, injectors: Sequence[Injector], published: Sequence[Published], tick_us: int) -> None:
        own = [each.topic for each in published]
        self._injections = []
        for each in injectors:
            if each.topic in own and each.instance < own.count(each.topic):
                raise InputError(
                    f"the injector of {each.topic} needs another instance, because the simulator publishes this topic "
                    f"itself: use instance={own.count(each.topic)}, or an interface without the topic"
                )
            publisher = px4.publisher(each.topic, each.instance, each.queue)
            ticks = ticks_in(each, "period", tick_us), ticks_in(each, "phase", tick_us)
            self._injections.append(_Injection(each, publisher, max(1, ticks[0]), ticks[1]))
        self._tick = 0

    def __call__(self, time_us: int, inputs: Any) -> None:
        """Queue the messages that are due; check the other injectors at the first tick."""
        for each in self._injections:
            if self._tick == 0 and each.phase_ticks > 0:
                each.rehearse(time_us, inputs)
        for each in self._injections:
            each.run(self._tick, time_us, inputs)
        self._tick += 1

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about instances."""
        return tuple(each.warning for each in self._injections if each.warning is not None)


def ticks_in(scheduled: Published | Injector, what: str, tick_us: int) -> int:
    """Return the period or phase of a topic in ticks."""
    time_us: int = getattr(scheduled, f"{what}_us")
    if time_us % tick_us:
        use = " or ".join(map(str, nearest_us(time_us, tick_us, tick_us if what == "period" else 0)))
        given = f"the {what} of {scheduled.topic}, {time_us} us,"
        raise InputError(f"{given} is not a whole number of ticks of {tick_us} us; use {use}")
    return time_us // tick_us


def nearest_us(time_us: int, tick_us: int, least_us: int) -> list[int]:
    """Return the multiples of the tick closest to a time, below and above it."""
    near_us = time_us // tick_us * tick_us
    return list(dict.fromkeys((max(near_us, least_us), near_us + tick_us)))


def _message_of(publisher: Publisher) -> Any:
    """Return a zeroed message for an injector."""
    return np.zeros(1, _checked(publisher.layout.dtype))[0]


def _checked(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a message's dtype whose records, also nested ones, are an `InjectedMessage`."""
    if dtype.subdtype is not None:
        return np.dtype((_checked(dtype.base), dtype.shape))
    if dtype.fields is None:
        return dtype
    names = list(dtype.fields)
    formats, offsets = zip(*((_checked(dtype.fields[name][0]), dtype.fields[name][1]) for name in names), strict=True)
    plain = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize})
    return np.dtype((InjectedMessage, plain))
