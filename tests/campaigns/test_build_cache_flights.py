"""A run built with the cache starts byte-identical to one built without it."""

import typing

import numpy as np
import pytest
from mission_files import wpl

from px4lockstep.campaigns.build_cache import BuildCache
from px4lockstep.campaigns.flyer import Flyer
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.errors import InputError
from px4lockstep.flights.run import fly
from px4lockstep.part import Part, dotted, keys_of, model_at
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec

AIRCRAFT = """
extends = ["iris"]
[timeline]
t_end_s = 3.0
[plant]
integrator = "RK4"
[plant.contact]
kind = "legs"
points_body_m = [[0.1, 0.1, 0.1], [-0.1, 0.1, 0.1], [0.0, -0.1, 0.1]]
[airframe.x0]
pos_ned = [0.0, 0.0, -0.1]
[environment]
wind = "dryden"
gusts = [{ start_s = 0.5, end_s = 1.5, vel_ned = [1.0, 0.0, 0.0] }]
[autopilot.params]
MPC_XY_CRUISE = 4.0
[scenario]
arm_time_s = 0.2
mission_time_s = 0.4
events = [
    { at_s = 1.2, action = "thrust_loss", motor = 1, fraction = 0.1 },
    { at_step = 300, action = "wind_step", vel_ned = [0.0, 1.0, 0.0] },
    { when = { signal = "altitude_m", above = 0.5 }, action = "estimate_bias", pos_ned = [0.1, 0.0, 0.0] },
]
[[actuation.servos]]
id = "flap"
channel = 1
"""
"""An aircraft that uses every feature."""

CAMPAIGN = """
[campaign]
base = "aircraft.toml"
runs = 1
"""

MISSION = wpl("0 1 3 22 0 0 0 0 47.397742 8.545594 7 1", "1 0 3 21 0 0 0 0 47.397742 8.545594 0 1")

OTHER = {
    "plant.integrator": ["Euler", {"kind": "RK45", "rtol_pos": 1e-5}],
    "plant.contact": ["flat_ground", "no_contact"],
    "plant.contact.mu_static": [0.9],
    "timeline.dt_phys_s": [0.0005],
    "environment.gusts": [[], [{"start_s": 0.7, "end_s": 0.9, "vel_ned": [0.0, 0.0, 1.0]}] * 2],
    "autopilot.params": [{}, {"MC_ROLL_P": 5.0}, {"MC_ROLL_P": -0.0}, {"MC_ROLL_P": 0.0}],
    "scenario.events": [[], [{"at_s": 1.0, "action": "land"}], [{"at_s": 1.0, "action": "stuck_motor", "motor": 4}]],
    "estimator.pos_sigma_m": [0.03],
    "estimator.vel_sigma_mps": [0.03],
    "estimator.rate_sigma_rad_s": [0.03],
    "estimator.pos_bias_sigma_m": [0.03],
    "estimator.vel_bias_sigma_mps": [0.03],
    "estimator.rate_bias_sigma_rad_s": [0.03],
    "airframe.x0": [{"euler_deg": [0.0, 0.0, 30.0]}, {"euler_rad": [0.0, 0.0, 0.3]}, {"pos_ned": [0.0, 0.0, -0.0]}],
    "airframe.inertia_kgm2": [[0.03, 0.0, 0.001, 0.0, 0.03, 0.0, 0.001, 0.0, 0.05]],
    "airframe.propulsion.rotor_dir": [[-1, -1, 1, 1]],
    "airframe.propulsion.calibration_mass_kg": [1.6],
    "actuation.motor_actuators": [{"kind": "first_order", "discretization": "exact"}],
    "actuation.motors": [[{"id": f"m{i}", "channel": 5 - i} for i in (1, 2, 3, 4)]],
    "power.batteries": [[{"id": "a", "r0": 0.04}, {"id": "b", "r0": 0.02, "sense_voltage_sigma_v": 0.1}]],
    "power.buses": [
        [{"battery_ids": ["bat1"], "motor_ids": ["motor1", "motor2", "motor3", "motor4"], "avionics_load_w": 5.0}]
    ],
    "px4.params": [[{"name": "MC_ROLL_P", "value": 5.0}]],
}
"""Values of keys that can't be varied by changing a number, or that name whole tables."""

