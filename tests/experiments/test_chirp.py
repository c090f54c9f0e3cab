"""Frequency responses of flights against the linear model, which is computed from the numbers of the spec alone."""

from functools import cache

import numpy as np
import pytest

from px4lockstep import InputError, chirp, load_aircraft
from px4lockstep.experiments.excitation import ARM_S, HEIGHT_M
from px4lockstep.experiments.linear_model import HoverTrim

VARIANTS = {
    "no delay": {"estimator.kind": "none"},
    "heavy, slow motors, other gains": {
        "airframe.mass_kg": 2.5,
        "airframe.inertia_diag_kgm2": [0.04, 0.03, 0.06],
        "airframe.propulsion.motor.j_kgm2": 5e-5,
        "autopilot.params.MC_ROLLRATE_P": 0.12,
        "autopilot.params.MC_ROLLRATE_D": 0.0,
        "autopilot.params.MC_ROLLRATE_I": 0.4,
        "autopilot.params.MC_ROLLRATE_FF": 0.05,
    },
    "thrust curve, battery scaling, filters": {
        "autopilot.params.THR_MDL_FAC": 0.3,
        "autopilot.params.MC_BAT_SCALE_EN": 1,
        "autopilot.params.IMU_DGYRO_CUTOFF": 60.0,
        "autopilot.params.MC_ROLLRATE_K": 0.8,
    },
}


@cache
def flown(loop, variant=None):
    """Return the frequency response of a loop of the X500; the flights are shared by the tests."""
    return chirp("x500", loop, overrides=VARIANTS[variant] if variant else None)


def check_margins(found, tolerance):
    """Check margins, their frequencies and the bandwidth against the linear model, relative to it."""
    measured, model = found.margins, found.model.margins
    for name in ("phase_deg", "phase_hz", "gain_db", "gain_hz"):
        assert getattr(measured, name) == pytest.approx(getattr(model, name), rel=tolerance), name
    assert found.bandwidth_hz == pytest.approx(found.model.bandwidth_hz, rel=tolerance)


@pytest.mark.parametrize("loop", ["roll_rate", "pitch_rate", "yaw_rate"])
def test_margins_of_the_rate_loops_agree_with_the_linear_model(loop):
    """Required within 5 %; they agree within 0.4 %, and 1 % is required here so that a change shows."""
    check_margins(flown(loop), 0.01)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_linear_model_holds_for_other_aircraft_and_gains(variant):
    """It is not fitted to the X500: within 5 % with other inertia, motors, gains, filters and delay."""
    check_margins(flown("roll_rate", variant), 0.05)


def test_margins_of_the_attitude_loop_agree_with_the_linear_model():
    """Within 5 %, broken at the attitude error."""
    check_margins(flown("roll"), 0.05)


def test_the_whole_response_agrees_with_the_linear_model():
    """Open and closed loop within 2 % from 0.7 to 40 Hz; 0.3 % is typical. It fades at its ends, 0.5 and 50 Hz."""
    found = flown("roll_rate")
    inside = (found.frequency_hz > 0.7) & (found.frequency_hz < 40.0)
    assert np.abs(found.closed_loop / found.model.closed_loop - 1.0)[inside].max() < 0.02
    assert np.abs(found.open_loop / found.model.open_loop - 1.0)[inside].max() < 0.02
    assert found.coherence.min() > 0.99


def test_the_controller_of_the_flight_is_the_one_in_the_open_loop():
    """Its torque, tick by tick, within 1e-3 of the largest: 1.5e-5 in roll; of yaw, the fade of the integrator."""
    assert flown("roll_rate").controller_error < 1e-4
    assert flown("yaw_rate").controller_error < 1e-3


def test_hover_of_the_linear_model_is_that_of_the_flight():
    """Rotor speed, duty and bus voltage in the middle of the chirp, within 0.5 %."""
    log = flown("yaw_rate").run.log
    row = int(np.searchsorted(log.time_us, 41_000_000))
    hover = HoverTrim.of(load_aircraft("x500"), HEIGHT_M, 41.0 - ARM_S)
    assert hover.omega_rad_s == pytest.approx(log["rotor_speed_rad_s"][row].mean(), rel=0.005)
    assert hover.duty == pytest.approx(log["rotor_duty"][row].mean(), rel=0.005)
    assert hover.voltage_v == pytest.approx(log["bus_voltage_v"][row][0], rel=0.005)


def test_a_response_that_is_not_linear_causes_a_warning():
    """Motors of the lifter can't slow down fast enough for 10 °/s at 50 Hz; at 3 °/s it agrees with the model."""
    large, small = chirp("lifter", "roll_rate"), chirp("lifter", "roll_rate", amplitude=3.0)
    assert large.warning.startswith("the coherence falls to 0.8")
    assert small.warning is None
    check_margins(small, 0.01)
    assert large.margins.gain_db > 1.05 * small.margins.gain_db


def test_delay_of_the_estimate_reduces_the_phase_margin():
    """The X500's 8 ms take ω_c times 8 ms of phase, within 10 %: the crossover moves a little."""
    with_delay, without = flown("roll_rate").margins, flown("roll_rate", "no delay").margins
    expected = 360.0 * with_delay.phase_hz * 0.008
    assert without.phase_deg - with_delay.phase_deg == pytest.approx(expected, rel=0.1)


@pytest.mark.long
def test_a_result_has_a_short_repr_json_and_a_bode_plot():
    """Gain, phase and coherence; measured curve and linear model."""
    found = flown("roll_rate")
    assert repr(found).startswith("<FrequencyResponse x500 roll_rate: bandwidth 13.")
    assert len(repr(found)) < 200
    values = found.as_dict()
    assert values["phase_margin_deg"] == found.margins.phase_deg
    assert values["model"]["gain_margin_db"] == found.model.margins.gain_db
    assert len(values["coherence"]) == len(values["frequency_hz"])
    html = found._repr_html_()
    assert "<table>" in html
    assert "<img" in html
    labels = [axes.get_ylabel() for axes in found.plot().axes]
    assert labels[0] == "gain [dB]"
    assert "coherence" in labels


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"amplitude": -1.0}, "amplitude = -1.0 is not allowed; it must be a number of °/s above 0"),
        ({"start_hz": 60.0}, "start_hz = 60.0 is not allowed; it must be above 0 and below end_hz"),
        ({"end_hz": 200.0}, "end_hz = 200.0 is not allowed; it must be at most 125, half the rate of the autopilot"),
        ({"duration_s": 1.0}, r"duration_s = 1.0 is not allowed; it must be 6 \(3 / start_hz\) to 3600 s"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    """What is wrong, the value and what is allowed."""
    with pytest.raises(InputError, match=message):
        chirp("x500", "roll_rate", **arguments)
