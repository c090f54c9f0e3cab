"""The history of the benchmarks: entries are written, read again and compared."""

import subprocess

import bench_history
import pytest
from bench_history import HISTORY, Entry, chosen, compare, entries, ratios_of, with_entry

MACHINE, OTHER = "Some processor, 2 cores, Linux.", "Other processor, 8 cores, Linux."
VERSIONS = "Python 3.11.2, cc 12.2.0, numba 0.68.1."


def measurement(name, c_ratio=None, import_ratio=None):
    return {"name": name, "wall_s": 0.05, "c_ratio": c_ratio, "import_ratio": import_ratio, "tick_us": None}


def test_an_entry_is_read_as_it_was_written():
    """The newest is first; a benchmark without a ratio has no row."""
    text = with_entry("# History\n\nText.\n", "2026-01-01, abc", OTHER, VERSIONS, [measurement("plant_rk4", 0.9)])
    newer = [measurement("plant_rk4", 0.812), measurement("start_help", None, 0.5), measurement("sitl_host_step")]
    text = with_entry(text, "2026-01-02, def", MACHINE, VERSIONS, newer)
    assert entries(text) == [
        Entry("2026-01-02, def", MACHINE, {"plant_rk4": 0.81, "start_help": 0.5}),
        Entry("2026-01-01, abc", OTHER, {"plant_rk4": 0.9}),
    ]
    assert ratios_of(newer) == entries(text)[0].ratios
    assert text.startswith("# History\n\nText.\n\n## 2026-01-02, def\n")


def test_an_entry_of_the_same_machine_is_preferred():
    """The ratio to C depends on the processor."""
    newest, older = Entry("b", OTHER, {}), Entry("a", MACHINE, {})
    assert chosen([newest, older], MACHINE) is older
    assert chosen([newest, older], "Third processor.") is newest


@pytest.mark.parametrize(("ratio", "lines"), [(1.10, []), (1.11, ["a: 1.11, recorded 1.00 (+11%)"]), (0.5, [])])
def test_a_ratio_may_rise_by_a_tenth(ratio, lines):
    """A benchmark that only one of the two has is not compared."""
    assert compare({"a": ratio, "new": 9.0}, Entry("t", MACHINE, {"a": 1.0, "old": 1.0})) == lines


def test_the_recorded_history_is_readable():
    """Each entry names its machine and has ratios."""
    history = entries(HISTORY.read_text("utf-8"))
    assert len(history) == HISTORY.read_text("utf-8").count("\n## ")
    assert history
    assert all(entry.machine.endswith(".") and len(entry.ratios) >= 4 for entry in history)


@pytest.fixture
def history(tmp_path, monkeypatch):
    """Return a history with one entry of this machine, which is quiet."""
    file = tmp_path / "history.md"
    measured = [measurement("plant_rk4", 1.0), measurement("start_help", None, 0.5)]
    file.write_text(with_entry("# History\n", "2026-01-01, abc", bench_history.machine(), VERSIONS, measured))
    monkeypatch.setattr(bench_history, "HISTORY", file)
    monkeypatch.setattr(bench_history.os, "getloadavg", lambda: (0.1, 5.0, 5.0))
    return file


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        ([("plant_rk4", 1.05), ("start_help", 0.5)], 0, "no slower than 2026-01-01, abc\n"),
        ([("plant_rk4", 1.2), ("start_help", 0.5)], 1, "slower: plant_rk4: 1.20, recorded 1.00 (+20%)\n"),
        ([("plant_rk4", 1.0)], 2, "not measured: start_help\n"),
    ],
    ids=["same", "slower", "missing"],
)
def test_the_exit_code_tells_the_result(history, monkeypatch, capsys, found, code, said):
    """0 if nothing is slower, 1 if something is, 2 if something could not be compared."""
    monkeypatch.setattr(bench_history, "measured", lambda: [measurement(*each) for each in found])
    assert bench_history.check() == code
    assert capsys.readouterr().out == said


def test_a_busy_machine_is_named_and_gets_no_entry(history, monkeypatch, capsys):
    """Entries of a busy machine were wrong by a factor."""
    monkeypatch.setattr(bench_history.os, "getloadavg", lambda: (4.25, 0.0, 0.0))
    monkeypatch.setattr(
        bench_history, "measured", lambda: [measurement("plant_rk4", 1.0), measurement("start_help", 0.5)]
    )
    before = history.read_text()
    assert bench_history.check() == 0
    assert "busy (load average 4.2)" in capsys.readouterr().err
    assert bench_history.record() == 2
    assert history.read_text() == before
    assert "needs a quiet one" in capsys.readouterr().err


def test_benchmarks_that_fail_are_not_compared(history, monkeypatch, capsys):
    """The exit code is not that of a slower benchmark, and there is no traceback."""
    done = subprocess.CompletedProcess((), 1, b"")
    monkeypatch.setattr(bench_history.subprocess, "run", lambda *_, **__: done)
    with pytest.raises(SystemExit) as ended:
        bench_history.check()
    assert ended.value.code == 2
    assert "px4lockstep bench exited with 1" in capsys.readouterr().err
