"""Stock PX4 as the autopilot, unmodified, over MAVLink: with its commander, its estimator and its land detector.

It is a process of its own, which gets sensors and gives motors, once per tick, in lockstep:

1. Sensors of the time t are sent; t rises strictly, by the same step, and begins at 1 s.
2. Until PX4's first answer there is a short wait, and the next sensors.
3. From then on, each step waits for the answer with its own time.
4. A step that is not answered in time never will be: the motors hold, the next sensors are sent. A few of these in a
   row stop the run. The motors are never set to zero by the host.

Before the flight PX4 boots and takes the mission, with the aircraft standing where it starts: that takes simulated time
of PX4's, which is before the flight's zero. PX4 has threads, so two flights differ; a recording has its commands, and
replays to the bit. docs/howto/px4_sitl.md has all of it, with what to do when it stalls.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from px4lockstep.autopilots.kinds import KINDS, SITL_INSTANCES
from px4lockstep.autopilots.px4_library.autopilot import ca_parameters
from px4lockstep.autopilots.px4_sitl import symptoms
from px4lockstep.autopilots.px4_sitl.api import ARM, DISARM, FLY_MISSION, LAND, MAX_V, RETURN, Api, crc_extra_received
from px4lockstep.autopilots.px4_sitl.hil_sensors import HilSensors
from px4lockstep.autopilots.px4_sitl.mavlink import links
from px4lockstep.autopilots.px4_sitl.mavlink.hil import CRC_EXTRA, HIL_ACTUATOR_CONTROLS, Actuators
from px4lockstep.autopilots.px4_sitl.options import SitlOptions
from px4lockstep.autopilots.px4_sitl.process import Px4Process, find_build
from px4lockstep.constants import HOME_LAT_DEG, HOME_LON_DEG
from px4lockstep.errors import HostError, InputError, SimulationError
from px4lockstep.px4.missions import Mission
from px4lockstep.sensors.suite import SensorConfig, SensorSuite
from px4lockstep.vehicle.aircraft import Aircraft

SIMULATOR_PORT, API_PORT = symptoms.SIMULATOR_PORT, 14540
IMU_BITS = symptoms.GYRO_BITS | symptoms.ACCEL_BITS
PX4_API_PORT = 14580
"""PX4's own: one that flies in another simulator has it."""

START_US = 1_000_000
UPLOAD_US = 4_000_000
"""From the first sensors; before that PX4 has not set up its mission."""
BOOT_WAIT_S = 0.025
"""For the answer to a step while PX4 boots: 20 to 30 ms make a boot repeatable."""
MAX_BOOT_US = 30_000_000
LISTEN_TICKS = 5
"""The API is looked at once in so many ticks."""
BATTERY_US = 500_000
START_IT = "; start it, in the folder of its build (build/px4_sitl_default), by\n"
SLICE_S = 0.1
"""Poll interval while waiting for PX4."""

MISS, ANSWER, STALLED = 4, 1, 12
"""A step that is not answered counts 4, one that is takes 1 back; at 12 the run stops: three in a row, or four of every
second step."""


