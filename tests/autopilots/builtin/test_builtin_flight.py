"""The closed-loop flight that `tests/jit/test_bits.py` compares, compiled and interpreted, covers everything."""

import builtin_flight
import numpy as np
import pytest
from fleet import iris, octa


@pytest.mark.parametrize("aircraft", [iris(), octa()], ids=lambda aircraft: aircraft.name)
def test_the_flight_used_for_bit_comparison_covers_everything(aircraft):
    """It takes off, flies legs, turns and tilts, and all motors differ."""
    sim = builtin_flight.simulation(aircraft).run()
    said = sim.log["bus"]["autopilot"]
    assert -sim.log_state[:, 2].max() < 0.1
    assert -sim.log_state[:, 2].min() > 1.5
    assert said["mission_item"].max() >= 2
    assert np.isfinite(said["pos_sp_ned"][-1]).all()
    assert np.ptp(said["yaw_sp"][50:]) > 1.0
    assert np.abs(said["q_sp"][:, 1:3]).max() > 0.05
    assert np.abs(said["torque_sp_body"]).max(axis=0).min() > 0.01
    motors = sim.log["inputs"]["command"]["motors"][-1, : len(aircraft.rotors)]
    assert len(set(motors.tolist())) == len(aircraft.rotors)
