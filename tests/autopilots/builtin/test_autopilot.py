"""The built-in autopilot's public class: errors are raised early, and settings reach the record."""

import math

import numpy as np
import pytest
from builtin_modules import builtin_record
from fleet import Rotor, iris, octa

from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.builtin.navigator import MAX_ITEMS
from px4lockstep.autopilots.builtin.stack import BUILTIN
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.plant.models import TorqueFreeBody
from px4lockstep.px4.mission_items import Command, MissionItem
from px4lockstep.px4.missions import Mission, load_mission

HOME = {"lat_deg": 47.397742, "lon_deg": 8.545594}
METRES_PER_DEGREE = 111_195.0
"""Length of a degree of latitude on the sphere of the projection."""

WPL = """QGC WPL 110
0	1	3	22	0	0	0	0	47.397742	8.545594	12	1
1	0	3	16	2	3	0	90	47.397842	8.545594	15	1
2	0	3	21	0	0	0	0	47.397742	8.545594	0	1
"""


def mission(*items):
    """Return a mission with the given items."""
    return Mission(tuple(items), "test")


def waypoint(**fields):
    """Return a waypoint 10 m above home, with some fields replaced."""
    return MissionItem(Command.WAYPOINT, **{**HOME, "alt_m": 10.0, **fields})


def items_of(*items, aircraft=None):
    """Return the items in the record."""
    return builtin_record(aircraft, mission(*items))["navigator"][0]["items"]


# -- errors --------------------------------------------------------------------------------------------------------


def test_an_unknown_parameter_is_an_error_that_names_the_nearest():
    """When the autopilot is created, before anything flies."""
    with pytest.raises(InputError, match="'MPC_XY_PP' is unknown to the built-in autopilot; did you mean 'MPC_XY_P'"):
        Builtin(params={"MPC_XY_PP": 1.0})


def test_a_parameter_out_of_range_is_an_error():
    """With the value and what is allowed."""
    with pytest.raises(
        InputError, match=r"MPC_THR_HOVER = 1\.5 is out of range; it must be a number from 0\.1 to 0\.8"
    ):
        Builtin(params={"MPC_THR_HOVER": 1.5})


def test_an_unused_parameter_is_an_error():
    """PX4 has it, but it would have no effect; used parameters and rotor geometry are not listed."""
    with pytest.raises(InputError, match=r"^params MC_AIRMODE, MPC_POS_MODE: .* does not use them"):
        Builtin(params={"MC_AIRMODE": 1, "MPC_XY_P": 1.0, "MPC_POS_MODE": 3, "CA_ROTOR3_KM": 0.1})


@pytest.mark.parametrize("method", [0, 3])
def test_an_unimplemented_allocation_method_is_an_error(method):
    """Only sequential desaturation, 1 or 2, is implemented."""
    with pytest.raises(InputError, match=f"CA_METHOD = {method} is not implemented; allowed: 1 and 2"):
        Builtin(params={"CA_METHOD": method})
    assert Builtin(params={"CA_METHOD": 1}).params == {"CA_METHOD": 1}


def test_too_many_items_are_an_error():
    """One more than the maximum; the maximum is allowed."""
    with pytest.raises(InputError, match=f"the mission has {MAX_ITEMS + 1} items; .* allows at most {MAX_ITEMS}"):
        Builtin(mission(*[waypoint()] * (MAX_ITEMS + 1)))
    assert builtin_record(mission=mission(*[waypoint()] * MAX_ITEMS))["navigator"]["count"][0] == MAX_ITEMS


def test_only_an_aircraft_can_be_flown():
    """The error is raised when the simulation is created."""
    timeline = Timeline(8_000, autopilot=Periodic(4_000), log=Periodic(4_000))
    with pytest.raises(InputError, match="needs an Aircraft, not TorqueFreeBody"):
        Simulation(TorqueFreeBody(), timeline, autopilot=Builtin())
    with pytest.raises(InputError, match="needs an Aircraft, not NoneType"):
        Builtin().write(np.zeros(1, BUILTIN)[0], ControlModel.of(None), 4_000)


def test_a_missing_mission_file_is_an_error(tmp_path):
    """When the autopilot is created."""
    with pytest.raises(InputError, match=r"none\.waypoints"):
        Builtin(tmp_path / "none.waypoints")


# -- the mission ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_mission_is_read_from_a_path(tmp_path, kind):
    """A string or a path gives the same as the loaded mission."""
    path = tmp_path / "square.waypoints"
    path.write_text(WPL)
    builtin = Builtin(kind(path))
    assert builtin.mission == load_mission(path)
    record = np.zeros(1, BUILTIN)
    builtin.write(record[0], ControlModel.of(iris()), 4_000)
    assert record["navigator"]["items"]["command"][0, :4].tolist() == [22, 16, 21, 0]


def test_no_mission_has_no_items():
    """Landing can still be requested."""
    assert builtin_record()["navigator"]["count"][0] == 0


