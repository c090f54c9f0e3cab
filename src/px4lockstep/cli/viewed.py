"""What `px4lockstep view` shows: the pages of runs and campaigns, and the page that needs no server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from px4lockstep.cli.output import write_err, write_out
from px4lockstep.cli.progress import working
from px4lockstep.errors import InputError
from px4lockstep.flights.folder import is_incomplete
from px4lockstep.flights.saved import SavedRun, read_run
from px4lockstep.io import atomic_write, check_new
from px4lockstep.view.flown import ViewedFlight, viewed_flights
from px4lockstep.view.inbox import Inbox
from px4lockstep.view.loop import Page
from px4lockstep.view.page import FlightPage


def opened_runs(paths: Sequence[Path]) -> list[SavedRun]:
    """Open run folders; warn of incomplete ones.

    Raises:
        InputError: If one is not a run folder.
    """
    runs = []
    for path in paths:
        if path.suffix.lower() == ".ulg":
            raise InputError(f"{path} is a ULog file; import it first: px4lockstep import {path}")
        runs.append(read_run(path))
        if is_incomplete(runs[-1].folder):
            write_err(f"warning: the run in {runs[-1].folder} is incomplete\n")
    return runs


def read_flights(paths: Sequence[Path], spread_m: float) -> Sequence[ViewedFlight]:
    """Read the flights to show."""
    return viewed_flights(opened_runs(paths), spread_m=spread_m)


def flight_page(server: Any, inbox: Inbox, flights: Sequence[ViewedFlight]) -> Page:
    """Return the page of runs."""
    return FlightPage(server, inbox, flights)


def campaign_page(server: Any, inbox: Inbox, path: Path, *, trust: bool) -> Page:
    """Return the page of a campaign."""
    from px4lockstep.campaigns.folder import CampaignFolder
    from px4lockstep.view.campaign_page import CampaignPage

    return CampaignPage(server, inbox, CampaignFolder.open(path, trust=trust))


def write_page(paths: Sequence[Path], html: Path, spread_m: float, *, force: bool) -> int:
    """Write the page that needs no server; return the exit code."""
    from px4lockstep.view.replay import replay_html

    runs, target = opened_runs(paths), check_new(html, force=force)
    with working(f"writing {target}"):
        page = replay_html(runs, spread_m=spread_m)
        with atomic_write(target) as file:
            file.write(page.encode())
    write_out(f"{target}\n")
    return 0
