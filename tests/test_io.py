"""Arrays of files: the same values, whose memory can be given back."""

import mmap
import re
from pathlib import Path

import numpy as np
import pytest

from px4lockstep.io import BLOCK_BYTES, blocks, in_memory, release_pages

SIZE = 2**23  # numbers: 64 MB


@pytest.fixture
def mapped(tmp_path):
    """An array of a file, each number its own index."""
    path = tmp_path / "numbers"
    with path.open("w+b") as file:
        file.truncate(8 * SIZE)
        array = np.ndarray(SIZE, np.int64, mmap.mmap(file.fileno(), 8 * SIZE))
    array[:] = np.arange(SIZE)
    return array


def resident_bytes():
    """Return how much memory of files this process has."""
    return 1024 * int(re.search(r"RssFile:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="this system does not tell a process's memory"
)


@needs_proc
def test_memory_is_given_back_and_the_numbers_stay(mapped):
    """By a view of the array too, of any kind."""
    pair = np.dtype([("a", "i8"), ("b", "i8")])
    for view in (mapped, mapped[10:20], mapped.view(pair)["b"][::3]):
        assert mapped.sum() == SIZE * (SIZE - 1) // 2
        before = resident_bytes()
        release_pages(view)
        assert before - resident_bytes() > 0.9 * mapped.nbytes
    assert mapped[SIZE - 1] == SIZE - 1


@needs_proc
@pytest.mark.parametrize("rows", [None, 50])
def test_a_column_is_read_with_little_of_the_file_in_memory_at_a_time(mapped, rows):
    """A column of long rows touches all pages of a file; at no time more than two blocks of 8 MB are there."""
    column = mapped.reshape(-1, 256)[:, 7]
    release_pages(mapped)
    before, most = resident_bytes(), 0
    for block in blocks(column, rows):
        column[block].sum()
        most = max(most, resident_bytes() - before)
    assert 0.9 * BLOCK_BYTES < most < 2 * BLOCK_BYTES
    assert resident_bytes() - before < 2**22
    copied = in_memory(column)
    assert resident_bytes() - before < 2**22
    assert copied.base is None
    assert (copied == 7 + 256 * np.arange(len(column))).all()


@pytest.mark.parametrize("rows", [None, 1, 3, 10, 11])
def test_blocks_have_all_rows_in_order(rows):
    """Whatever their size."""
    array = np.arange(10)
    assert [i for block in blocks(array, rows) for i in array[block]] == list(range(10))
    assert list(blocks(array[:0], rows)) == []


def test_memory_of_its_own_is_left_as_it_is():
    """It is not copied, and stays."""
    array = np.arange(10.0)
    release_pages(array[2:])
    assert in_memory(array) is array
    assert array.tolist() == list(range(10))
