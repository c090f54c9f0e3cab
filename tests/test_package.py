"""The public API: lazy imports, documentation and types."""

import subprocess
import sys

import numpy as np
import pytest

import px4lockstep

USER = """
import px4lockstep

run = px4lockstep.simulate("iris", **{"aircraft.seed": 7})
reveal_type(run)
reveal_type(run.summary.outcome)
reveal_type(run.log["pos_ned"])
flight = px4lockstep.build(px4lockstep.load_spec("iris"))
reveal_type(px4lockstep.fly(flight))
px4lockstep.simulate("iris", watch=lambda simulation: None)
px4lockstep.load_spec(3)
"""


def test_dir_lists_names_before_they_are_imported(python):
    """Without importing them."""
    code = (
        "import sys, px4lockstep\n"
        "assert set(px4lockstep.__all__) <= set(dir(px4lockstep)), dir(px4lockstep)\n"
        "assert '__version__' in dir(px4lockstep) and '__doc__' in dir(px4lockstep)\n"
        "assert 'numba' not in sys.modules and 'px4lockstep.flights' not in sys.modules\n"
    )
    python("-c", code)


def test_a_saved_run_is_read_back(tmp_path):
    """Everything in the folder, as it was flown."""
    run = px4lockstep.simulate("iris", **{"timeline.t_end_s": 3.0})
    saved = px4lockstep.read_run(run.save(tmp_path / "run"))
    assert np.array_equal(saved.log["pos_ned"], run.log["pos_ned"])
    assert saved.summary["digest"] == run.digest
    assert saved.spec.aircraft == run.spec.aircraft
    assert saved.recording.digest == run.digest
    assert not saved.is_incomplete
    assert len(saved.plot().axes) == len(run.plot().axes)


def test_a_missing_summary_or_folder_is_an_error(tmp_path):
    """The summary on first use, the folder at once."""
    with pytest.raises(
        px4lockstep.InputError, match=r"file not found: .*summary\.json; the run ended before it was written"
    ):
        _ = px4lockstep.read_run(tmp_path).summary
    (tmp_path / "summary.json").write_text("[]")
    with pytest.raises(px4lockstep.InputError, match="must be a JSON object"):
        _ = px4lockstep.read_run(tmp_path).summary
    with pytest.raises(px4lockstep.InputError, match="run folder not found"):
        px4lockstep.read_run(tmp_path / "nowhere")


def test_every_public_name_has_its_documentation():
    """For `help`."""
    for name in px4lockstep.__all__:
        if name != "__version__":
            assert len(getattr(px4lockstep, name).__doc__) > 20, name


@pytest.mark.process
def test_users_get_types(tmp_path):
    """A user's program under mypy --strict: return types are known, and a wrong argument is caught."""
    program = tmp_path / "user.py"
    program.write_text(USER, "utf-8")
    command = (sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program))
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line.partition("user.py:")[2] for line in checked.stdout.splitlines() if "user.py:" in line]
    assert [line.partition(": ")[2].rpartition("  [")[0] or line.partition(": ")[2] for line in lines] == [
        'note: Revealed type is "px4lockstep.flights.run.Run"',
        'note: Revealed type is "str"',
        'note: Revealed type is "numpy.ndarray[tuple[Any, ...], numpy.dtype[Any]]"',
        'note: Revealed type is "px4lockstep.flights.run.Run"',
        'error: Argument 1 to "load_spec" has incompatible type "int"; expected "str | Path"',
    ], checked.stdout
