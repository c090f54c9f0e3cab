"""The loop: order of stages, ticks, held inputs, recording and replay."""

from dataclasses import replace

import numpy as np
import pytest
from fleet import iris

from px4lockstep.engine import loop
from px4lockstep.engine import timeline as tl
from px4lockstep.engine.log_layout import layout_of, words_of
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.gust import Gust
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError, InvariantError, SimulationError, StateError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.jit import interpreted, view
from px4lockstep.plant.models import FreeFall, Oscillator, UserPlant
from px4lockstep.sensors.suite import no_sensors


class Tracing:
    """A Python source or hook that records when it ran."""

    def __init__(self, name, trace):
        self.name = name
        self.trace = trace

    def step(self, time_us, inputs, outputs=None):
        assert time_us == inputs.bus.time_us
        self.trace.append((time_us, self.name))


def expected_trace(timeline):
    """Return the specified order of the stages, independently of the loop."""
    order = [("scenario", None), ("wind", tl.WIND), ("estimator", tl.AUTOPILOT), ("telemetry", tl.LOG),
             ("autopilot", tl.AUTOPILOT)]  # fmt: skip
    return [
        (time_us, name)
        for time_us, due in zip(timeline.time_us.tolist(), timeline.due.tolist(), strict=True)
        for name, axis in order
        if axis is None or due & axis
    ]


def test_stages_run_in_the_contract_order():
    """The order is the same at every boundary."""
    timeline = Timeline(
        24_000, autopilot=Periodic(4_000), wind=Periodic(3_000), log=Periodic(5_000), scenario=Explicit((7_123,))
    )
    trace = []
    sources = {name: Tracing(name, trace) for name in ("scenario", "wind", "estimator", "autopilot")}
    Simulation(Oscillator(), timeline, hooks=[Tracing("telemetry", trace)], **sources).run()
    assert trace == expected_trace(timeline)


class TickLog:
    """A hook that stores the times of its calls."""

    def __init__(self):
        self.times_us = []

    def step(self, time_us, inputs, outputs=None):
        self.times_us.append(time_us)


def test_ticks_are_exact_over_100_000_boundaries():
    """Autopilot and log run exactly at multiples of their periods; the time is passed as an int."""
    timeline = Timeline(200_000_000, autopilot=Periodic(10_000), log=Periodic(10_000), physics=Periodic(2_000))
    autopilot = TickLog()
    sim = Simulation(FreeFall(), timeline, autopilot=autopilot, integrator=Integrator("Euler")).run()
    assert sim.statistics.boundaries == 100_001
    assert autopilot.times_us == list(range(0, 200_000_001, 10_000))
    assert sim.log["time_us"].tolist() == list(range(0, 200_000_001, 10_000))
    assert all(type(time_us) is int for time_us in autopilot.times_us)


def test_the_log_has_the_state_at_the_time_of_the_row():
    """The first row is the initial state, the last one the state at the end, and each row is what a hook observed."""
    seen = []

    class Look:
        def step(self, time_us, inputs):
            seen.append((time_us, inputs.plant.x.copy()))

    timeline = Timeline(1_000_000, log=Periodic(300_000))
    sim = Simulation(Oscillator(position=2.0), timeline, hooks=[Look()]).run()
    assert sim.log["time_us"].tolist() == [0, 300_000, 600_000, 900_000, 1_000_000]
    assert sim.log_state[0].tolist() == [2.0, 0.0]
    assert sim.log_state[-1].tolist() == sim.plant.x.tolist()
    for (time_us, x), row, state in zip(seen, sim.log, sim.log_state, strict=True):
        assert time_us == row["time_us"]
        assert x.tolist() == state.tolist()


class Ramp:
    """An autopilot whose command depends on the time of the call."""

    def step(self, time_us, inputs, outputs):
        outputs.motors[0] = time_us / 1e6
        outputs.servos[1] = -time_us / 1e6


