"""Real PX4's host with the conformance double: complete flights, parameters, batteries, and rejected input.

With `strict`, the double fails the flight at the first violation; a completed flight had none.
"""

import json
import subprocess
import sys
from contextlib import closing, contextmanager

import numpy as np
import pytest
from exported_ulogs import check_ulog
from fleet import Rotor, iris, octa
from mission_files import numbered
from px4_double import OPTIONS, build_double
from px4_runs import SHORT, flight_of, run, settings
from spec_files import write

import px4lockstep
from px4lockstep.autopilots.px4_library.autopilot import Px4Library
from px4lockstep.autopilots.px4_library.records import PX4_HOST
from px4lockstep.errors import InputError
from px4lockstep.flights.determinism import Variant
from px4lockstep.flights.exports import read_source
from px4lockstep.flights.folder import read_log
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.run import fly
from px4lockstep.log.export_source import ExportOptions
from px4lockstep.log.ulog import export_ulog
from px4lockstep.px4 import Config
from px4lockstep.px4.presets import STATE_INJECTION, Interface, Published

pytestmark = pytest.mark.process

TICK_US = 4_000


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Make doubles fail on violations."""
    monkeypatch.setenv(OPTIONS, "strict")


@pytest.fixture(scope="module")
def mission(tmp_path_factory):
    """Fly the Iris's mission from the command line with a copy of the double; return the process and the folder."""
    root = tmp_path_factory.mktemp("mission")
    library = build_double(root)
    options = ("--json", "--no-plots", "--out", "flown")
    finished = run("run", "iris", *settings({}, library), *options, cwd=root, double="strict")
    library.unlink()  # not needed from here on
    return finished, root / "flown"


# -- whole flights -----------------------------------------------------------------------------------------------


def test_the_mission_is_flown_and_recorded(mission):
    """Exit code 0 in wind and noise, all items, landed and disarmed, and only JSON on standard output."""
    finished, folder = mission
    assert (finished.returncode, finished.stderr) == (0, "")
    summary = json.loads(finished.stdout)
    assert summary["outcome"] == "flown"
    assert len(summary["waypoint_times_s"]) == 8
    assert summary["landed"]
    assert np.hypot(*summary["final_pos_ned"][:2]) < 1.0  # home, within the noise of the estimate
    log = read_log(folder)
    assert (log["armed"][-1], log["nav_state"][-1]) == (0, 0)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["log.parquet", "px4.log", "recording.h5", "spec.toml", "summary.json"]


def test_the_flight_is_exported_as_ulog(mission, tmp_path):
    """From its folder, without the library: truth, estimate, setpoints, and the parameters that were set."""
    source, problem = read_source(mission[1])
    assert problem is None
    export_ulog(source, tmp_path / "x.ulg", ExportOptions())
    found = check_ulog(mission[1], tmp_path / "x.ulg")
    names = {data.name for data in found.data_list}
    assert {"vehicle_attitude_setpoint", "vehicle_rates_setpoint", "trajectory_setpoint", "estimator_status"} <= names
    assert not np.array_equal(
        *(found.get_dataset(f"vehicle_attitude{end}").data["q[1]"] for end in ("", "_groundtruth"))
    )
    assert found.initial_parameters["CA_ROTOR_COUNT"] == 4
    assert set(found.initial_parameters) - {"MAV_TYPE"} == set(source.about.parameters)


def test_effective_rates_are_shown(mission):
    """PX4 does not carry over the phase: at 4 ms, 20 Hz and 100 Hz are every 13 and every 3 ticks."""
    summary = json.loads(mission[0].stdout)
    assert summary["px4_rates_hz"] == {
        "navigator": pytest.approx(1e6 / 52_000),
        "position control": pytest.approx(1e6 / 12_000),
        "attitude control": 250.0,
        "rate control": 250.0,
        "allocation": 250.0,
    }
    off = Px4Library(config=Config(enable_control_allocator=0, mc_att_control_rate_hz=0))
    assert off.effective_rates(5_000) == {
        "navigator": 20.0,
        "position control": 100.0,
        "attitude control": 200.0,
        "rate control": 200.0,
    }


