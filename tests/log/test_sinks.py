"""Log sinks: every row once and in order, the same flight, and a clear end if one fails."""

import os

import numpy as np
import pytest

import px4lockstep
from px4lockstep import CsvSink, InputError, Log, LogSink, ParquetSink, SimulationError, StateError

SHORT = {"timeline.t_end_s": 2.0}


class Rows(LogSink):
    """Keep everything, and fail in a call if asked to."""

    def __init__(self, fails_at=None):
        self.calls, self.columns, self.chunks = [], None, []
        self.fails_at = fails_at

    def note(self, name):
        self.calls.append(name)
        if name == self.fails_at:
            raise OSError(28, "No space left on device")

    def open(self, log):
        assert log.rows == 0
        self.columns = list(log)
        self.note("open")

    def write(self, log):
        assert list(log) == self.columns
        self.chunks.append((log.time_us.copy(), log["pos_ned"].copy()))
        self.note("write")

    def close(self):
        self.note("close")

    @property
    def time_us(self):
        return np.concatenate([time_us for time_us, _ in self.chunks]) if self.chunks else np.zeros(0)


def built(sinks):
    return px4lockstep.build(px4lockstep.load_spec("iris", {"timeline.t_end_s": 3.0}), sinks=sinks).simulation


def test_sinks_get_every_row_once_and_do_not_change_the_flight(tmp_path):
    """Two own sinks, CSV and Parquet at once, in the chunks of a watched flight."""
    plain = px4lockstep.simulate("iris", overrides=SHORT)
    rows, other = Rows(), Rows()
    sinks = [rows, CsvSink(tmp_path / "a.csv"), ParquetSink(tmp_path / "a.parquet", ["pos_ned"]), other]
    run = px4lockstep.simulate("iris", watch=lambda _: None, sinks=sinks, overrides=SHORT)
    assert run.digest == plain.digest
    assert rows.calls == other.calls == ["open", "write", "write", "close"]
    assert np.array_equal(rows.time_us, run.log.time_us)
    assert np.array_equal(np.concatenate([pos for _, pos in rows.chunks]), run.log["pos_ned"])
    for read in (px4lockstep.read_csv(tmp_path / "a.csv"), px4lockstep.read_parquet(tmp_path / "a.parquet")):
        assert np.array_equal(read.time_us, run.log.time_us)
        assert np.array_equal(read["pos_ned"], run.log["pos_ned"])
    whole = px4lockstep.read_csv(tmp_path / "a.csv")
    assert set(run.log) <= set(whole)
    for name in run.log.names:
        assert np.array_equal(whole[name], run.log[name], equal_nan=True), name
    assert px4lockstep.read_parquet(tmp_path / "a.parquet").names == ("time_us", "pos_ned")


def test_a_csv_file_has_the_rows_flown_so_far(tmp_path):
    """While the flight goes on; a Parquet file appears at its end."""
    seen = []

    def watch(simulation):
        seen.append((px4lockstep.read_csv(tmp_path / "a.csv").rows, len(simulation.log)))

    sinks = [CsvSink(tmp_path / "a.csv", ["vel_ned"]), ParquetSink(tmp_path / "a.parquet")]
    px4lockstep.simulate("iris", watch=watch, sinks=sinks, overrides=SHORT)
    assert seen == [(100, 100), (201, 201)]
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "a.csv.json", "a.parquet"]


def test_sinks_only_read():
    """Arrays of the log can't be written, and the log has no reference to the simulation."""

    class Writes(LogSink):
        def write(self, log):
            log["pos_ned"][:] = 7.0

    with pytest.raises(SimulationError, match=r"the log sink Writes failed at t = .* read-only") as caught:
        px4lockstep.simulate("iris", sinks=[Writes()], overrides=SHORT)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("call", ["open", "write", "close"])