def test_outputs_use_the_previous_command_and_the_plant_the_new_one():
    """Outputs are computed before the autopilot runs, the log is written after it."""
    seen = []

    class Look:
        def step(self, time_us, inputs):
            seen.append(inputs.bus.command.motors[0])

    timeline = Timeline(400_000, autopilot=Periodic(100_000), log=Periodic(100_000))
    sim = Simulation(Oscillator(), timeline, autopilot=Ramp(), hooks=[Look()]).run()
    assert seen == [0.0, 0.0, 0.1, 0.2, 0.3]
    assert sim.log["inputs"]["command"]["motors"][:, 0].tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert sim.log["inputs"]["command"]["servos"][:, 1].tolist() == [0.0, -0.1, -0.2, -0.3, -0.4]


def seen_outputs(t_s, state, inputs, params, outputs):
    """Write the inputs that the outputs are computed from."""
    outputs.values[0] = t_s
    outputs.values[1] = inputs.command.motors[0]
    outputs.values[2] = inputs.wind_ned[0]


def still_rhs(t_s, state, inputs, params, dstate):
    """Keep the state constant."""
    dstate.x[0] = 0.0


def test_outputs_are_computed_between_wind_and_autopilot():
    """They use the wind of this boundary and the command of the previous tick."""
    plant = UserPlant({"vel": 1}, [0.0], still_rhs, outputs=seen_outputs)
    timeline = Timeline(300_000, autopilot=Periodic(100_000), wind=Periodic(50_000), log=Periodic(100_000))
    sim = Simulation(plant, timeline, autopilot=Ramp(), wind=Gusty()).run()
    values = sim.log["bus"]["outputs"]["values"]
    assert values[:, :3].tolist() == [[0.0, 0.0, 0.0], [0.1, 0.0, 0.1], [0.2, 0.1, 0.2], [0.3, 0.2, 0.3]]


def test_inputs_are_held_between_boundaries():
    """A constant force moves an oscillator according to the closed form x = (1 − cos ωt) u / ω²."""

    class Push:
        def step(self, time_us, inputs, outputs):
            outputs.motors[0] = 0.5

    timeline = Timeline(1_000_000, autopilot=Periodic(1_000_000))
    plant = Oscillator(omega_rad_s=2.0, position=0.0, motor_gain=3.0)
    sim = Simulation(plant, timeline, autopilot=Push(), integrator=Integrator(atol_pos=1e-12, atol_vel=1e-12)).run()
    assert sim.plant.x[0] == pytest.approx((1 - np.cos(2.0)) * 1.5 / 4.0, abs=1e-8)  # the relative tolerance is 1e-6


class Gusty:
    """A wind source."""

    def step(self, time_us, inputs, outputs):
        outputs.vel_ned[:] = (time_us / 1e6, 2.0, 0.0)


class WindStep:
    """A scenario whose wind changes between two ticks of the wind axis."""

    def step(self, time_us, inputs, outputs):
        outputs.wind_ned[1] = 5.0 if time_us >= 123_456 else 0.0
        outputs.faults.motor_disabled_mask = 3 if time_us >= 123_456 else 0


def test_wind_and_faults_of_the_scenario_take_effect_immediately():
    """The plant gets them from their own boundary on, not from the next wind tick."""
    timeline = Timeline(300_000, wind=Periodic(100_000), log=Periodic(50_000), scenario=Explicit((123_456,)))
    held = []

    class Look:
        def step(self, time_us, inputs):
            held.append((time_us, inputs.held.wind_ned.tolist(), inputs.held.faults.motor_disabled_mask))

    Simulation(
        Oscillator(), timeline, wind=Gusty(), scenario=WindStep(), hooks=[Look()], hook_axes=("scenario", "log")
    ).run()
    assert held == [
        (0, [0.0, 2.0, 0.0], 0),
        (50_000, [0.0, 2.0, 0.0], 0),
        (100_000, [0.1, 2.0, 0.0], 0),
        (123_456, [0.1, 7.0, 0.0], 3),
        (150_000, [0.1, 7.0, 0.0], 3),
        (200_000, [0.2, 7.0, 0.0], 3),
        (250_000, [0.2, 7.0, 0.0], 3),
        (300_000, [0.3, 7.0, 0.0], 3),
    ]


FORCED = Oscillator(motor_gain=1.0, wind_gain=0.3)
LIVE = Timeline(
    1_000_000, autopilot=Periodic(4_000), wind=Periodic(3_000), log=Periodic(10_000), scenario=Explicit((123_456,))
)


