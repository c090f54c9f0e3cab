"""Compare integrators on recorded flights of the Iris, which is in the air after 5.2 s."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from recorded_flights import shipped

import px4lockstep
from px4lockstep.errors import InputError
from px4lockstep.flights.compare import check_solvers, compare
from px4lockstep.flights.recording.file import write_recording
from px4lockstep.flights.replay import replay
from px4lockstep.integrators.solver import Integrator

ALL = ["position", "velocity", "attitude", "rates", "rotor speed", "voltage", "current"]


@pytest.fixture(scope="module")
def compared():
    """Compare all integrators on six seconds, with the local defect."""
    return compare(shipped(), local_defect=True)


def test_compared_flights_are_replays_of_the_recording(compared):
    """The recorded integrator, with its tolerances, has the errors of a replay against the reference's log."""
    again = replay(shipped())
    assert again.matches
    exact = replay(
        shipped(),
        overrides={
            f"plant.integrator.{kind}_{group}": 1e-10
            for kind in ("rtol", "atol")
            for group in ("pos", "vel", "omega", "act", "actdot", "rotor", "soc", "v1")
        }
        | {"plant.integrator.atol_att_rad": 1e-10},
    ).simulation
    difference = again.simulation.log_state - exact.log_state
    assert shipped().integrator == "RK45"
    assert compared.comparison["RK45"].errors["position"] == pytest.approx(
        np.linalg.norm(difference[:, :3], axis=1), rel=1e-6, abs=1e-16
    )
    volts = again.simulation.log["bus"]["outputs"]["bus_voltage_v"] - exact.log["bus"]["outputs"]["bus_voltage_v"]
    assert compared.comparison["RK45"].errors["voltage"] == pytest.approx(np.abs(volts).max(axis=1), abs=1e-16)


def test_every_integrator_has_its_cost_and_its_errors(compared):
    """Fixed steps are counted exactly; the more accurate the method, the smaller the errors, in every quantity."""
    comparison = compared.comparison
    assert [flown.name for flown in comparison.flown] == ["Euler", "RK4", "RK23", "RK45"]
    assert [quantity.name for quantity in comparison.quantities] == ALL
    assert comparison["Euler"].statistics.evaluations == comparison["Euler"].statistics.accepted_steps == 6_000
    assert comparison["RK4"].statistics.evaluations == 24_000
    assert comparison["RK23"].statistics.rejected_steps > 0
    assert comparison.reference_statistics.evaluations > comparison["RK45"].statistics.evaluations > 42_000
    for name in ALL:
        largest = [flown.largest(name) for flown in comparison.flown]
        assert largest[0] > 10.0 * max(largest[1:])
        assert min(largest) == largest[3] > 0.0


def test_the_local_defect_converges_with_the_order_of_the_method(compared):
    """Median over the counted intervals; RK4 approaches 16 from above: see docs/explanation/comparison.md."""
    defects = compared.local_defect
    assert defects.step_us == 1_000
    assert len(defects.time_s) == 600
    for name in ALL:
        assert defects["Euler"].ratio(name) == pytest.approx(2.0, abs=0.1)
        assert defects["RK4"].ratio(name) == pytest.approx(16.8, abs=0.5)
        assert defects["RK4"].counted(name) > 200
    assert defects["RK45"].ratios is None


def test_an_integrator_has_no_error_against_itself():
    """Whole flights and intervals, with the reference of the file."""
    for kind in ("RK4", "RK45"):
        own = compare(shipped(end_s=3.0), [kind], reference=Integrator(kind), local_defect=True)
        for name in ALL:
            assert own.comparison[kind].largest(name) == 0.0
            assert own.local_defect[kind].largest(name) == 0.0


def test_a_fixed_step_reference_is_used_unchanged():
    """It has no tolerances to tighten."""
    compared = compare(shipped(end_s=3.0), ["RK4"], reference="RK4")
    assert compared.comparison.reference_statistics.evaluations == 12_000
    assert compared.comparison["RK4"].largest("rates") == 0.0


def test_a_crashed_flight_is_compared_up_to_the_crash():
    """The Iris without a motor: the last row is the crash, outside the period of the log."""
    event = "scenario.events = [{ at_s = 10.0, action = 'disable_motor', motor = 1 }]"
    recording = shipped("iris", 20.0, (event,))
    compared = compare(recording, ["RK4"], local_defect=True)
    assert int(recording.log["bus"]["scenario"]["crashed"][-1]) == 1
    assert recording.log["time_us"][-1] % 10_000 != 0
    assert len(compared.comparison.time_s) == len(recording.log) == len(compared.local_defect.time_s) + 1
    assert compared.comparison.time_s[-1] == recording.log["time_us"][-1] / 1e6


@pytest.mark.long
def test_tables_and_figures_are_written(compared, tmp_path):
    """The tables have the values of the result; a missing folder is created."""
    files = compared.save(tmp_path / "new" / "folder")
    assert [path.name for path in files] == ["compare.csv", "compare.png", "local_defect.csv", "local_defect.png"]
    with files[0].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["integrator"] for row in rows] == ["reference", "Euler", "RK4", "RK23", "RK45"]
    assert float(rows[2]["position_m"]) == compared.comparison["RK4"].largest("position")
    assert rows[0]["position_m"] == ""
    with files[2].open(newline="") as file:
        defects = {(row["integrator"], row["quantity"]): row for row in csv.DictReader(file)}
    assert len(defects) == 4 * len(ALL)
    assert float(defects["RK4", "rates"]["halving_ratio"]) == compared.local_defect["RK4"].ratio("rates")
    assert defects["RK45", "rates"]["halving_ratio"] == ""
    for path in (files[1], files[3]):
        assert path.stat().st_size > 50_000


