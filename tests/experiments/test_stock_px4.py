"""Experiments with stock PX4, which reports neither its estimate nor its setpoints: trim, closed loop, and a flight."""

import numpy as np
import pytest

from px4lockstep import load_spec, step
from px4lockstep.experiments import excitation
from px4lockstep.experiments.chirp import ChirpTest
from px4lockstep.experiments.excitation import SETTLED_S, Excitation
from px4lockstep.experiments.loops import LOOPS
from px4lockstep.experiments.step import StepTest
from px4lockstep.flights.run import fly
from px4lockstep.spec.build import build

SHAPED = {"autopilot.params.THR_MDL_FAC": 0.3, "autopilot.params.MC_BAT_SCALE_EN": 1}


def test_trim_from_the_motors_is_that_of_the_setpoints(monkeypatch):
    """Of the built-in autopilot, which reports both: within 0.2 % of the thrust, and 0.05° of the attitude."""
    own = StepTest.of(load_spec("x500", SHAPED), "roll").excitation
    row = int(np.searchsorted(own.hover["time_us"], round(SETTLED_S * 1e6)))
    thrust, attitude = own._hover_thrust()[row], own._hover_attitude(row)
    monkeypatch.setattr(Excitation, "is_hidden", True)
    assert own._hover_thrust()[row] == pytest.approx(thrust, rel=2e-3)
    assert own._hover_attitude(row) == pytest.approx(attitude, abs=np.radians(0.05))


def test_without_torque_setpoints_the_closed_loop_is_the_same_and_there_are_no_margins(monkeypatch):
    """The closed loop needs only setpoint and true response; table, JSON and figure omit the rest."""
    test = ChirpTest.of(load_spec("x500"), "roll_rate", None, 1.0, 20.0, 5.0)
    known = test.measure(fly(build(test.flown)))
    monkeypatch.setattr(Excitation, "is_hidden", True)
    found = test.measure(known.run)
    assert np.array_equal(found.closed_loop, known.closed_loop)
    assert found.bandwidth_hz == known.bandwidth_hz
    assert (found.open_loop, found.controller_error, found.model) == (None, None, None)
    assert np.isnan([found.margins.phase_deg, found.margins.gain_db]).all()
    assert "no open loop and no margins" in found.no_model
    assert [row[0] for row in found.table.rows] == ["bandwidth (-3 dB)", "lowest coherence"]
    values = found.as_dict()
    assert (values["phase_margin_deg"], values["open_loop_gain_db"]) == (None, None)
    assert "margin" not in repr(found)
    assert [axes.get_ylabel() for axes in found.plot().axes] == ["gain [dB]", "phase [°]", "coherence"]


def test_a_step_is_flown_by_stock_px4(sitl_build, monkeypatch):
    """By its double, to 4 m in 8 s: the height follows the step within a quarter, with a GPS without errors."""
    monkeypatch.setattr(excitation, "SETTLED_S", 8.0)
    monkeypatch.setattr(excitation, "HEIGHT_M", 4.0)
    overrides = {"autopilot.kind": "px4-sitl", "px4.sitl.build_dir": str(sitl_build), "px4.sitl.boot_s": 4.0}
    found = step("iris", "height", 2.0, watch_s=4.0, overrides=overrides)
    assert found.run.spec.px4.sitl.sensors.gps.horizontal_sigma_m == 0.0
    assert found.run.spec.environment.wind == "none"
    assert (found.loop, found.size) == (LOOPS["height"], 2.0)
    assert found.response[-1] == pytest.approx(2.0, rel=0.25)
    assert 0.2 < found.rise_s < 3.0