def live(**options):
    return Simulation(FORCED, LIVE, autopilot=Ramp(), wind=Gusty(), scenario=WindStep(), **options)


def test_replay_is_bit_identical():
    """Commands, wind and scenario come from the streams, the plant is integrated again, and the digest is the same."""
    recorded = live(record=True).run()
    replayed = Simulation(FORCED, LIVE, replay=recorded.streams).run()
    assert replayed.digest() == recorded.digest()
    assert replayed.statistics.python_calls == 0


def test_recording_does_not_change_the_flight():
    """A recorded run is identical to one that is not recorded."""
    assert live(record=True).run().digest() == live().run().digest()


def test_a_replay_of_another_timeline_is_refused():
    """Even if it has the same number of ticks; the message names the difference."""
    streams = live(record=True).run().streams
    other = Timeline(500_000, autopilot=Periodic(4_000), wind=Periodic(3_000), log=Periodic(10_000))
    with pytest.raises(InputError, match="another timeline: 535 boundaries to 1000000 us, not 268 to 500000 us"):
        Simulation(FORCED, other, replay=streams)
    slower = Timeline(2_000_000, autopilot=Periodic(8_000), wind=Periodic(6_000), log=Periodic(20_000),
                      scenario=Explicit((246_912,)))  # fmt: skip
    assert len(slower) == len(LIVE)
    with pytest.raises(InputError, match="another timeline"):
        Simulation(FORCED, slower, replay=streams)
    with pytest.raises(InputError, match="'winds' has 2 rows; the timeline needs 334"):
        Simulation(FORCED, LIVE, replay=replace(streams, winds=streams.winds[:2]))
    with pytest.raises(InputError, match="the layout of stream 'commands' differs from this version's"):
        Simulation(FORCED, LIVE, replay=replace(streams, commands=streams.winds))
    with pytest.raises(InputError, match="wind is given, but the replay provides it too"):
        Simulation(FORCED, LIVE, replay=streams, wind=Gusty())


def test_an_error_in_a_python_stage_says_where_and_keeps_the_log():
    """It names stage, time, file and line, and has the user's exception as its cause."""

    class Broken:
        def step(self, time_us, inputs, outputs):
            if time_us >= 20_000:
                raise ZeroDivisionError("my bug")

    timeline = Timeline(1_000_000, autopilot=Periodic(4_000), log=Periodic(5_000))
    sim = Simulation(Oscillator(), timeline, autopilot=Broken())
    said = r"the autopilot failed at t = 0\.020000 s: test_loop\.py, line \d+: ZeroDivisionError: my bug\."
    with pytest.raises(SimulationError, match=said) as caught:
        sim.run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert sim.log["time_us"].tolist() == [0, 5_000, 10_000, 15_000]


def test_views_for_users_are_read_only():
    """Bus and plant views are read-only, both numbers and arrays."""

    class Meddler:
        def step(self, time_us, inputs):
            with pytest.raises(ValueError, match="read-only"):
                inputs.plant.x[0] = 1.0
            with pytest.raises(ValueError, match="read-only"):
                inputs.plant["pos"][0] = 1.0
            with pytest.raises(ValueError, match="read-only"):
                inputs.bus.command.motors[0] = 1.0
            with pytest.raises(AttributeError):
                inputs.bus.time_us = 3
            with pytest.raises(AttributeError):
                inputs.bus.scenario.faults.motor_disabled_mask = 3

    sim = Simulation(Oscillator(), Timeline(100, log=Periodic(50)), hooks=[Meddler()]).run()
    assert sim.statistics.python_calls == 3


