"""The power network: the bus solver over a wide sweep, several buses, several batteries."""

import numpy as np
import pytest
from fleet import PowerBus, Rotor, iris, octa, propulsion
from plant_probe import Batch, Probe

from px4lockstep.vehicle.battery import Battery

KE = 60.0 / (2.0 * np.pi * 920.0)
AIRCRAFT, CASES_EACH = 200, 50


class Sweep:
    """10,000 seeded cases of one bus: parameters in columns, per motor in (cases, 12)."""

    def __init__(self):
        rng = np.random.default_rng(42)
        self.n = np.repeat(rng.integers(1, 13, AIRCRAFT), CASES_EACH)
        # Resistances from far below to far above a real battery's: only with the latter do the iterations cycle.
        r0 = 10.0 ** rng.uniform(-3.0, 0.5, AIRCRAFT)
        r_motor = 10.0 ** rng.uniform(-1.5, -0.3, AIRCRAFT)
        i_max = 10.0 ** rng.uniform(0.0, 2.0, AIRCRAFT)
        v_min = rng.choice([0.5, 6.0, 9.9], AIRCRAFT)
        watts = rng.choice([0.0, 5.0, 30.0], AIRCRAFT)
        eta = rng.uniform(0.7, 1.0, AIRCRAFT)
        self.aircraft = [
            iris(
                mass_kg=0.1,
                rotors=tuple(Rotor((0.1, 0.0, 0.0), +1) for _ in range(self.n[k * CASES_EACH])),
                propulsion=propulsion(r_ohm=r_motor[k], max_current_a=i_max[k], eta=eta[k]),
                batteries=(Battery(r0=r0[k], min_voltage_v=v_min[k]),),
                buses=(PowerBus((0,), tuple(range(self.n[k * CASES_EACH])), watts[k]),),
            )
            for k in range(AIRCRAFT)
        ]
        columns = (r0, r_motor, i_max, v_min, watts, eta)
        self.r0, self.r_motor, self.i_max, self.v_min, self.watts, self.eta = (
            np.repeat(column, CASES_EACH) for column in columns
        )
        cases = AIRCRAFT * CASES_EACH
        self.soc = rng.uniform(0.2, 1.0, cases)
        self.v1 = rng.uniform(-0.5, 0.5, cases)
        is_there = np.arange(12) < self.n[:, None]
        self.omega = np.where(is_there, rng.uniform(0.0, 1300.0, (cases, 12)), 0.0)
        duty = np.where(rng.random((cases, 12)) < 0.2, 0.0, rng.uniform(0.02, 1.0, (cases, 12)))
        self.duty = np.where(is_there, duty, 0.0)
        self.v0 = np.maximum(self.v_min, 10.8 + 1.8 * self.soc - self.v1)
        self.avionics_a = self.watts / self.v0

    def solve(self, duty):
        """Return the plant's bus voltage for each case."""
        batch = Batch(self.aircraft, CASES_EACH)
        for case, n in enumerate(self.n):
            batch.x[case, 13 : 13 + n] = self.omega[case, :n]
            batch.x[case, 13 + n : 15 + n] = self.soc[case], self.v1[case]
        batch.inputs["command"]["motors"] = duty
        return batch.evaluate().outputs["bus_voltage_v"][:, 0]

    def drawn(self, v):
        """Return the bus current at a voltage, with avionics as P / V0."""
        current = (self.duty * v[:, None] - KE * self.omega) / self.r_motor[:, None]
        clamped = np.clip(current, 0.0, self.i_max[:, None])
        return self.avionics_a + np.sum(self.duty * clamped, axis=1) / self.eta

    def linearized(self, v, is_linear, is_saturated):
        """Return the voltage that solves the bus with each motor in the given regime."""
        scale = self.r0 / (self.eta * self.r_motor)
        slope = scale * np.sum(np.where(is_linear, self.duty**2, 0.0), axis=1)
        back = scale * np.sum(np.where(is_linear, self.duty * KE * self.omega, 0.0), axis=1)
        limit = self.r0 * self.i_max / self.eta * np.sum(np.where(is_saturated, self.duty, 0.0), axis=1)
        v = (self.v0 - self.r0 * self.avionics_a + back - limit) / (1.0 + slope)
        return np.minimum(np.maximum(v, self.v_min), self.v0)

    def branches(self):
        """Return for each case whether the rules require the closed form, six iterations or bisection."""
        is_active = self.duty > 0.0

        def regimes(v):
            current = (self.duty * v[:, None] - KE * self.omega) / self.r_motor[:, None]
            is_saturated = is_active & (current >= self.i_max[:, None])
            return is_active & (current > 0.0) & ~is_saturated, is_saturated

        closed = self.linearized(self.v0, is_active, np.zeros_like(is_active))
        is_closed = np.all(regimes(closed)[0] == is_active, axis=1)
        v = self.v0
        for _ in range(6):
            v = self.linearized(v, *regimes(v))
        residual = v + self.r0 * self.drawn(v) - self.v0
        is_solved = (np.abs(residual) <= 1e-6) | ((v <= self.v_min) & (residual >= 0.0))
        return is_closed, ~is_closed & is_solved, ~is_closed & ~is_solved


