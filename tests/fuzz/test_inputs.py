"""Mutated inputs with a fixed seed: each is accepted, or refused with a LockstepError, in this process."""

import contextlib
import time

import pytest
from fuzz.mutations import TOKENS
from fuzz.runner import MAX_CPU_S, run_inputs, workers
from fuzz.worker import GOOD, verdict_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import FORMATS, make_input, warm_up
from px4lockstep.errors import LockstepError
from px4lockstep.px4.missions import parse_mission
from px4lockstep.px4.params_files import parse_params
from px4lockstep.px4.uorb.msg_files import parse_msg
from px4lockstep.spec.load import parse_spec
from px4lockstep.spec.overrides import parse_override

SEED = 17
COUNTS = {
    "specs": 560,
    "missions": 460,
    "settings": 420,
    "campaigns": 140,
    "recordings": 80,
    "checkpoints": 25,
    "logs": 80,
    "ulogs": 200,
    "messages": 120,
    "parameters": 60,
    "params_files": 200,
    "metrics": 30,
    "campaign_folders": 25,
}
"""2,400 inputs in some 20 s of CPU time; the share of quick formats is higher than in `make fuzz`."""
SAMPLE = 3
"""One input of this many is in `make test`, the others are in the slow tier."""


@pytest.mark.parametrize("rest", [0, *(pytest.param(rest, marks=pytest.mark.slow) for rest in range(1, SAMPLE))])
@pytest.mark.parametrize("name", FORMATS)
def test_every_input_is_accepted_or_refused(name, rest, tmp_path):
    """Nothing else is raised, and none takes seconds; `make fuzz` runs more, with a memory limit."""
    warm_up(name, tmp_path / "warm")
    assert sum(COUNTS.values()) == 2_400
    for index in range(rest, COUNTS[name], SAMPLE):
        folder = make_input(name, SEED, index, tmp_path / str(index))
        start_s = time.process_time()
        verdict, text = verdict_of(name, folder)
        assert verdict in GOOD, f"make fuzz N=1 FORMAT={name} SEED={SEED} INDEX={index}: {verdict}: {text}"
        assert time.process_time() - start_s < MAX_CPU_S, f"make fuzz N=1 FORMAT={name} SEED={SEED} INDEX={index}"


@pytest.mark.parametrize("name", FORMATS)
def test_an_input_is_addressed_by_format_seed_and_index(name, tmp_path):
    """The same files, whatever was created before; others for another seed."""

    def files(folder):
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    first = [files(make_input(name, 3, index, tmp_path / f"a{index}")) for index in range(6)]
    again = [files(make_input(name, 3, index, tmp_path / f"b{index}")) for index in reversed(range(6))]
    other = [files(make_input(name, 4, index, tmp_path / f"c{index}")) for index in range(6)]
    assert first == again[::-1]
    assert first != other


@pytest.mark.slow
def test_edits_of_checkpoints_are_an_error_or_the_recorded_flight():
    """In files of each version that has checkpoints, in separate processes: none ends by a signal."""
    tasks = ({"format": "checkpoints", "seed": SEED, "index": index} for index in range(600))
    with workers(2) as own:
        failed = [outcome for outcome in run_inputs(tasks, own) if not outcome.is_good]
    assert failed == []


# -- by hypothesis: texts of any kind, to each parser of texts -------------------------------------------------------

WORDS = st.lists(st.one_of(st.text(max_size=20), st.sampled_from([token.decode(errors="replace") for token in TOKENS])))
PARSERS = {
    "spec": parse_spec,
    "mission": lambda text: parse_mission(text, "any"),
    "WPL": lambda text: parse_mission(f"QGC WPL 110\n{text}", "any"),
    "plan": lambda text: parse_mission(f'{{"fileType": "Plan", "mission": {{"items": [{text}]}}}}', "any.plan"),
    "override": parse_override,
    "params": lambda text: parse_params(text, "any"),
    "message": lambda text: parse_msg("Any", f"uint64 timestamp\n{text}"),
}


@pytest.mark.parametrize("name", PARSERS)
@settings(derandomize=True, max_examples=60, deadline=None)
@given(words=WORDS)
def test_a_parser_handles_any_text(name, words):
    """It returns or raises a LockstepError."""
    with contextlib.suppress(LockstepError):
        PARSERS[name]("".join(words))


@pytest.mark.slow
def test_the_runner_detects_signals_hangs_and_memory(tmp_path):
    """Otherwise they would go unnoticed."""
    verdicts = {
        "import os\nos.kill(os.getpid(), 11)": "signal",
        "while True:\n    pass": "too slow",
        "import time\ntime.sleep(99)": "too slow",
        "x = bytearray(900_000_000)": "too large",
        "raise KeyError(1)": "refused",
        "def f(run):\n    return 1.0": "accepted",
    }
    tasks = []
    for number, text in enumerate(verdicts):
        folder = tmp_path / str(number)
        warm = folder / "warm"
        warm_up("metrics", warm)
        (warm / "metric.py").write_text(text + "\n")
        tasks.append({"format": "metrics", "folder": str(warm)})
    with workers(1) as own:
        found = [outcome.verdict for outcome in run_inputs(tasks, own)]
    assert found == list(verdicts.values())
