"""Campaign folders: `campaign.json` and the parts of the results, opened, summarized, and a run rebuilt."""

import functools
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz import campaigns, expect
from fuzz.mutations import mutated_bytes, mutated_tree
from px4lockstep.campaigns.flyer import Flyer
from px4lockstep.campaigns.folder import PLAN, RESULTS, CampaignFolder
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.results import ResultsWriter, read_results, results_of, schema_of
from px4lockstep.campaigns.run import row_of
from px4lockstep.campaigns.summary import summary_of

RUNS = 4


@functools.cache
def base():
    """Return the files of a small flown campaign, by name."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        campaigns.write(folder, None)
        campaign = load_campaign(folder / "campaign.toml")
        made = CampaignFolder.create(folder / "out", campaign, "")
        writer, flyer = ResultsWriter(made.results, schema_of(campaign)), Flyer(campaign)
        for index in range(RUNS):
            writer.add(flyer.fly(index, campaign.inputs(index)))
        writer.flush()
        made.complete()
        files = [path for path in sorted(made.path.rglob("*")) if path.is_file()]
        return {str(path.relative_to(made.path)): path.read_bytes() for path in files}


def write(folder, rng):
    """Write a campaign's folder."""
    files = dict(base())
    parts = [name for name in files if name.startswith(RESULTS)]
    if rng is not None:
        way = rng.random()
        if way < 0.5:
            files[PLAN] = json.dumps(mutated_tree(json.loads(files[PLAN]), rng)).encode()
        elif way < 0.65:
            files[PLAN] = mutated_bytes(
                files[PLAN], rng, tokens=(b"[" * 3_000, b"null", b"{", b'"', b"\\ud800", b"1e999")
            )
        elif way < 0.8:
            name = rng.choice(parts)
            files[name] = mutated_bytes(files[name], rng)
        else:
            name = rng.choice(parts)
            files[name] = _edited(files[name], rng)
    for name, data in files.items():
        path = folder / "campaign" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _edited(data, rng):
    """Return a part with a column or some rows changed."""
    table = pq.read_table(pa.BufferReader(data))
    i, way = rng.randrange(table.num_columns), rng.random()
    name = table.column_names[i]
    if way < 0.2:
        table = table.append_column(name, table.column(i))
    elif way < 0.4:
        table = table.remove_column(i)
    elif way < 0.55:
        table = table.set_column(i, table.field(i), pa.nulls(table.num_rows, table.field(i).type))
    elif way < 0.7:
        table = pa.concat_tables([table, table])
    elif way < 0.8:
        table = table.set_column(i, name, pa.array(["x"] * table.num_rows))
    elif way < 0.9:
        metadata = {key: mutated_bytes(value, rng) for key, value in (table.schema.metadata or {}).items()}
        table = table.replace_schema_metadata(metadata if rng.random() < 0.7 else None)
    else:
        table = table.slice(0, 0)
    with pa.BufferOutputStream() as stream:
        pq.write_table(table, stream)
        return stream.getvalue().to_pybytes()


def use(folder):
    """Open it, summarize it, and rebuild one of its runs, as `campaign show` and `campaign rerun` do."""
    before = sorted(folder.rglob("*"))
    opened = CampaignFolder.open(folder / "campaign")
    summary = summary_of(results_of(opened.campaign, read_results(opened.results)))
    try:
        json.dumps(summary, allow_nan=False)
    except ValueError as wrong:
        expect(False, f"the summary is not JSON: {wrong}")
    row = row_of(opened, 1)
    opened.campaign.spec(opened.campaign.overrides(1, row.inputs))
    expect(sorted(folder.rglob("*")) == before, "reading a campaign's folder has written files")