@dataclass
class Px4Sitl:
    """Stock PX4, an autopilot for a `Simulation`; its start script sets the parameters."""

    capabilities: ClassVar = KINDS["px4-sitl"].capabilities

    mission: Mission | None = None
    params: Mapping[str, float | int] = field(default_factory=dict)
    options: SitlOptions = field(default_factory=SitlOptions)
    derive_ca_params: bool = True  # the allocation's parameters, from the aircraft's geometry
    home_lat_deg: float = HOME_LAT_DEG
    home_lon_deg: float = HOME_LON_DEG
    sensors: SensorConfig = field(default_factory=SensorConfig)

    def __post_init__(self) -> None:
        """Check the home, and begin with nothing open."""
        self.sensor_suite = SensorSuite(self.sensors, self.home_lat_deg, self.home_lon_deg)
        """The sensors that it flies by, at its home; the simulation runs them."""
        self._folder: Path | None = None
        self._on_wait: Callable[[str], None] = lambda _: None
        self._build: Path | None = None
        self._link: links.SimulatorLink | None = None
        self._api_link: links.ApiLink | None = None
        self._process: Px4Process | None = None
        self._temporary: TemporaryDirectory[str] | None = None
        self._is_closed = False
        self._is_answering = False
        self._ticks = 0
        self._offset_us = 0
        self._score = 0
        self._in_a_row = 0
        self._asked = [0, 0, 0, 0]
        self._controls: tuple[float, ...] = (0.0,) * 16
        self._is_armed = False
        self._shown: tuple[bool, int, bool, int | None] | None = None
        self._battery_turn = -1
        self._api_warnings: list[str] = []
        self.instance: int | None = None
        """Its number, when it runs."""
        self.missed = 0
        """How many steps it has not answered."""

    # -- as a stage of a simulation ------------------------------------------------------------------------------

    def attach(self, status: Any, plant: Any, period_us: int, seed: int) -> None:
        """Take what a simulation has for it; it begins with the first step."""
        if not isinstance(plant, Aircraft):
            raise InputError(f"stock PX4 needs an Aircraft, not {type(plant).__name__}")
        self._crc_extra_received = crc_extra_received()
        self._build = None if self.options.wait_for_user else find_build(self.options.build_dir)
        for i, battery in enumerate(plant.batteries if self.options.battery else ()):
            if max(battery.ocv_v) > MAX_V:
                raise InputError(
                    f"power.batteries[{i}].ocv_v has {max(battery.ocv_v):g} V, more than stock PX4 can be told of, "
                    f"{MAX_V:g} V; let it simulate a battery of its own, by px4.sitl.battery = false"
                )
        self._status, self._aircraft, self._period_us = status, plant, period_us
        for name in ("pos", "vel", "acc"):
            getattr(status, f"{name}_sp_ned")[:] = math.nan
        status.q_sp[:] = status.rate_sp_body[:] = status.torque_sp_body[:] = status.thrust_sp_body[:] = math.nan
        status.yaw_sp = status.yawspeed_sp = math.nan
        status.mission_count = 0 if self.mission is None else len(self.mission.items)
        self._rotors = len(plant.rotors)

    def take_sensors(self, stage: Any) -> None:
        """Take the running sensors of the simulation, an `engine.sensor_stage.SensorStage`."""
        home = (self.home_lat_deg, self.home_lon_deg)
        truth = self.options.ground_truth
        self._hil_sensors = HilSensors(stage, self._aircraft.home_alt_msl_m, home, ground_truth=truth)

    def work_in(self, folder: Path | None = None, on_wait: Callable[[str], None] | None = None) -> None:
        """Say, before the first step, where PX4 works and what to call several times a second while it is waited for.

        The folder is empty or new and gets PX4's files and `px4.log`; left out, it is a temporary one. `on_wait` gets
        what is waited for; of a PX4 that the user starts, with the command to start it by.
        """
        self._folder, self._on_wait = folder, on_wait or self._on_wait

    def step(self, time_us: int, inputs: Any, outputs: Any) -> None:
        """Send the sensors, wait for the motors."""
        if self._is_closed:
            raise SimulationError("stock PX4 was closed before the end of the run; the log is intact")
        if self._link is None:
            self._start()
            self._boot(time_us, inputs)
        self._obey(inputs.bus.scenario)
        self._exchange(time_us + self._offset_us, inputs)
        self._listen(time_us + self._offset_us, inputs)
        outputs.motors[: self._rotors] = self._controls[: self._rotors]
        api = self._api
        shown = (self._is_armed, api.item, api.is_finished, api.mode)
        if shown != self._shown:
            self._shown, status = shown, self._status
            status.armed, status.mission_item, status.mission_finished = map(int, shown[:3])
            if api.mode is not None:
                status.nav_state = api.mode

    def close(self) -> None:
        """End PX4, if it was started here, and close its links; a second time does nothing."""
        self._is_closed = True
        self._release()

    def _release(self) -> None:
        if self._process is not None:
            self._process.close()
        for link in (self._link, self._api_link):
            if link is not None:
                link.close()
        if self._temporary is not None:
            self._temporary.cleanup()
        self._process = self._link = self._api_link = self._temporary = None

    def snapshot(self) -> Any:
        """Refuse: PX4 is a process of its own."""
        raise InputError("stock PX4 can't be copied: it is a process of its own. Replay its recording, or fly anew")

    def restore(self, saved: Any) -> None:
        """Refuse, as `snapshot` does."""
        raise InputError(f"stock PX4 can't be put back to {saved!r}: it is a process of its own")

    @property
    def asks_user(self) -> bool:
        """Whether the user starts PX4."""
        return self.options.wait_for_user

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know of the flight."""
        missed = f"PX4 has not answered {self.missed} of {self._ticks} steps in time; its motors were held"
        return (*([missed] if self.missed else []), *self._api_warnings)

    @property
    def process_id(self) -> int | None:
        """The number of PX4's process, if it was started here and not ended."""
        return None if self._process is None else self._process.id

    # -- before the flight ---------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, str]:
        """Return the parameters that PX4 is started with, as its start script takes them."""
        found: dict[str, float | int | str] = {"SDLOG_BACKEND": 0}
        if self.options.battery:  # the one or the other is there, by version
            found |= {"SIM_BAT_ENABLE": 0, "SIM_BAT_DRAIN": 0}
        if self._period_us <= symptoms.FAST_TICK_US:
            found["IMU_INTEG_RATE"] = 1_000_000 // self._period_us
        delay_ms = f"{self.sensors.gps.latency_us / 1e3:g}"  # PX4's start script of simulators has 10
        found |= {"EKF2_GPS_DELAY": delay_ms, "SENS_GPS0_DELAY": delay_ms}  # again by version
        if self.derive_ca_params:
            found |= ca_parameters(self._aircraft)
            found |= {f"PWM_MAIN_FUNC{i + 1}": 101 + i for i in range(self._rotors)}
        return {name: str(value) for name, value in (found | dict(self.params)).items()}

    def how_to_start(self) -> str:
        """Return the command that a user starts PX4 by, in the folder of its build, with `wait_for_user`."""
        instance = self.options.instance if self.instance is None else self.instance
        return symptoms.start_lines(instance or 0, self.options.airframe, self.parameters())

    def _start(self) -> None:
        """Open the ports, start PX4, and wait until it has connected."""
        self._open_ports()
        assert self._link is not None
        assert self._api_link is not None
        assert self.instance is not None
        items = () if self.mission is None else self.mission.items
        self._api = Api(self._api_link, items)
        self._api_warnings = self._api.warnings
        options, port = self.options, SIMULATOR_PORT + self.instance
        if self._build is not None:
            folder = self._fresh_folder()
            log = folder.parent / "px4.log"
            self._process = Px4Process(self._build, self.instance, options.airframe, self.parameters(), folder, log)
        how = "" if self._process is not None else f"{START_IT}{self.how_to_start()}"
        start_s = time.perf_counter()
        while not self._link.accept(SLICE_S):
            self._on_wait(f"waiting for PX4 to connect to TCP port {port}{how}")
            waited_s = time.perf_counter() - start_s
            has_ended = self._process is not None and not self._process.is_running
            if has_ended or waited_s > options.connect_timeout_s:
                raise HostError(symptoms.not_connected(port, options.connect_timeout_s, self._process))

    def _open_ports(self) -> None:
        wanted = self.options.instance
        for instance in range(SITL_INSTANCES) if wanted is None else (wanted,):
            try:
                links.check_is_free(PX4_API_PORT + instance)
                self._link = links.SimulatorLink(SIMULATOR_PORT + instance, CRC_EXTRA)
                self._api_link = links.ApiLink(API_PORT + instance, self._crc_extra_received)
                self.instance = instance
                return
            except links.PortTakenError as error:
                self._release()
                if wanted is not None or instance == SITL_INSTANCES - 1:
                    raise HostError(symptoms.taken(instance, str(error))) from error

    def _fresh_folder(self) -> Path:
        """Return a new folder for PX4: it keeps parameters and missions there."""
        root = self._folder
        if root is None:
            self._temporary = TemporaryDirectory(prefix="px4lockstep-sitl-")
            root = Path(self._temporary.name)
        folder = root.absolute() / "px4"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise HostError(f"PX4's folder {folder} can't be made: {error.strerror}") from error
        return folder

    def _boot(self, time_us: int, inputs: Any) -> None:
        """Step PX4 with the aircraft where it starts, until it has booted and taken the mission.

        The simulation has run the sensors once for its first tick; they go on by a tick for each step of the boot.
        """
        boot_us, least_us, start_s = 0, self.options.boot_us, time.perf_counter()
        while boot_us < least_us or not self._is_answering or not self._api.has_mission:
            is_late = boot_us > MAX_BOOT_US or time.perf_counter() - start_s > self.options.connect_timeout_s
            if is_late and not self._is_answering:
                raise HostError(symptoms.never_answered(boot_us / 1e6, self._process))
            self._exchange(START_US + boot_us, inputs)
            if boot_us >= UPLOAD_US and self._is_answering:
                self._api.upload(START_US + boot_us)
            self._listen(START_US + boot_us, inputs)
            boot_us += self._period_us
            self._hil_sensors.repeat()
        unknown = [] if self._process is None else self._process.unknown_parameters
        wrong = [name for name in unknown if name in self.params]  # of ours, versions differ in some
        if wrong:
            raise HostError(f"this PX4 has no parameter {', '.join(wrong)}; correct the name, or leave it out")
        self._offset_us = START_US + boot_us - time_us

    # -- a step --------------------------------------------------------------------------------------------------

    def _exchange(self, hil_us: int, inputs: Any) -> None:
        """Send the sensors of a time, and take the answer; without one, what was before holds."""
        assert self._link is not None
        self._ticks += 1
        try:
            self._link.send(self._hil_sensors.frames(hil_us, inputs))
            answer = self._answer(hil_us, self.options.answer_timeout_s if self._is_answering else BOOT_WAIT_S)
        except links.LinkClosedError as error:
            raise HostError(symptoms.closed(str(error), self._process)) from error
        if answer is not None:
            self._take(answer)
        elif self._is_answering:
            self._miss()

    def _answer(self, hil_us: int, timeout_s: float) -> Actuators | None:
        """Wait for the answer to a step; answers to others are late, or nobody's."""
        assert self._link is not None
        slice_s = min(timeout_s, SLICE_S)
        end_s = time.perf_counter() + timeout_s
        while True:
            frames = self._link.receive(slice_s)
            for frame in frames or ():
                if frame.message == HIL_ACTUATOR_CONTROLS:
                    answer = Actuators.of(frame.payload)
                    if not answer.is_lockstep:
                        raise HostError(symptoms.NO_LOCKSTEP)
                    if answer.time_us == hil_us:
                        return answer
                    if not self._is_answering and START_US <= answer.time_us < hil_us:  # it boots more slowly than that
                        self._is_answering = True
                        end_s = time.perf_counter() + self.options.answer_timeout_s
            if frames is None:
                self._on_wait("waiting for PX4 to answer")
            if time.perf_counter() >= end_s:
                return None

    def _take(self, answer: Actuators) -> None:
        self._is_answering = True
        self._score = max(0, self._score - ANSWER)
        self._in_a_row = 0
        for i, value in enumerate(answer.controls[: self._rotors], 1):
            if not math.isfinite(value):
                is_motor = f"is PWM_MAIN_FUNC{i} that of a motor, {100 + i}?"
                raise HostError(f"PX4 has sent {value} for motor {i}, in HIL_ACTUATOR_CONTROLS; {is_motor}")
        self._controls, self._is_armed = answer.controls, answer.is_armed

    def _miss(self) -> None:
        self.missed += 1
        self._in_a_row += 1
        self._score += MISS
        if self._score >= STALLED:
            row = self._in_a_row * MISS >= STALLED
            count = self._in_a_row if row else self.missed
            timeout_s, fields = self.options.answer_timeout_s, self._hil_sensors.fields_updated
            said = symptoms.stalled(count, timeout_s, row, self._period_us, fields, self._process)
            has_imu = fields & IMU_BITS == IMU_BITS
            raise HostError(said) if has_imu else SimulationError(said)

    # -- what is asked of PX4 ------------------------------------------------------------------------------------

    def _obey(self, scenario: Any) -> None:
        """Pass the scenario's requests on when they come, once each; at the same time, in this order."""
        asked = [scenario.arm, scenario.mission, scenario.return_home, scenario.land]
        if asked == self._asked:
            return
        if asked[0] != self._asked[0]:
            self._api.order(ARM if asked[0] else DISARM)
        for now, before, order in zip(asked[1:], self._asked[1:], (FLY_MISSION, RETURN, LAND), strict=True):
            if now > before:
                self._api.order(order)
        self._asked = asked

    def _listen(self, hil_us: int, inputs: Any) -> None:
        """Let the API take its turn, and send PX4 the state of the batteries, every few ticks."""
        if self._ticks % LISTEN_TICKS:
            return
        self._api.step(hil_us)
        if self.options.battery and hil_us // BATTERY_US != self._battery_turn:
            self._battery_turn = hil_us // BATTERY_US
            for number in range(len(self._aircraft.batteries)):
                battery = inputs.bus.battery[number]
                self._api.send_battery(number, battery.voltage_v, battery.current_a, battery.remaining)
