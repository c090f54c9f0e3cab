"""`px4lockstep compare`: table, JSON, files, exit codes, no traceback."""

import json

import pytest
from commands import run_command
from recorded_flights import shipped

from px4lockstep.cli.compare import compare_run
from px4lockstep.errors import InputError
from px4lockstep.flights.recording.file import write_recording


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a run folder with the recording of a short flight."""
    path = tmp_path_factory.mktemp("run")
    write_recording(shipped(end_s=3.0), path / "recording.h5")
    return path


@pytest.fixture
def quick(monkeypatch):
    """Write empty files instead of figures."""
    monkeypatch.setattr("px4lockstep.plots.flight.save_plot", lambda figure, path: path.touch())


def run(*arguments, cwd):
    """Run the command line."""
    return run_command("compare", *map(str, arguments), cwd=cwd)


def test_json_is_one_object_and_nothing_else(folder, tmp_path):
    """Cost and errors per integrator, the local defect; files go to --out."""
    out = tmp_path / "out"
    finished = run(folder, "--integrators", "Euler, RK4", "--local-defect", "--out", out, "--json", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    assert sorted(result) == ["files", "integrators", "local_defect", "recorded_digest", "reference"]
    assert [row["integrator"] for row in result["integrators"]] == ["Euler", "RK4"]
    assert result["integrators"][1]["evaluations"] == 12_000
    assert 0.0 < result["integrators"][1]["rates_rad_s"] < result["integrators"][0]["rates_rad_s"]
    assert result["reference"]["integrator"] == "RK45"
    assert result["recorded_digest"] == shipped(end_s=3.0).digest
    ratios = {(row["integrator"], row["quantity"]): row["halving_ratio"] for row in result["local_defect"]}
    assert ratios["Euler", "rates"] == pytest.approx(2.0, abs=0.2)
    names = ["compare.csv", "compare.png", "local_defect.csv", "local_defect.png"]
    assert result["files"] == [str(out / name) for name in names]
    assert sorted(path.name for path in out.iterdir()) == names


@pytest.mark.usefixtures("quick")
def test_the_table_fits_a_terminal_and_files_go_to_the_run_folder(folder, capsys, monkeypatch):
    """80 columns are enough for all four integrators, with no truncated number."""
    monkeypatch.setenv("COLUMNS", "80")
    assert compare_run(folder, "Euler,RK4,RK23,RK45", "RK45", True, None, False) == 0
    printed = capsys.readouterr().out
    assert "…" not in printed
    lines = printed.splitlines()
    assert max(len(line) for line in lines if line.startswith(("│", "┃"))) <= 80
    position = next(line for line in lines if "position [m]" in line)
    assert len(position.split("│")) == 8
    evaluations = next(line for line in lines if line.startswith("│ RHS evaluations"))
    assert evaluations.split("│")[4].strip() == "12,000"
    assert str(folder / "compare.csv") in lines
    assert (folder / "local_defect.png").exists()


@pytest.mark.usefixtures("quick")
def test_files_of_a_recording_go_to_the_current_folder(folder, tmp_path, monkeypatch, capsys):
    """If RUN is a file, not a run folder."""
    monkeypatch.chdir(tmp_path)
    assert compare_run(folder / "recording.h5", "RK4", "RK45", False, None, True) == 0
    assert json.loads(capsys.readouterr().out)["files"] == ["compare.csv", "compare.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.csv", "compare.png"]


@pytest.mark.usefixtures("quick")
def test_no_plots_writes_tables_only(folder, tmp_path, monkeypatch):
    """With --local-defect as well."""
    monkeypatch.chdir(tmp_path)
    assert compare_run(folder / "recording.h5", "RK4", "RK45", True, None, True, plots=False) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.csv", "local_defect.csv"]


@pytest.mark.usefixtures("quick")
def test_solvers_have_labels_settings_and_logs(folder, tmp_path, capsys, monkeypatch):
    """`--solver` replaces the default integrators and joins those that are named; `--logs` writes one log for each."""
    monkeypatch.chdir(tmp_path)
    solvers = ["loose=RK45,rtol=1e-3,atol=1e-3", "fine = RK45, rtol = 1e-9, atol = 1e-9, plant_error_control = false"]
    options = {"as_json": True, "plots": False, "solvers": solvers, "logs": tmp_path / "logs"}
    assert compare_run(folder / "recording.h5", **options) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["integrator"] for row in result["integrators"]] == ["loose", "fine"]
    assert result["integrators"][0]["evaluations"] < result["integrators"][1]["evaluations"]
    names = ["reference.parquet", "loose.parquet", "fine.parquet"]
    assert result["files"] == ["compare.csv", *(str(tmp_path / "logs" / name) for name in names)]
    with pytest.raises(InputError, match=r"compare\.csv exists and is not overwritten"):
        compare_run(folder / "recording.h5", **options)
    (tmp_path / "compare.csv").unlink()
    with pytest.raises(InputError, match=r"reference\.parquet exists and is not overwritten"):
        compare_run(folder / "recording.h5", **options)
    assert compare_run(folder / "recording.h5", "RK4", **options, force=True) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["integrator"] for row in result["integrators"]] == ["RK4", "loose", "fine"]


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ("RK45", "it must be LABEL=KIND,key=value,…"),
        ("a=RK45,rtol", "it must be LABEL=KIND,key=value,…"),
        ("RK4=RK45", "the label 'RK4' is used twice"),
        ("a=RK45,rtol_posx=1", "integrators, a: .* unknown key; did you mean 'rtol_pos'"),
        ("a=RK45,rtol_pos=?", "is not a value"),
    ],
)
def test_an_invalid_solver_is_an_error(solver, message, folder, tmp_path):
    """It names the option and the form it must have."""
    with pytest.raises(InputError, match=message):
        compare_run(folder, "RK4", out=tmp_path / "out", solvers=[solver])
    assert not (tmp_path / "out").exists()


def test_a_mistake_is_one_line_and_exit_code_2(folder, tmp_path):
    """No traceback, nothing on standard output, nothing written."""
    finished = run(folder, "--integrators", "RK4,RK44", "--out", tmp_path / "out", cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("error: integrators: 'RK44' is unknown; did you mean 'RK4")
    assert finished.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_no_integrator_and_an_unknown_reference_are_errors(folder, tmp_path):
    """With the messages of `flights.compare`; nothing is written."""
    with pytest.raises(InputError, match="is not a list of integrators"):
        compare_run(folder, " , ", "RK45", False, tmp_path / "out", False)
    with pytest.raises(InputError, match="reference: 'rk45' is unknown; did you mean 'RK45'"):
        compare_run(folder, "RK4", "rk45", False, tmp_path / "out", False)
    assert not (tmp_path / "out").exists()


def test_a_missing_recording_and_an_impossible_folder_are_errors(folder, tmp_path):
    """Before anything is flown."""
    with pytest.raises(InputError, match="is not a run folder"):
        compare_run(tmp_path, "RK4", "RK45", False, None, False)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="can't be created"):
        compare_run(folder, "RK4", "RK45", False, tmp_path / "file" / "out", False)
