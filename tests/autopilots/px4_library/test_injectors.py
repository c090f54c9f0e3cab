"""Injectors: uORB messages from Python functions, on any topic, with period and phase."""

from contextlib import closing

import numpy as np
import pytest
from px4_double import OPTIONS, build_double
from px4_runs import SHORT, warnings_of
from spec_files import write

import px4lockstep
from px4lockstep import (
    Estimator,
    Injector,
    InputError,
    Periodic,
    Px4Library,
    Simulation,
    StateError,
    Timeline,
    build,
    fly,
    load_aircraft,
    load_spec,
)

pytestmark = pytest.mark.process

TICK_US = 4_000
TOPIC = "hover_thrust_estimate"
LOGGED = f"{TOPIC}_0"


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Make doubles fail on violations."""
    monkeypatch.setenv(OPTIONS, "strict")


def flight(folder, *injectors, **changes):
    """Return a short flight of the double with injectors, which logs their topic."""
    own = {"autopilot.kind": "px4", "px4.libpath": str(build_double(folder)), "run.mode": "record"}
    uorb = {"px4.uorb.preset": "state_injection", "px4.uorb.subs": [{"key": "hover", "type": "HoverThrustEstimate"}]}
    return build(load_spec("iris", SHORT | own | uorb | changes), injectors=injectors)


def speak(time_us, inputs, message):
    """Publish an estimate that nobody uses."""
    message["hover_thrust"] = 0.5
    message["accel_innov"] = time_us / 1e6
    message["accel_noise_var"] = -inputs.bus.estimate.pos_ned[2]
    message["valid"] = True


def test_a_function_publishes_with_its_period_and_phase(tmp_path):
    """PX4 gets the message in the same tick, with the estimate of that tick."""
    flown = fly(flight(tmp_path, Injector(TOPIC, speak, period_us=500_000, phase_us=20_000)))
    heard = flown.uorb[LOGGED]
    assert heard["time_us"].tolist() == list(range(20_000, 4_000_000, 500_000))
    assert np.array_equal(heard["timestamp"], heard["time_us"])
    assert np.array_equal(heard["accel_innov"], np.float32(heard["time_us"] / 1e6))
    assert (heard["hover_thrust"] == 0.5).all()
    assert heard["valid"].all()
    height_m = -flown.log["est_pos_ned"][np.searchsorted(flown.log["time_us"], heard["time_us"]), 2]
    assert np.array_equal(heard["accel_noise_var"], np.float32(height_m))
    assert warnings_of(flown) == []


def test_a_function_may_skip_a_tick_and_its_message_keeps_its_values(tmp_path):
    """Without a period it runs at every tick; False publishes nothing."""
    calls = []

    def fill(time_us, inputs, message):
        calls.append(time_us)
        if len(calls) == 1:
            message["hover_thrust"] = 0.5
        message["accel_innov"] += 1.0
        return time_us % 1_000_000 == 0

    heard = fly(flight(tmp_path, Injector(TOPIC, fill))).uorb[LOGGED]
    assert calls == list(range(0, 4_000_001, TICK_US))
    assert heard["time_us"].tolist() == [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]
    assert heard["timestamp"].tolist() == [1, 1_000_000, 2_000_000, 3_000_000, 4_000_000]  # 0 means never
    assert heard["accel_innov"].tolist() == [1.0, 251.0, 501.0, 751.0, 1001.0]
    assert (heard["hover_thrust"] == 0.5).all()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("comand", 1, "the message has no field 'comand'; did you mean 'command'\\?; it has timestamp, param5"),
        ("param1", (1.0, 2.0), r"param1 has shape \(\), but the value \(1.0, 2.0\) has shape \(2,\)"),
        ("command", -1, "command = -1 is not a value of uint32"),
        ("command", 1.5, "command = 1.5 is not a value of uint32"),
        ("target_system", 256, "target_system = 256 is not a value of uint8"),
        ("from_external", "yes", "from_external = 'yes' is not a value of bool"),
    ],
)
@pytest.mark.parametrize("phase_us", [0, 2_000_000])
def test_fields_and_values_are_checked_before_anything_is_flown(tmp_path, field, value, said, phase_us):
    """Also those of an injector whose first message is due later."""

    def fill(time_us, inputs, message):
        message[field] = value

    simulation = flight(tmp_path, Injector("vehicle_command", fill, phase_us=phase_us)).simulation
    with closing(simulation), pytest.raises(InputError, match=f"^injector of vehicle_command: {said}"):
        simulation.run()
    assert simulation.time_us == 0


def test_arrays_and_nested_messages_are_checked_by_field(tmp_path):
    """A nested message is filled in by its own fields."""
    problems = []

    def fill(time_us, inputs, message):
        message["current"]["lat"] = 47.25
        message["current"]["valid"] = True
        for name, value in (("current", 1.0), ("lta", 1.0)):
            with pytest.raises(InputError) as caught:
                (message if name == "current" else message["current"])[name] = value
            problems.append(str(caught.value).partition(";")[0])
        return False

    def odometry(time_us, inputs, message):
        message["q"] = inputs.bus.estimate.q_bn
        with pytest.raises(InputError, match=r"^q has shape \(4,\), but the value .* has shape \(3,\)"):
            message["q"] = inputs.bus.estimate.pos_ned

    injectors = (
        Injector("position_setpoint_triplet", fill, period_us=8_000_000),
        Injector("vehicle_odometry", odometry, period_us=8_000_000),
    )
    fly(flight(tmp_path, *injectors))
    assert problems == ["current is a nested message", "the message has no field 'lta'"]


class Once:
    """Publishes one message, and counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, time_us, inputs, message):
        self.calls += 1
        message["valid"] = True
        return self.calls == 1


