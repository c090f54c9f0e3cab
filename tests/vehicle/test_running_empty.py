"""Batteries of cells: their rest voltage, what happens when they run empty, and ESCs that cut off before."""

import functools

import numpy as np
import pytest
from fleet import PowerBus, iris, propulsion
from plant_probe import Batch, Faults, Probe, Script, both_ends, fly

from flights import flight
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.flights.summary import summarize
from px4lockstep.log.events import events_of
from px4lockstep.log.log import Log
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.toml_text import to_toml
from px4lockstep.vehicle.battery import LIPO_SOC, LIPO_V, Battery
from px4lockstep.vehicle.contact import Contact

NO_CONTACT = Contact("no_contact")
Q_C = 0.02 * 3600.0


def small(**changes):
    """Return an Iris on three cells of 20 mAh, which a hover empties in about two seconds."""
    keys = {"cells": 3, "capacity_ah": 0.02} | {name: changes.pop(name) for name in ("soc0",) if name in changes}
    return iris(batteries=(Battery(**keys),), **changes)


def rest_v(soc, cells=3):
    """Return the rest voltage by NumPy's interpolation, 0 at −0.001 and below."""
    return cells * np.interp(soc, (-0.001, *LIPO_SOC), (0.0, *LIPO_V))


def test_the_rest_voltage_is_that_of_the_cells_and_collapses_below_empty():
    """The table times the number of cells; half of the empty voltage at −0.0005, 0 from −0.001; 1e-13."""
    soc = np.concatenate([np.linspace(-0.002, 0.01, 1201), np.linspace(0.01, 1.1, 500), LIPO_SOC])
    batch = Batch([iris(batteries=(Battery(cells=4),))], len(soc))
    batch.x[:, 17] = soc
    outputs = batch.evaluate().outputs
    assert outputs["bus_voltage_v"][:, 0] == pytest.approx(rest_v(soc, 4), rel=1e-13, abs=1e-11)
    assert outputs["battery"]["remaining"][:, 0].tolist() == np.maximum(soc, 0.0).tolist()
    assert outputs["battery"]["warning"][soc < 0.05, 0].tolist() == [3] * np.count_nonzero(soc < 0.05)
    middle = Probe(iris(batteries=(Battery(cells=4),)), soc=-0.0005)
    assert middle.outputs()["bus_voltage_v"][0] == pytest.approx(0.5 * 4 * 3.27, rel=1e-12)


def test_a_cell_may_have_its_own_table():
    """Also one that begins above 0, where the first voltage holds down to 0 and then collapses."""
    battery = Battery(cells=2, cell_soc=(0.2, 1.0), cell_v=(3.0, 3.4))
    soc = np.array([-0.001, -0.0005, 0.0, 0.1, 0.2, 0.6, 1.0])
    batch = Batch([iris(batteries=(battery,))], len(soc))
    batch.x[:, 17] = soc
    volts = batch.evaluate().outputs["bus_voltage_v"][:, 0]
    assert volts == pytest.approx([0.0, 3.0, 6.0, 6.0, 6.0, 6.4, 6.8], rel=1e-12)
    assert battery.full_voltage_v == 6.8


def test_a_dead_battery_drives_nothing():
    """At −0.001: 0 V, no current of motors or avionics, no change of charge; projection keeps the charge there."""
    probe = Probe(small(buses=(PowerBus((0,), (0, 1, 2, 3), 20.0),)), motors=1.0, soc=-0.001, rotor=100.0)
    outputs = probe.outputs()
    assert outputs["bus_voltage_v"][0] == outputs["bus_current_a"][0] == 0.0
    assert outputs["motor_current_a"][:4].tolist() == [0.0] * 4
    assert probe.derivative("soc")[0] == 0.0
    probe["soc"] = -0.01
    assert probe.project() == 1
    assert probe["soc"][0] == -0.001


