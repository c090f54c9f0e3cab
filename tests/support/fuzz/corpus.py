"""Every case that ever failed: small ones as files in `tests/fuzz/corpus/FORMAT/NAME`, large ones generated here.

Names start with the finding of the reliability review, if there is one.
"""

import functools
import json
import os
import shutil
import struct
import zlib
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from recording_files import reseal, write_tiny

from fuzz import campaign_folders, campaigns, logs, module_of, ulogs
from fuzz.commands import write_command

FILES = Path(__file__).resolve().parents[2] / "fuzz" / "corpus"
MISSION = "QGC WPL 110\n0\t1\t3\t22\t0\t0\t0\t0\t47.397742\t8.545594\t12\t1\n"
CASES = {}
"""The format, and the function that writes the files, by name."""
LARGE = []
"""Those that are large and not wrong, or only have odd names: they need not be refused."""


def case(name, own_format, *, is_large=False, **options):
    """Register a function that writes a case."""

    def register(write):
        LARGE.extend([name] if is_large else ())
        CASES[name] = own_format, functools.partial(write, **options) if options else write
        return write

    return register


def write_case(name, folder):
    """Write a case into a folder and return its format."""
    folder.mkdir(parents=True, exist_ok=True)
    if name in CASES:
        own_format, write = CASES[name]
        write(folder)
        return own_format
    own_format = name.partition("/")[0]
    shutil.copytree(FILES / name, folder, dirs_exist_ok=True)
    return own_format


def names():
    """Return the names of all cases."""
    return [*CASES, *sorted(str(path.relative_to(FILES)) for path in FILES.glob("*/*"))]


def write_base(name, folder):
    """Write a valid input of a format."""
    module_of(name).write(folder, None)


# -- B: small inputs that hang or take memory -----------------------------------------------------------------------


@case("B1 1,000 speed items", "missions", is_large=True, count=1_000)
@case("B1 3,000 speed items", "missions", is_large=True, count=3_000)
def _speeds(folder, count):
    lines = [f"{i}\t0\t2\t178\t1\t5\t-1\t0\t0\t0\t0\t1" for i in range(1, count)]
    text = "\n".join(["QGC WPL 110", "0\t1\t3\t22\t0\t0\t0\t0\t47.4\t8.5\t12\t1", *lines, ""])
    (folder / "mission.waypoints").write_text(text)


@case("B1 3,000 jumps over commands", "missions", is_large=True)
def _jumps(folder):
    lines = [f"{i}\t0\t2\t177\t{i - 1}\t1\t0\t0\t0\t0\t0\t1" for i in range(1, 3_000)]
    text = "\n".join(["QGC WPL 110", "0\t1\t3\t22\t0\t0\t0\t0\t47.4\t8.5\t12\t1", *lines, ""])
    (folder / "mission.waypoints").write_text(text)


@case("B2 quoted key, 30,000 parts", "specs", part='"a"', count=30_000)
@case("B2 quoted key, 60,000 parts", "specs", part='"a"', count=60_000)
@case("B2 literal key, 30,000 parts", "specs", part="'a'", count=30_000)
@case("B2 bare key, 30,000 parts", "specs", part="a", count=30_000)
@case("B2 spaced key, 30,000 parts", "specs", part=" a ", count=30_000)
@case("B2 mixed key, 30,000 parts", "specs", part="\"a\" . a . 'a'", count=10_000)
def _deep_key(folder, part, count):
    (folder / "spec.toml").write_text(".".join([part] * count) + " = 1\n")


@case("B2 deep table header", "specs")
def _deep_header(folder):
    (folder / "spec.toml").write_text("[" + ".".join(['"a"'] * 30_000) + "]\nx = 1\n")


@case("B2 deep inline table", "specs", text="{a=")
@case("B2 deep array", "specs", text="[")
def _deep_value(folder, text):
    (folder / "spec.toml").write_text("a = " + text * 100_000)


@case("B3 one file extended 199 times", "specs")
def _extended(folder):
    (folder / "big.toml").write_text("".join(f"k{i} = {i}\n" for i in range(60_000)))
    (folder / "spec.toml").write_text(f"extends = {json.dumps(['./big.toml'] * 199)}\n")


@case("B3 120,000 names extended", "specs")
def _extends(folder):
    (folder / "spec.toml").write_text(f"extends = {json.dumps(['./n'] * 120_000)}\n")


@case("B4 9.8 MB of wrong lines", "missions")
def _wrong_lines(folder):
    (folder / "mission.waypoints").write_text("QGC WPL 110\n" + "x\n" * 4_900_000)


@case("B4 plan with 3 million params", "missions")
def _params(folder):
    item = {"type": "SimpleItem", "params": [0] * 3_000_000}
    (folder / "mission.plan").write_text(json.dumps({"fileType": "Plan", "mission": {"items": [item]}}))


