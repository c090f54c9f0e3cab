"""Real PX4 as the autopilot, through `libpx4_lockstep`: its modules run in lockstep, in this process.

The library contains no commander, estimator or land detector; the host here replaces them. At every tick it publishes
the estimate, the batteries and the mode, steps PX4, and reads motors and setpoints (`exchange`). See docs/howto/px4.md.
"""

import hashlib
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.area import area_of, check_area
from px4lockstep.autopilots.base import (
    INJECTED,
    MAX_TEXT,
    MAX_TEXTS,
    Make,
    NativeAutopilot,
    Record,
    Session,
    WriteRecord,
    last_texts,
)
from px4lockstep.autopilots.builtin.schedule import RATES, check_rates, effective_rates
from px4lockstep.autopilots.builtin.schedule import period_us as module_period_us
from px4lockstep.autopilots.fence import write_fence
from px4lockstep.autopilots.kinds import KINDS
from px4lockstep.autopilots.messages import Grow
from px4lockstep.autopilots.px4_library import orders, records, texts
from px4lockstep.autopilots.px4_library.exchange import FUNCTIONS, MAX_SILENT_TICKS, SILENT, STOPPED
from px4lockstep.autopilots.px4_library.injectors import Injections, Injector, ticks_in
from px4lockstep.autopilots.px4_library.logged import locate_rows, subscribe_logged
from px4lockstep.autopilots.px4_library.parameters import check_rotors, fence_limits, has, notify, set_parameters
from px4lockstep.autopilots.px4_library.published import topics_with_fields
from px4lockstep.autopilots.px4_library.records import (
    MAX_FIELDS,
    MAX_LOGGED,
    MAX_PUBLISHERS,
    MAX_SUBSCRIBERS,
    PX4_HOST,
)
from px4lockstep.autopilots.vehicle_params import no_effect
from px4lockstep.constants import HOME_LAT_DEG, HOME_LON_DEG
from px4lockstep.errors import InputError, LayoutError, StateError
from px4lockstep.jit.memory import KINDS as NUMBER_KINDS
from px4lockstep.px4 import Config, Layout, Library, Px4, check_layouts
from px4lockstep.px4.codes import refused
from px4lockstep.px4.fields import (
    MAV_TYPES,
    OTHER_MAV_TYPE,
    OUTPUT_FIELDS,
    TEXT_FIELDS,
)
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.presets import STATE_INJECTION, Interface, Read
from px4lockstep.scenario.commands import CommandResult, FlightCommand
from px4lockstep.vehicle.aircraft import Aircraft

MOTORS = "actuator_motors"
ROLES = {MOTORS: records.MOTORS, "vehicle_command": records.COMMANDS, texts.TOPIC: records.TEXTS}
READ_FIELDS = OUTPUT_FIELDS | TEXT_FIELDS
BLOCK = 64
"""Alignment of the messages [bytes]."""
NO_RALLY = "the plan's rally points are not used: PX4 as a library can't load them, so a return lands at home"
NO_INPUTS = (
    "the simulator publishes nothing to it, neither state nor arming nor mode, so it can't fly. List topics in "
    'px4.uorb.pubs, or set px4.uorb.preset = "state_injection"'
)