@pytest.fixture(scope="module")
def sweep():
    return Sweep()


def test_the_bus_voltage_solves_its_equation_over_10_000_cases(sweep):
    """|V − max(V_min, V0 − R0 (I(V) + P / V0))| below 1e-6 V, the limit of the solver, in all three of its steps."""
    v = sweep.solve(sweep.duty)
    residual = v - np.maximum(sweep.v_min, sweep.v0 - sweep.r0 * sweep.drawn(v))
    assert len(v) == 10_000
    for branch in sweep.branches():
        assert np.count_nonzero(branch) > 100
        assert np.abs(residual[branch]).max() < 1e-6
    is_clamped = v == sweep.v_min
    assert np.count_nonzero(is_clamped) > 100
    assert np.count_nonzero(~is_clamped & (v < sweep.v0)) > 1_000


def test_more_duty_never_raises_the_voltage(sweep):
    """One motor up by 0.05 in each case: V falls or stays, within 1e-9 V for rounding in the last step."""
    raised = sweep.duty.copy()
    one = np.random.default_rng(1).integers(0, sweep.n)
    cases = np.arange(len(one))
    raised[cases, one] = np.minimum(raised[cases, one] + 0.05, 1.0)
    change = sweep.solve(raised) - sweep.solve(sweep.duty)
    assert change.max() < 1e-9
    assert np.count_nonzero(change < -1e-3) > 1_000


def test_an_idle_bus_has_its_open_voltage():
    """OCV − V1 to 1e-15, without duty and avionics."""
    outputs = Probe(iris(), soc=0.5, v1=0.25).outputs()
    assert outputs["bus_voltage_v"][0] == pytest.approx(10.8 + 1.8 * 0.5 - 0.25, rel=1e-15)
    assert outputs["bus_current_a"][0] == 0.0


def test_constant_duty_at_fixed_speed_matches_the_closed_form():
    """V = (E + R0 Σ d Ke ω / (R η)) / (1 + R0 Σ d² / (R η)) by hand, then V = E − R0 I with I of the outputs; 1e-12."""
    duties, speeds = np.array([0.5, 0.6, 0.7, 0.8]), np.array([300.0, 350.0, 400.0, 450.0])
    outputs = Probe(iris(), motors=duties, rotor=speeds, soc=0.7, v1=0.05).outputs()
    source = 10.8 + 1.8 * 0.7 - 0.05
    scale = 0.02 / (0.25 * 0.98)
    v = (source + scale * KE * duties @ speeds) / (1.0 + scale * duties @ duties)
    assert outputs["bus_voltage_v"][0] == pytest.approx(v, rel=1e-12)
    assert outputs["motor_current_a"][:4] == pytest.approx((duties * v - KE * speeds) / 0.25, rel=1e-12)
    assert outputs["bus_voltage_v"][0] == pytest.approx(source - 0.02 * outputs["bus_current_a"][0], rel=1e-12)