def throttle(time_us):
    """Most of the time 0.6, in between full throttle and almost nothing."""
    return (0.6, 0.6, 1.0, 0.1)[(time_us // 250_000) % 4]


@pytest.mark.parametrize("watts", [0.0, 20.0])
def test_all_energy_comes_from_the_charge_until_the_battery_is_dead(watts):
    """∫ OCV dQ = ∫ V I dt + ∫ R0 I² dt + ∫ V1² / R1 dt + C1 V1² / 2, from 25 % to dead; 3e-5.

    The left side is the area under the table, in closed form between its points. 1.1e-5 remains from means over
    0.5 ms, 8e-9 over 0.125 ms.
    """
    aircraft = small(soc0=0.25, contact=NO_CONTACT, buses=(PowerBus((0,), (0, 1, 2, 3), watts),))
    sim = fly(aircraft, 4.0, motors=throttle, step_us=500, log_us=500)
    states = sim.log_state
    batch = both_ends(aircraft, sim)
    outputs = batch.outputs
    volts, amps = outputs["bus_voltage_v"][:, 0], outputs["bus_current_a"][:, 0]
    used = [0.25e-3 * float(np.sum(power)) for power in (volts * amps, 0.02 * amps * amps, batch.x[:, 18] ** 2 / 0.01)]
    stored = 0.5 * 2000.0 * states[-1, 18] ** 2
    points = np.array([-0.001, *LIPO_SOC[:5], 0.25])
    soc = np.concatenate([[states[-1, 17]], points[(points > states[-1, 17]) & (points <= 0.25)]])
    chemical = Q_C * float(np.trapezoid(rest_v(soc), soc))
    assert sum(used) + stored == pytest.approx(chemical, rel=3e-5)
    assert -0.001 <= states[-1, 17] < -0.0009
    assert sim.log["bus"]["outputs"]["bus_voltage_v"][-1, 0] < 1.0
    assert states[-1, 13:17].max() < 100.0  # from 400 rad/s; only air and friction slow the rotors
    assert sim.log["bus"]["outputs"]["battery"]["remaining"][-1, 0] == 0.0


def test_avionics_draw_the_current_of_the_bus_solve():
    """V = V0 − R0 I with the reported I, to 1e-14, with motors and 50 W; below 2 V per cell, P V / V_b²."""
    aircraft = small(buses=(PowerBus((0,), (0, 1, 2, 3), 50.0),))
    outputs = Probe(aircraft, motors=0.7, rotor=250.0, soc=0.8).outputs()
    assert outputs["bus_voltage_v"][0] == pytest.approx(rest_v(0.8) - 0.02 * outputs["bus_current_a"][0], rel=1e-14)
    low = Probe(aircraft, soc=-0.0008)
    assert low.outputs()["bus_current_a"][0] == pytest.approx(50.0 * rest_v(-0.0008) / 36.0, rel=1e-12)


def flown(action, **battery):
    """Fly the Iris's mission on three cells, with an action on low battery."""
    aircraft = iris(batteries=(Battery(cells=3, **battery),))
    sim = flight(aircraft=aircraft, end_s=50, params={"COM_LOW_BAT_ACT": action}).run()
    return Log.of(sim), summarize(sim)


def test_a_hover_to_empty_ends_in_a_fall_without_failsafes():
    """It flies above 5 m, falls when the battery is empty, and hits the ground; the verdict names the battery."""
    log, summary = flown(0, capacity_ah=0.35)
    assert -log["pos_ned"][:, 2].min() > 5.0
    assert log["vel_ned"][:, 2].max() > 5.0
    assert (summary.outcome, summary.ending) == ("battery empty", "crashed")
    assert log["soc"][-1, 0] < 0.0
    assert log["bus_voltage_v"][-1, 0] < 3.0
    assert "battery 1 empty" in [event.label for event in events_of(log)]


def test_the_battery_failsafe_lands_before_the_battery_is_empty():
    """COM_LOW_BAT_ACT = 2 lands at critical: it stands on the ground with charge left."""
    log, summary = flown(2, capacity_ah=1.0, low_thr=0.9, crit_thr=0.8)
    assert summary.landed
    assert summary.outcome != "crashed"
    assert log["soc"][-1, 0] > 0.0


def test_an_empty_battery_does_not_fly():
    """A charge of 0, with any model of the motors: never 5 cm above the ground."""
    log, summary = flown(0, soc0=0.0)
    assert -log["pos_ned"][:, 2].min() < 0.05
    assert not summary.mission_finished


# -- cut-off --------------------------------------------------------------------------------------------------------


def cutting(cutoff_v=11.0, *, soc0=0.5, actuator="direct", rotor_2_v=None):
    """Return a flying Iris whose ESCs cut off, on three cells at about 11.5 V."""
    overrides = [{"rotors": [2], "esc": {"cutoff_v": rotor_2_v}}] if rotor_2_v else []
    own = propulsion(cutoff_v=cutoff_v, overrides=overrides)
    return small(soc0=soc0, propulsion=own, contact=NO_CONTACT, motor_actuator=actuator)


def simulation(aircraft, motors, end_s=1.0, scenario=None):
    """Return a simulation with motors as a function of time, recorded."""
    timeline = Timeline(
        round(end_s * 1e6),
        autopilot=Periodic(4_000),
        log=Periodic(4_000),
        physics=Periodic(1_000),
        scenario=Explicit((500_000,)),
    )
    return Simulation(aircraft, timeline, autopilot=Script(motors), scenario=scenario, record=True)


def pulses(time_us):
    """Full duty, then 0.3, then 0 for 0.1 s, then 0.3 again."""
    return 1.0 if time_us < 200_000 else 0.0 if 600_000 <= time_us < 700_000 else 0.3


@pytest.mark.parametrize("actuator", ["direct", "first_order"])
def test_a_motor_that_is_cut_off_stays_off_until_its_command_is_zero(actuator):
    """The sag of full duty cuts off all motors; they stay off although the voltage recovers, and run after a 0."""
    sim = simulation(cutting(actuator=actuator), pulses).run()
    log = Log.of(sim)
    masks, volts = log["motor_cut_off_mask"], log["bus_voltage_v"][:, 0]
    tripped = int(np.flatnonzero(masks)[0])
    assert volts[: tripped + 1].min() < 11.0
    assert volts[tripped + 1 : 150].min() > 11.0
    assert masks[tripped:150].tolist() == [15] * (150 - tripped)
    assert not masks[150:].any()
    duty = log["rotor_duty"]
    assert duty[tripped + 1 : 150].max() == 0.0
    assert duty[-1].min() > 0.25
    labels = [event.label for event in events_of(log)]
    assert {"motor 1 cut off", "motor 4 cut off", "motor 1 on"} <= set(labels)


def test_each_esc_has_its_own_cut_off():
    """Rotor 2 with a cut-off of 5 V runs on."""
    log = Log.of(simulation(cutting(rotor_2_v=5.0), pulses).run())
    assert set(log["motor_cut_off_mask"].tolist()) == {0, 0b1101}


def test_a_motor_does_not_start_below_the_cut_off():
    """At 11.5 V and a cut-off of 12 V no motor ever turns."""
    sim = simulation(cutting(cutoff_v=12.0), lambda time_us: 0.5).run()
    assert sim.log_state[:, 13:17].max() == 0.0


def test_a_cut_off_survives_scenario_changes_snapshots_and_replays():
    """A fault at 0.5 s keeps it; the run goes on from a snapshot, and replays, with the same digest."""
    make = functools.partial(simulation, cutting(), pulses, scenario=Faults(500_000, motor_disabled_mask=1))
    whole = make().run()
    log = Log.of(whole)
    assert log["motor_cut_off_mask"][124:127].tolist() == [15] * 3
    resumed = make()
    resumed.restore(make().run(560_000).snapshot())
    assert resumed.run().digest() == whole.digest()
    replayed = Simulation(cutting(), whole.timeline, replay=whole.streams).run()
    assert replayed.digest() == whole.digest()


# -- files and errors ------------------------------------------------------------------------------------------------


def test_cells_from_a_file_are_read_again(tmp_path):
    """`cells` replaces the curve of the Iris; the spec written in full has no keys of the other form."""
    spec = load_spec("iris", {"power.batteries[0].cells": 4})
    assert spec.power.batteries[0].full_voltage_v == pytest.approx(16.8)
    path = tmp_path / "written.toml"
    path.write_text(to_toml(spec))
    assert "ocv_v" not in path.read_text()
    assert load_spec(path).power == spec.power
    assert "cell" not in to_toml(load_spec("iris"))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"cells": 4, "ocv_v": (9.0, 12.0)}, r"batteries\.ocv_v = .* is given with cells = 4; remove it"),
        ({"cells": 4, "min_voltage_v": 9.0}, r"batteries\.min_voltage_v = 9.0 is given with cells = 4"),
        ({"cell_v": (3.0, 4.0)}, r"batteries\.cell_v = .* needs cells, the number of cells"),
        ({"cells": 4, "model": "ideal"}, r"batteries\.cells = 4 is for model = 'thevenin'"),
        ({"cells": 4, "cell_v": (3.0, 4.0)}, r"cell_v has 2 items, cell_soc has 12"),
        ({"cells": 4, "cell_soc": (0.0, 1.0), "cell_v": (4.0, 3.0)}, r"cell_v = .* decreases"),
        ({"cells": 0}, r"cells = 0 is out of range"),
    ],
)
def test_a_battery_in_two_forms_is_an_error(keys, text):
    """With the key, its value and what to do."""
    with pytest.raises(InputError, match=text):
        Battery(**keys)


def test_batteries_with_and_without_cells_are_not_mixed_on_a_bus():
    """Their floors differ: one of them could supply energy from nothing."""
    with pytest.raises(InputError, match="mixes batteries with and without cells"):
        iris(batteries=(Battery(cells=3), Battery()))