def test_objects_without_the_required_methods_are_refused():
    """An object without the required method is refused when the simulation is created."""
    timeline = Timeline(100, log=Periodic(50), autopilot=Periodic(50))
    with pytest.raises(InputError, match=r"autopilot = 3 has no method step\(time_us, inputs, outputs\)"):
        Simulation(Oscillator(), timeline, autopilot=3)
    with pytest.raises(InputError, match=r"has no method step\(time_us, inputs\)"):
        Simulation(Oscillator(), timeline, hooks=[3])
    with pytest.raises(InputError, match="hook_axes"):
        Simulation(Oscillator(), timeline, hook_axes=["logs"])
    with pytest.raises(InputError, match="validate = 'much' is unknown; allowed: off, cheap, paranoid"):
        Simulation(Oscillator(), timeline, validate="much")
    with pytest.raises(StateError, match="record=True"):
        _ = Simulation(Oscillator(), timeline).streams


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wind": Gusty()}, "the wind would never run: the timeline has no wind axis"),
        ({"wind": Wind("ou")}, "the wind would never run"),
        ({"estimator": Ramp()}, "the estimator would never run: the timeline has no autopilot axis"),
        ({"autopilot": Ramp()}, "the autopilot would never run"),
        ({"hooks": [TickLog()], "hook_axes": ["wind"]}, "the hooks would never run"),
        ({"hooks": [TickLog()], "hook_axes": []}, "the hooks would never run"),
        (
            {"gusts": [Gust(start_s=3.3e-05, end_s=6e-05, vel_ned=(1.0, 0.0, 0.0))]},
            "edge at 33 us, which is not an event boundary",
        ),
    ],
)
def test_stages_that_would_never_run_are_refused(options, message):
    """A source without its axis or a gust between boundaries is an error, not ignored."""
    with pytest.raises(InputError, match=message):
        Simulation(Oscillator(), Timeline(100, log=Periodic(50), scenario=Explicit((60,))), **options)


@pytest.mark.parametrize("until", [20_000.7, True, -1, float("nan"), 2**70, "3"])
def test_until_us_must_be_an_integer(until):
    """It must be an integer, like all times."""
    with pytest.raises(InputError, match="until_us = "):
        Simulation(Oscillator(), Timeline(100, log=Periodic(50))).run(until_us=until)


def test_a_log_that_exceeds_the_memory_limit_is_refused():
    """The error comes before the allocation and has the size."""
    with pytest.raises(InputError, match=r"would take \d+\.\d GiB; the limit is 8 GiB"):
        Simulation(Oscillator(), Timeline(8_000_000, log=Periodic(1))).run()


class Interrupted:
    """A source that is interrupted once, as from the keyboard."""

    def __init__(self):
        self.calls = 0

    def step(self, time_us, inputs, outputs):
        self.calls += 1
        if self.calls == 10:
            raise KeyboardInterrupt


def test_a_run_interrupted_within_a_stage_cannot_continue():
    """Continuing would silently skip the rest of the tick. The log is available, and a snapshot can be restored."""
    timeline = Timeline(100_000, autopilot=Periodic(4_000), log=Periodic(10_000))
    sim = Simulation(Oscillator(), timeline, autopilot=Interrupted())
    saved = sim.run(until_us=20_000).snapshot()
    with pytest.raises(KeyboardInterrupt):
        sim.run()
    with pytest.raises(KeyboardInterrupt):
        sim.run()
    with pytest.raises(StateError, match="failed cannot be copied"):
        sim.snapshot()
    assert sim.log["time_us"].tolist() == [0, 10_000, 20_000, 30_000]
    sim.restore(saved)
    assert sim.boundary == saved.state["cursor"]["k"][0]


def test_the_results_of_a_run_are_read_only():
    """Log, states, streams and views are read-only."""
    sim = live(record=True).run()
    for array in (sim.log, sim.log_state, sim.plant.x, sim.streams.winds, sim.streams.commands):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(AttributeError):
        sim.plant.x = np.zeros(2)


class Sends:
    def __init__(self, motor=0.0, servo=0.0):
        self.motor, self.servo = motor, servo

    def step(self, time_us, inputs, outputs):
        outputs.motors[2] = self.motor
        outputs.servos[3] = self.servo


