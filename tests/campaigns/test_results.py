"""The dataset of results: types, roles and units, complete parts, and errors of damaged datasets."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from campaign_files import write_campaign

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.result_rows import Row
from px4lockstep.campaigns.results import ResultsWriter, parts_of, read_results, results_of, rows_of, schema_of
from px4lockstep.errors import InputError


@pytest.fixture
def campaign(tmp_path):
    """Return the small campaign."""
    return load_campaign(write_campaign(tmp_path))


def row(index, **changed):
    inputs = {"environment.wind_mean_ned[0]": 0.1 * index, "aircraft.name": "sound"}
    metrics = {"crashed": False, "mission_finished": True, "energy_wh": 1.5, "height_m": float("nan")}
    values = {"status": "flown", "passed": True, "reason": None, "error": None, "digest": "00", "seed": index}
    return Row(index=index, inputs=inputs, metrics=metrics, **values | changed)


def write(campaign, folder, indexes):
    writer = ResultsWriter(folder, schema_of(campaign))
    for index in indexes:
        writer.add(row(index))
    writer.flush()


def test_columns_have_types_roles_and_units(campaign):
    """So that any program can distinguish inputs from metrics."""
    schema = schema_of(campaign)
    roles = {field.name: field.metadata[b"role"].decode() for field in schema}
    assert [name for name, role in roles.items() if role == "input"] == [
        "environment.wind_mean_ned[0]",
        "aircraft.name",
    ]
    assert schema.field("height_m").metadata[b"unit"] == b"m"
    assert str(schema.field("crashed").type) == "bool"
    assert str(schema.field("aircraft.name").type) == "string"
    assert str(schema.field("index").type) == "int64"


def test_rows_are_read_back_unchanged_and_sorted_by_index(campaign, tmp_path):
    """NaN and null remain distinct."""
    write(campaign, tmp_path / "results", [3, 1, 0, 2])
    table = read_results(tmp_path / "results")
    assert table["index"].to_pylist() == [0, 1, 2, 3]
    found = rows_of(table)
    assert repr(found) == repr([row(i) for i in range(4)])
    assert pq.read_table(tmp_path / "results").num_rows == 4  # readable by other programs as one dataset


def test_a_part_is_written_once_it_has_a_twentieth_of_the_written_rows(campaign, tmp_path):
    """Each of the first rows alone; a thousand rows make about a hundred files."""
    writer = ResultsWriter(tmp_path / "results", schema_of(campaign))
    for index in range(20):
        writer.add(row(index))
        assert len(parts_of(tmp_path / "results")) == index + 1
    for index in range(20, 1_000):
        writer.add(row(index))
        there = sum(pq.read_metadata(part).num_rows for part in parts_of(tmp_path / "results")[-1:])
        assert there >= 1
    written = read_results(tmp_path / "results").num_rows
    assert 1_000 - written <= 1_000 / 20
    assert len(parts_of(tmp_path / "results")) < 120


def test_duplicate_runs_are_refused(campaign, tmp_path):
    """For example, because a part was copied."""
    write(campaign, tmp_path / "results", [0, 1])
    [first, *_] = parts_of(tmp_path / "results")
    first.with_name("part-00009.parquet").write_bytes(first.read_bytes())
    with pytest.raises(InputError, match="has duplicate runs; remove the part files that were copied into it"):
        read_results(tmp_path / "results")


def test_a_damaged_part_is_reported_with_the_remedy(campaign, tmp_path):
    """Here it is truncated."""
    write(campaign, tmp_path / "results", [0, 1])
    part = parts_of(tmp_path / "results")[0]
    part.write_bytes(part.read_bytes()[:100])
    with pytest.raises(InputError, match=rf"can't read .*{part.name}: .*; remove it and resume the campaign"):
        read_results(tmp_path / "results")


def test_a_part_of_another_campaign_is_refused(campaign, tmp_path):
    """It is recognized by the hash of the campaign."""
    write(campaign, tmp_path / "results", [0])
    other = load_campaign(write_campaign(tmp_path), 5)
    write(other, tmp_path / "other", [1])
    (tmp_path / "other" / "part-00000.parquet").rename(tmp_path / "results" / "part-00001.parquet")
    with pytest.raises(
        InputError, match=r"part-00001\.parquet belongs to a different campaign than part-00000\.parquet; remove it"
    ):
        read_results(tmp_path / "results")


def test_missing_results_are_an_error(tmp_path):
    """Instead of an empty table."""
    with pytest.raises(InputError, match=r"no results in .*; no run of this campaign has finished"):
        read_results(tmp_path)


def test_runs_of_a_removed_part_can_be_written_again(campaign, tmp_path):
    """As the remedy for a damaged part promises; no other part is overwritten."""
    folder = tmp_path / "results"
    write(campaign, folder, range(5))
    gone = parts_of(folder)[1]
    indexes = pq.read_table(gone)["index"].to_pylist()
    gone.unlink()
    write(campaign, folder, indexes)
    assert read_results(folder)["index"].to_pylist() == list(range(5))


def test_results_are_read_without_loading_metric_functions(campaign, tmp_path, monkeypatch):
    """Their imports may not be installed; names, units and types are in the file."""
    write(campaign, tmp_path / "results", range(2))
    monkeypatch.setattr(Campaign, "metrics", property(lambda _: pytest.fail("the metrics were loaded")))
    found = results_of(campaign, read_results(tmp_path / "results"))
    assert [tuple(metric) for metric in found.metrics] == [
        ("crashed", "1", True),
        ("mission_finished", "1", True),
        ("energy_wh", "Wh", False),
        ("height_m", "m", False),
    ]


def test_a_named_pipe_is_refused(tmp_path):
    """Reading it would block."""
    os.mkfifo(tmp_path / "part-00000.parquet")
    with pytest.raises(InputError, match="is not a regular file"):
        read_results(tmp_path)


def test_results_are_not_written_through_a_symbolic_link(tmp_path):
    """An untrusted folder can't direct files elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a symbolic link"):
        ResultsWriter(tmp_path / "results", pa.schema([]))