FIXED = (
    "schema_version",
    "px4.mission_path",
    "environment.atmosphere",
    "airframe.kind",
    "airframe.propulsion.kind",
    "estimator.dt_est_s",
    "scenario.events[0].action",
    "scenario.events[1].action",
    "scenario.events[2].action",
    "scenario.events[2].when.signal",
    "scenario.setpoints_from_python",
    "actuation.motor_actuators.discretization",
    "actuation.servo_actuators.discretization",
    *(f"actuation.motors[{i}].{name}" for i in range(4) for name in ("id", "channel")),
    *(f"power.buses[0].{name}" for name in ("id", "battery_ids", "motor_ids", "servo_ids", "avionics_load_w")),
    "run.log_columns",
)
"""Keys that can't be changed alone; the relevant ones vary in `OTHER`, as parts of whole tables."""


def leaves(value, key=()):
    """Yield all keys of a spec that have a value and are not tables."""
    if isinstance(value, Part):
        for name, field in type(value).model_fields.items():
            yield from leaves(getattr(value, name), (*key, field.alias or name))
    elif isinstance(value, tuple) and value and isinstance(value[0], Part):
        for i, item in enumerate(value):
            yield from leaves(item, (*key, i))
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, (*key, name))
    elif value is not None and value != ():
        yield key, value


def others(key, value):
    """Yield other values of a key, some of which may be invalid."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1)
        case float():
            yield from (value * 0.75, value * 1.25, value + 0.004) if value else (0.004, 1.0, -0.0)
        case tuple():
            for i, item in enumerate(value):
                yield from ((*value[:i], other, *value[i + 1 :]) for other in others(key, item))
        case str():
            allowed = typing.get_args(keys_of(model_at(key[:-1], Spec))[key[-1]].annotation)
            choices = [choice for part in allowed for choice in (typing.get_args(part) or (part,))]
            yield from (choice for choice in (*choices, f"{value}2") if isinstance(choice, str) and choice != value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of aircraft, mission and campaign."""
    folder = tmp_path_factory.mktemp("cache")
    for name, text in (("aircraft", AIRCRAFT), ("campaign", CAMPAIGN)):
        (folder / f"{name}.toml").write_text(text, "utf-8")
    (folder / "mission.waypoints").write_text(MISSION, "utf-8")
    return folder


def changes_of(folder, every=1):
    """Return all valid changes of a single key: those of `others` for every nth key with a value, and `OTHER`."""
    found = []
    for key, value in list(leaves(load_spec(folder / "aircraft.toml")))[::every]:
        allowed = [other for other in others(key, value) if is_allowed(folder, {dotted(key): other})]
        if dotted(key) not in OTHER:
            assert bool(allowed) != (dotted(key) in FIXED), f"{dotted(key)} = {value}: can it vary?"
        found += [{dotted(key): other} for other in allowed]
    listed = [{key: other} for key, values in OTHER.items() for other in values][::every]
    listed.append({"px4.mission_path": str(folder / "mission.waypoints")})
    assert [change for change in listed if not is_allowed(folder, change)] == []
    return found + listed


def is_allowed(folder, change):
    """Return whether a flight can be built with a change."""
    try:
        build(load_spec(folder / "aircraft.toml", change))
    except InputError:
        return False
    return True


def assert_is_same_start(flight, fresh):
    """Compare all arguments of the loop, and what is reported about them."""
    ours, theirs = flight.simulation, fresh.simulation
    assert flight.spec == fresh.spec
    assert ours.core.tobytes() == theirs.core.tobytes()
    assert np.array_equal(ours.timeline.time_us, theirs.timeline.time_us)
    assert np.array_equal(ours.timeline.due, theirs.timeline.due)
    assert ours.initial_state.tobytes() == theirs.initial_state.tobytes()
    assert {name: array.shape for name, array in ours.buffers.items()} == {
        name: array.shape for name, array in theirs.buffers.items()
    }
    assert (ours.integrator, ours.warnings) == (theirs.integrator, theirs.warnings)
    assert (flight.aircraft, flight.mission, flight.scenario) == (fresh.aircraft, fresh.mission, fresh.scenario)
    assert flight.warnings == fresh.warnings


