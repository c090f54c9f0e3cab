"""Unmodified stock PX4 as the autopilot, over MAVLink, with its own commander, estimator and land detector.

PX4 runs as a separate process that receives sensor data and returns motor commands once per tick, in lockstep:

1. The host sends the sensor data for time t, which starts at 1 s and increases by a constant step.
2. Until PX4's first answer, the host waits briefly and then sends the next sensor data.
3. From then on, each step waits for the answer with its own timestamp.
4. A step that is not answered in time is never answered later: the motors hold their commands, and the host sends the
   next sensor data. The run goes on if PX4 runs, and stops if it hangs: see `patience`. The host never sets the motors
   to zero.

Before the flight, PX4 boots and receives the mission while the aircraft stands at its start position. This takes
simulated time on PX4's clock, before the flight's t = 0. PX4 is multi-threaded, so two flights differ; a recording
holds its commands and replays bit-identically. See docs/howto/px4_sitl.md, also for what to do when PX4 stalls.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from px4lockstep.autopilots.kinds import KINDS, SITL_INSTANCES
from px4lockstep.autopilots.mavlink import links
from px4lockstep.autopilots.mavlink.hil import CRC_EXTRA, HIL_ACTUATOR_CONTROLS, Actuators
from px4lockstep.autopilots.px4_library.parameters import ca_parameters
from px4lockstep.autopilots.px4_sitl import limits, symptoms
from px4lockstep.autopilots.px4_sitl.api import ARM, DISARM, FLY_MISSION, LAND, RETURN, Api, crc_extra_received
from px4lockstep.autopilots.px4_sitl.hil_sensors import HilSensors
from px4lockstep.autopilots.px4_sitl.options import SitlOptions
from px4lockstep.autopilots.px4_sitl.parameters import Parameters
from px4lockstep.autopilots.px4_sitl.patience import SILENT_S, Patience
from px4lockstep.autopilots.px4_sitl.process import Px4Process, find_build
from px4lockstep.autopilots.px4_sitl.setpoints import SetpointSender
from px4lockstep.autopilots.px4_sitl.vehicle_params import is_held_back
from px4lockstep.autopilots.vehicle_params import no_effect, without_geometry
from px4lockstep.constants import HOME_LAT_DEG, HOME_LON_DEG
from px4lockstep.errors import HostError, InputError, SimulationError
from px4lockstep.px4.missions import Mission
from px4lockstep.sensors.suite import SensorConfig, SensorSuite
from px4lockstep.vehicle.aircraft import Aircraft

SIMULATOR_PORT, API_PORT = symptoms.SIMULATOR_PORT, 14030
"""The API is PX4's payload link, which accepts all commands; 14540 and 14550 are left to MAVSDK and ground stations."""
IMU_BITS = symptoms.GYRO_BITS | symptoms.ACCEL_BITS
PX4_PORTS = (14280, 14580, 18570)
"""PX4's local UDP ports for payload, API and ground stations; in use if this instance flies in another simulator."""

START_US = 1_000_000
UPLOAD_US = 4_000_000
"""Start of the mission upload, from the first sensor data: before that, PX4's mission module is not ready."""
BOOT_WAIT_S = 0.025
"""Wait for the answer to a step while PX4 boots: 20 to 30 ms make the boot repeatable."""
MAX_BOOT_US = 30_000_000
LISTEN_TICKS = 5
"""Interval at which the API is polled, in ticks."""
BATTERY_US = 500_000
START_IT = "; start it in its build folder (build/px4_sitl_default) with\n"
SLICE_S = 0.1
"""Poll interval while waiting for PX4."""

PING_S = 1.0
"""Timeout for the answer to a ping; it is repeated in this time."""
PINGS = 4


