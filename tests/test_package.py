"""The public API: lazy imports, documentation and types."""

from pathlib import Path

import numpy as np
import pytest

import px4lockstep


def test_dir_lists_names_before_they_are_imported(python):
    """Without importing them."""
    code = (
        "import sys, px4lockstep\n"
        "assert set(px4lockstep.__all__) <= set(dir(px4lockstep)), dir(px4lockstep)\n"
        "assert '__version__' in dir(px4lockstep) and '__doc__' in dir(px4lockstep)\n"
        "assert 'numba' not in sys.modules and 'px4lockstep.flights' not in sys.modules\n"
    )
    python("-c", code)


@pytest.mark.long
def test_a_saved_run_is_read_back(tmp_path):
    """Everything in the folder, as it was flown."""
    run = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 3.0})
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


def test_the_types_are_for_users():
    """`tests/types` has a user's program, which `make lint` checks."""
    assert (Path(px4lockstep.__file__).parent / "py.typed").exists()
