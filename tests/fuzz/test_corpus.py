"""Every case that ever failed is accepted or refused within 5 s and 500 MB, by a process of its own."""

import pytest
from fuzz.runner import run_inputs, workers
from fuzz.worker import GOOD, REFUSED

from fuzz.corpus import LARGE, names, write_case

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def own_workers():
    """One worker for all cases."""
    with workers(1) as own:
        yield own


@pytest.mark.parametrize("name", names())
def test_what_failed_before_is_an_error_that_explains_itself(name, tmp_path, own_workers):
    """Also its message is short: nobody reads megabytes."""
    folder = tmp_path / "input"
    own_format = write_case(name, folder)
    (outcome,) = run_inputs([{"format": own_format, "folder": str(folder)}], own_workers)
    assert outcome.verdict in GOOD, outcome
    assert outcome.verdict == REFUSED or name in LARGE, outcome
    assert not (tmp_path / "owned.txt").exists()
    assert not (folder / "owned.txt").exists()