def test_a_replay_is_the_same_flight_and_needs_no_px4(mission):
    """The library has been removed by now."""
    replayed = px4lockstep.replay(mission[1])
    assert replayed.matches
    assert replayed.digest == json.loads(mission[0].stdout)["digest"]


def test_another_process_flies_the_same_flight(mission, tmp_path):
    """Both digests are equal; PX4's setpoints are in the second."""
    finished = run(
        "run", "iris", *settings({}), "--json", "--no-plots", "--out", "again", cwd=tmp_path, double="strict"
    )
    assert finished.returncode == 0, finished.stderr
    first, second = read_recording(mission[1]), read_recording(tmp_path / "again")
    assert (first.digest, first.live_digest) == (second.digest, second.live_digest)


def test_the_flight_is_the_same_without_the_jit(tmp_path):
    """Two seconds with takeoff; without the JIT, the library is called through ctypes."""
    short = SHORT | {"timeline.t_end_s": 2.0, "plant.integrator": "RK4", "environment.wind": "none"}
    digests = []
    for name, environment in (("on", {}), ("off", {"NUMBA_DISABLE_JIT": "1"})):
        options = ("--no-plots", "--json", "--out", name)
        finished = run("run", "iris", *settings(short), *options, cwd=tmp_path, double="strict", **environment)
        assert finished.returncode == 1, finished.stderr  # the mission takes longer
        recording = read_recording(tmp_path / name)
        digests.append((recording.digest, recording.live_digest))
    assert digests[0] == digests[1]
    assert read_log(tmp_path / "off")["motors"][-1].min() > 0.1  # it has started to climb


@pytest.mark.parametrize("aircraft", ["octa", "hex", "x500", "x500_hex"])
def test_other_aircraft_fly_their_missions(tmp_path, aircraft):
    """With geometry derived from the aircraft; those that end after the landing do so, 3 s after the last touch."""
    flown = fly(flight_of(tmp_path, aircraft))
    assert flown.summary.outcome == "flown", flown.summary.reason
    assert len(flown.summary.waypoint_times_s) == 8
    if flown.spec.timeline.ends_after_landing:
        disarmed_s = flown.log["time_s"][np.flatnonzero(flown.log["armed"])[-1]]
        assert 3.0 < flown.log["time_s"][-1] - disarmed_s < 3.5  # disarmed at the first touch, it may bounce


def test_determinism_is_checked_with_one_flight_per_process(tmp_path, monkeypatch):
    """PX4 can run only once per process."""
    both = (Variant("fresh process"), Variant("one worker", flights=2))
    monkeypatch.setattr("px4lockstep.flights.determinism.default_variants", lambda runs: both[:runs])
    short = {**SHORT, "timeline.t_end_s": 0.3, "autopilot.kind": "px4", "px4.libpath": str(build_double(tmp_path))}
    found = px4lockstep.determinism("iris", runs=2, overrides=short)
    assert found.identical, [flown.error for flown in found.flights]
    assert [flown.name for flown in found.flights] == ["fresh process"]


@pytest.mark.parametrize("action", ["return", "land"])
def test_a_requested_return_or_landing_ends_disarmed(tmp_path, action):
    """The mission is interrupted at 20 s; the vehicle lands before the end, at home or on the spot."""
    event = {"at_s": 20.0, "action": action}
    params = [{"name": "RTL_RETURN_ALT", "value": 15.0}]
    changes = {"scenario.events": [event], "environment.wind": "none", "px4.params": params}
    flown = fly(flight_of(tmp_path, changes=changes))
    assert flown.summary.outcome == "flown", flown.summary.reason
    assert not flown.summary.mission_finished
    assert (flown.log["armed"][-1], flown.log["nav_state"][-1], bool(flown.summary.landed)) == (0, 0, True)
    row = np.searchsorted(flown.log["time_us"], 21_000_000)
    assert flown.log["nav_state"][row] == {"return": 5, "land": 18}[action]
    distance_m = np.hypot(*flown.summary.final_pos_ned[:2])
    assert distance_m < 1.0 if action == "return" else distance_m > 5.0


# -- batteries and servos ----------------------------------------------------------------------------------------

