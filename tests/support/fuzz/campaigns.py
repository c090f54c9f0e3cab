"""Campaign files: trees and texts, loaded, sampled, written as JSON and read again, and some rows flown."""

import functools
import tomllib

from campaign_files import FILE, METRICS

from fuzz import expect
from fuzz.mutations import TOKENS, mutated_bytes, mutated_tree, toml_of
from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.flyer import Flyer
from px4lockstep.campaigns.load import load_campaign

FLOWN = "flown"
MORE = """
[[vary]]
key = "airframe.mass_kg"
distribution = "normal"
mean = 1.5
std = 0.1
low = 1.2

[[vary]]
key = "environment.wind_sigma_ned"
distribution = "choice"
values = [[0.0, 0.0, 0.0], [1.0, 1.0, 0.5]]

[stop]
of = "energy_wh"
half_width = 0.5
"""


@functools.cache
def tree():
    """Return a campaign with every table."""
    made = tomllib.loads(FILE + MORE)
    made["set"]["timeline.t_end_s"] = 0.3
    return made


def write(folder, rng):
    """Write a campaign file and its metric."""
    (folder / "heights.py").write_text(METRICS, "utf-8")
    if rng is None or rng.random() < 0.75:
        data = toml_of(tree() if rng is None else mutated_tree(tree(), rng)).encode()
    else:
        data = mutated_bytes(
            (FILE + MORE).encode(), rng, tokens=(*TOKENS, b"[[vary]]\n", b"[[metric]]\n", b"runs = 9\n")
        )
    (folder / "campaign.toml").write_bytes(data)
    if rng is None or rng.random() < 0.1:
        (folder / FLOWN).touch()


def use(folder):
    """Load it, sample some runs, and fly one if requested."""
    campaign = load_campaign(folder / "campaign.toml")
    text = campaign.to_json()
    expect(Campaign.of_json(text).to_json() == text, "the campaign is another when it is written and read")
    for index in dict.fromkeys((0, campaign.runs // 2, campaign.runs - 1)):
        campaign.inputs(index)
    if (folder / FLOWN).exists() and float(campaign.base.get("timeline", {}).get("t_end_s", 99.0)) < 1.0:
        Flyer(campaign).fly(0, campaign.inputs(0))
