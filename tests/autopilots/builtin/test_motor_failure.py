"""Motor failure detection: dead motors are detected in time and removed; running ones are not."""

import numpy as np
import pytest
from builtin_modules import PERIOD_US, builtin_record, part, run_failures
from fleet import hexa, iris, octa

from px4lockstep.autopilots.builtin.motor_failure import reset_motor_failure
from px4lockstep.jit import rows
from px4lockstep.plant.layout import OUTPUTS

COUNT = 100
"""Ticks, 0.4 s of them."""


class Watch:
    """An autopilot's failure detection with its inputs: motor commands and currents at each tick."""

    def __init__(self, aircraft, command=0.5, current_a=5.0):
        record = builtin_record(aircraft)
        self.failure, self.allocation = part(record, "motor_failure"), part(record, "allocation")
        self.n_rotors = len(aircraft.rotors)
        self.command = np.full((COUNT, self.n_rotors), command)
        self.current_a = np.full((COUNT, self.n_rotors), current_a)

    def found(self):
        """Return the ticks at which a failure is reported."""
        outputs, found = np.zeros(COUNT, OUTPUTS), np.zeros(COUNT, np.int64)
        outputs["motor_current_a"][:, : self.n_rotors] = self.current_a
        if (self.command == self.command[0]).all():
            self.allocation["sp"][0, : self.n_rotors] = self.command[0]
            run_failures(rows(self.failure), rows(self.allocation), rows(outputs), np.int64(PERIOD_US), rows(found))
        else:
            allocations = np.repeat(self.allocation, COUNT)
            allocations["sp"][:, : self.n_rotors] = self.command
            run_failures(rows(self.failure), rows(allocations), rows(outputs), np.int64(PERIOD_US), rows(found))
        return np.flatnonzero(found).tolist()


@pytest.mark.parametrize("motor", [0, 3, 7])
def test_a_dead_motor_is_detected_after_exactly_0_1_s(motor):
    """Dead from tick 20: reported once, 25 ticks of 4 ms later, and stored."""
    watch = Watch(octa())
    watch.current_a[20:, motor] = 0.0
    assert watch.found() == [20 + 25]
    assert watch.failure["failed_mask"][0] == 1 << motor


def test_a_shorter_dropout_is_not_detected():
    """25 ticks without current are 0.096 s from first to last; 26 are detected."""
    for ticks, found in ((25, False), (26, True)):
        watch = Watch(octa())
        watch.current_a[20 : 20 + ticks, 2] = 0.0
        assert bool(watch.found()) == found


def test_a_running_motor_is_never_detected():
    """Down to the limit of 0.1 A."""
    watch = Watch(octa(), current_a=0.1)
    assert watch.found() == []
    assert watch.failure["failed_mask"][0] == 0


def test_an_idle_motor_may_draw_no_current():
    """A command below 0.2 does not count, and a single dip below it restarts the timeout."""
    assert Watch(octa(), command=0.199, current_a=0.0).found() == []
    watch = Watch(octa())
    watch.current_a[:, 3] = 0.0
    watch.command[15:16] = 0.199
    watch.command[16:] = 0.2
    watch.command[:15] = 0.2
    assert watch.found()[0] == 16 + 25


def test_no_motor_has_failed_if_all_are_dead():
    """The power supply has."""
    assert Watch(octa(), current_a=0.0).found() == []


def test_a_current_pulse_restarts_the_timeout():
    """One tick of 1 A after 20 ticks without current."""
    watch = Watch(octa())
    watch.current_a[10:, 5] = 0.0
    watch.current_a[30, 5] = 1.0
    assert watch.found()[0] == 31 + 25


def slowed(before, after, spin_down_ticks):
    """Return an octa whose motor 3 is commanded from one value to another, and draws no current while it slows down."""
    watch = Watch(octa())
    watch.command[:, 2] = before
    watch.command[10:, 2] = after
    watch.current_a[10 : 10 + spin_down_ticks, 2] = 0.0
    return watch


def test_a_motor_that_slows_down_may_draw_no_current():
    """From 0.9 to 0.25 a large propeller takes 0.35 s; a command that falls by less than 10 % slows no motor down."""
    assert slowed(0.9, 0.25, COUNT - 10).found() == []
    assert slowed(0.5, 0.46, COUNT - 10).found() == [10 + 25]


def test_a_motor_that_died_while_slowing_down_is_detected():
    """Within 0.1 s once its command rises again: then it would draw current."""
    watch = slowed(0.9, 0.25, COUNT - 10)
    watch.command[40:, 2] = 0.9
    assert watch.found() == [40 + 25]


def test_several_motors_can_fail():
    """One after another, or at once; each is reported."""
    watch = Watch(octa())
    watch.command[0] = 0.51  # a command per tick: checks of an allocation overwrite its commands
    watch.current_a[0:, 1] = 0.0
    watch.current_a[30:, 4] = 0.0
    watch.current_a[30:, 6] = 0.0
    assert watch.found() == [25, 30 + 25]
    assert watch.failure["failed_mask"][0] == 0b1010010


def removed(aircraft, *motors):
    """Return the mask of removed motors and whether the heading is lost, after motors (from 1) have failed."""
    watch = Watch(aircraft)
    for motor in motors:
        watch.current_a[:, motor - 1] = 0.0
    assert watch.found() == [25]
    return int(watch.allocation["removed_mask"][0]), int(watch.failure["heading_is_lost"][0])


@pytest.mark.parametrize("motor", range(1, 7))
def test_a_hexarotor_continues_without_heading(motor):
    """Five motors control roll and pitch, but yaw only in one direction: the opposite motor can't push downwards."""
    assert removed(hexa(), motor) == (1 << motor - 1, 1)


@pytest.mark.parametrize("motor", range(1, 9))
def test_an_octorotor_keeps_its_heading(motor):
    """Seven motors control all axes."""
    assert removed(octa(), motor) == (1 << motor - 1, 0)


@pytest.mark.parametrize(("pair", "loses_heading"), [((1, 2), 1), ((1, 3), 1), ((1, 4), 0), ((1, 5), 1)])
def test_an_octorotor_continues_without_any_two_motors(pair, loses_heading):
    """Six motors control roll and pitch. Without neighbours, or two that spin alike, thrust leaves nothing for yaw."""
    mask = sum(1 << motor - 1 for motor in pair)
    assert removed(octa(), *pair) == (mask, loses_heading)


def test_neighbours_of_a_hexarotor_are_not_removed():
    """Without two of them the centre of mass is at the edge of the other rotors, which can't control roll and pitch."""
    assert removed(hexa(), 1, 2)[0] == 0
    assert removed(hexa(), 1, 4)[0] == 0b1001


@pytest.mark.parametrize("motor", range(1, 5))
def test_a_quadrotor_removes_nothing(motor):
    """Three motors can't control roll and pitch: the failure is reported, but the allocation is unchanged."""
    assert removed(iris(), motor)[0] == 0


def test_disarming_clears_failures():
    """All motors are used again."""
    watch = Watch(octa())
    watch.current_a[:, 4] = 0.0
    watch.found()
    reset_motor_failure(rows(watch.failure)[0], rows(watch.allocation)[0])
    assert watch.allocation["removed_mask"][0] == watch.failure["failed_mask"][0] == 0
    assert (watch.failure["dead_since_us"] == -1).all()