TWO_BATTERIES = {
    "power.batteries": [{"id": "a", "capacity_ah": 5.0}, {"id": "b", "capacity_ah": 3.0, "soc0": 0.9}],
    "power.buses": [
        {"id": "left", "battery_ids": ["a"], "motor_ids": ["motor1", "motor3", "motor5", "motor7"]},
        {"id": "right", "battery_ids": ["b"], "motor_ids": ["motor2", "motor4", "motor6", "motor8"]},
    ],
}


def test_each_battery_is_an_instance_with_its_own_values(tmp_path):
    """PX4 holds the measured values, and the two batteries differ."""
    simulation = flight_of(tmp_path, "octa", TWO_BATTERIES).simulation
    with closing(simulation):
        subscribers = [simulation.autopilot.px4.subscriber("battery_status", i) for i in (0, 1)]
        simulation.run(10_000_000)
        for i, subscriber in enumerate(subscribers):
            held, measured = subscriber.copy(), simulation.bus.battery[i]
            for name in ("voltage_v", "current_a", "remaining"):
                assert held[name] == np.float32(getattr(measured, name))
            assert (held["id"], held["capacity"]) == (i + 1, (5000, 3000)[i])
        first, second = (subscriber.copy() for subscriber in subscribers)
        assert first["remaining"] > second["remaining"] + 0.05
        assert first["voltage_v"] != second["voltage_v"]


def test_a_file_can_list_the_batteries(tmp_path):
    """In any order; a battery that is not listed is published by the entry for any instance."""
    pubs = [
        {"key": "second", "type": "BatteryStatus", "instance": 1, "period_s": 0.1},
        {"key": "others", "type": "BatteryStatus"},
    ]
    listed = {"px4.uorb.preset": "state_injection", "px4.uorb.pubs": pubs}
    simulation = flight_of(tmp_path, "octa", TWO_BATTERIES | listed).simulation
    with closing(simulation):
        assert [layout.topic for layout in simulation.autopilot.published][:3] == [
            "battery_status",
            "battery_status",
            "vehicle_attitude",
        ]
        simulation.run(500_000)
        capacities = [int(simulation.autopilot.px4.subscriber("battery_status", i).copy()["capacity"]) for i in (0, 1)]
    assert capacities == [5000, 3000]


@pytest.mark.parametrize("instance", [1, -1])
def test_a_battery_that_does_not_exist_is_an_error(tmp_path, instance):
    """Or one that is already published."""
    pubs = [
        {"key": "main", "type": "BatteryStatus", "instance": 0},
        {"key": "spare", "type": "BatteryStatus", "instance": instance},
    ]
    changes = {"px4.uorb.preset": "state_injection", "px4.uorb.pubs": pubs}
    with pytest.raises(InputError, match=f"spare needs instance {instance} .*, but the aircraft has 1 battery"):
        flight_of(tmp_path, changes=changes)


def test_servos_follow_px4(tmp_path, monkeypatch):
    """On their channels; a servo that PX4 does not drive is at 0."""
    monkeypatch.setenv(OPTIONS, "servos=0.25")
    motors = [f"motor{i}" for i in (1, 2, 3, 4)]
    bus = {"id": "main", "battery_ids": ["bat1"], "motor_ids": motors, "servo_ids": ["gimbal"]}
    servos = {"actuation.servos": [{"id": "gimbal", "channel": 3}], "power.buses": [bus]}
    flown = fly(flight_of(tmp_path, changes=SHORT | servos))
    assert flown.log["servos"][-1].tolist()[2] == 0.25
    monkeypatch.delenv(OPTIONS)
    (tmp_path / "idle").mkdir()
    flown = fly(flight_of(tmp_path / "idle", changes=SHORT | servos))
    assert not flown.log["servos"].any()


# -- rates, periods, presets -------------------------------------------------------------------------------------


def started(folder, aircraft=None, tick_us=TICK_US, **options):
    """Start a double with the host, without a simulation; return the session and its record."""
    record = np.zeros(1, PX4_HOST)
    return Px4Library(library=build_double(folder), **options).open(record, aircraft or iris(), tick_us), record


@contextmanager
def opened(*arguments, **options):
    """Start and stop a double."""
    session, record = started(*arguments, **options)
    yield session
    assert session.close(record)


