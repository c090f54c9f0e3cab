"""The table of export formats: `run.exports`, `Run.save`, options and names."""

import json
from pathlib import Path

import numpy as np
import pytest

import px4lockstep
from px4lockstep.errors import InputError, OutputError
from px4lockstep.flights.folder import RunFolder, check_outputs
from px4lockstep.log.export_source import ExportOptions
from px4lockstep.log.exports import FORMATS, check_formats, check_options


def test_run_exports_writes_all_formats_of_the_table(tmp_path):
    """With the run folder, under the names of the table; the summary and the flight are those of a run without."""
    changes = {"timeline.t_end_s": 0.5, "run.exports": list(FORMATS)}
    saved = px4lockstep.simulate("iris", overrides=changes).save(tmp_path / "run", plots=False)
    plain = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 0.5}).save(tmp_path / "plain", plots=False)
    files = {file.name for chosen in FORMATS.values() for file in chosen.files(Path(chosen.file_name))}
    assert {path.name for path in saved.iterdir()} - {path.name for path in plain.iterdir()} == files
    digests = [json.loads((place / "summary.json").read_text())["digest"] for place in (saved, plain)]
    assert digests[0] == digests[1]
    assert px4lockstep.read_run(saved).spec.run.exports == tuple(FORMATS)
    assert np.array_equal(px4lockstep.read_log(saved / "export.csv")["pos_ned"], px4lockstep.read_log(saved)["pos_ned"])


def test_exports_of_save_are_added_to_those_of_the_spec(tmp_path):
    """Each is written once."""
    run = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 0.2, "run.exports": ["parquet"]})
    saved = run.save(tmp_path / "run", plots=False, exports=["parquet", "ulog"])
    assert {"export.parquet", "export.ulg"} <= {path.name for path in saved.iterdir()}
    with pytest.raises(InputError, match="unknown export format 'ulgo'; did you mean 'ulog'"):
        run.save(tmp_path / "other", exports=["ulgo"])
    assert not (tmp_path / "other").exists()


def test_an_export_that_fails_does_not_stop_the_others(tmp_path):
    """Maps need positions, which this log does not have; the failures are listed, and the summary is written."""
    run = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 0.2, "run.log_columns": ["motors"]})
    with pytest.raises(OutputError) as error:
        run.save(tmp_path / "run", plots=False, exports=["kml", "csv", "gpx"])
    for name in ("kml", "gpx"):
        needs = f"{name.upper()} needs positions, but the log has no column pos_ned"
        assert f"{tmp_path / 'run' / f'export.{name}'} can't be written: {needs}" in str(error.value)
    assert {"export.csv", "summary.json", "INCOMPLETE"} <= {path.name for path in (tmp_path / "run").iterdir()}


def test_a_ulog_of_px4_that_can_not_be_moved_is_an_output_error(tmp_path):
    """So that the files after it are still written."""
    (tmp_path / "px4" / "log").mkdir(parents=True)
    (tmp_path / "px4" / "log" / "one.ulg").touch()
    (tmp_path / "px4.ulg").mkdir()
    with pytest.raises(OutputError, match=r"px4\.ulg can't be written: "):
        RunFolder(tmp_path, px4lockstep.load_spec("iris"))._keep_ulog(None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["ulgo"], "run.exports: unknown export format 'ulgo'; did you mean 'ulog'?; allowed: csv, parquet, ulog"),
        (["csv", "csv"], "run.exports: export format 'csv' is listed twice"),
        ("ulog", "run.exports = 'ulog' is not a list of formats"),
        ([1], "is not a list of formats"),
    ],
)
def test_a_wrong_run_exports_is_an_error_of_the_spec(value, text):
    """It names the key and the allowed formats."""
    with pytest.raises(InputError) as error:
        px4lockstep.load_spec("iris", {"run.exports": value})
    assert text in str(error.value)


def test_another_output_must_not_have_the_name_of_an_export(tmp_path):
    """`run.log_csv` would overwrite it, or its side file."""
    spec = px4lockstep.load_spec("iris", {"run.exports": ["csv"]})
    for name in ("export.csv", "export.csv.json"):
        other = spec.model_copy(update={"run": spec.run.model_copy(update={"log_csv": name})})
        with pytest.raises(InputError, match=r"can't be written: the run writes another file there"):
            check_outputs(other, tmp_path, force=False)
    check_outputs(spec, tmp_path, force=False)


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("ulog", ExportOptions(columns=("pos_ned",)), "--columns is not an option of ulog; it is for csv, parquet"),
        ("csv", ExportOptions(rate_hz=40.0), "--rate is not an option of csv; it is for ulog"),
        ("ulog", ExportOptions(rate_hz=0.0), "rate 0 Hz is out of range; it must be 1e-06 to 1000000 Hz"),
        ("ulog", ExportOptions(rate_hz=1e-20), "rate 1e-20 Hz is out of range"),
        ("kml", ExportOptions(rate_hz=1e-20), "rate 1e-20 Hz is out of range"),
        ("ulog", ExportOptions(rate_hz=float("nan")), "rate nan Hz is out of range"),
    ],
)
def test_an_option_that_a_format_does_not_have_is_an_error(name, options, text):
    """It names the formats that have it."""
    with pytest.raises(InputError, match=text):
        check_options(FORMATS[name], options)


def test_every_format_has_its_own_file_name():
    """So that several can be in one run folder."""
    assert len({chosen.file_name for chosen in FORMATS.values()}) == len(FORMATS)
    assert check_formats(FORMATS) == tuple(FORMATS.values())
    assert all(name == chosen.name and chosen.description for name, chosen in FORMATS.items())
