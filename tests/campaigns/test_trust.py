"""Code named by a campaign file or folder runs only if the user trusts it; a folder can't name files to write."""

import json
from pathlib import Path

import pytest
from spec_files import MINIMAL

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.flyer import fly_run, flyer_of
from px4lockstep.campaigns.folder import PLAN, CampaignFolder
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.run import _resumed, run_campaign
from px4lockstep.errors import InputError
from px4lockstep.flights.folder import write_spec
from px4lockstep.spec.build import build
from px4lockstep.trust import trust_folder

FUNCTION = '[[metric]]\nname = "h"\nfunction = "mine.py:height"\n'
MINE = """
import pathlib
pathlib.Path({!r}).touch()
def height(run):
    return 1.0
"""
MISSION = "QGC WPL 110\n0 1 3 22 0 0 0 0 47.397742 8.545594 5 1\n1 0 3 21 0 0 0 0 47.397742 8.545594 0 1\n"


@pytest.fixture(autouse=True)
def _trusts_nothing(untrusted):
    """Start without trusted folders."""


@pytest.fixture
def ran(tmp_path):
    """Return a path that exists once the untrusted code has run."""
    return tmp_path / "ran"


@pytest.fixture
def file(tmp_path, ran):
    """Write an untrusted campaign file with a metric in Python."""
    return written(tmp_path / "downloads", ran)