@dataclass(frozen=True)
class Px4Library(NativeAutopilot):
    """Real PX4 as a library, for the `autopilot` of a `Simulation`.

    Args:
        mission: The mission, as `px4.load_mission` returns it.
        params: PX4 parameters by name; they override those of the airframe.
        library: The library, or a PX4 build folder; by default it is searched for.
        config: Rates of the modules.
        home_lat_deg, home_lon_deg: The origin.
        interface: Topics exchanged with PX4.
        derive_ca_params: Whether to derive the control allocation parameters from the aircraft's geometry.
        strict_rates: Whether to reject a tick that is longer than a module's period.
        angular_acceleration: Whether to publish it; without it, the D term of rate control is inactive.
        default_params: Values to set before all others, unless PX4 lacks the parameter.
        file_params: Parameters of a `.params` file; they override those of the airframe, and `params` override them.
            Those that PX4 lacks have no effect, nor has the geometry of the rotors with `derive_ca_params`.
        msg_dir: PX4's folder `msg`, for messages that neither the library nor this package describes.
        allow_second_life: Whether PX4 may start a second time in this process; it then behaves differently.
        injectors: Python functions that publish further topics.

    Raises:
        InputError: If the mission can't be flown by the library, or the interface has no motors.
    """

    capabilities: ClassVar = KINDS["px4"].capabilities
    record: ClassVar = "px4"

    mission: Mission | None = None
    params: Mapping[str, float | int] = field(default_factory=dict)
    library: str | Path | None = None  # the library or a PX4 build folder; None searches for it
    config: Config = field(default_factory=Config)
    home_lat_deg: float = HOME_LAT_DEG
    home_lon_deg: float = HOME_LON_DEG
    interface: Interface = STATE_INJECTION
    derive_ca_params: bool = True  # derive the control allocation parameters from the aircraft's geometry
    strict_rates: bool = False  # reject a tick longer than a module's period
    angular_acceleration: bool = True  # without it the D term is inactive, as in the recorded flights
    default_params: Mapping[str, float | int] = field(default_factory=dict)  # set first, if PX4 has them
    msg_dir: str | Path | None = None  # definitions of messages that neither the library nor this package describes
    allow_second_life: bool = False  # start PX4 a second time in this process; it then behaves differently
    injectors: Sequence[Injector] = ()  # messages that Python functions publish
    file_params: Mapping[str, float | int] = field(default_factory=dict)  # set above those of the airframe

    def __post_init__(self) -> None:
        """Check everything that does not need the library."""
        lost = () if self.mission is None else self.mission.lost_by_library()
        if lost:
            raise InputError("\n".join(lost))
        check_area(self.mission, self.home_lat_deg, self.home_lon_deg)
        if not any(read.topic == MOTORS for read in self.interface.read):
            raise InputError(f"{self.interface.name} does not read {MOTORS}, so PX4 can't fly; use state_injection")

    @property
    def module_rates_hz(self) -> dict[str, int]:
        """Rates of the modules that run."""
        rates_hz = {module: getattr(self.config, name) for name, module in RATES.items()}
        if not self.config.enable_control_allocator:
            del rates_hz["allocation"]
        return rates_hz

    def effective_rates(self, autopilot_period_us: int) -> dict[str, float]:
        """Return the effective rate of each module at a tick length [Hz]; PX4 does not carry over the phase."""
        return effective_rates(self.module_rates_hz, autopilot_period_us)

    def open(
        self,
        record: Record,
        plant: object,
        period_us: int,
        write: WriteRecord | None = None,
        make: Make | None = None,
    ) -> "Px4Session":
        """Start PX4 and write its record, which bypasses the build cache because it holds addresses."""
        if not isinstance(plant, Aircraft):
            raise InputError(f"real PX4 needs an Aircraft, not {type(plant).__name__}")
        if self.strict_rates:
            check_rates({f"px4.lockstep.{name}": getattr(self.config, name) for name in RATES}, period_us)
        library = Library.load(self.library)
        px4 = library.create(self.config, msg_dir=self.msg_dir, allow_second_life=self.allow_second_life)
        try:
            given = (self.default_params, self.file_params, self.params)
            ignored = set_parameters(px4, plant, *given, derive_geometry=self.derive_ca_params)
            if self.interface.published:
                check_rotors(px4)
            self._load_mission(px4)
            session = Px4Session(px4, library.path, self.effective_rates(period_us))
            session.write(record, self, library, plant, period_us)
            session.of_file = no_effect(ignored, len(self.file_params), self.capabilities.name)
        except BaseException:
            px4.close()
            raise
        return session

    def _load_mission(self, px4: Px4) -> None:
        if self.mission is None:
            return
        with NamedTemporaryFile("w", suffix=".waypoints", encoding="utf-8") as file:
            file.write(self.mission.library_text())
            file.flush()
            px4.load_mission(file.name)