def test_strict_rates_reject_a_tick_that_is_too_long(tmp_path):
    """Before PX4 starts: the rate, the tick, and a remedy. A period that is not a multiple of the tick is allowed."""
    with pytest.raises(InputError) as caught:
        started(tmp_path, tick_us=5_000, strict_rates=True)
    assert str(caught.value) == (
        "px4.lockstep.mc_att_control_rate_hz = 250: a tick of 5000 us is longer than its period of 4000 us; use a "
        "shorter tick or a rate of at most 200"
    )
    with opened(tmp_path, tick_us=3_000, strict_rates=True):
        pass


def test_a_topic_is_published_at_its_period_and_phase(tmp_path, monkeypatch):
    """Every 25 ticks from the fifth on, and all others at every tick; the double reports a late one."""
    monkeypatch.setenv(OPTIONS, "strict,expect.battery_status=100000")
    pubs = [{"key": "slow", "type": "BatteryStatus", "period_s": 0.1, "phase_s": 0.02}]
    simulation = flight_of(tmp_path, changes={"px4.uorb.preset": "state_injection", "px4.uorb.pubs": pubs}).simulation
    stamps = []
    with closing(simulation):
        battery = simulation.autopilot.px4.subscriber("battery_status")
        attitude = simulation.autopilot.px4.subscriber("vehicle_attitude")
        for k in range(100):
            simulation.run((k + 1) * TICK_US)
            if battery.updated():
                stamps.append(int(battery.copy()["timestamp"]))
            assert attitude.updated()
            assert attitude.copy()["timestamp"] == k * TICK_US
    assert stamps == [20_000, 120_000, 220_000, 320_000]


def test_a_period_between_ticks_is_an_error(tmp_path):
    """In Python; a spec file is checked when it is loaded."""
    slow = Published("battery_status", STATE_INJECTION.published[0].fields, period_us=10_000)
    interface = Interface("own", (slow, *STATE_INJECTION.published[1:]), STATE_INJECTION.read)
    with pytest.raises(InputError, match=r"battery_status, 10000 us, is not a whole number .*; use 8000 or 12000"):
        started(tmp_path, interface=interface)


def test_px4_can_run_without_inputs(tmp_path, monkeypatch):
    """By the preset `actuators_only`; a list without motors is rejected."""
    monkeypatch.setenv(OPTIONS, "unchecked")
    stand = {"px4.uorb.preset": "actuators_only", "scenario.arm_time_s": 100.0, "timeline.t_end_s": 1.0}
    simulation = flight_of(tmp_path, changes=stand).simulation
    with closing(simulation):
        simulation.run()
        read = [layout.topic for layout in simulation.autopilot.read]
        assert read == ["actuator_motors", "actuator_servos", "vehicle_command", "mavlink_log"]
        assert simulation.autopilot.published == []
    with pytest.raises(InputError, match="own does not read actuator_motors"):
        Px4Library(interface=Interface("own", STATE_INJECTION.published, ()))


# -- parameters --------------------------------------------------------------------------------------------------


def test_the_allocation_parameters_of_the_iris_match_its_rotors(tmp_path):
    """Positions, moments with their signs, thrust upwards; in float32, as PX4 stores it."""
    with opened(tmp_path) as session:
        px4 = session.px4
        assert (px4.param_get("CA_AIRFRAME"), px4.param_get("CA_ROTOR_COUNT")) == (0, 4)
        rotors = [
            [px4.param_get(f"CA_ROTOR{i}_{name}") for name in ("PX", "PY", "PZ", "KM", "AX", "AY", "AZ")]
            for i in range(4)
        ]
    expected = [
        [0.1515, 0.245, 0.0, 0.05, 0.0, 0.0, -1.0],
        [-0.1515, -0.1875, 0.0, 0.05, 0.0, 0.0, -1.0],
        [0.1515, -0.245, 0.0, -0.05, 0.0, 0.0, -1.0],
        [-0.1515, 0.1875, 0.0, -0.05, 0.0, 0.0, -1.0],
    ]
    assert np.array_equal(np.float32(rotors), np.float32(expected))