def test_a_column_whose_name_is_not_utf_8_is_refused(tmp_path):
    """Regression found by fuzzing."""
    part = tmp_path / "part-00000.parquet"
    pq.write_table(pa.table({"status": ["flown"]}), part, store_schema=False)
    part.write_bytes(part.read_bytes().replace(b"status", b"st\xdftus"))
    with pytest.raises(InputError, match="can't read"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("distributions", "sampling", "expected"),
    [
        (("grid",), "random", ("grid",)),
        (("list", "list"), "sobol", ("list",)),
        (("uniform", "normal"), "sobol", ("sobol",)),
        (("grid", "uniform"), "latin_hypercube", ("grid", "latin_hypercube")),
        ((), "random", ("seeds",)),
    ],
)
def test_results_know_how_inputs_actually_vary(distributions, sampling, expected, tmp_path):
    """Whatever sampling method the file names for inputs that it does not have."""
    keys = ("airframe.mass_kg", "power.batteries[0].soc0")
    options = {
        "grid": "values = [0.8, 0.9]",
        "list": "values = [0.8, 0.9]",
        "uniform": "low = 0.8\nhigh = 0.9",
        "normal": "mean = 0.8\nstd = 0.001",
    }
    text = f'[campaign]\nbase = "iris"\nruns = 2\nsampling = "{sampling}"\n'
    for key, kind in zip(keys, distributions, strict=False):
        text += f'[[vary]]\nkey = "{key}"\ndistribution = "{kind}"\n{options[kind]}\n'
    path = tmp_path / "campaign.toml"
    path.write_text(text, "utf-8")
    campaign = load_campaign(path)
    table = pa.Table.from_pylist([], schema_of(campaign))
    assert results_of(campaign, table).methods == expected