class Px4Session(Session):
    """A PX4 that runs in a simulation: owns the message buffers, and interprets the record."""

    record: ClassVar = Px4Library.record
    why_no_mission = "PX4 did not report on the mission: it published no mission_result; is its navigator running?"

    def __init__(self, px4: Px4, library: Path, rates_hz: Mapping[str, float]) -> None:
        super().__init__(Px4Library.capabilities)
        self.px4 = px4
        self.identity = hashlib.sha256(library.read_bytes()).hexdigest()[:16]
        self.rates_hz = rates_hz
        self.published: list[Layout] = []
        self.read: list[Layout] = []
        self._messages = np.zeros(0, np.uint8)
        self._updated = np.zeros(1, np.int32)
        self._texts = np.zeros(MAX_TEXTS, texts.KEPT)
        self._n_fields = 0
        self._injections: Injections | None = None
        self._has_flown = False
        self._has_rally = False  # the plan has rally points
        self.of_file: tuple[str, ...] = ()  # a warning about parameters of a file that have no effect

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about parameters, topics without a message, and injectors."""
        counts = zip(self.message_log.topics, self.message_log.counts.tolist(), strict=True)
        silent = [each.name for each, count in counts if count == 0] if self._has_flown else []
        never = (f"PX4 published nothing on the logged topics {', '.join(silent)} (px4.uorb.subs)",) if silent else ()
        deaf = () if self.published or self._injections is not None else (f"PX4 has no inputs: {NO_INPUTS}",)
        lost = (NO_RALLY,) if self._has_rally else ()
        injected = () if self._injections is None else self._injections.warnings
        return (*self.of_file, *deaf, *lost, *never, *injected)

    @property
    def texts(self) -> tuple[str, ...]:
        """PX4's last warnings and errors."""
        return last_texts(texts.in_order(self._texts))

    def set_parameters(self, params: Mapping[str, float | int], optional: Container[str] = ()) -> None:
        """Change parameters in flight; optional ones only if PX4 has them."""
        for name, value in params.items():
            if name not in optional or has(self.px4, name):
                self.px4.param_set(name, value)
        if params:
            notify(self.px4)

    def obey(self, command: FlightCommand, time_us: int, core: Record) -> CommandResult:
        """Apply a command before a tick."""
        return orders.obey(self.px4, command, core)

    def failsafe_in_charge(self, core: Record) -> int:
        """Return the number of the host's failsafe, which has always changed the mode."""
        return int(core[self.record]["commander"]["failsafe"][0])

    @property
    def parameters(self) -> dict[str, float | int]:
        """The values of the known parameters that PX4 has."""
        return orders.parameters_of(self.px4)

    def check_ready(self, record: Record) -> None:
        """Check that PX4 flies with this record."""
        if not record["handle"][0]:
            raise StateError("PX4 still runs in another simulation; resume it here with continue_from before running")

    def check_copyable(self, what: str) -> None:
        """Raise an error: the library's state can't be copied."""
        raise StateError(f"real PX4 can't be {what}: its state is inside the library. Use a fork to branch it")

    def resume(self, kept: Record, into: Record, home: Record) -> None:
        """Copy the record of a host that ran elsewhere, and relocate the addresses of its numbers."""
        into[...] = kept
        into["fields"]["number"][0, : self._n_fields] += home.ctypes.data - int(kept["own_address"][0])
        into["own_address"] = home.ctypes.data

    def reserve(self, record: Record, ticks: int) -> None:
        """Extend the message buffers before a call of the loop."""
        self._has_flown = True
        if self.message_log.reserve(ticks):
            locate_rows(record, self.message_log)

    def use_buffers(self, record: Record, grow: Grow) -> None:
        """Move the message buffers."""
        self.message_log.use(grow)
        locate_rows(record, self.message_log)

    def pretend_all_is_new(self) -> None:
        """Treat every topic as updated until the library reports otherwise, to benchmark the host alone."""
        self._updated[0] = 1

    def close(self, record: Record) -> bool:
        """Stop PX4 if it flies with this record; return whether it did."""
        if not record["handle"][0]:
            return False
        self.px4.close()
        record["handle"] = 0
        return True

    def message(self, topic: str) -> Any:
        """Return the last message published on a topic, by reference, for inspection."""
        for layout, place in zip(self.published, self._places, strict=False):
            if layout.topic == topic:
                return self._messages[place : place + layout.size].view(layout.dtype)[0]
        topics = ", ".join(each.topic for each in self.published)
        raise InputError(f"{topic} is not published; published topics are {topics}")

    def explain_command(self, actuators: str) -> str:
        """Return the topic that a command came from."""
        return f". PX4 published it in actuator_{actuators}: check its CA_ parameters. The log is intact"

    def explain(self, record: Record, time_us: int) -> str:
        """Return which call failed, and what to do."""
        failed = record["failed"][0]
        function, which, code = int(failed["function"]), int(failed["which"]), int(failed["code"])
        at = f"at t = {time_us / 1e6:.6f} s"
        if function == SILENT:
            text = (
                f"{at} PX4 had published no actuator_motors for {MAX_SILENT_TICKS} ticks while armed; is "
                "px4.lockstep.enable_control_allocator 1, and CA_ROTOR_COUNT set (px4.derive_ca_params)?"
            )
        elif function == STOPPED:
            text = (
                f"{at} actuator_motors.control had been NaN for all motors for {code} ticks while armed: PX4 has "
                "switched them off; check its parameters, and its inputs before that time"
            )
        else:
            name = FUNCTIONS[function]
            read = [*(each.topic for each in self.read), *(each.topic for each in self.message_log.topics)]
            topics = [each.topic for each in self.published] if name == "orb_queue_publish" else read
            about = f"time_us = {time_us}" if name == "step_uorb" else topics[which]
            text = f"{at} {refused(name, about, code)}"
        return f"{text}. The log up to that time is intact"

    def write(
        self, record: npt.NDArray[Any], host: Px4Library, library: Library, aircraft: Aircraft, period_us: int
    ) -> None:
        """Create publishers and subscribers, and write a `PX4_HOST` record."""
        rec = record[0]
        check_layouts(self.px4, host.interface.fields_used())
        record[...] = 0
        rec["own_address"] = record.ctypes.data
        rec["handle"] = self.px4.handle
        for name in ("step_uorb", "orb_queue_publish", "orb_check", "orb_copy"):
            rec[name] = library.addresses[name]
        rec["updated"], rec["texts"] = self._updated.ctypes.data, self._texts.ctypes.data
        rec["n_batteries"] = len(aircraft.batteries)
        rec["n_motors"] = len(aircraft.rotors)
        rec["n_servos"] = len(aircraft.servo_channels)
        for name in ("motor", "servo"):
            channels = getattr(aircraft, f"{name}_channels")
            rec[f"{name}_channel"][: len(channels)] = [channel - 1 for channel in channels]
        rec["home_lat_rad"], rec["home_lon_rad"] = math.radians(host.home_lat_deg), math.radians(host.home_lon_deg)
        rec["home_alt_m"] = aircraft.home_alt_msl_m
        rec["rate_gain"] = 1e6 / period_us if host.angular_acceleration else 0.0
        area = area_of(host.mission, host.home_lat_deg, host.home_lon_deg)
        limits = fence_limits(host.default_params, aircraft.airframe.px4_params, host.file_params, host.params)
        write_fence(rec["commander"]["fence"], area, limits)
        self.area_params, self._has_rally = limits, bool(area.rally_points)
        rec["commander"]["navigator_us"] = module_period_us(host.config.navigator_rate_hz)
        for name in ("motors", "servos", "q_sp", "rate_sp_body", "pos_sp_ned", "vel_sp_ned", "acc_sp_ned"):
            rec["outputs"][name] = math.nan
        rec["outputs"]["yaw_sp"] = rec["outputs"]["yawspeed_sp"] = math.nan
        self._connect(record, host, aircraft, period_us)

    def _connect(self, record: npt.NDArray[Any], host: Px4Library, aircraft: Aircraft, period_us: int) -> None:
        """Create publishers and subscribers, and list their fields by address."""
        topics = topics_with_fields(host.interface.published, aircraft)
        reads = [each for each in host.interface.read if each.topic in OUTPUT_FIELDS]
        listed = {each.topic for each in reads}
        optional = () if self._has_texts() else (texts.TOPIC,)
        reads += [Read(topic, ()) for topic in ROLES if topic not in (*listed, *optional)]
        logged = [each for each in host.interface.read if each.is_logged]
        if len(topics) > MAX_PUBLISHERS or len(reads) > MAX_SUBSCRIBERS or len(logged) > MAX_LOGGED:
            raise InputError(
                f"{len(topics)} topics are published, {len(reads)} used and {len(logged)} logged; the limits are "
                f"{MAX_PUBLISHERS}, {MAX_SUBSCRIBERS} and {MAX_LOGGED}; list fewer in px4.uorb"
            )
        publishers = [self.px4.publisher(each.topic, each.instance, each.queue, each.priority) for each, _ in topics]
        subscribers = [self.px4.subscriber(each.topic, each.instance) for each in reads]
        self.published = [publisher.layout for publisher in publishers]
        self.read = [subscriber.layout for subscriber in subscribers]
        sizes = [-(-layout.size // BLOCK) * BLOCK for layout in (*self.published, *self.read)]
        self._places = [sum(sizes[:i]) for i in range(len(sizes))]
        self._messages = np.zeros(sum(sizes) + BLOCK, np.uint8)
        start = self._messages.ctypes.data
        rec = record[0]
        constants = {
            "home_lat_deg": host.home_lat_deg,
            "home_lon_deg": host.home_lon_deg,
            "home_alt_m": aircraft.home_alt_msl_m,
            "mav_type": MAV_TYPES.get(len(aircraft.rotors), OTHER_MAV_TYPE),
        }
        for i, (publisher, (each, fields)) in enumerate(zip(publishers, topics, strict=True)):
            out, place = rec["publishers"][i], self._places[i]
            message = self._messages[place : place + publisher.layout.size].view(publisher.layout.dtype)
            out["id"], out["message"], out["n_bytes"] = publisher.id, start + place, publisher.layout.size
            out["period_ticks"] = max(1, ticks_in(each, "period", period_us))
            out["phase_ticks"] = ticks_in(each, "phase", period_us)
            out["first_field"] = self._n_fields
            for name, value in fields.items():
                number = constants.get(value, value) if isinstance(value, str) else value
                if isinstance(number, str):
                    self._add_field(record, "inputs", number, publisher.layout, name, start + place)
                else:
                    _field_of(message, name)[...] = number
            out["stop_field"] = self._n_fields
        rec["n_publishers"] = len(publishers)
        for i, subscriber in enumerate(subscribers):
            into, place = rec["subscribers"][i], self._places[len(publishers) + i]
            into["id"], into["message"], into["n_bytes"] = subscriber.id, start + place, subscriber.layout.size
            into["role"] = ROLES.get(subscriber.layout.topic, records.SETPOINTS)
            if into["role"] == records.TEXTS:
                rec["text"] = start + place + _place(subscriber.layout.dtype, "text")[1]
            into["first_field"] = self._n_fields
            for name, number in READ_FIELDS[subscriber.layout.topic].items():
                self._add_field(record, "outputs", number, subscriber.layout, name, start + place)
            into["stop_field"] = self._n_fields
        rec["n_subscribers"] = len(subscribers)
        self.message_log = subscribe_logged(self.px4, logged, record)
        rec["has_inputs"] = bool(publishers or host.injectors)
        if host.injectors:
            published = [each for each, _ in topics]
            self.on_tick = self._injections = Injections(self.px4, host.injectors, published, period_us)
            names = ", ".join(dict.fromkeys(each.topic for each in host.injectors))
            self.identity = f"{self.identity}{INJECTED}{names}"
        elif not publishers:
            self.why_no_mission = f"PX4 did not report on the mission: {NO_INPUTS}"

    def _has_texts(self) -> bool:
        """Return whether the layout of PX4's texts is known; a flight does not need them."""
        try:
            return self.px4.layout(texts.TOPIC).dtype["text"].shape >= (MAX_TEXT,)
        except (LayoutError, KeyError):
            return False

    def _add_field(
        self, record: npt.NDArray[Any], part: str, number: str, layout: Layout, name: str, message: int
    ) -> None:
        """List a field, element by element if it is an array."""
        dtype, offset = _place(layout.dtype, name)
        own, own_offset = _place(PX4_HOST, f"{part}.{number}")
        if dtype.shape != own.shape and dtype.shape and own.shape:
            raise InputError(f"{layout.topic}.{name} has shape {dtype.shape}; px4lockstep supports {own.shape}")
        count = int(np.prod(dtype.shape)) if dtype.shape else 1
        for i in range(count):
            if self._n_fields == MAX_FIELDS:
                raise InputError(f"more than {MAX_FIELDS} fields are exchanged with PX4; list fewer topics in px4.uorb")
            out = record["fields"][0, self._n_fields]
            out["kind"] = NUMBER_KINDS[dtype.base.name]
            out["number"] = record.ctypes.data + own_offset + 8 * i
            out["place"] = message + offset + dtype.base.itemsize * i
            self._n_fields += 1


def _place(dtype: np.dtype[Any], path: str) -> tuple[np.dtype[Any], int]:
    """Return the type and offset of a nested field: `current.valid`, `pos_ned[1]`, `battery[0].voltage_v`."""
    offset = 0
    for part in path.split("."):
        name, _, index = part.partition("[")
        assert dtype.fields is not None
        dtype, own = dtype.fields[name][:2]
        offset += own
        if index:
            dtype = dtype.base
            offset += int(index.rstrip("]")) * dtype.itemsize
    return dtype, offset


def _field_of(message: npt.NDArray[Any], path: str) -> npt.NDArray[Any]:
    for part in path.split("."):
        message = message[part]
    return message