@dataclass
class Px4Sitl:
    """Stock PX4 as the autopilot of a `Simulation`; PX4's start script sets the parameters."""

    capabilities: ClassVar = KINDS["px4-sitl"].capabilities

    mission: Mission | None = None
    params: Mapping[str, float | int] = field(default_factory=dict)
    options: SitlOptions = field(default_factory=SitlOptions)
    derive_ca_params: bool = True  # derive the control allocation parameters from the aircraft's geometry
    home_lat_deg: float = HOME_LAT_DEG
    home_lon_deg: float = HOME_LON_DEG
    sensors: SensorConfig = field(default_factory=SensorConfig)
    file_params: Mapping[str, float | int] = field(default_factory=dict)  # of a `.params` file; those that PX4 can take

    def __post_init__(self) -> None:
        """Check the home position, and initialize the state."""
        self.sensor_suite = SensorSuite(self.sensors, self.home_lat_deg, self.home_lon_deg)
        """PX4's sensors at the home position; the simulation runs them."""
        self._folder: Path | None = None
        self._on_wait: Callable[[str], object] = lambda _: None
        self._build: Path | None = None
        self._link: links.SimulatorLink | None = None
        self._api_link: links.ApiLink | None = None
        self._process: Px4Process | None = None
        self._temporary: TemporaryDirectory[str] | None = None
        self._is_closed = self._is_answering = self._is_late = False
        self._ticks = 0
        self._offset_us = 0
        self.clock_us: int | None = None  # PX4's time at time 0 of the flight, once it has booted
        self._patience = Patience(self.options.answer_timeout_s)
        self._answered_us = 0
        self._asked = [0, 0, 0, 0]
        self._controls: tuple[float, ...] = (0.0,) * 16
        self._is_armed = False
        self._shown: tuple[int | None, ...] | None = None
        self._battery_turn = -1
        self._limit: str | None = None
        self._api: Api | None = None
        self._setpoints = SetpointSender()
        self.instance: int | None = None  # PX4's instance number, once it runs
        self.waited_s = 0.0  # wall-clock time until the user's PX4 connected
        self.note: str | None = None  # why it does not use the first instance, if it was free to choose

    # -- as a stage of a simulation ------------------------------------------------------------------------------

    def attach(self, status: Any, plant: Any, period_us: int, seed: int) -> None:
        """Connect it to a simulation; PX4 itself starts at the first step."""
        if not isinstance(plant, Aircraft):
            raise InputError(f"stock PX4 needs an Aircraft, not {type(plant).__name__}")
        self._crc_extra_received = crc_extra_received()
        self._build = None if self.options.wait_for_user else find_build(self.options.build_dir)
        self._status, self._aircraft, self._period_us = status, plant, period_us
        limits.check_parameters(self._given_params)
        limits.check_sensors(self.sensors, self._given_params)
        self._limit = limits.check_batteries(plant) if self.options.battery else None
        self._patience.period_us = period_us
        for name in ("pos", "vel", "acc"):
            getattr(status, f"{name}_sp_ned")[:] = math.nan
        status.q_sp[:] = status.rate_sp_body[:] = status.torque_sp_body[:] = status.thrust_sp_body[:] = math.nan
        status.yaw_sp = status.yawspeed_sp = math.nan
        status.mission_count = 0 if self.mission is None else len(self.mission.items)
        self._rotors = len(plant.rotors)
        self.area_params = self.parameters()

    def take_sensors(self, stage: Any) -> None:
        """Connect it to the simulation's sensors, an `engine.sensor_stage.SensorStage`."""
        home = (self.home_lat_deg, self.home_lon_deg)
        truth = self.options.ground_truth
        self._hil_sensors = HilSensors(stage, self._aircraft.home_alt_msl_m, home, ground_truth=truth)

    def work_in(self, folder: Path | None = None, on_wait: Callable[[str], object] | None = None) -> None:
        """Set, before the first step, PX4's folder and the function to call several times a second while waiting.

        The folder must be new or empty and gets PX4's files and `px4.log`; it defaults to a temporary one. `on_wait`
        gets a description of what is waited for, with the start command if the user has to start PX4. If it returns
        True, the step goes on without PX4's answer.
        """
        self._folder, self._on_wait = folder, on_wait or self._on_wait

    def step(self, time_us: int, inputs: Any, outputs: Any) -> None:
        """Send the sensor data, and wait for the motor commands."""
        if self._is_closed:
            raise SimulationError("stock PX4 was closed before the end of the run; the log is intact")
        if self._link is None:
            self._start()
            self._boot(time_us, inputs)
        self._obey(inputs.bus.scenario)
        self._setpoints.step(time_us, time_us + self._offset_us, inputs, self._client)
        self._exchange(time_us + self._offset_us, inputs)
        self._listen(time_us + self._offset_us, inputs)
        outputs.motors[: self._rotors] = self._controls[: self._rotors]
        api = self._client.status
        shown = (self._is_armed, api.item, api.is_finished, api.failsafe, api.mode)
        if shown != self._shown:
            self._shown, status = shown, self._status
            status.armed, status.mission_item, status.mission_finished, status.failsafe = map(int, shown[:4])
            if api.mode is not None:
                status.nav_state = api.mode

    def close(self) -> None:
        """Terminate PX4, if it was started here, and close its links; a second call has no effect."""
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
        """Raise an error: PX4 is a separate process."""
        raise InputError("stock PX4 can't be copied: it is a separate process. Replay its recording, or fly a new run")

    def restore(self, saved: Any) -> None:
        """Raise an error, as `snapshot` does."""
        raise InputError(f"stock PX4 can't be restored to {saved!r}: it is a separate process")

    @property
    def asks_user(self) -> bool:
        """Whether the user starts PX4."""
        return self.options.wait_for_user

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the flight."""
        missed = self._patience.warning(self._ticks, self._offset_us) if self.missed else None
        found = [missed, self._limit, *([] if self._api is None else self._api.warnings)]
        lacks = () if self._api is None else self._api.missing_parameters
        given = self.file_params
        held_back = [name for name in given if name not in self._params_of_file]
        lacking = [name for name in self._params_of_file if name in lacks]  # apart: it is known only after the start
        found += no_effect(held_back, len(given), self.capabilities.name)
        found += no_effect(lacking, len(given), "this version of PX4, which lacks them")
        return tuple(warning for warning in found if warning)

    @property
    def missed(self) -> int:
        """Number of steps that PX4 has not answered."""
        return self._patience.missed

    @property
    def texts(self) -> tuple[str, ...]:
        """PX4's last warnings and errors."""
        return () if self._api is None else self._api.status.texts

    @property
    def process_id(self) -> int | None:
        """ID of PX4's process, if it was started here and not closed."""
        return None if self._process is None else self._process.id

    # -- before the flight ---------------------------------------------------------------------------------------

    @property
    def _client(self) -> Api:
        assert self._api is not None
        return self._api

    @property
    def _given_params(self) -> dict[str, float | int]:
        """Parameters of airframe and user, which must exist in PX4."""
        return {**self._aircraft.airframe.px4_params, **self.params}

    @property
    def _params_of_file(self) -> dict[str, float | int]:
        """Parameters of the file without those that describe hardware."""
        rest = without_geometry(self.file_params) if self.derive_ca_params else self.file_params
        return {name: value for name, value in rest.items() if not is_held_back(name)}

    def parameters(self) -> dict[str, float | int]:
        """Return the parameters that are set in PX4."""
        return self._parameters_with(self._params_of_file)

    def _parameters_with(self, of_file: Mapping[str, float | int]) -> dict[str, float | int]:
        keeps_log = self.options.ulog and self._folder is not None and not self.options.wait_for_user
        found: dict[str, float | int] = {"SDLOG_BACKEND": int(keeps_log)}
        if self.options.battery:  # which of the two exists depends on PX4's version
            found |= {"SIM_BAT_ENABLE": 0, "SIM_BAT_DRAIN": 0}
        if self._period_us <= symptoms.FAST_TICK_US:
            found["IMU_INTEG_RATE"] = 1_000_000 // self._period_us
        delay_ms = self.sensors.gps.latency_us / 1e3  # PX4's start script for simulators sets 10
        found |= {"EKF2_GPS_DELAY": delay_ms, "SENS_GPS0_DELAY": delay_ms}  # depends on the version, too
        if self.derive_ca_params:
            found |= ca_parameters(self._aircraft)
            found |= {f"PWM_MAIN_FUNC{i + 1}": 101 + i for i in range(self._rotors)}
        return {**found, **self._aircraft.airframe.px4_params, **of_file, **self.params}

    def how_to_start(self) -> str:
        """Return the command with which a user starts PX4 in its build folder, with `wait_for_user`."""
        instance = self.options.instance if self.instance is None else self.instance
        params = self._parameters_with({})  # MAVLink sets those of a file, of which there may be hundreds
        return symptoms.start_lines(instance or 0, self.options.airframe, params)

    def _start(self) -> None:
        """Open the ports, start PX4, and wait until it has connected."""
        self._open_ports()
        assert self._link is not None
        assert self._api_link is not None
        assert self.instance is not None
        parameters, mission = Parameters(self.parameters(), self._given_params), self.mission or Mission((), "")
        self._api = Api(self._api_link, mission.items, parameters, mission.fence, mission.rally_points)
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
            if self._process is None:
                self.waited_s = waited_s
            has_ended = self._process is not None and not self._process.is_running
            if has_ended or waited_s > options.connect_timeout_s:
                raise HostError(symptoms.not_connected(port, options.connect_timeout_s, self._process))

    def _open_ports(self) -> None:
        wanted = self.options.instance
        for instance in range(SITL_INSTANCES) if wanted is None else (wanted,):
            try:
                for port in PX4_PORTS:
                    links.check_is_free(port + instance)
                self._link = links.SimulatorLink(SIMULATOR_PORT + instance, CRC_EXTRA)
                self._api_link = links.ApiLink(API_PORT + instance, self._crc_extra_received)
                self.instance = instance
                return
            except links.PortTakenError as error:
                self._release()
                if wanted is not None or instance == SITL_INSTANCES - 1:
                    raise HostError(symptoms.taken(instance, str(error))) from error
                self.note = symptoms.next_instance(instance, str(error))

    def _fresh_folder(self) -> Path:
        """Create and return a new folder, in which PX4 stores parameters and missions."""
        root = self._folder
        if root is None:
            self._temporary = TemporaryDirectory(prefix="px4lockstep-sitl-")
            root = Path(self._temporary.name)
        folder = root.absolute() / "px4"
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise HostError(f"can't create PX4's folder {folder}: {error.strerror}") from error
        return folder

    def _boot(self, time_us: int, inputs: Any) -> None:
        """Step PX4 with the aircraft at its start position until PX4 has booted and received the mission.

        The simulation has run the sensors once for its first tick; each boot step advances them by a tick.
        """
        boot_us, least_us, start_s, has_looked = 0, self.options.boot_us, time.perf_counter(), False
        api = self._client
        while boot_us < least_us or not self._is_answering or not api.is_ready:
            is_late = boot_us > MAX_BOOT_US or time.perf_counter() - start_s > self.options.connect_timeout_s
            if is_late and not self._is_answering:
                raise HostError(symptoms.never_answered(boot_us / 1e6, self._process))
            self._exchange(START_US + boot_us, inputs)
            if self._is_answering:
                if not has_looked and self._process is not None:  # PX4's start script has set the parameters
                    api.skip_parameters(self._process.unknown_parameters)
                has_looked = True
                if boot_us >= UPLOAD_US:
                    api.upload(START_US + boot_us)
                self._listen(START_US + boot_us, inputs)
            boot_us += self._period_us
            self._hil_sensors.repeat()
        self._offset_us = self.clock_us = START_US + boot_us - time_us

    # -- a step --------------------------------------------------------------------------------------------------

    def _exchange(self, hil_us: int, inputs: Any) -> None:
        """Send the sensor data for a time, and use the answer; without one, hold the previous motor commands."""
        assert self._link is not None
        self._ticks += 1
        try:
            self._link.send(self._hil_sensors.frames(hil_us, inputs))
            answer = self._answer(hil_us, self._patience.timeout_s if self._is_answering else BOOT_WAIT_S)
            if answer is not None:
                self._take(answer)
            elif self._is_answering:
                self._miss(hil_us, inputs)
        except links.LinkClosedError as error:
            raise HostError(symptoms.closed(str(error), self._process)) from error

    def _answer(self, hil_us: int, timeout_s: float) -> Actuators | None:
        """Wait for the answer to a step; discard answers with any other timestamp."""
        assert self._link is not None
        slice_s = min(timeout_s, SLICE_S)
        end_s = time.perf_counter() + timeout_s
        self._is_late = False
        while True:
            frames = self._link.receive(slice_s)
            for frame in frames or ():
                if frame.message == HIL_ACTUATOR_CONTROLS:
                    answer = Actuators.of(frame.payload)
                    if not answer.is_lockstep:
                        raise HostError(symptoms.NO_LOCKSTEP)
                    if answer.time_us == hil_us:
                        return answer
                    if max(START_US, self._answered_us + 1) <= answer.time_us < hil_us:  # PX4 is catching up
                        self._is_answering = self._is_late = True
                        slice_s, end_s = SLICE_S, time.perf_counter() + self.options.answer_timeout_s
            if frames is None and self._on_wait("waiting for PX4 to answer"):
                return None
            if time.perf_counter() >= end_s:
                return None

    def _take(self, answer: Actuators) -> None:
        self._is_answering, self._answered_us = True, answer.time_us
        self._patience.answered()
        for i, value in enumerate(answer.controls[: self._rotors], 1):
            if not math.isfinite(value):
                is_motor = f"is PWM_MAIN_FUNC{i} set to the motor function {100 + i}?"
                raise HostError(f"PX4 sent {value} for motor {i} in HIL_ACTUATOR_CONTROLS; {is_motor}")
        self._controls, self._is_armed = answer.controls, answer.is_armed

    def _miss(self, hil_us: int, inputs: Any) -> None:
        """Count a step without an answer; raise if PX4 can't answer, or hangs."""
        patience, fields = self._patience, self._hil_sensors.fields_updated
        patience.miss(hil_us)
        has_imu, is_fast = fields & IMU_BITS == IMU_BITS, self._period_us <= symptoms.FAST_TICK_US
        row = patience.is_row and not (is_fast and self._is_late)  # on a slow machine, every second answer is late, too
        is_wrong = not has_imu or (row and self._is_late) or (not row and is_fast)
        runs = not (patience.is_stalled and is_wrong)
        if runs and patience.needs_ping(hil_us, self._is_armed):
            runs = self._answers_ping(hil_us)
            if runs:
                patience.runs(hil_us)
        if not runs and patience.is_stalled:
            count = patience.in_a_row if row else patience.missed
            timeout_s = self.options.answer_timeout_s
            said = symptoms.stalled(count, timeout_s, row, self._period_us, fields, self._process)
            raise HostError(said) if has_imu else SimulationError(said)
        if patience.is_over(inputs.end_us is not None):
            raise HostError(symptoms.silent(patience.in_a_row * self._period_us / 1e6, self._process))

    def _answers_ping(self, hil_us: int) -> bool:
        """Return whether PX4 runs: it answers pings at any time, even while its clock stands still."""
        assert self._link is not None
        api = self._client
        api.receive(hil_us)
        pongs = api.pongs
        for _ in range(PINGS):
            api.ping()
            end_s = time.perf_counter() + PING_S / PINGS
            while time.perf_counter() < end_s:
                self._link.receive(SILENT_S)  # waits, and notices that the link was closed
                api.receive(hil_us)
                if api.pongs > pongs or self._on_wait("waiting for PX4 to answer a ping"):
                    return True
        return False

    # -- requests and batteries ----------------------------------------------------------------------------------

    def _obey(self, scenario: Any) -> None:
        """Forward each new request of the scenario once; simultaneous ones in the order arm, mission, return, land."""
        asked = [scenario.arm, scenario.mission, scenario.return_home, scenario.land]
        if asked == self._asked:
            return
        if asked[0] != self._asked[0]:
            self._client.order(ARM if asked[0] else DISARM)
        for now, before, order in zip(asked[1:], self._asked[1:], (FLY_MISSION, RETURN, LAND), strict=True):
            if now > before:
                self._client.order(order)
        self._asked = asked

    def _listen(self, hil_us: int, inputs: Any) -> None:
        """Poll the API every few ticks, and regularly send PX4 the state of the batteries."""
        if self._ticks % LISTEN_TICKS:
            return
        self._client.step(hil_us, self._is_armed, bool(inputs.bus.scenario.landed))
        if self.options.battery and hil_us // BATTERY_US != self._battery_turn:
            self._battery_turn = hil_us // BATTERY_US
            for number in range(len(self._aircraft.batteries)):
                battery = inputs.bus.battery[number]
                self._client.send_battery(number, battery.voltage_v, battery.current_a, battery.remaining)
