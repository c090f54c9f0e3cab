"""The folder of a campaign.

    campaigns/iris_wind-20261116-021500/   campaign.toml   campaign.json   results/   summary.json   plots.png

`campaign.toml` is the user's file, for reading; `campaign.json` is all that is flown, aircraft file, mission and users'
metrics included, so that a folder can go elsewhere. `INCOMPLETE` is there until the last run is.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.errors import InputError, OutputError
from px4lockstep.flights.folder import MARK, fresh_folder, is_incomplete
from px4lockstep.io import atomic_write, lock
from px4lockstep.reading import check_path, read_text
from px4lockstep.trust import is_trusted

UNFINISHED = "This campaign is not complete: it is being flown, or it was stopped.\n"
FILE, PLAN, RESULTS, SUMMARY, PLOTS = "campaign.toml", "campaign.json", "results", "summary.json", "plots.png"
MAX_BYTES = 20_000_000


@dataclass(frozen=True)
class CampaignFolder:
    """The folder of a campaign, and what is flown there."""

    path: Path
    campaign: Campaign

    @classmethod
    def create(cls, path: str | Path | None, campaign: Campaign, text: str) -> "CampaignFolder":
        """Make the folder, marked as incomplete, with the text of the campaign file; by default in `campaigns/`."""
        if path is not None:
            check_is_free(path)
        folder = Path(path) if path is not None else fresh_folder(campaign.name, "campaigns")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the campaign folder {folder} can't be made: {error.strerror}") from error
        made = cls(folder, campaign)
        try:
            for name, content in ((MARK, UNFINISHED), (FILE, text), (PLAN, campaign.to_json())):
                made.write(name, content)
        except OutputError as error:  # no run was flown, and nothing is left
            for name in (MARK, FILE, PLAN):
                (folder / name).unlink(missing_ok=True)
            with suppress(OSError):
                folder.rmdir()
            raise InputError(str(error)) from error
        return made

    @classmethod
    def open(cls, path: str | Path, *, trust: bool = False) -> "CampaignFolder":
        """Return the folder of a campaign that was begun; the code in it is run if the user trusts it or its folder."""
        folder, plan = Path(path), Path(path) / PLAN
        check_path(path)
        if not plan.exists():
            raise InputError(f"{folder} is no campaign folder: it has no {PLAN}")
        try:
            text = read_text(plan, MAX_BYTES, "a campaign")
            campaign = Campaign.of_json(text, str(plan), is_trusted=trust or is_trusted(plan))
        except InputError as error:
            raise InputError(f"{plan} can't be read: {error}; it was damaged, or written by another version") from error
        return cls(folder, campaign)

    @property
    def results(self) -> Path:
        """The folder of the dataset."""
        return self.path / RESULTS

    @property
    def is_complete(self) -> bool:
        """Whether all runs are there."""
        return not is_incomplete(self.path)

    def write(self, name: str, text: str) -> None:
        """Write a file, as a whole."""
        with atomic_write(self.path / name) as file:
            file.write(text.encode())

    @contextmanager
    def flown_alone(self) -> Iterator[None]:
        """Keep other processes from flying it: they would write the same parts."""
        with (self.path / PLAN).open("rb") as file:
            if lock(file.fileno()) is False:
                raise InputError(f"{self.path} is being flown by another process; wait for it, or stop it")
            yield

    def complete(self) -> None:
        """Take the mark away."""
        (self.path / MARK).unlink(missing_ok=True)


def check_is_free(path: str | Path) -> None:
    """Check that a folder can become a campaign's: it is empty, or not there."""
    folder = Path(path)
    try:
        is_free = not folder.exists() or not any(folder.iterdir())
    except OSError as error:
        raise InputError(f"the campaign folder {folder} can't be made: {error.strerror}") from error
    if not is_free:
        raise InputError(
            f"{folder} is not empty; a campaign needs a folder of its own. To go on with one, use --resume"
        )
