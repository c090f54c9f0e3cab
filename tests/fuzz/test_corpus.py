"""Every case that ever failed is accepted or refused within 5 s and 500 MB, in a separate process."""

import pytest
from fuzz.runner import run_inputs, workers
from fuzz.worker import GOOD, REFUSED

from fuzz.corpus import LARGE, names, write_case

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def own_workers():
    """Start one worker for all cases."""
    with workers(1) as own:
        yield own


@pytest.mark.parametrize("name", names())
def test_earlier_failures_are_accepted_or_refused_with_a_short_message(name, tmp_path, own_workers):
    """Messages of megabytes are failures too."""
    folder = tmp_path / "input"
    own_format = write_case(name, folder)
    (outcome,) = run_inputs([{"format": own_format, "folder": str(folder)}], own_workers)
    assert outcome.verdict in GOOD, outcome
    assert outcome.verdict == REFUSED or name in LARGE, outcome
    assert not (tmp_path / "owned.txt").exists()
    assert not (folder / "owned.txt").exists()
