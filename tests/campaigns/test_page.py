"""docs/howto/campaigns.md lists every key of the file and every column of the results."""

from pathlib import Path

import pytest

from px4lockstep.campaigns.criteria import CriterionTable
from px4lockstep.campaigns.distributions import MAY_HAVE, NEEDS
from px4lockstep.campaigns.file_tables import CampaignFile, CampaignTable, Vary
from px4lockstep.campaigns.result_rows import ABOUT
from px4lockstep.campaigns.stopping import StopTable
from px4lockstep.part import keys_of

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "campaigns.md").read_text("utf-8")


@pytest.mark.parametrize("table", [CampaignTable, Vary, CriterionTable, StopTable])
def test_every_key_is_listed(table):
    assert [name for name in keys_of(table) if f"`{name}`" not in PAGE] == []


def test_every_table_and_column_is_listed():
    """With the required and optional options of each distribution."""
    for name in keys_of(CampaignFile):
        assert f"[{name}]" in PAGE
    assert all(f"`{name}`" in PAGE for name in ABOUT)
    for name, needed in NEEDS.items():
        needs, may = (", ".join(f"`{option}`" for option in options) for options in (needed, MAY_HAVE.get(name, ())))
        assert f"| `{name}` | {needs} | {may}{' ' if may else ''}|" in PAGE