def test_the_early_check_does_not_touch_the_state_of_an_injector(tmp_path):
    """It calls a copy; an exception of the early call that is not about fields is ignored."""
    once = Once()

    def later(time_us, inputs, message):
        message["param1"] = 1.0 / time_us  # fails at 0

    injectors = (
        Injector(TOPIC, once, phase_us=1_000_000),
        Injector("vehicle_command", later, phase_us=2_000_000, period_us=8_000_000),
    )
    flown = fly(flight(tmp_path, *injectors))
    assert once.calls == 751
    assert flown.uorb[LOGGED]["time_us"].tolist() == [1_000_000]
    (warning,) = warnings_of(flown)  # PX4's modules publish commands, too
    assert "the injector of vehicle_command publishes instance 1" in warning


def test_a_topic_of_the_simulator_needs_another_instance(tmp_path):
    """PX4 would read only one of the two publishers."""
    with pytest.raises(
        InputError, match=r"vehicle_attitude needs another instance, .*: use instance=1, or an interface"
    ):
        flight(tmp_path, Injector("vehicle_attitude", speak))
    (tmp_path / "second").mkdir()

    def second(time_us, inputs, message):
        message["q"] = 1.0, 0.0, 0.0, 0.0
        return False

    fly(flight(tmp_path / "second", Injector("vehicle_attitude", second, instance=1)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic": "vehicle_comand"}, "vehicle_comand: this PX4 has no such topic; .*did you mean 'vehicle_command'"),
        ({"period_us": 10_000}, "the period of vehicle_command, 10000 us, is not a whole number of ticks of 4000 us"),
        ({"phase_us": 2_000}, "the phase of vehicle_command, 2000 us, .*; use 0 or 4000"),
        ({"queue": 3}, "the topic's queue has a different length"),
        ({"instance": 10}, "instance = 10 must be a whole number from -1 to 9"),
        ({"period_us": 0.5}, "period_us of the injector of vehicle_command"),
        ({"fill": None}, r"needs a function fill\(time_us, inputs, message\)"),
    ],
)
def test_an_invalid_injector_is_an_error_before_the_flight(tmp_path, options, said):
    """Topic, period, phase, queue, instance and function."""
    with pytest.raises(px4lockstep.LockstepError, match=said):
        flight(tmp_path, Injector(**({"topic": "vehicle_command", "fill": speak} | options)))


