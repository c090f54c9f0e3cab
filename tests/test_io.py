"""Memory-mapped arrays, whose memory can be released, and atomic writes."""

import errno
import mmap
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from px4lockstep.errors import OutputError
from px4lockstep.io import (
    BLOCK_BYTES,
    KEPT_BYTES,
    atomic_write,
    blocks,
    in_memory,
    part_folder,
    release_pages,
    remove_leftovers,
)

SIZE = 2**23  # numbers: 64 MB


@pytest.fixture
def mapped(tmp_path):
    """Return an array of a file in which each number is its index."""
    path = tmp_path / "numbers"
    with path.open("w+b") as file:
        file.truncate(8 * SIZE)
        array = np.ndarray(SIZE, np.int64, mmap.mmap(file.fileno(), 8 * SIZE))
    array[:] = np.arange(SIZE)
    return array


def resident_bytes():
    """Return how much file-backed memory this process has."""
    return 1024 * int(re.search(r"RssFile:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="this system does not tell a process's memory"
)


@needs_proc
def test_memory_is_released_and_the_data_stays(mapped):
    """Also by any view of the array."""
    pair = np.dtype([("a", "i8"), ("b", "i8")])
    for view in (mapped, mapped[10:20], mapped.view(pair)["b"][::3]):
        assert mapped.sum() == SIZE * (SIZE - 1) // 2
        before = resident_bytes()
        release_pages(view)
        assert before - resident_bytes() > 0.9 * mapped.nbytes
    assert mapped[SIZE - 1] == SIZE - 1


@needs_proc
@pytest.mark.parametrize("rows", [None, 50])
def test_a_column_is_read_with_little_memory(mapped, rows):
    """A column of long rows touches all pages of a file; at most two blocks of 8 MB are in memory at a time."""
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


@needs_proc
def test_a_small_file_stays_in_memory(tmp_path):
    """Reading its pages again would take longer than the copy of a column."""
    with (tmp_path / "numbers").open("w+b") as file:
        file.truncate(KEPT_BYTES)
        array = np.ndarray(KEPT_BYTES // 8, np.int64, mmap.mmap(file.fileno(), KEPT_BYTES))
    before = resident_bytes()
    array[:] = 1
    assert in_memory(array.reshape(-1, 256)[:, 7]).all()
    assert resident_bytes() - before > 0.9 * KEPT_BYTES


@pytest.mark.parametrize("rows", [None, 1, 3, 10, 11])
def test_blocks_have_all_rows_in_order(rows):
    """For any block size."""
    array = np.arange(10)
    assert [i for block in blocks(array, rows) for i in array[block]] == list(range(10))
    assert list(blocks(array[:0], rows)) == []


def test_ordinary_memory_is_unchanged():
    """It is neither copied nor released."""
    array = np.arange(10.0)
    release_pages(array[2:])
    assert in_memory(array) is array
    assert array.tolist() == list(range(10))


# -- atomic writes ---------------------------------------------------------------------------------------------------


def test_a_planted_link_is_replaced_and_not_followed(tmp_path):
    """At the former name of temporary files (version 0.1), and at the target."""
    victim, target = tmp_path / "victim", tmp_path / "x.csv"
    victim.write_text("mine")
    (tmp_path / f".x.csv.{os.getpid()}.part").symlink_to(victim)
    target.symlink_to(victim)
    with atomic_write(target) as file:
        file.write(b"new")
    assert victim.read_text() == "mine"
    assert not target.is_symlink()
    assert target.read_text() == "new"


def test_temporary_files_have_random_names_and_normal_modes(tmp_path):
    """No two names are equal, and the umask decides who may read the file."""
    names = []
    for _ in range(3):
        with atomic_write(tmp_path / "x") as file:
            file.write(b"x")
            names += [path.name for path in tmp_path.iterdir() if path.name != "x"]
    assert len(set(names)) == 3
    assert not any(str(os.getpid()) in name for name in names)
    (tmp_path / "y").write_text("y")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "y").stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]


def test_an_exception_leaves_the_previous_file(tmp_path):
    """And no other file."""
    (tmp_path / "x").write_text("before")

    def fail(error):
        with atomic_write(tmp_path / "x") as file:
            file.write(b"half")
            raise error

    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt())
    with pytest.raises(OutputError, match=r"x can't be written: No space left on device$"):
        fail(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert (tmp_path / "x").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


WRITER = """
import os, pathlib, signal, sys, time
from px4lockstep.io import {writer}

with {writer}(pathlib.Path("{name}")) as part:
    (part / "head").write_text("half") if {writer}.__name__ == "part_folder" else part.write(b"half")
    print("writing", flush=True)
    {then}
"""


@pytest.mark.process
@pytest.mark.parametrize("writer", ["atomic_write", "part_folder"])
def test_only_leftovers_of_dead_processes_are_removed(tmp_path, writer):
    """At the next write into the folder. Other files and folders are never removed."""
    for other in (".x.part", ".px4lockstep-x.part", "px4lockstep-0123456789abcdef.part"):
        (tmp_path / other).write_text("not ours")
    (tmp_path / ".px4lockstep-0123456789abcdef.part").symlink_to(tmp_path / ".x.part")
    others = sorted(tmp_path.iterdir())
    killed = WRITER.format(writer=writer, name="killed", then="os.kill(os.getpid(), signal.SIGKILL)")
    subprocess.run([sys.executable, "-c", killed], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert len(list(tmp_path.iterdir())) == len(others) + 1
    living = WRITER.format(writer=writer, name="living", then="sys.stdin.read()")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", living], cwd=tmp_path, **pipes) as process:
        assert process.stdout.readline() == b"writing\n"  # it has removed the other's
        with atomic_write(tmp_path / "x"):
            pass
        assert len(list(tmp_path.iterdir())) == len(others) + 2
        process.stdin.close()
        assert process.wait(60) == 0
    assert sorted(tmp_path.iterdir()) == sorted([*others, tmp_path / "living", tmp_path / "x"])


@pytest.mark.process
def test_a_killed_write_is_cleaned_up_by_the_next(tmp_path):
    """By public functions only, so that the test runs on any version."""
    code = "import os\nfrom px4lockstep.io import atomic_write\nwith atomic_write('x'):\n    os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=60, check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with atomic_write(tmp_path / "x"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_new_folder_that_another_process_removes_at_once_is_made_again(tmp_path, monkeypatch):
    """A process that looks for leftovers may find it before it can be locked."""
    made = []

    def mkdir_and_look(path, *arguments, **named):
        mkdir(path, *arguments, **named)
        made.append(path)
        if len(made) == 1:
            remove_leftovers(tmp_path)

    mkdir = Path.mkdir
    monkeypatch.setattr(Path, "mkdir", mkdir_and_look)
    with part_folder(tmp_path / "x") as part:
        (part / "head").write_text("whole")
    assert len(made) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x" / "head").read_text() == "whole"
