"""Snapshots: when they are refused, and what they restore."""

from dataclasses import replace

import pytest
from fleet import iris

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.environment.gust import Gust
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.plant.models import FreeFall, Oscillator
from px4lockstep.vehicle.battery import Battery

TIMELINE = Timeline(1_000, log=Periodic(100))


class Slotted:
    __slots__ = ()

    def step(self, time_us, inputs, outputs):
        pass


class OwnMethods(Slotted):
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0

    def step(self, time_us, inputs, outputs):
        self.count += 1

    def snapshot(self):
        return self.count

    def restore(self, saved):
        self.count = saved


def test_a_snapshot_of_another_simulation_is_refused():
    """Its timeline, plant, integrator or set of objects differs."""
    saved = Simulation(Oscillator(), TIMELINE).snapshot()
    with pytest.raises(InputError, match="a different timeline"):
        Simulation(Oscillator(), Timeline(1_000, log=Periodic(200))).restore(saved)
    with pytest.raises(InputError, match="a different configuration: plant"):
        Simulation(FreeFall(), TIMELINE).restore(saved)
    with pytest.raises(InputError, match=r"has the objects \[\], this simulation \['scenario'\]"):
        Simulation(Oscillator(), TIMELINE, scenario=OwnMethods()).restore(saved)
    with pytest.raises(InputError, match="a different configuration: plant"):
        Simulation(Oscillator(omega_rad_s=3.0), TIMELINE).restore(saved)
    with pytest.raises(InputError, match="a different configuration: solver"):
        Simulation(Oscillator(), TIMELINE, integrator=Integrator("RK23")).restore(saved)
    with pytest.raises(InputError, match="a different configuration: modes"):
        Simulation(Oscillator(), TIMELINE, record=True).restore(saved)
    same_times = Timeline(1_000, log=Periodic(200), physics=Periodic(100))
    assert same_times.time_us.tolist() == TIMELINE.time_us.tolist()
    with pytest.raises(InputError, match="a different timeline"):
        Simulation(Oscillator(), same_times).restore(saved)
    with pytest.raises(InputError, match="schema version 99"):
        Simulation(Oscillator(), TIMELINE).restore(replace(saved, schema_version=99))


def test_a_refused_snapshot_changes_nothing():
    """All checks are done before anything is copied."""
    saved = Simulation(Oscillator(), TIMELINE, record=True).run(until_us=500).snapshot()
    sim = Simulation(Oscillator(), TIMELINE)
    before = sim.snapshot().records.tobytes()
    with pytest.raises(InputError):
        sim.restore(saved)
    assert sim.snapshot().records.tobytes() == before


class Half(OwnMethods):
    __slots__ = ()
    restore = property()


def test_an_object_with_only_one_of_the_two_methods_is_refused():
    """The error comes when the simulation is created, not when a snapshot is restored."""
    with pytest.raises(InputError, match="needs both or neither"):
        Simulation(Oscillator(), TIMELINE, scenario=Half())


class SlotsAndDict(Slotted):
    def __init__(self):
        self.calls = 0
        self.shared = None

    def step(self, time_us, inputs, outputs):
        self.calls += 1
        if self.shared is not None:
            self.shared.append(time_us)


class Slotting(SlotsAndDict):
    __slots__ = ("kept",)

    def __init__(self):
        super().__init__()
        self.kept = 0

    def step(self, time_us, inputs, outputs):
        super().step(time_us, inputs, outputs)
        self.kept += 2


def test_attributes_in_slots_and_shared_objects_are_restored():
    """Slots are copied, and objects that two sources share are shared after the restore too."""
    timeline = Timeline(1_000, log=Periodic(100), wind=Periodic(100))
    scenario, wind = Slotting(), SlotsAndDict()
    scenario.shared = wind.shared = []
    sim = Simulation(Oscillator(), timeline, scenario=scenario, wind=wind)
    saved = sim.run(until_us=500).snapshot()
    sim.run()
    assert (scenario.kept, len(wind.shared)) == (22, 22)
    sim.restore(saved)
    assert (scenario.kept, scenario.calls, len(wind.shared)) == (10, 5, 10)
    assert scenario.shared is wind.shared
    sim.run()
    assert len(wind.shared) == 22