def written(folder, ran, text=FUNCTION, base="iris"):
    """Write a campaign file and its metric."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.py").write_text(MINE.format(str(ran)), "utf-8")
    path = folder / "campaign.toml"
    path.write_text(f'[campaign]\nbase = "{base}"\nruns = 2\n{text}', "utf-8")
    return path


def error_of(function, *arguments, **options):
    """Return the error message."""
    with pytest.raises(InputError) as caught:
        function(*arguments, **options)
    return str(caught.value)


NAMED = {
    "function": (FUNCTION, "metric 'h', function = 'mine.py:height' names code"),
    "set": ('[set]\n"px4.libpath" = "lib.so"\n', "override px4.libpath: px4.libpath = "),
    "set table": ('[set]\npx4 = { libpath = "lib.so" }\n', "override px4: px4.libpath = "),
    "set build": ('[set]\n"px4.sitl.build_dir" = "b"\n', "override px4.sitl.build_dir: px4.sitl.build_dir = "),
    "vary": ('[[vary]]\nkey = "px4.libpath"\ndistribution = "list"\nvalues = ["a.so"]\n', "vary.key = 'px4.libpath' n"),
}


@pytest.mark.parametrize("name", NAMED)
def test_an_untrusted_file_runs_no_code(tmp_path, ran, name):
    """Neither on loading nor later; the error names the file, the code and the remedy."""
    text, said = NAMED[name]
    path = written(tmp_path / "downloads", ran, text)
    error = error_of(load_campaign, path)
    assert not ran.exists()
    assert error.startswith(f"{path}: ")
    for words in (said, "files run code only if you trust them", "px4lockstep trust FOLDER", "--trust", "trust=True"):
        assert words in error
    assert load_campaign(path, trust=True).is_trusted
    trust_folder(path.parent)
    assert load_campaign(path).is_trusted


def test_trust_in_a_campaign_file_does_not_extend_to_its_spec_file(tmp_path, ran):
    """Regardless of its autopilot, because an input may select another one."""
    (tmp_path / "stranger.toml").write_text(f"px4.libpath = 'lib.so'\n{MINIMAL}", "utf-8")
    path = written(tmp_path / "mine", ran, base="../stranger.toml")
    trust_folder(tmp_path / "mine")
    error = error_of(load_campaign, path)
    assert f"{path}: campaign.base: {tmp_path}/mine/../stranger.toml: px4.libpath = " in error
    assert load_campaign(path, trust=True).is_trusted


def test_workers_inherit_trust_but_the_stored_text_does_not_have_it(file, ran):
    """A campaign sent to a worker includes whether it is trusted; the one stored in its folder does not."""
    campaign = load_campaign(file, trust=True)
    ran.unlink()
    assert "is_trusted" not in json.loads(campaign.to_json())
    text = json.dumps(json.loads(campaign.to_json()) | {"is_trusted": True})
    assert "is_trusted = true: unknown key" in error_of(Campaign.of_json, text, is_trusted=True)
    strange = Campaign.of_json(campaign.to_json(), is_trusted=False)
    assert "metric 'h', function = 'mine.py:height' names code" in str(fly_run(strange.sent, 0, {}).error)
    assert [metric.name for metric in flyer_of(campaign.sent)._metrics][-1] == "h"
    assert strange.identity == campaign.identity
    assert campaign.names_code
    assert not load_campaign(written(file.parent, ran, "")).names_code


def folder_of(tmp_path, file, **changes):
    """Return the folder of a started campaign with a modified plan."""
    made = CampaignFolder.create(tmp_path / "out", load_campaign(file, trust=True), "")
    plan = json.loads((made.path / PLAN).read_text("utf-8"))
    (made.path / PLAN).write_text(json.dumps(plan | changes), "utf-8")
    return made.path


def test_an_untrusted_folder_is_not_resumed(tmp_path, file, ran):
    """The Python code in its plan does not run; opening it needs no trust."""
    folder = folder_of(tmp_path, file, sources={"mine.py": MINE.format(str(tmp_path / "evil"))})
    error = error_of(run_campaign, folder, resume=True, workers=1)
    assert error.startswith(f"{folder / PLAN}: metric 'h', function = 'mine.py:height' names code")
    assert not CampaignFolder.open(folder).campaign.is_trusted
    assert not (tmp_path / "evil").exists()
    assert CampaignFolder.open(folder, trust=True).campaign.metrics[-1].name == "h"
    assert (tmp_path / "evil").exists()
    trust_folder(folder)
    assert CampaignFolder.open(folder).campaign.is_trusted


@pytest.mark.parametrize(
    "changes",
    [
        {"base": {"autopilot": {"kind": "px4"}, "px4": {"mission_path": "simple", "libpath": "/x/lib.so"}}},
        {"base": {"px4": {"mission_path": "simple", "sitl": {"build_dir": "/x"}}}},
        {"file": {"vary": [{"key": "px4.libpath", "distribution": "list", "values": ["/x/lib.so"]}]}},
    ],
    ids=["library", "build", "input"],
)
def test_an_untrusted_folder_can_not_name_a_library(tmp_path, ran, changes):
    """Neither for all runs nor as an input when it is resumed; a rerun is refused when it is built."""
    folder = folder_of(tmp_path, written(tmp_path / "downloads", ran, ""))
    plan = json.loads((folder / PLAN).read_text("utf-8"))
    for name, tables in changes.items():
        plan[name] |= tables
    (folder / PLAN).write_text(json.dumps(plan), "utf-8")
    assert "names code, and files run code only if you trust them" in error_of(run_campaign, folder, resume=True)
    campaign = CampaignFolder.open(folder).campaign
    spec = campaign.spec({"autopilot.kind": "px4", "px4.libpath": "/x/lib.so"})  # as in the row of a run
    assert error_of(build, spec).startswith("override px4.libpath: px4.libpath = '/x/lib.so' names code")


def test_resuming_with_a_file_uses_the_file_and_not_the_folder(tmp_path, file, ran):
    """If both have the same campaign, the loaded file is flown, including its import path."""
    folder = folder_of(tmp_path, file, folder=str(tmp_path / "evil"))
    assert _resumed(file, folder, None, trust=True, parts={}).campaign.folder == str(file.parent)
    assert "names code" in error_of(_resumed, file, folder, None, trust=False, parts={})


def test_a_folder_can_not_name_files_to_write(tmp_path, ran):
    """The name of a mission is only a label; output paths are ignored."""
    victim = tmp_path / "victim"
    victim.write_text("mine", "utf-8")
    paths = {"log_csv": str(victim), "recording_out": str(victim), "recording_in": str(victim)}
    path = written(tmp_path / "downloads", ran, '[set]\n"px4.mission_path" = "own.waypoints"\n')
    (path.parent / "own.waypoints").write_text(MISSION, "utf-8")
    folder = folder_of(tmp_path, path, mission=[str(victim), MISSION])
    plan = json.loads((folder / PLAN).read_text("utf-8"))
    plan["base"]["run"] = paths
    (folder / PLAN).write_text(json.dumps(plan), "utf-8")
    spec = CampaignFolder.open(folder).campaign.spec({"run.log_csv": str(victim)})
    assert [spec.run.log_csv, spec.run.recording_out, spec.run.recording_in] == [None, None, None]
    (tmp_path / "run").mkdir()
    write_spec(spec, tmp_path / "run")
    assert sorted(one.name for one in (tmp_path / "run").iterdir()) == ["mission.waypoints", "spec.toml"]
    assert victim.read_text("utf-8") == "mine"
    assert Path(str(spec.px4.mission_path)) == victim  # only a name