@case("B5 recording with a dataset of 3 GB", "recordings")
def _bomb(folder):
    path, rows = write_tiny(folder), 2**26
    chunk = zlib.compress(bytes(rows), 9)
    with h5py.File(path, "r+") as file:
        item = file.create_dataset("mine", (48 * rows,), np.uint8, chunks=(rows,), compression=9)
        for i in range(48):
            item.id.write_direct_chunk((i * rows,), chunk)
        item.attrs["sha256"] = np.bytes_(b"0" * 64)
    reseal(path)


def _write_metric(folder, function):
    write_base("metrics", folder)
    (folder / "function").write_bytes(function.encode(errors="surrogatepass"))


@case("B6 metric in a device", "metrics")
def _device(folder):
    _write_metric(folder, "/dev/zero:f")


@case("B6 metric in a pipe", "metrics")
def _pipe(folder):
    os.mkfifo(folder / "pipe.py")
    _write_metric(folder, "pipe.py:f")


@case("B6 message in a pipe", "messages")
def _message_pipe(folder):
    write_base("messages", folder)
    os.mkfifo(folder / "msg" / "Pipe.msg")


@case("B6 spec in a pipe", "specs")
def _spec_pipe(folder):
    os.mkfifo(folder / "spec.toml")


@case("B7 41 messages, each with the next twice", "messages", is_large=True, count=41, times=2)
@case("B7 chain of 1,100 messages", "messages", is_large=True, count=1_100, times=1)
def _chain(folder, count, times):
    (folder / "msg").mkdir()
    for i in range(count):
        inner = [f"Own{i + 1} part{j}" for j in range(times)] if i + 1 < count else []
        (folder / "msg" / f"Own{i}.msg").write_text("\n".join(["uint64 timestamp", *inner]))


@case("C uorb list, chain of 1,100 messages", "commands", is_large=True)
def _chain_listed(folder):
    _chain(folder, 1_100, 1)
    write_command(folder, "uorb", "list", "--msg", "msg")


@case("B8 8,000 inputs", "campaigns", is_large=True)
def _inputs(folder):
    write_base("campaigns", folder)
    inputs = "".join(
        f'[[vary]]\nkey = "autopilot.params.P{i}"\ndistribution = "uniform"\nlow = 0.0\nhigh = 1.0\n'
        for i in range(8_000)
    )
    (folder / "campaign.toml").write_text('[campaign]\nname = "many"\nbase = "iris"\nruns = 4\n' + inputs)


@case("B8 list of 20,000 values", "campaigns", is_large=True)
def _values(folder):
    write_base("campaigns", folder)
    (folder / campaigns.FLOWN).unlink()
    values = [1.0 + i / 100_000 for i in range(20_000)]
    own = f'[[vary]]\nkey = "airframe.mass_kg"\ndistribution = "list"\nvalues = {values}\n'
    (folder / "campaign.toml").write_text('[campaign]\nname = "many"\nbase = "iris"\n' + own)


@case("301 batteries with an unknown key", "specs")
def _batteries(folder):
    text = '[[power.batteries]]\ncapacity_ah = 5.0\nids = "x"\n' * 301
    (folder / "spec.toml").write_text(f'extends = ["iris"]\n{text}')


@case("results without indexes", "campaign_folders", column=pa.nulls)
@case("results without the column of indexes", "campaign_folders", column=None)
def _indexes(folder, column):
    write_base("campaign_folders", folder)
    for path in (folder / "campaign" / campaign_folders.RESULTS).iterdir():
        table = pq.read_table(path)
        at = table.column_names.index("index")
        own = table.remove_column(at)
        if column is not None:
            own = table.set_column(at, table.field(at), column(table.num_rows, pa.int64()))
        pq.write_table(own, path)


# -- C: tracebacks at the command line ------------------------------------------------------------------------------


def _write_table(folder, change):
    write_base("logs", folder)
    table = change(pq.read_table(pa.BufferReader(logs.base()[logs.PARQUET])))
    pq.write_table(table, folder / logs.PARQUET)


@case("C log with a column twice", "logs")
@case("C export of a log with a column twice", "commands", words=("export", "."))
@case("C plot of a log with a column twice", "commands", words=("plot", "."))
def _twice(folder, words=()):
    _write_table(folder, lambda table: table.append_column("est_valid", table["est_valid"]))
    write_command(folder, *words)


@case("D4 log with falling times", "logs")
@case("C plot of a log with falling times", "commands", words=("plot", "."))
@case("C export of a log with falling times", "commands", words=("export", "."))
def _falling(folder, words=()):
    _write_table(folder, lambda table: table.take(pa.array(range(table.num_rows)[::-1], pa.int64())))
    write_command(folder, *words)


@case("D4 log with a time twice", "logs")
def _same_time(folder):
    _write_table(folder, lambda table: table.take(pa.array([0, 1, 1, 2], pa.int64())))


@case("C plot with a number as the mission", "commands", text="[px4]\nmission_path = 5\n")
@case("C plot with an array as the mission", "commands", text='[px4]\nmission_path = ["a"]\n')
@case("C plot with an array of tables", "commands", text="[[px4]]\nmission_path = 'simple'\n")
@case("C plot with a deep spec", "commands", text="a = " + "[" * 100_000)
@case("C plot with a binary spec", "commands", text="\0\x01")
def _plotted(folder, text):
    write_base("logs", folder)
    (folder / "spec.toml").write_text(text)
    write_command(folder, "plot", ".")