def test_positions_are_metres_from_home():
    """By the length of a degree, to 1 cm; headings are in radians, or NaN."""
    north = waypoint(lat_deg=HOME["lat_deg"] + 1e-3, yaw_deg=90.0, hold_s=3.0)
    east = waypoint(lon_deg=HOME["lon_deg"] + 1e-3)
    items = items_of(north, east)
    assert items["pos_ned"][0] == pytest.approx((1e-3 * METRES_PER_DEGREE, 0.0, -10.0), abs=0.01)
    across = 1e-3 * METRES_PER_DEGREE * math.cos(math.radians(HOME["lat_deg"]))
    assert items["pos_ned"][1] == pytest.approx((0.0, across, -10.0), abs=0.01)
    assert items["yaw"][0] == pytest.approx(0.5 * math.pi, rel=1e-12)
    assert math.isnan(items["yaw"][1])
    assert items["hold_s"][:2].tolist() == [3.0, 0.0]


@pytest.mark.parametrize("home_alt_m", [488.0, 0.0, 1_000.0])
def test_altitudes_are_above_home_or_above_sea_level(home_alt_m):
    """Down from the origin, which is at home."""
    items = items_of(
        waypoint(alt_m=20.0), waypoint(alt_m=500.0, is_relative_alt=False), aircraft=iris(home_alt_msl_m=home_alt_m)
    )
    assert items["pos_ned"][:2, 2] == pytest.approx((-20.0, home_alt_m - 500.0), abs=1e-9)


def test_an_item_without_an_acceptance_radius_has_1_m():
    """Not NAV_ACC_RAD, as in the real library's loader; an item's own radius is used."""
    assert items_of(waypoint(), waypoint(acceptance_radius_m=3.5))["radius_m"][:2].tolist() == [1.0, 3.5]


# -- parameters and geometry ---------------------------------------------------------------------------------------


def test_a_rotor_parameter_changes_the_mix():
    """CA_ROTOR0_PY twice as far out changes the roll mix, and only that rotor's effectiveness in roll."""
    own, moved = builtin_record(), builtin_record(CA_ROTOR0_PY=0.49)
    assert not np.allclose(own["allocation"]["mix"], moved["allocation"]["mix"], atol=1e-3)
    ratio = moved["allocation"]["effectiveness"][0, 0, :4] / own["allocation"]["effectiveness"][0, 0, :4]
    assert ratio[0] / ratio[1:] == pytest.approx([2.0] * 3, rel=1e-6)


def test_the_geometry_is_that_of_the_aircraft():
    """Setting the equivalent CA_ROTORi_* parameters changes nothing."""
    params = {}
    for i, rotor in enumerate(iris().rotors):
        params |= {f"CA_ROTOR{i}_P{axis}": value for axis, value in zip("XYZ", rotor.pos_body_m, strict=True)}
        params |= {f"CA_ROTOR{i}_AX": 0.0, f"CA_ROTOR{i}_AY": 0.0, f"CA_ROTOR{i}_AZ": -1.0}
        params[f"CA_ROTOR{i}_KM"] = 0.05 * rotor.direction
    assert builtin_record(**params).tobytes() == builtin_record().tobytes()


def test_commands_go_to_the_channels_of_the_rotors():
    """Numbered from 0 in the record."""
    rotors = tuple(Rotor(rotor.pos_body_m, rotor.direction, channel=8 - i) for i, rotor in enumerate(octa().rotors))
    assert builtin_record(octa(rotors=rotors))["channel"][0, :8].tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    "changes",
    [
        {"params": {"MPC_XY_P": 1.0}},
        {"params": {"CA_ROTOR0_PY": 0.3}},
        {"mission": mission(waypoint())},
        {"angular_acceleration": False},
        {"motor_failure_detection": False},
        {"hover_thrust_estimate": True},
        {"home_lat_deg": 47.4, "mission": mission(waypoint())},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_the_record_depends_on_the_settings(changes):
    """A checksum of the record is equal for equal settings, and different for different ones."""

    def written(**options):
        record = np.zeros(1, BUILTIN)
        Builtin(**options).write(record[0], ControlModel.of(iris()), 4_000)
        return record.tobytes()

    assert written() == written(params={"MPC_XY_P": 0.95})
    assert written(**changes) == written(**changes)
    assert written(**changes) != written()


def test_the_hover_thrust_estimate_needs_its_parameter():
    """It must be enabled, and MPC_USE_HTE must be 1."""
    found = []
    for options in ({}, {"hover_thrust_estimate": True}, {"hover_thrust_estimate": True, "params": {"MPC_USE_HTE": 0}}):
        record = np.zeros(1, BUILTIN)
        Builtin(**options).write(record[0], ControlModel.of(iris()), 4_000)
        found.append(int(record["hover"]["is_on"][0]))
    assert found == [0, 1, 0]