@pytest.mark.long
@pytest.mark.parametrize(("every", "count"), [(10, 40), pytest.param(1, 500, marks=pytest.mark.slow)])
def test_every_changed_key_reaches_a_flight_built_with_the_cache(folder, every, count):
    """In sequence, with and without the unmodified aircraft in between: nothing of the last run remains."""
    changes = changes_of(folder, every)
    assert len(changes) > count
    campaign = load_campaign(folder / "campaign.toml")
    fresh = {}
    for i, change in enumerate(({}, *changes)):
        fresh[i] = build(load_spec(folder / "aircraft.toml", change))
        assert_is_same_start(build(campaign.spec(change), builder=campaign.build_cache), fresh[i])
    for change, flight in zip(changes, list(fresh.values())[1:], strict=True):
        assert_is_same_start(build(campaign.spec({}), builder=campaign.build_cache), fresh[0])
        assert_is_same_start(build(campaign.spec(change), builder=campaign.build_cache), flight)


FLOWN = {
    "aircraft.seed": [7, 8],
    "airframe.mass_kg": [1.4, 1.6],
    "scenario.events[0].at_s": [1.0, 1.100001],
    "environment.gusts[0].vel_ned[1]": [1.0, 2.0],
    "environment.gusts[0].start_s": [0.6, 0.7],
    "autopilot.params.MPC_Z_P": [0.9, 1.1],
    "px4.mission_path": ["simple", "mission.waypoints"],
    "timeline.t_end_s": [2.5, 3.5],
    "plant.integrator": ["RK45", "RK4", "Euler"],
    "plant.contact": ["flat_ground", "no_contact"],
    "power.batteries[0].soc0": [0.9, 0.8],
    "home.alt_msl_m": [0.0, 2000.0],
    "actuation.motor_actuators": ["first_order", "direct"],
    "estimator.delay_s": [0.0, 0.012],
}
"""Keys of each type, and values that are flown in sequence, with the first one again at the end."""


@pytest.fixture(scope="module")
def flyer(folder):
    """Return the flyer of all runs."""
    (folder / "flown.toml").write_text(f"{CAMPAIGN}own_seeds = false\n", "utf-8")
    return Flyer(load_campaign(folder / "flown.toml"))


@pytest.mark.parametrize("key", FLOWN)
def test_runs_of_one_worker_have_the_digests_of_independent_flights(folder, flyer, key):
    """Different values have different digests."""
    values = [str(folder / value) if value == "mission.waypoints" else value for value in FLOWN[key]]
    digests = {value: fly(build(load_spec(folder / "aircraft.toml", {key: value}))).digest for value in values}
    assert len({*digests.values()}) == len(digests)
    for value in (*values, values[0]):
        assert flyer.fly(0, {key: value}).digest == digests[value]


def test_other_aircraft_in_between_leave_nothing_behind():
    """With other numbers of rotors, batteries and events, including one without an autopilot."""
    cache = BuildCache()
    for name in ("iris", "hex", "twin", "iris", "octa", "iris"):
        spec = load_spec(name, {"timeline.t_end_s": 1.0})
        flight = build(spec, builder=cache)
        assert_is_same_start(flight, build(spec))
        assert fly(flight).digest == fly(build(spec)).digest


def test_a_run_that_can_not_be_built_does_not_affect_the_next_ones(folder):
    """It is an error each time."""
    campaign = load_campaign(folder / "campaign.toml")
    bad = {"airframe.propulsion.motor.kv_rpm_per_volt": 1e-300}
    for _ in range(2):
        with pytest.raises(InputError, match=r"override airframe\.propulsion\.motor\.kv_rpm_per_volt"):
            build(campaign.spec(bad), builder=campaign.build_cache)
        fresh = build(load_spec(folder / "aircraft.toml"))
        assert_is_same_start(build(campaign.spec({}), builder=campaign.build_cache), fresh)


def test_a_modified_mission_file_is_read_again(tmp_path):
    """The cache compares its content, not its path."""
    path, cache = tmp_path / "mission.waypoints", BuildCache()
    for altitude in (7, 9):
        path.write_text(MISSION.replace("8.545594 7 1", f"8.545594 {altitude} 1"))
        flight = build(load_spec("iris", {"px4.mission_path": str(path)}), builder=cache)
        assert flight.mission.items[0].alt_m == altitude