def test_other_autopilots_take_no_injectors():
    """They have no uORB topics."""
    with pytest.raises(InputError, match=r"not to the built-in autopilot; set autopilot\.kind = 'px4'"):
        build(load_spec("iris"), injectors=[Injector("vehicle_command", speak)])


def test_a_replay_needs_no_injector_and_a_branch_is_refused(tmp_path):
    """A recording holds PX4's commands, but not the functions."""
    flown = fly(flight(tmp_path, Injector(TOPIC, speak, period_us=500_000)))
    assert px4lockstep.replay(flown.recording).matches
    with pytest.raises(
        InputError, match=r"Python functions published hover_thrust_estimate to PX4, and a recording does not"
    ):
        px4lockstep.fork(flown.recording, 2.0, tmp_path / "out")
    with pytest.raises(StateError, match="real PX4 can't be copied"):
        flown.simulation.snapshot()


class Counting:
    """A telemetry hook that counts its calls."""

    calls = 0

    def step(self, time_us, inputs):
        """Count."""
        self.calls += 1


def test_only_flights_with_injectors_return_to_python(tmp_path):
    """And a telemetry hook on another axis is called at its own ticks only."""
    simulation = flight(tmp_path).simulation
    with closing(simulation):
        simulation.run()
    assert simulation.statistics.python_calls == 0
    (tmp_path / "own").mkdir()
    hook, calls = Counting(), []
    simulation = Simulation(
        load_aircraft("iris"),
        Timeline(400_000, autopilot=Periodic(TICK_US), log=Periodic(10_000)),
        estimator=Estimator(),
        autopilot=Px4Library(
            library=build_double(tmp_path / "own"),
            injectors=[Injector("vehicle_command", lambda time_us, *_: calls.append(time_us) or False)],
        ),
        hooks=[hook],
    )
    with closing(simulation):
        simulation.run()
    assert hook.calls == 41
    assert calls == list(range(0, 400_001, TICK_US))


MINIMAL = """
schema_version = 1

[px4.uorb]
[[px4.uorb.subs]]
key = "actuator_motors"
type = "ActuatorMotorsMsg"

[[px4.uorb.subs]]
key = "actuator_servos"
type = "ActuatorServosMsg"
"""


def test_a_file_without_publications_runs_and_px4_does_not_fly(tmp_path, monkeypatch):
    """PX4Lockstep.jl's minimal_uorb.toml, which other files extend; the outcome and a warning say so."""
    monkeypatch.setenv(OPTIONS, "unchecked")
    write(tmp_path, MINIMAL, "minimal_uorb.toml")
    top = write(tmp_path, 'schema_version = 1\nextends = ["iris", "minimal_uorb.toml"]\n', "quad.toml")
    own = {"autopilot.kind": "px4", "px4.libpath": str(build_double(tmp_path)), "timeline.t_end_s": 14.0}
    flown = fly(build(load_spec(top, own)))
    summary = flown.summary
    assert summary.outcome == "never took off"
    assert "It was never armed" in summary.reason
    assert any("the simulator publishes nothing to it" in warning for warning in summary.warnings)
    assert not flown.log["armed"].any()
    assert not np.nan_to_num(flown.log["motors"]).any()
    (tmp_path / "short").mkdir()
    own = own | {"px4.libpath": str(build_double(tmp_path / "short")), "timeline.t_end_s": 4.0}
    short = fly(build(load_spec(top, own))).summary
    assert short.outcome == "mission not finished"
    assert "the simulator publishes nothing to it" in short.reason
