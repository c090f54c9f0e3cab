"""Rows of the log have what the aircraft has, and nothing else is lost."""

import numpy as np
import pytest
from fleet import iris

from px4lockstep.engine.core import LOG_ROW, SIM
from px4lockstep.engine.log_layout import COUNTED, WHOLE, Widths, layout_of, widths_in, words_of
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.integrators.solver import Integrator
from px4lockstep.plant.layout import MAX_MOTORS
from px4lockstep.plant.models import Oscillator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

QUAD = Widths(motors=4, servos=0, rotors=4, faults=4, batteries=1, buses=1, values=0)
TIMELINE = Timeline(200_000, autopilot=Periodic(4_000), log=Periodic(10_000))


class Everywhere:
    """Commands all motors and servos, also those that the aircraft does not have."""

    def __init__(self, last=0.25):
        self.last = last

    def step(self, time_us, inputs, outputs):
        outputs.motors[:] = 0.3
        outputs.motors[MAX_MOTORS - 1] = self.last


def fly(**parts):
    return Simulation(iris(), TIMELINE, integrator=Integrator("RK4"), record=True, **parts).run()


def leaves(array, path=""):
    """Yield the path and the values of each field of records."""
    for name in array.dtype.names:
        place = f"{path}.{name}" if path else name
        if array[name].dtype.names is not None and place not in COUNTED:
            yield from leaves(array[name], place)
        else:
            yield place, array[name]


@pytest.mark.parametrize("widths", [WHOLE, QUAD, Widths(8, 2, 6, 12, 4, 3, 0), Widths(0, 0, 0, 0, 0, 0, 8)])
def test_the_spans_copy_each_field_from_its_place(widths):
    """With random bytes as the simulation's records; those of each field are compared by name."""
    core = np.frombuffer(np.random.default_rng(7).bytes(SIM.itemsize), SIM)
    layout, words = layout_of(widths), words_of(core)
    row = layout.rows(np.concatenate([words[first : first + count] for first, count in layout.spans])[np.newaxis])
    found = dict(leaves(row))
    wanted = {path for path, _ in leaves(np.zeros(1, LOG_ROW))}
    assert found.keys() == {path for path in wanted if path not in COUNTED or getattr(widths, COUNTED[path])}
    for path, values in found.items():
        source = core
        for name in ("bus.time_us" if path == "time_us" else path).split("."):
            source = source[name]
        if path in COUNTED:
            assert values.shape[1] == getattr(widths, COUNTED[path])
            source = source[:, : values.shape[1]]
        assert values.tobytes() == source.tobytes()


@pytest.mark.parametrize(
    ("aircraft", "motors", "bytes_of_a_row"), [("x500", 4, 1_072), ("x500_hex", 6, 1_200), ("x500_octa", 8, 1_328)]
)
def test_a_row_has_what_the_aircraft_has(aircraft, motors, bytes_of_a_row):
    """Without the plant's state, which is beside it; a row with everything has 1,952 bytes."""
    simulation = build(load_spec(aircraft)).simulation
    assert simulation.row_widths == QUAD._replace(motors=motors, rotors=motors, faults=motors)
    assert layout_of(simulation.row_widths).dtype.itemsize == bytes_of_a_row
    assert simulation.log.dtype == layout_of(simulation.row_widths).dtype


def test_a_plant_that_is_not_a_vehicle_has_all_fields():
    """A user's plant may write any of its outputs."""
    assert Simulation(Oscillator(), TIMELINE).row_widths == WHOLE


def test_commands_to_motors_that_do_not_exist_are_part_of_the_digest():
    """A Python autopilot may give them; the replay finds them in its recording."""
    flown, other = (fly(autopilot=Everywhere(last)) for last in (0.25, 0.5))
    assert flown.row_widths.motors == MAX_MOTORS
    assert flown.log["inputs"]["command"]["motors"][-1, -1] == 0.25
    assert flown.digest() != other.digest()
    again = Simulation(iris(), TIMELINE, integrator=Integrator("RK4"), replay=flown.streams).run()
    assert again.row_widths == QUAD._replace(motors=MAX_MOTORS)
    assert again.digest() == flown.digest()


def test_faults_that_a_python_function_may_set_are_in_the_rows():
    """A scenario of events knows its rotors; a function may set any value."""

    def change(time_us, inputs, outputs):
        outputs.faults.stuck_duty[MAX_MOTORS - 1] = 0.5

    flown = fly(scenario=Scenario().at(0.05).do(change))
    assert flown.row_widths.faults == MAX_MOTORS
    assert flown.log["inputs"]["faults"]["stuck_duty"][-1, -1] == 0.5
    again = Simulation(iris(), TIMELINE, integrator=Integrator("RK4"), replay=flown.streams).run()
    assert again.row_widths.faults == MAX_MOTORS
    assert again.digest() == flown.digest()
    assert fly(scenario=Scenario().at(0.05).arm()).row_widths.faults == 4


def test_rows_are_converted_by_the_names_of_their_fields():
    """What the other layout lacks is 0."""
    rows = fly(autopilot=Everywhere()).log
    narrow, whole = layout_of(QUAD), layout_of(WHOLE)
    cut = narrow.rows(narrow.words_of(rows))
    back = whole.rows(whole.words_of(cut))
    assert back["inputs"]["command"]["motors"][-1].tolist() == [0.3] * 4 + [0.0] * (MAX_MOTORS - 4)
    assert back["bus"]["outputs"]["battery"]["voltage_v"][-1].tolist()[1:] == [0.0] * 3
    assert back["bus"]["estimate"].tobytes() == rows["bus"]["estimate"].tobytes()
    assert np.shares_memory(whole.words_of(back), back)


@pytest.mark.parametrize("widths", [WHOLE, QUAD, Widths(8, 2, 6, 12, 4, 3, 0)])
def test_the_widths_of_a_file_are_those_of_its_fields(widths):
    """So that the layout of a recording's rows can be checked without its aircraft."""
    assert widths_in(layout_of(widths).dtype) == widths
