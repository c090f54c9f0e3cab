"""Input files: small inputs that are expensive to read, and invalid paths, are errors within a budget."""

import json
import os
import signal
from contextlib import contextmanager

import pytest
from mission_files import HERE, TAKEOFF, wpl

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.functions import UserFunction
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.errors import InputError, MetricError
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.saved import read_run
from px4lockstep.px4.missions import load_mission, parse_plan, parse_wpl
from px4lockstep.px4.uorb.sources import LayoutSources
from px4lockstep.spec.load import load_spec, parse_spec

SPEED = "2 178 1 5 -1 0 0 0 0"


@contextmanager
def at_most(cpu_s, wall_s=120):
    """Limit the CPU time of a block, because machines may be busy, and its wall time, because it must not block."""

    def stop(*_):
        raise AssertionError(f"it takes more than {cpu_s} s, or waits")

    before = [signal.signal(number, stop) for number in (signal.SIGVTALRM, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s)
    signal.setitimer(signal.ITIMER_REAL, wall_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip((signal.SIGVTALRM, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)


def refused(do, *arguments, match=None, cpu_s=5.0, wall_s=120):
    """Return the error of a call, which must come in time and not be long."""
    with at_most(cpu_s, wall_s), pytest.raises(InputError, match=match) as caught:
        do(*arguments)
    assert len(str(caught.value)) < 150_000
    return str(caught.value)


# -- missions --------------------------------------------------------------------------------------------------------


def test_a_mission_of_thousands_of_commands_is_checked_in_one_pass():
    """B1: 3,000 changes of speed took 40 s; also with jumps between them."""
    lines = [TAKEOFF, *(f"{i} 0 {SPEED} 1" for i in range(1, 3_001)), f"3001 0 3 16 0 0 0 0 {HERE} 1"]
    lines.append("3002 0 2 177 1 1 0 0 0 0 0 1")
    with at_most(5.0):
        assert len(parse_wpl(wpl(*lines), "m").items) == 3_003
    jumps = [f"{i} 0 2 177 {i - 1} 1 0 0 0 0 0 1" if i % 2 else f"{i} 0 {SPEED} 1" for i in range(1, 3_001)]
    text = refused(parse_wpl, wpl(TAKEOFF, *jumps), "m", match="leads back to itself without any flown item")
    assert text.endswith(f"… and {1_499 - 20:,} more")


def test_the_errors_of_a_mission_are_counted_after_the_first_twenty():
    """B4: 9.8 MB of nonsense made a message of 670 MB, and a list of 3 million parameters one of 9 MB."""
    text = refused(parse_wpl, wpl(*["x"] * 60_000), "m")
    assert len(text.splitlines()) == 21
    assert text.endswith("\n… and 59,980 more")
    refused(parse_wpl, wpl(*["x"] * 4_900_000), "m", match="has 4,900,000 items; PX4 supports at most 65,535")
    item = {"type": "SimpleItem", "command": 16, "frame": 3, "params": [0] * 900_000}
    refused(parse_plan, plan([item]), "m", match=r"item 0: params = \[0, 0, .* must be a list of seven numbers")
    item["params"] *= 2
    refused(parse_plan, plan([item]), "m", match="has more than 1,000,000 values")


def plan(items):
    """Return the text of a plan."""
    return json.dumps({"fileType": "Plan", "mission": {"items": items}})


@pytest.mark.parametrize("item", ["SimpleItem", 5, None, ["SimpleItem"]])
def test_a_plan_item_that_is_not_an_object_is_an_error(item):
    """C: a string was an AttributeError."""
    refused(parse_plan, plan([item]), "m", match="item 0: .* must be SimpleItem or ComplexItem")


# -- TOML ------------------------------------------------------------------------------------------------------------

DEEP_KEYS = {
    "quoted": '"a".' * 30_000 + "a",
    "literal": "'a' . " * 30_000 + "a",
    "mixed": 'a."a".' * 15_000 + "a",
    "in a table after a long string": 'x = { "\\"" = """\n" """, "a"' + '."a"' * 30_000,
    "in a table after a literal string": "x = { y = '''\n' ''', a" + ".'a'" * 30_000,
    "of a table": "[" + '"a".' * 30_000 + "a]\nb",
}


@pytest.mark.parametrize("key", DEEP_KEYS.values(), ids=DEEP_KEYS)
def test_a_key_of_thousands_of_parts_is_an_error(key):
    """B2: quotes and dots took 21 s and 3.5 GB."""
    refused(parse_spec, f"{key} = 1", match="nested too deeply", cpu_s=2.0)


@pytest.mark.parametrize("text", ['"\\"' * 200_000, '"""' + '\\"""' * 150_000, "''' '" * 100_000, "a." * 400_000])
def test_the_scan_of_a_file_is_linear(text):
    """For text that is almost a key or a string."""
    refused(parse_spec, text, cpu_s=3.0)


def test_keys_of_thirty_parts_are_parsed():
    """Quoted or not; dots in strings and comments do not count."""
    deep = ".".join(["a", '"b"'] * 15)
    dots = ".".join(["w"] * 99)
    error = refused(parse_spec, f'{deep} = 1\nurl = "{dots}"  # {dots}\nlong = """{dots}"""\nwords = \'{dots}\'\n')
    assert "url = 'w.w." in error
    assert "nested too deeply" not in error


def test_a_setting_of_thousands_of_parts_is_an_error():
    """As in a file, with `--set`."""
    settings = ["home={" + '"a".' * 15_000 + "a = 1}"]
    refused(lambda: load_spec("iris", settings=settings), match="is not a value", cpu_s=2.0)


@pytest.mark.long
def test_a_large_file_that_is_named_often_is_an_error(tmp_path):
    """B3: 199 times a file of 1 MB took 100 s, 120,000 names 14 s; a file named twice is parsed once."""
    (tmp_path / "big.toml").write_text("".join(f"k{i} = {i}\n" for i in range(65_000)))
    (tmp_path / "often.toml").write_text(f"extends = {['big.toml'] * 199}\n")
    refused(load_spec, tmp_path / "often.toml", match="more than 2,000,000 bytes in total")
    (tmp_path / "names.toml").write_text(f"extends = {['iris'] * 100_000}\n")
    refused(load_spec, tmp_path / "names.toml", match="extends names 100,000 files; the limit is 200")


# -- paths -----------------------------------------------------------------------------------------------------------

READERS = (load_spec, load_mission, read_recording, read_run, load_campaign, CampaignFolder.open)


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x/\ud800.toml"], ids=["zero", "surrogate", "in a name"])
@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_an_invalid_path_is_an_error(read, path):
    """C: zero bytes and unpaired surrogates were a ValueError."""
    refused(read, path, match="is not a path|unknown aircraft")


FILES = ["~nosuch/x.py", "a\0.py", "\ud800.py", "/dev/zero", "pipe", "."]


@pytest.mark.parametrize("file", FILES, ids=["nobody", "zero", "surrogate", "device", "pipe", "folder"])
def test_a_metric_without_a_regular_file_is_an_error(tmp_path, file):
    """B6 and C: a device never ended, a pipe blocked, a missing home folder was a RuntimeError."""
    os.mkfifo(tmp_path / "pipe")
    refused(UserFunction.read, "m", f"{file}:f", tmp_path, match="^metric 'm', function = ", cpu_s=2.0, wall_s=20)


def test_a_message_that_is_a_pipe_is_an_error(tmp_path):
    """B6: it blocked."""
    os.mkfifo(tmp_path / "A.msg")
    refused(layouts, tmp_path, match=r"A\.msg is not a regular file", cpu_s=2.0, wall_s=20)


# -- messages of PX4 -------------------------------------------------------------------------------------------------


def messages(folder, **texts):
    """Create a folder of messages, each with a timestamp."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.msg").write_text(f"uint64 timestamp\n{text}\n")
    return folder


def layouts(folder):
    """Lay out all messages of a folder."""
    sources = LayoutSources(folder)
    return [sources.layout(topic) for topic in sources.topics()]


TWICE = {f"M{i:02}": f"M{i + 1:02} a\nM{i + 1:02} b" for i in range(40)} | {"M40": ""}
CHAIN = {f"M{i}": f"M{i + 1} a" for i in range(999)} | {"M999": ""}


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        (TWICE, "is nested too deeply: more than 16 levels"),
        ({name: text for name, text in TWICE.items() if name >= "M27"}, "has more than 1,000 fields"),
        (CHAIN, "is nested too deeply: more than 16 levels"),
        ({"A": "B[60000] b", "B": "uint8[60000] c"}, "has more than 65,535 bytes"),
        ({f"M{i}": "" for i in range(1_001)}, r"has 1,001 \.msg files, which exceeds"),
    ],
    ids=["twice", "twice, less deep", "chain", "large", "many"],
)
def test_messages_in_messages_have_a_limit(tmp_path, texts, match):
    """B7: 41 messages, each with the next one twice, took 2^40 steps; C: a chain of 1,100 was a RecursionError."""
    refused(layouts, messages(tmp_path / "msg", **texts), match=match)


# -- campaigns -------------------------------------------------------------------------------------------------------


def test_thousands_of_inputs_are_an_error(tmp_path):
    """B8: 8,000 took 36 s."""
    table = '[[vary]]\nkey="px4.params.A{}"\ndistribution="uniform"\nlow=0\nhigh=1\n'
    tables = "".join(table.format(i) for i in range(8_000))
    (tmp_path / "c.toml").write_text(f'[campaign]\nbase = "iris"\nruns = 2\n{tables}')
    refused(load_campaign, tmp_path / "c.toml", match="vary has 8000 items; it must have at most 500")


CHANGES = [
    {"base": 2},
    {"base": {"airframe": "x"}, "runs": "many"},
    {"runs": 10**9},
    {"mission": ["a", "b", "c"]},
    {"sources": {"a.py": 5}},
    {"file": []},
    {"folder": None},
    {"more": 1},
    {"base": json.loads("[" * 40 + "]" * 40)},
    {"base": json.loads("[" * 900 + "]" * 900)},
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_a_changed_campaign_is_an_error(tmp_path, change):
    """C: unexpected types and depths were a TypeError or a RecursionError."""
    (tmp_path / "c.toml").write_text('[campaign]\nbase = "iris"\nruns = 2\n')
    text = load_campaign(tmp_path / "c.toml").to_json()
    assert Campaign.of_json(text).to_json() == text
    (tmp_path / "campaign.json").write_text(json.dumps(json.loads(text) | change))
    refused(CampaignFolder.open, tmp_path, match=r"can't read .*campaign\.json: ")


def test_a_campaign_as_json_has_no_infinity(tmp_path):
    """Infinity in TOML (no limit) has no JSON number; it survives the round trip."""
    changes = '[set]\n"actuation.motor_actuators.rate_limit" = inf\n'
    (tmp_path / "c.toml").write_text(f'[campaign]\nbase = "iris"\nruns = 2\n{changes}')
    campaign = load_campaign(tmp_path / "c.toml")
    assert "Infinity" not in campaign.to_json()
    again = Campaign.of_json(campaign.to_json())
    assert again.base == campaign.base
    assert again.identity == campaign.identity


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "SystemExit(3)", "GeneratorExit", "BaseException('x')"])
def test_any_exception_of_a_metric_is_its_error(tmp_path, raised):
    """C: an interrupt raised by the file ended everything."""
    (tmp_path / "m.py").write_text(f"raise {raised}\n")
    refused(UserFunction.read, "m", "m.py:f", tmp_path, match="can't load m.py: m.py, line 1: ")
    (tmp_path / "g.py").write_text(f"def f(run):\n    raise {raised}\n")
    function = UserFunction.read("m", "g.py:f", tmp_path)
    with pytest.raises(MetricError, match=r"^metric 'm': g.py, line 2: "):
        function(type("Flown", (), {"run": None}))


def test_an_interrupt_during_a_metric_is_an_interrupt(tmp_path):
    """A signal is not an error of the file."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the background of a shell ignores it
    (tmp_path / "m.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nx = list(range(9))\n")
    try:
        with pytest.raises(KeyboardInterrupt):
            UserFunction.read("m", "m.py:f", tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)


# -- the reader itself -----------------------------------------------------------------------------------------------


def test_only_regular_files_are_read(tmp_path):
    """Within the size limit; a pipe does not block."""
    from px4lockstep.reading import read_regular

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5, "a file") == b"12345"
    for name, size, match in (
        ("file", 4, "larger than 4 bytes, the limit for a file$"),
        ("pipe", 4, "pipe is not a regular file; give the path of a file$"),
        (".", 4, "is a folder; give the path of a file$"),
        ("gone", 4, "^file not found: .*gone$"),
    ):
        refused(read_regular, tmp_path / name, size, "a file", match=match, wall_s=20)


@pytest.mark.parametrize("text", ["[" * 34 + "]" * 34, "[" * 100_000, '{"a": "\\ud800"}', "{", "1" * 9_000])
def test_invalid_json_is_an_error(text):
    """Also JSON that Python's parser accepts and other code fails on."""
    from px4lockstep.reading import parse_json

    refused(parse_json, text, "f", "a file")
    assert parse_json("[" * 32 + "]" * 32, "f", "a file")


def test_json_has_no_infinity_or_nan():
    """D2: wind of 1.7e308 m/s printed Infinity."""
    from px4lockstep.io import to_json

    assert to_json({"a": [float("inf"), 1.5], "b": (float("nan"),)}) == '{"a": [null, 1.5], "b": [null]}'


def test_duplicate_errors_are_counted_once():
    """The first twenty are stored."""
    from px4lockstep.errors import ErrorLines

    lines = ErrorLines()
    for i in range(25):
        lines.append(f"{i}")
        if i < 20:
            lines.append(f"{i}")
    assert lines == [str(i) for i in range(20)]
    assert lines.shown()[-1].startswith("… and ")