@pytest.mark.parametrize(
    ("motor", "servo", "held"),
    [(1.5, 0.0, (1.0, 0.0)), (-np.inf, 2.0, (0.0, 1.0)), (0.5, -1.5, (0.5, -1.0)), (np.nan, np.nan, (0.0, 0.0))],
)
def test_commands_out_of_range_are_clamped_or_an_error_if_recorded(motor, servo, held):
    """NaN means "not driven" and is neither clamped nor an error."""
    timeline = Timeline(8_000, autopilot=Periodic(4_000))
    sim = Simulation(Oscillator(), timeline, autopilot=Sends(motor, servo)).run()
    inputs = sim.log["inputs"]["command"][-1]
    assert (inputs["motors"][2], inputs["servos"][3]) == held
    wrong = sum(not (np.isnan(value) or value == kept) for value, kept in zip((motor, servo), held, strict=True))
    assert sim.statistics.clamped_commands == 3 * wrong
    recorded = Simulation(Oscillator(), timeline, autopilot=Sends(motor, servo), record=True)
    if wrong:
        with pytest.raises(InvariantError, match=r"(motor command 3|servo command 4) is"):
            recorded.run()
    else:
        recorded.run()


def test_commands_are_strict_or_clamped_by_option_too():
    """`strict` is an error in a live run, with motor, value and time; `clamp` limits them in a recorded run."""
    timeline = Timeline(8_000, autopilot=Periodic(4_000))
    strict = Simulation(Oscillator(), timeline, autopilot=Sends(1.5, 0.0), commands="strict")
    with pytest.raises(InvariantError, match=r"motor command 3 is 1\.5 at t = 0\.000000 s; it must be 0 to 1"):
        strict.run()
    clamped = Simulation(Oscillator(), timeline, autopilot=Sends(1.5, -3.0), record=True, commands="clamp").run()
    assert clamped.statistics.clamped_commands == 6
    assert clamped.streams.commands["motors"][:, 2].tolist() == [1.0] * 3
    assert clamped.streams.commands["servos"][:, 3].tolist() == [-1.0] * 3
    replayed = Simulation(Oscillator(), timeline, replay=clamped.streams).run()
    assert replayed.digest() == clamped.digest()
    with pytest.raises(InputError, match="commands = 'loose' is unknown; allowed: auto, strict, clamp"):
        Simulation(Oscillator(), timeline, commands="loose")


class Broken:
    """An array of states that cannot be written, as if the process were killed there."""

    def __setitem__(self, index, value):
        raise KeyboardInterrupt


def test_a_row_of_the_log_is_counted_once_complete():
    """The count is incremented after the last number of the row is written."""
    simulation = Simulation(FreeFall(), Timeline(1_000, log=Periodic(100)))
    core, layout, logged = np.array([simulation.core]), layout_of(simulation.row_widths), np.zeros(1, np.int64)
    sim, log = view(core, writable=True), np.zeros((2, layout.words), np.int64)
    write = interpreted(loop.log_row)
    off = view(no_sensors(), writable=True)
    with pytest.raises(KeyboardInterrupt):
        write(sim, words_of(core), layout.spans, log, Broken(), logged, off, ())
    assert logged[0] == core["cursor"]["log_rows"][0] == 0
    write(sim, words_of(core), layout.spans, log, np.zeros((2, simulation.plant.x.size)), logged, off, ())
    assert logged[0] == core["cursor"]["log_rows"][0] == 1


@pytest.mark.parametrize("axis", ["wind", "scenario", "physics"])
def test_a_hook_gets_the_outputs_of_its_own_boundary(axis):
    """Also where neither autopilot nor log is due: in still air, the relative wind is opposite to the velocity."""
    seen = []

    class Look:
        def step(self, time_us, inputs):
            seen.append((time_us, inputs.bus.outputs.air_vel_body[2] + inputs.plant["vel"][2]))

    period = {"wind": Periodic(300), "physics": Periodic(300), "scenario": Explicit((300, 600))}[axis]
    timeline = Timeline(900, autopilot=Periodic(900), log=Periodic(900), **{axis: period})
    aircraft = iris(pos_ned=(0.0, 0.0, -10.0), vel_ned=(0.0, 0.0, 2.0))
    Simulation(aircraft, timeline, hooks=[Look()], hook_axes=(axis,), integrator=Integrator("RK4")).run()
    assert [time_us for time_us, _ in seen][-2:] == ([300, 600] if axis == "scenario" else [600, 900])
    assert [error for _, error in seen] == pytest.approx([0.0] * len(seen), abs=1e-15)