@pytest.mark.long
def test_a_failed_integrator_is_in_table_and_figure(compared, tmp_path):
    """Its errors end early."""
    flown = compared.comparison.flown
    cut = replace(flown[0], errors={name: errors[:5] for name, errors in flown[0].errors.items()}, failure="at 0.05 s")
    broken = replace(compared, comparison=replace(compared.comparison, flown=(cut, *flown[1:])), local_defect=None)
    files = broken.save(tmp_path)
    assert [path.name for path in files] == ["compare.csv", "compare.png"]
    assert "at 0.05 s" in files[0].read_text()


def test_one_method_is_compared_with_several_tolerances(tmp_path):
    """By label: keys on top of the recorded spec, an integrator, a kind; each has its log."""
    solvers = {
        "loose": {"kind": "RK45", "rtol": 1e-3, "atol": 1e-3, "kink_tolerance": 1.0},
        "fine": {"kind": "RK45", "rtol": 1e-9, "atol": 1e-9, "atol_rotor": 1e-8},
        "default": Integrator("RK45"),
        "RK4": "RK4",
    }
    found = check_solvers(solvers, Integrator("RK4", safety=0.8))
    assert [found["loose"].rtol_soc, found["loose"].atol_att_rad, found["loose"].safety] == [1e-3, 1e-3, 0.8]
    assert [found["fine"].atol_pos, found["fine"].atol_rotor] == [1e-9, 1e-8]
    assert found["default"].safety == Integrator().safety
    compared = compare(shipped(end_s=6.0), solvers)
    assert [flown.name for flown in compared.comparison.flown] == list(solvers)
    assert compared.comparison["loose"].largest("rates") > 100.0 * compared.comparison["fine"].largest("rates") > 0.0
    files = compared.save_logs(tmp_path / "logs")
    assert [path.name for path in files] == [f"{name}.parquet" for name in ("reference", *solvers)]
    exact, rk4 = px4lockstep.read_parquet(files[0]), px4lockstep.read_parquet(files[4])
    apart = np.linalg.norm(rk4["pos_ned"] - exact["pos_ned"], axis=1)
    assert apart == pytest.approx(compared.comparison["RK4"].errors["position"], rel=1e-12, abs=0.0)  # rounding


@pytest.mark.parametrize(
    ("solvers", "message"),
    [
        ({}, "is not a list of integrators"),
        ({"a": "RK44"}, "integrators, a: 'RK44' is unknown; did you mean 'RK4'"),
        ({"a": {"kind": "RK44"}}, r"integrators, a: plant\.integrator\.kind = 'RK44' is unknown"),
        ({"a": {"kind": "RK4", "rtol_posx": 1.0}}, r"integrators, a: plant\.integrator\.rtol_posx = 1.0: unknown key"),
        ({"a": {"kind": "RK45", "atol": 0.0}}, r"integrators, a: .*plant\.integrator\.atol_pos = 0.0"),
        ({"a/b": "RK4"}, "integrators: 'a/b' is not a label; it must be letters, digits"),
        ({"reference": "RK4"}, "integrators: 'reference' is not a label"),
        ({7: "RK4"}, "integrators: 7 is not a label"),
    ],
)
def test_invalid_solvers_are_refused_before_a_file_is_read(solvers, message):
    """Unknown kinds and keys, values out of range, labels that are no file names."""
    with pytest.raises(InputError, match=message):
        compare("no such file", solvers)


def test_compare_is_public(tmp_path):
    """It accepts the path of a recording as a string."""
    path = tmp_path / "short.h5"
    write_recording(shipped(end_s=3.0), path)
    compared = px4lockstep.compare(str(path), ["RK4"])
    assert isinstance(compared, px4lockstep.Compared)
    assert compared.local_defect is None
    assert compared.recording.digest == shipped(end_s=3.0).digest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"integrators": ["RK4", "rk45"]}, r"integrators: 'rk45' is unknown; did you mean 'RK45'\? Allowed: Euler,"),
        ({"integrators": ["Eulr"]}, r"did you mean 'Euler'\?"),
        ({"integrators": ["x"]}, "'x' is unknown; allowed: Euler, RK4, RK23, RK45"),
        ({"integrators": []}, "is not a list of integrators"),
        ({"integrators": "RK4"}, "'RK4' is not a list of integrators; choose from Euler"),
        ({"reference": "RK5"}, r"reference: 'RK5' is unknown; did you mean 'RK45'\?"),
    ],
)
def test_unknown_integrators_are_refused_before_anything_is_read(options, message):
    """The message has the closest name."""
    with pytest.raises(InputError, match=message):
        compare("there is no such file", **options)


def test_a_missing_recording_is_an_error(tmp_path):
    """A folder without one, and a missing file."""
    with pytest.raises(InputError, match="is not a run folder"):
        compare(tmp_path)
    with pytest.raises(InputError, match="can't be read"):
        compare(tmp_path / "no.h5")