def test_the_allocation_parameters_of_the_octa_and_a_tilted_rotor(tmp_path):
    """Eight rotors with alternating signs; the first leans outward by 30 degrees, so it pushes up and inward."""
    tilted = Rotor((0.25, 0.0, 0.0), +1, axis_body=(0.5, 0.0, 0.8660254037844386))
    with opened(tmp_path, octa(rotors=(tilted, *octa().rotors[1:]))) as session:
        px4 = session.px4
        assert px4.param_get("CA_ROTOR_COUNT") == 8
        moments = [px4.param_get(f"CA_ROTOR{i}_KM") for i in range(8)]
        axis = [px4.param_get(f"CA_ROTOR0_{name}") for name in ("AX", "AY", "AZ")]
        place = [px4.param_get(f"CA_ROTOR3_{name}") for name in ("PX", "PY", "PZ")]
    assert moments == [np.float32(0.05 * (-1) ** i) for i in range(8)]
    assert axis == [np.float32(-0.5), 0.0, np.float32(-0.8660254037844386)]
    assert place == [np.float32(-0.18), np.float32(0.18), 0.0]


def test_axis_parameters_are_optional_but_position_parameters_are_not(tmp_path, monkeypatch):
    """Axes are set if PX4 has these parameters."""
    monkeypatch.setenv(OPTIONS, "missing.CA_ROTOR0_AX,missing.CA_ROTOR1_AZ")
    with opened(tmp_path):
        pass
    monkeypatch.setenv(OPTIONS, "missing.CA_ROTOR0_PX")
    (tmp_path / "without").mkdir()
    with pytest.raises(InputError, match="no parameter 'CA_ROTOR0_PX'"):
        started(tmp_path / "without")


def test_px4_params_override_other_parameters(tmp_path):
    """Those of the autopilot and the derived ones; integers are int32 in PX4."""
    params = [
        {"name": "MPC_XY_CRUISE", "value": 3},
        {"name": "CA_ROTOR0_KM", "value": 0.04},
        {"name": "MC_AIRMODE", "value": 1},
    ]
    changes = {"px4.params": params, "autopilot.params": {"MPC_XY_CRUISE": 8.0, "MPC_Z_V_AUTO_UP": 2.0}}
    simulation = flight_of(tmp_path, changes=SHORT | changes).simulation
    with closing(simulation):
        px4 = simulation.autopilot.px4
        names = ("MPC_XY_CRUISE", "MPC_Z_V_AUTO_UP", "CA_ROTOR0_KM", "MC_AIRMODE", "CA_ROTOR1_KM")
        found = [px4.param_get(name) for name in names]
    assert found == [3.0, 2.0, np.float32(0.04), 1, np.float32(0.05)]
    with pytest.raises(InputError, match=r"px4\.params\[0\]\.value: .*MPC_XY_CRUISE"):
        flight_of(tmp_path, changes={"px4.params": [{"name": "MPC_XY_CRUISE", "value": -3.0}]})


def test_a_process_that_loads_the_same_double_twice_exits_normally():
    """Run the test above alone in a fresh process: overwriting the loaded file once caused a SIGSEGV."""
    own = f"{__file__}::{test_px4_params_override_other_parameters.__name__}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", own]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_geometry_can_be_left_to_the_user(tmp_path):
    """Nothing else is set."""
    with opened(tmp_path, derive_ca_params=False, params={"CA_ROTOR_COUNT": 4}) as session:
        assert session.px4.param_get("CA_ROTOR_COUNT") == 4
        assert session.px4.param_get("CA_ROTOR0_PX") == 0.0


# -- what is refused ---------------------------------------------------------------------------------------------


