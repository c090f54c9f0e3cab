"""Motor failure detection: a dead motor is detected in time and removed; a running one is not."""

import numpy as np
import pytest
from builtin_modules import PERIOD_US, builtin_record, part, run_failures
from fleet import iris, octa

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
    """Dead from tick 20: reported once, 25 ticks of 4 ms later; the motor's number is stored."""
    watch = Watch(octa())
    watch.current_a[20:, motor] = 0.0
    assert watch.found()[0] == 20 + 25
    assert watch.failure["failed"][0] == motor


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
    assert watch.failure["failed"][0] == -1


def test_an_idle_motor_may_draw_no_current():
    """A command below 0.2 does not count, and a single dip below it restarts the timeout."""
    assert Watch(octa(), command=0.199, current_a=0.0).found() == []
    watch = Watch(octa())
    watch.current_a[:, 3] = 0.0
    watch.command[15:16] = 0.1
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


def test_the_octa_continues_without_the_motor():
    """With the mix for that motor: its row is zero, the others change; until disarming."""
    watch = Watch(octa())
    before = watch.allocation["mix"][0].copy()
    watch.current_a[:, 4] = 0.0
    watch.found()
    assert not watch.allocation["mix"][0, 4].any()
    assert watch.allocation["mix"].tolist() == watch.failure["mix_without"][:, 4].tolist()
    reset_motor_failure(rows(watch.failure)[0], rows(watch.allocation)[0])
    assert watch.allocation["mix"][0].tolist() == before.tolist()
    assert watch.failure["failed"][0] == -1
    assert (watch.failure["dead_since_us"] == -1).all()


def test_a_quadrotor_keeps_its_mix():
    """Three motors can't control all axes: the failure is reported, but the mix is unchanged."""
    watch = Watch(iris())
    before = watch.allocation["mix"].copy()
    watch.current_a[:, 1] = 0.0
    assert watch.found()[0] == 25
    assert watch.failure["failed"][0] == 1
    assert watch.allocation["mix"].tolist() == before.tolist()
