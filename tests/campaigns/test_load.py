"""Campaign files: all errors are reported before the first flight, with place, value and remedy."""

import json
import tomllib

import pytest

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.run import text_of
from px4lockstep.errors import InputError

GOOD = """
[campaign]
base = "iris"
runs = 8

[set]
"timeline.t_end_s" = 3.0
plant.integrator = "RK4"

[[vary]]
key = "environment.wind_mean_ned[0]"
distribution = "uniform"
low = -3.0
high = 3.0
"""


def write(folder, text=GOOD):
    path = folder / "campaign.toml"
    path.write_text(text, "utf-8")
    return path


def error_of(folder, text, runs=None):
    with pytest.raises(InputError) as caught:
        load_campaign(write(folder, text), runs)
    return str(caught.value)


def vary(**options):
    lines = [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    return "\n".join([GOOD, "[[vary]]", *lines, ""])


def test_a_valid_file_is_loaded(tmp_path):
    """With dotted keys, plain and quoted."""
    campaign = load_campaign(write(tmp_path))
    assert campaign.runs == 8
    assert campaign.base["timeline"]["t_end_s"] == 3.0
    assert campaign.base["plant"]["integrator"] == "RK4"
    assert [metric.name for metric in campaign.metrics] == ["crashed", "mission_finished"]
    assert list(campaign.inputs(3)) == ["environment.wind_mean_ned[0]"]
    spec = campaign.spec(campaign.overrides(3, campaign.inputs(3)))
    assert spec.environment.wind_mean_ned[0] == campaign.inputs(3)["environment.wind_mean_ned[0]"]
    assert spec.aircraft.seed == campaign.overrides(3, {})["aircraft.seed"]


def test_a_campaign_survives_the_round_trip_through_text(tmp_path):
    """Including a mission file and a metric of the user."""
    (tmp_path / "own.waypoints").write_text(
        "QGC WPL 110\n0 1 3 22 0 0 0 0 47.397742 8.545594 5 1\n1 0 3 21 0 0 0 0 47.397742 8.545594 0 1\n"
    )
    (tmp_path / "mine.py").write_text("def last_height(run):\n    return -run.log['pos_ned'][-1, 2]\n")
    text = GOOD.replace("plant.int", '"px4.mission_path" = "own.waypoints"\nplant.int')
    campaign = load_campaign(write(tmp_path, text + '[[metric]]\nname = "h"\nfunction = "mine.py:last_height"\n'))
    for file in tmp_path.iterdir():
        file.unlink()
    again = Campaign.of_json(campaign.to_json(), is_trusted=True)
    assert again == campaign
    assert again.identity == campaign.identity
    assert again.metrics[-1].name == "h"
    spec = again.spec({})
    assert spec.px4.mission_path == "mission.waypoints"
    assert len(spec.mission.items) == 2


def test_the_number_of_runs_defaults_to_the_grid_combinations(tmp_path):
    """The argument takes precedence."""
    text = (
        GOOD.replace("runs = 8\n", "") + '[[vary]]\nkey = "aircraft.seed"\ndistribution = "grid"\nvalues = [1, 2, 3]\n'
    )
    assert load_campaign(write(tmp_path, text)).runs == 3
    assert load_campaign(write(tmp_path, text), 5).runs == 5
    campaign = load_campaign(write(tmp_path, text))
    assert campaign.overrides(1, campaign.inputs(1))["aircraft.seed"] == 2


BAD = {
    "not TOML": ("[campaign", "is not TOML"),
    "nothing": ("", "campaign.base is missing; it is required: Aircraft: the name of a built-in one"),
    "an unknown table": (GOOD + "[varys]\n", "varys = {  }: unknown key; did you mean 'vary'?"),
    "an unknown key": (GOOD.replace("runs = 8", "run = 8"), "campaign.run = 8: unknown key; did you mean 'runs'?"),
    "zero runs": (GOOD.replace("runs = 8", "runs = 0"), "campaign.runs = 0 is out of range; it must be at least 1"),
    "too many runs": (GOOD.replace("runs = 8", "runs = 10000000"), "it must be at least 1 and at most 1000000"),
    "runs in words": (GOOD.replace("runs = 8", 'runs = "8"'), "it must be a whole number"),
    "no runs": (
        GOOD.replace("runs = 8", ""),
        "campaign.runs is missing; only grids and lists determine the number of runs",
    ),
    "another sampling": (
        GOOD.replace("runs = 8", 'runs = 8\nsampling = "sobel"'),
        "campaign.sampling = 'sobel' is unknown; did you mean 'sobol'?",
    ),
    "a negative seed": (GOOD.replace("runs = 8", "runs = 8\nseed = -1"), "campaign.seed = -1 is out of range"),
    "no such aircraft": (GOOD.replace('"iris"', '"irris"'), "unknown aircraft 'irris'. Did you mean 'iris'?"),
    "no such file": (GOOD.replace('"iris"', '"there.toml"'), "campaign.base: file not found: "),
    "an unknown override": (GOOD.replace("timeline.t_end_s", "timeline.end_s"), "timeline.end_s = 3.0: unknown key"),
    "an invalid override": (GOOD.replace("3.0\nplant", "-3.0\nplant"), "timeline.t_end_s = -3.0"),
    "no key": (GOOD.replace('key = "environment.wind_mean_ned[0]"', ""), "vary[0].key is missing"),
    "an invalid key": (vary(key="a..b", distribution="list", values=[1]), "vary[1].key: 'a..b' is not a key"),
    "an unknown key of the spec file": (
        vary(key="airframe.mas_kg", distribution="uniform", low=1.0, high=2.0),
        "airframe.mas_kg = 1.0",
    ),
    "an index out of range": (
        vary(key="power.batteries[3].soc0", distribution="list", values=[0.5]),
        "power.batteries has 1 item, counted from 0",
    ),
    "the same key twice": (
        vary(key="environment.wind_mean_ned[0]", distribution="list", values=[0.5]),
        "vary[1].key = 'environment.wind_mean_ned[0]' is the same as vary[0].key; remove one of them",
    ),
    "the same key in another spelling": (
        vary(key="environment.wind_mean_ned.0", distribution="list", values=[0.5]),
        "vary[1].key = 'environment.wind_mean_ned.0' is the same as vary[0].key",
    ),
    "an array and its element": (
        vary(key="environment.wind_mean_ned", distribution="list", values=[[1, 2, 3]]),
        "vary[1].key = 'environment.wind_mean_ned' contains vary[0].key; remove one of them",
    ),
    "a whole number of more than 64 bits": (
        vary(key="aircraft.seed", distribution="list", values=[1, 2**63]),
        "vary[1].values has 1 and 9223372036854775808; all values must have one type: finite numbers (integers of",
    ),
    "whole numbers beyond the precision of a float": (
        vary(key="aircraft.seed", distribution="uniform", low=0, high=2**60, whole=True),
        "vary[1].whole = true allows low and high up to 9,007,199,254,740,992; use a list for larger numbers",
    ),
    "a number for a path": (
        vary(key="px4.mission_path", distribution="list", values=[1, 2]),
        "vary[1], px4.mission_path = 1",
    ),
    "limits that exclude a normal": (
        vary(key="airframe.mass_kg", distribution="normal", mean=1.0, std=0.01, low=1.5, high=1.9),
        "vary[1]: low = 1.5 and high = 1.9 exclude practically all of this normal",
    ),
    "a limit that excludes a lognormal": (
        vary(key="airframe.mass_kg", distribution="lognormal", median=1.0, sigma=0.1, high=-1.0),
        "vary[1]: high = -1.0 excludes practically all of this lognormal",
    ),
    "an unknown distribution": (
        vary(key="airframe.mass_kg", distribution="gauss"),
        "vary[1].distribution = 'gauss' is unknown; allowed: 'uniform', 'normal'",
    ),
    "an empty interval": (
        vary(key="airframe.mass_kg", distribution="uniform", low=2.0, high=1.0),
        "vary[1].high = 1.0 is not above low = 2.0",
    ),
    "no spread": (
        vary(key="airframe.mass_kg", distribution="normal", mean=1.5, std=0.0),
        "vary[1].std = 0.0 is out of range; it must be above 0",
    ),
    "an invalid limit": (
        vary(key="airframe.mass_kg", distribution="uniform", low=-1.0, high=2.0),
        "vary[1], airframe.mass_kg = -",
    ),
    "an invalid tail": (
        vary(key="power.batteries[0].soc0", distribution="normal", mean=0.95, std=0.1),
        "about the max of 8 runs",
    ),
    "an invalid value": (
        vary(key="environment.wind", distribution="choice", values=["ou", "hurricane"]),
        "vary[1], environment.wind = 'hurricane'",
    ),
    "a fraction instead of a whole number": (
        vary(key="aircraft.seed", distribution="uniform", low=1.0, high=9.0),
        "it must be a whole number",
    ),
    "mixed types": (
        vary(key="airframe.mass_kg", distribution="choice", values=[1.5, "heavy"]),
        "vary[1].values has 1.5 and 'heavy'; all values must have one type",
    ),
    "a boolean among numbers": (
        vary(key="airframe.mass_kg", distribution="list", values=[True, 1.5]),
        "vary[1].values has true and 1.5",
    ),
    "no values": (
        vary(key="airframe.mass_kg", distribution="grid", values=[]),
        "vary[1].values = [] is invalid; it must",
    ),
    "an unknown kind of metric": (
        GOOD + '[[metric]]\nname = "a"\nkind = "tracking_rsm"\n',
        "metric[0].kind = 'tracking_rsm' is unknown; did you mean 'tracking_rms'?",
    ),
    "a metric without a file": (
        GOOD + '[[metric]]\nname = "a"\nfunction = "gone.py:f"\n',
        "file not found: ",
    ),
    "two metrics of one name": (
        GOOD + '[[metric]]\nname = "a"\nkind = "energy_wh"\n' * 2,
        "metric[1].name = 'a' is a duplicate",
    ),
    "a criterion on an unknown metric": (
        GOOD + '[[pass]]\nmetric = "crashes"\nequals = false\n',
        "pass[0].metric = 'crashes' is not a metric; did you mean 'crashed'?",
    ),
    "a criterion without a bound": (GOOD + '[[pass]]\nmetric = "crashed"\n', "has no bound"),
    "a stop rule without criteria": (GOOD + "[stop]\nhalf_width = 0.1\n", "there are no pass criteria; add a [[pass]]"),
    "a stop rule on an unknown metric": (
        GOOD + '[stop]\nof = "energy"\nhalf_width = 0.1\n',
        "stop.of = 'energy' is not a metric; use pass_rate or ",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_an_invalid_file_is_refused_with_place_value_and_remedy(what, tmp_path):
    """The message starts with the file."""
    text, said = BAD[what]
    found = error_of(tmp_path, text)
    assert said in found
    assert found.startswith(str(tmp_path / "campaign.toml"))
    assert "Traceback" not in found


def test_all_errors_are_in_one_report(tmp_path):
    """From different tables."""
    text = GOOD.replace("runs = 8", "runs = 0").replace("high = 3.0", "high = -5.0").replace('"RK4"', '"RK5"')
    found = error_of(tmp_path, text + '[[metric]]\nname = "a"\nkind = "what"\n')
    for said in ("has 4 errors", "campaign.runs = 0", "vary[0].high = -5.0", "metric[0].kind = 'what'", "RK5"):
        assert said in found


@pytest.mark.parametrize("runs", [0, -3, 10_000_000])
def test_the_runs_argument_is_checked_like_the_file(runs, tmp_path):
    assert f"runs = {runs} is out of range; it must be 1 to 1,000,000" in error_of(tmp_path, GOOD, runs)


def test_paths_of_inputs_are_relative_to_the_campaign_file(tmp_path):
    """A plain name is that of a built-in mission."""
    (tmp_path / "own.waypoints").write_text(
        "QGC WPL 110\n0 1 3 22 0 0 0 0 47.397742 8.545594 5 1\n1 0 3 21 0 0 0 0 47.397742 8.545594 0 1\n"
    )
    text = vary(key="px4.mission_path", distribution="list", values=["own.waypoints", "simple"])
    campaign = load_campaign(write(tmp_path, text))
    assert campaign.vary[1].values == (str(tmp_path / "own.waypoints"), "simple")


def test_mixed_integers_and_floats_become_floats(tmp_path):
    """As they are read back from the results, so that a run is the same before and after an interruption."""
    text = vary(key="airframe.mass_kg", distribution="list", values=[1, 1.5])
    assert [type(value) for value in load_campaign(write(tmp_path, text)).vary[1].values] == [float, float]


def test_a_metric_that_is_not_utf_8_is_refused(tmp_path):
    """It is sent to workers as text."""
    (tmp_path / "mine.py").write_bytes(b"# coding: latin-1\ndef f(run):\n    return len('\xe9')\n")
    found = error_of(tmp_path, GOOD + '[[metric]]\nname = "h"\nfunction = "mine.py:f"\n')
    assert "mine.py is not text: byte 46 is not UTF-8; it must be a Python file" in found


def test_an_aircraft_instead_of_a_campaign_file_is_explained(tmp_path, monkeypatch):
    """The remedy is a campaign file with that base; a file of the same name takes precedence."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        load_campaign("iris")
    assert str(caught.value) == (
        'iris is a built-in aircraft, not a campaign file; write a campaign file with base = "iris" in its table '
        "[campaign] and give the path of that file: see docs/howto/campaigns.md"
    )
    (tmp_path / "iris").write_text(GOOD, "utf-8")
    assert load_campaign("iris").runs == 8


def test_a_dict_is_loaded_like_a_file(tmp_path, monkeypatch):
    """The same tables give the same campaign, and its text is a file that does so, too."""
    monkeypatch.chdir(tmp_path)
    tables = tomllib.loads(GOOD)
    campaign = load_campaign(tables)
    assert campaign.identity == load_campaign(write(tmp_path)).identity
    text = text_of(tables, campaign)
    assert load_campaign(write(tmp_path, text)).identity == campaign.identity


def test_errors_of_a_dict_name_the_key():
    """A campaign without a file is called `the campaign`."""
    with pytest.raises(InputError, match=r"^the campaign: campaign\.runs = 0 "):
        load_campaign({"campaign": {"base": "iris", "runs": 0}})
    deep: dict = {}
    for _ in range(50):
        deep = {"a": deep}
    with pytest.raises(InputError, match="nested too deeply"):
        load_campaign({"campaign": {"base": "iris", "runs": 1}, "set": deep})