def test_avionics_draw_their_power_at_the_resulting_voltage():
    """P / V0 in the solver, P / V after it, by hand with no motor running; 1e-14."""
    outputs = Probe(octa(buses=(PowerBus((0,), tuple(range(8)), 50.0),))).outputs()
    v = 12.6 - 0.02 * 50.0 / 12.6
    assert outputs["bus_voltage_v"][0] == pytest.approx(v, rel=1e-14)
    assert outputs["bus_current_a"][0] == pytest.approx(50.0 / v, rel=1e-14)
    assert outputs["bus_current_a"][0] * outputs["bus_voltage_v"][0] == pytest.approx(50.0, rel=1e-14)


def two_buses(**changes):
    """Return the octa with odd rotors on one bus and even ones on the other; the batteries differ."""
    values = {
        "batteries": (Battery(capacity_ah=7.0), Battery(capacity_ah=3.0, r0=0.05)),
        "buses": (PowerBus((0,), (0, 2, 4, 6), 15.0), PowerBus((1,), (1, 3, 5, 7))),
    }
    return octa(**(values | changes))


def test_buses_are_independent():
    """Changes on one bus (duty, charge, speed) leave all outputs of the other bit-identical."""
    calm = Probe(two_buses(), motors=0.5, rotor=400.0)
    busy = Probe(two_buses(), motors=0.5, rotor=400.0)
    busy.motors[:8:2] = 1.0
    busy["rotor"][::2] = 250.0
    busy["soc"][0] = 0.3
    a, b = calm.outputs(), busy.outputs()
    assert b["bus_voltage_v"][0] < a["bus_voltage_v"][0] - 0.5
    for name, part in (("bus_voltage_v", 1), ("bus_current_a", 1), ("motor_current_a", slice(1, 8, 2))):
        assert np.array_equal(a[name][part], b[name][part]), name
    assert a["battery"][1] == b["battery"][1]
    assert np.array_equal(calm.derivative("rotor")[1::2], busy.derivative("rotor")[1::2])
    assert (calm.derivative("soc")[1], calm.derivative("v1")[1]) == (
        busy.derivative("soc")[1],
        busy.derivative("v1")[1],
    )


def test_two_buses_match_two_separate_aircraft():
    """Each bus has the voltage of a quad with its rotors, battery and avionics and the octa's motors; 1e-14."""
    whole = Probe(two_buses(), motors=np.linspace(0.3, 1.0, 8), rotor=np.linspace(200.0, 500.0, 8)).outputs()
    for b, members in enumerate((slice(0, 8, 2), slice(1, 8, 2))):
        quad = octa(
            rotors=tuple(Rotor(rotor.pos_body_m, rotor.direction) for rotor in octa().rotors[members]),
            mass_kg=1.0,  # so that the calibration of kT is the same
            batteries=(two_buses().batteries[b],),
            buses=(PowerBus((0,), (0, 1, 2, 3), two_buses().buses[b].avionics_load_w),),
        )
        alone = Probe(quad, motors=np.linspace(0.3, 1.0, 8)[members], rotor=np.linspace(200.0, 500.0, 8)[members])
        assert alone.outputs()["bus_voltage_v"][0] == pytest.approx(whole["bus_voltage_v"][b], rel=1e-14)
        assert alone.outputs()["bus_current_a"][0] == pytest.approx(whole["bus_current_a"][b], rel=1e-13)


