"""The folder of a campaign.

    campaigns/x500_wind-20261116-021500/   campaign.toml   campaign.json   results/   summary.json   plots.png

`campaign.toml` is a copy of the user's file, for reference. `campaign.json` is self-contained, with the spec file, the
mission and the user's metrics, so the folder can be moved. `INCOMPLETE` exists until the last run has been written.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.errors import InputError, OutputError
from px4lockstep.flights.folder import MARK, fresh_folder, is_incomplete
from px4lockstep.flights.latest import CAMPAIGN_PLAN
from px4lockstep.io import atomic_write, lock
from px4lockstep.reading import check_path, read_text
from px4lockstep.reprs import ShortRepr
from px4lockstep.trust import is_trusted

UNFINISHED = "This campaign is incomplete: it is still running, or it was stopped.\n"
FILE, PLAN, RESULTS, SUMMARY, PLOTS = "campaign.toml", CAMPAIGN_PLAN, "results", "summary.json", "plots.png"
MAX_BYTES = 20_000_000


@dataclass(frozen=True, repr=False)
class CampaignFolder(ShortRepr):
    """The folder of a campaign, and the campaign."""

    path: Path
    campaign: Campaign

    @classmethod
    def create(cls, path: str | Path | None, campaign: Campaign, text: str) -> "CampaignFolder":
        """Create the folder, marked as incomplete, with the text of the campaign file; by default in `campaigns/`."""
        if path is not None:
            check_is_free(path)
        folder = Path(path) if path is not None else fresh_folder(campaign.name, "campaigns")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"can't create the campaign folder {folder}: {error.strerror}") from error
        made = cls(folder, campaign)
        try:
            for name, content in ((MARK, UNFINISHED), (FILE, text), (PLAN, campaign.to_json())):
                made.write(name, content)
        except OutputError as error:  # no run has been flown, so leave nothing behind
            for name in (MARK, FILE, PLAN):
                (folder / name).unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()
            raise InputError(str(error)) from error
        return made

    @classmethod
    def open(cls, path: str | Path, *, trust: bool = False) -> "CampaignFolder":
        """Open the folder of an existing campaign; its code runs only if the user trusts it or its folder."""
        folder, plan = Path(path), Path(path) / PLAN
        check_path(path)
        if not plan.exists():
            raise InputError(f"{folder} is not a campaign folder: it has no {PLAN}")
        try:
            text = read_text(plan, MAX_BYTES, "a campaign")
            campaign = Campaign.of_json(text, str(plan), is_trusted=trust or is_trusted(plan))
        except InputError as error:
            raise InputError(f"can't read {plan}: {error}; it is damaged, or was written by another version") from error
        return cls(folder, campaign)

    @property
    def results(self) -> Path:
        """Folder of the dataset."""
        return self.path / RESULTS

    @property
    def is_complete(self) -> bool:
        """Whether all runs have been written."""
        return not is_incomplete(self.path)

    def write(self, name: str, text: str) -> None:
        """Write a file atomically."""
        with atomic_write(self.path / name) as file:
            file.write(text.encode())

    @contextmanager
    def flown_alone(self) -> Iterator[None]:
        """Lock the folder: two processes that fly it would write the same part files."""
        with (self.path / PLAN).open("rb") as file:
            if lock(file.fileno()) is False:
                raise InputError(f"{self.path} is locked by another process that is flying it; wait for it, or stop it")
            yield

    def complete(self) -> None:
        """Mark the campaign as complete."""
        (self.path / MARK).unlink(missing_ok=True)


def check_is_free(path: str | Path) -> None:
    """Check that a folder is empty or does not exist."""
    folder = Path(path)
    try:
        is_free = not folder.exists() or not any(folder.iterdir())
    except OSError as error:
        raise InputError(f"can't create the campaign folder {folder}: {error.strerror}") from error
    if not is_free:
        raise InputError(
            f"{folder} is not empty; a campaign needs a new or empty folder. To continue a campaign, use --resume"
        )