def test_a_missing_library_is_reported_with_paths_and_remedies(tmp_path):
    """Bad input, nothing written: the paths, what to set, and the alternative."""
    given = run("run", "iris", *settings({}, tmp_path / "gone.so"), cwd=tmp_path)
    assert given.returncode == 2
    assert f"  {tmp_path / 'gone.so'}\n  {tmp_path / 'gone.dylib'}\n" in given.stderr
    looked = run("run", "iris", "--set", "autopilot.kind=px4", cwd=tmp_path, PX4_LOCKSTEP_LIB="", HOME=str(tmp_path))
    assert looked.returncode == 2
    assert "px4.libpath and PX4_LOCKSTEP_LIB are not set" in looked.stderr
    assert "PX4-Autopilot/build/px4_sitl_lockstep/src/lib/px4_lockstep/libpx4_lockstep.so" in looked.stderr
    for finished in (given, looked):
        assert "set px4.libpath in the spec file" in finished.stderr
        assert 'autopilot.kind = "builtin" flies without PX4' in finished.stderr
        assert "Traceback" not in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_mission_that_px4_would_alter_is_rejected_before_loading(tmp_path):
    """PX4's loader would drop the speed; there is no library to load."""
    path = write(tmp_path, numbered("3 16 0 0 0 0 47.4 8.5 10", "3 178 1 5 -1 0 0 0 0"), "fast.waypoints")
    changes = {"px4.mission_path": path, "home.lat_deg": 47.4, "home.lon_deg": 8.5}
    finished = run("run", "iris", *settings(changes, tmp_path / "gone.so"), cwd=tmp_path)
    assert finished.returncode == 2
    assert "px4.mission_path: " in finished.stderr
    assert "fast.waypoints" in finished.stderr
    assert "gone.dylib" not in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("hash.vehicle_status=0x1234", ("vehicle_status", "0x00001234", "0xf779fa65", "set px4.msg_dir (--msg)")),
        ("size.battery_status=160", ("battery_status", "160 bytes", "168 bytes", "rebuild the library")),
    ],
)
def test_a_layout_mismatch_is_reported_before_the_first_step(tmp_path, told, said):
    """Topic, hashes or sizes, remedy; exit code 2, no folder, and PX4's output on standard error."""
    options = ("--json", "--no-plots", "--out", "out")
    # Detects a step: its first call would fail.
    finished = run("run", "iris", *settings({}), *options, cwd=tmp_path, double=f"{told},code.step_uorb=-3")
    assert (finished.returncode, finished.stdout) == (2, "")
    for word in said:
        assert word in finished.stderr
    assert "step_uorb" not in finished.stderr
    assert "Traceback" not in finished.stderr
    assert finished.stderr.startswith("INFO  [lockstep] conformance double, ABI 3\n")
    assert not (tmp_path / "out").exists()


def test_only_an_aircraft_can_be_flown_by_px4(tmp_path):
    """PX4 needs an aircraft's geometry and batteries."""
    with pytest.raises(InputError, match="real PX4 needs an Aircraft, not dict"):
        started(tmp_path, {"name": "none"})


# -- the console -------------------------------------------------------------------------------------------------

PRINTED = "INFO  [lockstep] conformance double, ABI 3\nINFO  [lockstep] mission of 8 items loaded\n"


def test_px4_output_is_in_the_run_folder(mission):
    """From the start, and only PX4's output."""
    assert (mission[1] / "px4.log").read_text() == PRINTED


def test_verbose_shows_px4_output_on_standard_error(tmp_path):
    """In order, also in flight; standard output is only JSON."""
    options = ("--json", "--no-plots", "--out", "out", "-v")
    finished = run("run", "iris", *settings(SHORT), *options, cwd=tmp_path, double="print=79@999")
    line = "." * 79
    assert finished.stderr == PRINTED + line * 3 == (tmp_path / "out" / "px4.log").read_text()
    assert json.loads(finished.stdout)["outcome"] == "out of time"


def test_in_python_the_console_is_not_redirected(tmp_path, python):
    """Without a folder, PX4 prints to standard output, followed by Python's output."""
    script = (
        "import px4lockstep, sys\n"
        "values = dict(item.split('=') for item in sys.argv[1:])\n"
        "run = px4lockstep.simulate('iris', overrides=values | {'timeline.t_end_s': 1.0})\n"
        "print(run.summary.outcome)\n"
    )
    values = ("autopilot.kind=px4", f"px4.libpath={build_double(tmp_path)}")
    assert python("-c", script, *values).stdout == PRINTED + "out of time\n"


def test_spec_check_finds_the_library_without_loading_it(tmp_path):
    """PX4 prints nothing; a file that is not a library is still an error."""
    finished = run("spec", "check", "iris", *settings({}), cwd=tmp_path)
    found = f"real PX4: {build_double().resolve()}, not loaded\niris: OK\n"
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, found, "")
    (tmp_path / "lib.so").write_text("no")
    finished = run("spec", "check", "iris", *settings({}, "lib.so"), cwd=tmp_path)
    assert finished.returncode == 2
    assert "lib.so is not a shared library" in finished.stderr
