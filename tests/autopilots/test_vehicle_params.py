"""Parameters of a vehicle's file with real PX4: those that it can take are set, and one warning counts the others."""

import fnmatch
import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from px4_runs import flight_of
from px4_sitl_double import make_flight
from vehicle_files import HARDWARE, OTHERS, write_vehicle

from px4lockstep.autopilots.px4_sitl.vehicle_params import HELD_BACK, is_held_back
from px4lockstep.autopilots.vehicle_params import no_effect
from px4lockstep.px4.params_files import load_params
from px4lockstep.scenario.scenario import Scenario


def test_parameters_of_hardware_are_held_back_from_stock_px4():
    """With them it would not arm, or not even start."""
    for name in HARDWARE:
        assert is_held_back(name), name
    flown = ("MPC_XY_P", "COM_DISARM_LAND", "NAV_ACC_RAD", "BAT_LOW_THR", "BAT1_N_CELLS", "IMU_GYRO_CUTOFF")
    for name in (*OTHERS, *flown):
        assert not is_held_back(name), name


def test_every_pattern_holds_back_a_name():
    """Each of them alone is a name, with a digit for `#`."""
    for names in HELD_BACK.values():
        for pattern in names:
            example = pattern.replace("#", "1").replace("*", "X")
            assert is_held_back(example), pattern
            assert fnmatch.fnmatchcase(example, pattern.replace("#", "[0-9]")), pattern


def test_the_page_lists_what_is_held_back():
    """Each row of its table, with all names."""
    page = Path(__file__).resolve().parents[2] / "docs" / "howto" / "qgroundcontrol.md"
    lines = page.read_text("utf-8").splitlines()
    for reason, names in HELD_BACK.items():
        assert f"| {', '.join(f'`{name}`' for name in names)} | {reason} |" in lines


def test_the_warning_names_a_few():
    """And counts all."""
    assert no_effect([], 7, "PX4") == ()
    assert no_effect(["A"], 7, "PX4") == ("autopilot.params_file: 1 of 7 parameters has no effect on PX4: A",)
    (text,) = no_effect([f"A{i}" for i in range(9)], 9, "PX4")
    assert text == "autopilot.params_file: 9 of 9 parameters have no effect on PX4: A0, A1, A2, A3, …"


@pytest.mark.process
def test_the_library_gets_those_that_it_has(tmp_path):
    """Above the airframe, below the user's; the geometry is that of the aircraft."""
    path = write_vehicle(tmp_path, MPC_THR_HOVER=0.6, MPC_XY_CRUISE=4.0, NAV_ACC_RAD=3.0, CA_ROTOR0_PX=0.4)
    changes = {
        "autopilot.params_file": str(path),
        "airframe.px4_params": {"MPC_THR_HOVER": 0.55, "MPC_XY_CRUISE": 3.0},
        "autopilot.params": {"MPC_XY_CRUISE": 3.5},
    }
    flight = flight_of(tmp_path, changes=changes)
    with closing(flight.simulation) as simulation:
        get = simulation.autopilot.px4.param_get
        found = [get(name) for name in ("MPC_THR_HOVER", "MPC_XY_CRUISE", "NAV_ACC_RAD", "CA_ROTOR0_PX")]
        simulation.autopilot.set_parameters({"MPC_Z_P": 0.9, "SYS_HITL": 0}, optional=["SYS_HITL"])
        assert get("MPC_Z_P") == np.float32(0.9)
    assert found == [np.float32(0.6), 3.5, 3.0, np.float32(0.1515)]
    (warning,) = [text for text in flight.warnings if "params_file" in text]
    total = len(load_params(path).values)
    count = len(HARDWARE) - 1 + len(OTHERS) + 2 + 12 * 9  # NAV_DLL_ACT exists; the geometry is not taken
    assert warning.startswith(f"autopilot.params_file: {count} of {total} parameters have no effect on real PX4: ")


@pytest.mark.process
def test_the_library_gets_the_geometry_of_a_file_if_it_is_not_derived(tmp_path):
    """All of it, with the number of rotors."""
    geometry = {f"CA_ROTOR{i}_{axis}": 0.1 * sign for i, sign in enumerate((1, -1, 1, -1)) for axis in ("PX", "PY")}
    path = write_vehicle(tmp_path, CA_ROTOR_COUNT=4, **geometry)
    flight = flight_of(tmp_path, changes={"autopilot.params_file": str(path), "px4.derive_ca_params": False})
    with closing(flight.simulation) as simulation:
        assert simulation.autopilot.px4.param_get("CA_ROTOR0_PX") == np.float32(0.1)
        assert simulation.autopilot.px4.param_get("CA_ROTOR_COUNT") == 4


@pytest.mark.sitl
@pytest.mark.parametrize("version", ["1.17", "main"])
def test_stock_px4_gets_those_that_it_has_except_hardware(sitl_build, tmp_path, monkeypatch, version):
    """Above the airframe, below the user's. PX4 starts, and stores none of the others."""
    monkeypatch.setenv("PX4_DOUBLE_VERSION", version)
    file = load_params(write_vehicle(tmp_path, MPC_XY_CRUISE=4.0, RTL_RETURN_ALT=44.0, CA_ROTOR0_PX=0.4)).values
    short = {"end_s": 0.1, "boot_s": 0.3, "mission": None, "scenario": Scenario()}
    simulation, sitl = make_flight(
        sitl_build, tmp_path / "run", **short, params={"MPC_XY_CRUISE": 3.0}, file_params=dict(file)
    )
    with closing(simulation):
        simulation.run()
    stored = json.loads((tmp_path / "run" / "px4" / "stored.json").read_text())
    assert (stored["MPC_XY_CRUISE"], stored["RTL_RETURN_ALT"]) == (3.0, 44.0)
    assert not [name for name in HARDWARE if name in stored and name != "PWM_MAIN_FUNC1"]
    assert stored.get("CA_ROTOR0_PX") != pytest.approx(0.4)
    assert "PX4_PARAM_RTL_RETURN_ALT" not in sitl.how_to_start()  # hundreds of them; MAVLink sets them
    held_back, lacking = [text for text in simulation.warnings if "params_file" in text]
    hardware = [name for name in file if is_held_back(name) or name.startswith(("CA_ROTOR", "CA_AIRFRAME"))]
    start = f"autopilot.params_file: {len(hardware)} of {len(file)} parameters have no effect on stock PX4: "
    assert held_back.startswith(start)  # known before the flight, so that it does not change during it
    lacks = [name for name in OTHERS if name.startswith("UNUSED")]
    assert len(lacks) <= int(lacking.split()[1]) < len(file) - len(hardware)
    assert "have no effect on this version of PX4, which lacks them: " in lacking