def test_a_failing_sink_ends_the_run_and_keeps_the_log(call, tmp_path):
    """The error names the sink and its cause; all sinks are closed, once, with the rows they got."""
    first, bad, last = Rows(), Rows(call), CsvSink(tmp_path / "a.csv")
    flight = px4lockstep.build(px4lockstep.load_spec("iris", SHORT), sinks=[first, bad, last])
    text = "the log sink Rows failed at t = .* s: OSError: .* No space left on device. The run ends; its log is intact"
    with pytest.raises(SimulationError, match=text) as caught:
        px4lockstep.fly(flight, watch=lambda _: None)
    assert isinstance(caught.value.__cause__, OSError)
    assert first.calls[-1] == "close"
    rows = {"open": 0, "write": 100, "close": 201}[call]
    assert len(flight.simulation.log) == Log.of(flight.simulation).rows == rows
    assert len(first.time_us) == rows
    if call != "open":
        flight.simulation.close()  # again: nothing happens
        assert bad.calls.count("close") == 1
        with pytest.raises(SimulationError, match="the log sink Rows failed"):
            flight.simulation.run()


def test_a_sink_gets_the_rows_before_a_failure_of_the_run():
    """And is closed; the error is that of the run, with a note if the sink fails, too."""

    class Breaks:
        def step(self, time_us, inputs, outputs):
            if time_us >= 500_000:
                raise ZeroDivisionError("mine")

    def failing(sink):
        timeline = px4lockstep.Timeline(
            1_000_000, autopilot=px4lockstep.Periodic(10_000), log=px4lockstep.Periodic(10_000)
        )
        aircraft = px4lockstep.load_aircraft("iris")
        simulation = px4lockstep.Simulation(aircraft, timeline, autopilot=Breaks(), sinks=[sink])
        with pytest.raises(px4lockstep.SimulationError, match="ZeroDivisionError: mine") as caught:
            simulation.run()
        return simulation, caught.value

    good = Rows()
    simulation, _ = failing(good)
    assert good.calls == ["open", "write", "close"]
    assert good.time_us.tolist() == simulation.log["time_us"].tolist() == list(range(0, 500_000, 10_000))
    _, error = failing(Rows("write"))
    assert any("the log sink Rows failed" in note for note in error.__notes__)


def test_columns_of_faults_are_there_from_the_first_row():
    """Also if the fault occurs later, so that all chunks have the same columns."""
    sink = Rows()
    simulation = built([sink])
    for until_us in (1_000_000, 2_000_000, None):
        simulation.run(until_us)
    assert len(sink.chunks) == 3
    assert set(Log.of(simulation)) <= set(sink.columns)
    assert "sensor_fault_mask" in sink.columns


def test_a_run_with_sinks_goes_on_but_not_back():
    """A snapshot from before rows that a sink has can't be restored; a resumed one brings its rows."""
    sink = Rows()
    simulation = built([sink])
    before = simulation.snapshot()
    later = simulation.run(2_000_000).snapshot()
    with pytest.raises(StateError, match="log sinks have 200 rows of this run; it can't go back to row 0"):
        simulation.restore(before)
    simulation.restore(later)
    simulation.run()
    assert np.array_equal(sink.time_us, simulation.log["time_us"])
    other = Rows()
    resumed = built([other])
    resumed.restore(later)
    assert np.array_equal(other.time_us, [])
    resumed.run()
    assert np.array_equal(other.time_us, simulation.log["time_us"])


@pytest.mark.parametrize("wrong", [print, "log.csv", CsvSink, 7])
def test_something_that_is_not_a_sink_is_an_input_error(wrong):
    """Before the first boundary; a class instead of an instance, too."""
    with pytest.raises(InputError, match=r"sinks\[1\] = .* is not a log sink; pass an instance of"):
        px4lockstep.simulate("iris", sinks=[LogSink(), wrong], overrides=SHORT)


@pytest.mark.parametrize("sink", [CsvSink, ParquetSink])
def test_a_sink_that_can_not_be_written_says_so(sink, tmp_path):
    """Before the flight, naming the path."""
    with pytest.raises(SimulationError, match=r"Sink failed at t = 0\.000000 s: .*there is no folder .*missing"):
        px4lockstep.simulate("iris", sinks=[sink(tmp_path / "missing" / "a")], overrides=SHORT)
    assert os.listdir(tmp_path) == []