def test_an_object_can_have_its_own_snapshot_methods():
    """These are called instead of copying the attributes."""
    scenario = OwnMethods()
    sim = Simulation(Oscillator(), TIMELINE, scenario=scenario)
    saved = sim.run(until_us=500).snapshot()
    assert scenario.count == 5
    sim.run()
    assert scenario.count == 11
    sim.restore(saved)
    assert scenario.count == 5


WINDY = Timeline(100_000, autopilot=Periodic(4_000), wind=Periodic(1_000), log=Periodic(10_000))


def flying(wind=None, seed=1, **battery):
    aircraft = iris(batteries=(Battery(**battery),), pos_ned=(0.0, 0.0, -10.0))
    return Simulation(aircraft, WINDY, wind=wind or Wind("dryden"), seed=seed)


def test_wind_and_battery_sensors_continue_from_a_snapshot():
    """Their ticks, filters and delays are in the snapshot: digest and bus are those of an uninterrupted run."""
    settings = {"sense_tau_s": 0.05, "sense_delay_s": 0.012, "sense_voltage_sigma_v": 0.1}
    through = flying(**settings).run()
    saved = flying(**settings).run(until_us=50_000).snapshot()
    other = flying(**settings)
    other.restore(saved)
    assert other.run().digest() == through.digest()
    assert other.log["bus"].tobytes() == through.log["bus"].tobytes()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"wind": Wind("dryden", dryden_height_m=200.0)}, "wind"),
        ({"wind": Wind("ou")}, "wind"),
        ({"seed": 2}, "wind"),
        ({"sense_voltage_sigma_v": 9.0}, "battery_sensors"),
        ({"sense_delay_s": 0.004}, "battery_sensors"),
    ],
)
def test_a_snapshot_with_another_wind_or_sensor_is_refused(options, what):
    """Its parameters would silently replace the requested ones."""
    saved = flying().run(until_us=50_000).snapshot()
    with pytest.raises(InputError, match=f"different configuration: {what}"):
        flying(**options).restore(saved)


def test_a_snapshot_with_other_gusts_is_refused():
    """The timelines are the same, since the edges of the gusts are boundaries of both."""

    def simulation(north_m_s, end_s=3e-4):
        gusts = [Gust(start_s=1e-4, end_s=end_s, vel_ned=(north_m_s, 0.0, 0.0))]
        return Simulation(FreeFall(), TIMELINE, gusts=gusts)

    saved = simulation(1.0).run(until_us=500).snapshot()
    for other in (simulation(2.0), simulation(1.0, 4e-4), Simulation(FreeFall(), TIMELINE)):
        with pytest.raises(InputError, match="a different configuration: gusts"):
            other.restore(saved)
    simulation(1.0).restore(saved)


def test_a_failed_run_can_continue_from_an_earlier_snapshot():
    """The restored run is the same as one that never failed."""

    class FailsOnce(Slotted):
        failures = 1

        def step(self, time_us, inputs, outputs):
            outputs.wind_ned[0] = time_us
            if time_us == 700 and FailsOnce.failures:
                FailsOnce.failures = 0
                raise ValueError("once")

    sim = Simulation(FreeFall(), TIMELINE, scenario=FailsOnce()).run(until_us=500)
    saved = sim.snapshot()
    with pytest.raises(SimulationError, match="once"):
        sim.run()
    with pytest.raises(SimulationError, match="once"):
        sim.run()
    sim.restore(saved)
    assert sim.run().is_done
    assert sim.digest() == Simulation(FreeFall(), TIMELINE, scenario=FailsOnce()).run().digest()