@pytest.mark.parametrize("share_mode", ["inv_r0", "equal"])
def test_two_parallel_batteries_match_one_twice_as_large(share_mode):
    """R0 and R1 halved, C1 and capacity doubled: the same voltage, SOĊ and V̇1, to 1e-13."""
    pair = iris(batteries=(Battery(), Battery()), share_mode=share_mode)
    single = iris(batteries=(Battery(capacity_ah=10.0, r0=0.01, r1=0.005, c1=4000.0),))
    two = Probe(pair, motors=0.8, rotor=300.0, soc=0.6, v1=0.1)
    one = Probe(single, motors=0.8, rotor=300.0, soc=0.6, v1=0.1)
    assert two.outputs()["bus_voltage_v"][0] == pytest.approx(one.outputs()["bus_voltage_v"][0], rel=1e-13)
    assert two.outputs()["battery"]["current_a"][:2].sum() == pytest.approx(
        one.outputs()["bus_current_a"][0], rel=1e-13
    )
    assert two.derivative("soc") == pytest.approx(np.repeat(one.derivative("soc"), 2), rel=1e-13)
    assert two.derivative("v1") == pytest.approx(np.repeat(one.derivative("v1"), 2), rel=1e-12)


def test_batteries_share_by_conductance_or_equally():
    """R0 of 10 and 30 mΩ: 3/4 and 1/4, or half each, to 1e-14; the bus voltage does not depend on it."""
    cells = (Battery(r0=0.01), Battery(r0=0.03))
    by_mode = {
        mode: Probe(iris(batteries=cells, share_mode=mode), motors=0.7).outputs() for mode in ("inv_r0", "equal")
    }
    for mode, shares in (("inv_r0", [0.75, 0.25]), ("equal", [0.5, 0.5])):
        outputs = by_mode[mode]
        assert outputs["battery"]["current_a"][:2] == pytest.approx(
            np.array(shares) * outputs["bus_current_a"][0], rel=1e-14
        )
    assert by_mode["inv_r0"]["bus_voltage_v"][0] == by_mode["equal"]["bus_voltage_v"][0]


def test_unequal_batteries_act_as_one_source_weighted_by_conductance():
    """V0 = Σ E / R0 / Σ 1 / R0 without load, V = V0 − I / Σ (1 / R0) with it; 1e-13."""
    probe = Probe(iris(batteries=(Battery(r0=0.01), Battery(r0=0.03))), soc=(1.0, 0.2), v1=(0.1, -0.05))
    sources = np.array([12.6 - 0.1, 10.8 + 1.8 * 0.2 + 0.05])
    v0 = (sources[0] / 0.01 + sources[1] / 0.03) / (1.0 / 0.01 + 1.0 / 0.03)
    assert probe.outputs()["bus_voltage_v"][0] == pytest.approx(v0, rel=1e-14)
    probe.motors[:4] = 0.6
    loaded = probe.outputs()
    assert loaded["bus_voltage_v"][0] == pytest.approx(v0 - loaded["bus_current_a"][0] * 0.0075, rel=1e-13)


def test_ideal_batteries_share_equally():
    """Their R0 has no effect."""
    cells = (Battery(model="ideal", r0=0.01), Battery(model="ideal", r0=0.03))
    outputs = Probe(iris(batteries=cells), motors=0.5).outputs()
    assert outputs["bus_voltage_v"][0] == pytest.approx(12.6, rel=1e-15)
    assert outputs["battery"]["current_a"][:2] == pytest.approx([0.5 * outputs["bus_current_a"][0]] * 2, rel=1e-15)


def test_the_highest_minimum_voltage_of_a_bus_holds():
    """Both empty, minimum voltages of 9.9 and 11.5 V: the bus is at 11.5 V under full load, V = max(V_min, ...)."""
    empty = tuple(Battery(soc0=0.0, min_voltage_v=floor) for floor in (9.9, 11.5))
    probe = Probe(iris(batteries=empty), motors=1.0)
    assert probe.outputs()["bus_voltage_v"][0] == 11.5
