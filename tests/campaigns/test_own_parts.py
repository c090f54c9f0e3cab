"""Parts of the user in campaigns: classes that the spec file names, and objects passed in Python."""

import json

import pytest
from campaign_files import rows
from own_code import write_own

import px4lockstep
from px4lockstep import InputError, load_campaign, run_campaign
from px4lockstep.campaigns.flyer import Flyer
from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.tables import numbers_of

pytestmark = pytest.mark.process

CAMPAIGN = """[campaign]
name = "own"
base = "{base}"
runs = 2

[set]
"timeline.t_end_s" = 2.0

[[vary]]
key = "environment.wind_mean_ned[0]"
distribution = "uniform"
low = 0.0
high = 4.0
"""
CLASS = 'extends = ["x500"]\n[autopilot]\nkind = "python:hold:Hold"\noptions = { height_m = 3.0 }\n'


def write_campaign(folder, base="own.toml", more=""):
    """Write a campaign of a spec with a class beside it."""
    write_own(folder, CLASS)
    (folder / "campaign.toml").write_text(CAMPAIGN.format(base=base) + more)
    return folder / "campaign.toml"


def test_workers_import_the_class_and_the_folder_keeps_its_source(tmp_path):
    """The rows are those of single flights; edits and a moved folder do not change them."""
    file = write_campaign(tmp_path)
    found = run_campaign(file, workers=1, trust=True, out=tmp_path / "out")
    flown = rows(found.folder.path)
    assert [row["status"] for row in flown] == ["nothing asked"] * 2
    (tmp_path / "hold.py").write_text("raise SystemExit('edited')")
    campaign = CampaignFolder.open(found.folder.path, trust=True).campaign
    again = Flyer(campaign).fly(1, campaign.inputs(1))
    assert (again.status, again.digest) == ("nothing asked", flown[1]["digest"])
    assert numbers_of(found.folder)["own_parts"] == {"autopilot": "hold:Hold"}


def test_a_campaign_compares_controllers(tmp_path):
    """The kind of autopilot is an input like any other; its classes are beside the campaign file."""
    more = '[[vary]]\nkey = "autopilot.kind"\ndistribution = "list"\nvalues = ["builtin", "python:hold:Hold"]\n'
    file = write_campaign(tmp_path, base="x500", more=more)
    campaign = load_campaign(file, trust=True)
    assert [name.rpartition("/")[2] for name in campaign.sources] == ["hold.py"]
    found = [Flyer(campaign).fly(index, campaign.inputs(index)) for index in range(2)]
    assert [row.error for row in found] == [None, None]
    assert found[0].inputs["autopilot.kind"] == "builtin"
    assert found[0].status == "out of time"
    assert found[1].status == "nothing asked"


def test_an_untrusted_campaign_runs_no_class(tmp_path, untrusted):
    """Neither that of the spec, nor that of an input; inputs with the names of models need no trust."""
    with pytest.raises(InputError, match=r"autopilot\.kind = 'python:hold:Hold' names code"):
        load_campaign(write_campaign(tmp_path))
    more = '[[vary]]\nkey = "environment.wind"\ndistribution = "list"\nvalues = [{}]\n'
    with pytest.raises(InputError, match=r"vary\.key = 'environment\.wind' names code"):
        load_campaign(write_campaign(tmp_path, "x500", more.format('"none", "python:my_wind:Steps"')))
    assert load_campaign(write_campaign(tmp_path, "x500", more.format('"none", "ou"'))).sources == {}


def test_objects_are_sent_to_the_workers_and_named_in_the_folder(tmp_path):
    """A class creates one for each run, so their states do not mix; a resume needs the same class."""
    from hold import Hold

    file = write_campaign(tmp_path, base="x500")
    found = run_campaign(file, workers=1, autopilot=Hold, out=tmp_path / "out")
    flown = rows(found.folder.path)
    spec = load_campaign(file).spec({})
    wind = {"environment.wind_mean_ned[0]": flown[1]["environment.wind_mean_ned[0]"]}
    single = px4lockstep.simulate(spec, autopilot=Hold(), seed=flown[1]["seed"], overrides=wind)
    assert flown[1]["digest"] == single.digest
    plan = json.loads((found.folder.path / "campaign.json").read_text())
    assert plan["base"]["autopilot"]["kind"] == "object:hold:Hold"
    assert run_campaign(found.folder.path, resume=True, workers=1, autopilot=Hold).is_complete
    with pytest.raises(InputError, match=r"was flown with {'autopilot': 'hold:Hold'}, not with"):
        run_campaign(found.folder.path, resume=True, workers=1, wind=HoldsStill)
    again = Flyer(found.folder.campaign).fly(1, {})
    assert again.digest is not None
    alone = Flyer(CampaignFolder.open(found.folder.path).campaign).fly(1, {})
    assert "is an object that was passed in Python" in alone.error


class HoldsStill:
    """A wind in Python."""

    def step(self, time_us, inputs, outputs):
        pass


class Unpicklable(HoldsStill):
    """It has a function without a name."""

    def __init__(self):
        self.function = lambda: None


def test_objects_that_workers_can_not_have_are_errors_before_the_first_flight(tmp_path):
    """With what to do instead."""

    class Local(HoldsStill):
        pass

    file = write_campaign(tmp_path, base="x500")
    with pytest.raises(InputError, match="can't import it from a script, notebook or function; define it at the top"):
        run_campaign(file, wind=Local)
    with pytest.raises(InputError, match=r"wind: can't be sent to the workers.*pass a class or a function"):
        run_campaign(file, wind=Unpicklable())
    with pytest.raises(InputError, match="has no method step"):
        run_campaign(file, wind=object())
