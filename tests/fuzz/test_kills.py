"""Commands that write, killed at random times: their files are complete, absent or marked.

Times are drawn from a seed, between the first write and the end of the same command without a kill.
"""

import json
import random
import shutil

import numpy as np
import pytest
from campaign_files import rows, write_campaign
from strikes import striking
from ulog_files import flight

from px4lockstep.flights.folder import MARK, read_log

pytestmark = pytest.mark.process
SHORT = ("--set", "timeline.t_end_s=3.0")
COMMANDS = {
    "run": ("run", "iris", *SHORT, "--out", "out"),
    "branch": ("branch", "../base", "--at", "1.0", "--out", "out"),
    "export": ("export", "../base", "--out", "out.csv"),
    "export mat": ("export", "../base", "--format", "mat", "--out", "out.mat"),
    "export parquet": ("export", "../base", "--format", "parquet", "--out", "out.parquet"),
    "export ulog": ("export", "../base", "--format", "ulog", "--out", "out.ulg"),
    "plot": ("plot", "../base", "--out", "out.png"),
    "view": ("view", "../base", "--html", "out.html"),
    "compare": ("compare", "../base", "--integrators", "RK4", "--out", "out"),
    "diff": ("diff", "../base", "../other", "--out", "out.png"),
    "import": ("import", "../flight.ulg", "--out", "out"),
    "step": ("step", "iris", "--loop", "roll_rate", "--out", "out"),
}
CAMPAIGN = ("campaign", "run", "../small.toml", "--workers", "2", "--out", "out")
FEW, MANY = 3, 20
OTHERWISE = ("summary.json", "compare")
"""Files that contain wall-clock times or paths, and so differ between runs."""


@pytest.fixture(scope="module")
def struck():
    with striking() as own:
        yield own


@pytest.fixture(scope="module")
def home(tmp_path_factory, struck):
    """Prepare two runs, a campaign file, and the files and duration of each command without a kill."""
    folder = tmp_path_factory.mktemp("kills")
    for name, seed in (("base", "1"), ("other", "2")):
        code, _, text = struck.run(folder, "run", "iris", *SHORT, "--seed", seed, "--no-plots", "--out", name)
        assert code in (0, 1), text
    write_campaign(folder)
    (folder / "flight.ulg").write_bytes(flight(0.5))
    return folder


@pytest.fixture(scope="module")
def references(home, struck):
    """Run a command without a kill; return its folder and the seconds from its first write to its end."""
    made = {}

    def reference(name):
        if name not in made:
            folder = home / f"reference {name}"
            folder.mkdir()
            code, seconds, text = struck.run(folder, *(COMMANDS | {"campaign": CAMPAIGN})[name])
            assert code in (0, 1), text
            made[name] = folder, seconds
        return made[name]

    return reference


def is_part(path):
    """Return whether a file is temporary: its name, or that of a folder above it, begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def visible(folder):
    """Return the files below a folder that a user sees, by relative path."""
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path for path in files if not is_part(path)]


def assert_whole(path, reference):
    """Check a file against the one of a command that was not killed."""
    if path.name.startswith(OTHERWISE):
        if path.suffix == ".json":
            assert json.loads(path.read_text("utf-8")).keys() == json.loads(reference.read_text("utf-8")).keys()
        elif path.suffix in (".csv", ".md"):
            assert len(path.read_bytes().splitlines()) == len(reference.read_bytes().splitlines())
        elif path.suffix == ".png":
            assert path.read_bytes().endswith(b"IEND\xaeB`\x82")
    else:
        assert path.read_bytes() == reference.read_bytes(), path.name


def assert_nothing_torn(folder, reference):
    """Check that all files are complete, and that a run folder without all of them is marked."""
    run_folders = sorted({path.parent for path in visible(folder) if path.name in (MARK, "spec.toml", "summary.json")})
    for path in visible(folder):
        if path.name != MARK and "log.rows" not in path.parts:
            assert_whole(folder / path, reference / path)
    for own in run_folders:
        if not (folder / own / MARK).exists():
            assert visible(folder / own) == visible(reference / own)
        elif (folder / own / "spec.toml").exists():  # written after the log
            log, whole = read_log(folder / own), read_log(reference / own)
            assert log.rows <= whole.rows
            for name in log:
                assert np.array_equal(log[name], whole[name][: log.rows], equal_nan=True), name


def assert_next_start_cleans(folder, struck):
    """Write next to each leftover, and check that it is removed."""
    for place in sorted({path.parent for path in folder.rglob(".*") if not is_part(path.parent.relative_to(folder))}):
        code, _, text = struck.run(place, "export", str(folder.parent / "base"), "--out", "next.csv")
        assert code == 0, text
        assert [path for path in place.iterdir() if path.name.startswith(".")] == []
        for name in ("next.csv", "next.csv.json"):
            (place / name).unlink()


def strike(name, home, references, struck, seed):
    """Kill a command once, at a random time drawn from the seed or before it ends, and check what it left."""
    reference, seconds = references(name)
    after_s, code, folder = random.Random(f"{name} {seed}").uniform(0.0, seconds), 0, home / f"{name} {seed}"
    while code >= 0:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        code, _, text = struck.run(folder, *COMMANDS[name], after_s=after_s)
        assert code in (-9, 0, 1), text
        assert_nothing_torn(folder, reference)
        assert_next_start_cleans(folder, struck)
        after_s *= 0.3
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["run", "export"])
def test_a_killed_command_leaves_no_partial_files(name, home, references, struck):
    """At a few random times; all commands are killed at many times in the slow tier."""
    for seed in range(FEW):
        strike(name, home, references, struck, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_leaves_no_partial_files_at_many_times(name, home, references, struck):
    """At many random times."""
    for seed in range(MANY):
        strike(name, home, references, struck, seed)


def kill_and_resume(home, references, struck, seed):
    """Kill a campaign, resume it until it is complete, and compare its rows."""
    reference, seconds = references("campaign")
    folder = home / f"campaign {seed}"
    folder.mkdir()
    rng = random.Random(f"campaign {seed}")
    code, _, text = struck.run(folder, *CAMPAIGN, after_s=rng.uniform(0.0, seconds))
    assert code in (-9, 0), text
    begun = (folder / "out" / "campaign.json").exists()
    if (folder / "out" / MARK).exists() and begun:
        struck.run(folder, "campaign", "run", "out", "--resume", "--workers", "2", after_s=rng.uniform(0.0, seconds))
        code, _, text = struck.run(folder, "campaign", "run", "out", "--resume", "--workers", "2")
        assert code == 0, text
        assert [path for path in folder.rglob(".*") if path.is_file()] == []
    if begun:
        assert rows(folder / "out") == rows(reference / "out")
        assert not (folder / "out" / MARK).exists()
    shutil.rmtree(folder)


def test_a_resumed_campaign_has_the_same_rows(home, references, struck):
    """Killed twice, once while it resumes."""
    kill_and_resume(home, references, struck, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_resumed_campaign_has_the_same_rows_at_many_times(seed, home, references, struck):
    """Killed twice, once while it resumes."""
    kill_and_resume(home, references, struck, seed)