def _write_plan(folder, change):
    write_base("campaign_folders", folder)
    plan = folder / "campaign" / campaign_folders.PLAN
    plan.write_text(change(plan.read_text("utf-8")), "utf-8")


def _nest(text):
    fields = json.loads(text)
    for _ in range(200):
        fields["base"] = {"a": fields["base"]}
    return json.dumps(fields)


@case("C campaign show, deep base", "commands", words=("show",), change=_nest)
@case("C campaign rerun, deep base", "commands", words=("rerun",), change=_nest)
@case(
    "C campaign show, base = 2",
    "commands",
    is_large=True,
    words=("show",),
    change=lambda text: json.dumps(json.loads(text) | {"base": 2}),
)
@case(
    "C campaign rerun, base = 2",
    "commands",
    words=("rerun",),
    change=lambda text: json.dumps(json.loads(text) | {"base": 2}),
)
@case("C campaign show, deep JSON", "commands", words=("show",), change=lambda text: "[" * 100_000)
@case(
    "C campaign rerun, runs = []",
    "commands",
    words=("rerun",),
    change=lambda text: json.dumps(json.loads(text) | {"runs": []}),
)
@case(
    "A3 campaign rerun writes elsewhere",
    "commands",
    is_large=True,
    words=("rerun",),
    change=lambda text: json.dumps(json.loads(text) | {"mission": ["../../owned.txt", MISSION]}),
)
def _campaign(folder, words, change):
    _write_plan(folder, change)
    write_command(folder, "campaign", *words, "campaign", *(["1", "--no-plots"] if words == ("rerun",) else []))


@case("C metric of an unknown user", "metrics", function="~nosuch/x.py:f")
@case("C metric with a zero byte", "metrics", function="a\0.py:f")
@case("C metric with a lone surrogate", "metrics", function="\ud800.py:f")
@case("C metric in a folder", "metrics", function=".:f")
def _function(folder, function):
    _write_metric(folder, function)


@case("C metric that raises KeyboardInterrupt when loaded", "metrics", text="raise KeyboardInterrupt\n")
@case("C metric that raises BaseException when loaded", "metrics", text="raise BaseException('x')\n")
@case(
    "C metric that raises KeyboardInterrupt when called", "metrics", text="def f(run):\n    raise KeyboardInterrupt\n"
)
def _raising(folder, text):
    _write_metric(folder, "metric.py:f")
    (folder / "metric.py").write_text(text)


@case("C plot of a folder with a name that is not UTF-8", "commands", is_large=True, words=("plot", "run\udcff"))
@case("C export of a folder with a name that is not UTF-8", "commands", is_large=True, words=("export", "run\udcff"))
@case(
    "C diff of a folder with a name that is not UTF-8",
    "commands",
    is_large=True,
    words=("diff", "run\udcff", "run\udcff"),
)
def _named(folder, words):
    own = folder / "run\udcff"
    own.mkdir()
    write_base("logs", own)
    write_tiny(own)
    write_command(folder, *words)


@case("C signalling NaN in a ULog file", "ulogs", is_large=True)
def _signalling(folder):
    level = struct.pack("<4f", 1.0, 0.0, 0.0, 0.0)  # of the first attitude
    (folder / ulogs.FILE).write_bytes(ulogs.bases()[0].replace(level, b"\1\0\xa0\x7f" + level[4:], 1))


# -- D: accepted and wrong ------------------------------------------------------------------------------------------


@case("D1 rows with -1 logged", "logs", logged=-1)
@case("D1 rows with -5 logged", "logs", logged=-5)
@case("D1 rows with 2^62 logged", "logs", logged=2**62)
@case("D1 rows with one more logged than there are", "logs", logged=None)
def _logged(folder, logged):
    write_base("logs", folder)
    (folder / logs.PARQUET).unlink()
    (folder / logs.ROWS).mkdir()
    for name, data in logs.base()[logs.ROWS].items():
        (folder / logs.ROWS / name).write_bytes(data)
    path = folder / logs.ROWS / "head"
    head = np.frombuffer(bytearray(path.read_bytes()[: logs.HEAD.itemsize]), logs.HEAD)
    head["logged"] = int(head["logged"][0]) + 1 if logged is None else logged
    path.write_bytes(head.tobytes())


@case("D2 wind of 1.7e308 m/s", "specs", text="[environment]\nwind = 'constant'\nwind_mean_ned = [1.7e308, 0.0, 0.0]\n")
@case("D2 battery of 1e-300 ohm", "specs", text="[[power.batteries]]\nid = 'bat1'\nr1 = 1e-300\n")
@case("D2 position of 9e18 m", "specs", text="[airframe.x0]\npos_ned = [9e18, 0.0, 0.0]\n")
def _limits(folder, text):
    (folder / "spec.toml").write_text('extends = ["iris"]\n' + text)
    (folder / "flown").touch()
