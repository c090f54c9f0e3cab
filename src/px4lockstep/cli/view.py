"""`px4lockstep view`: show runs or a campaign in the browser, or write a page that needs no server."""

import signal
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from px4lockstep.campaigns.folder import PLAN, CampaignFolder
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import write_err, write_out
from px4lockstep.cli.progress import working
from px4lockstep.errors import InputError
from px4lockstep.flights.folder import is_incomplete
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.saved import SavedRun, read_run
from px4lockstep.io import atomic_write, check_new
from px4lockstep.view.campaign_page import CampaignPage
from px4lockstep.view.flown import viewed_flights
from px4lockstep.view.inbox import Inbox
from px4lockstep.view.loop import Page, run_page
from px4lockstep.view.page import FlightPage
from px4lockstep.view.replay import replay_html
from px4lockstep.view.server import DEFAULT_PORT, HOST, start_server, stop_server


def view_runs(
    sources: Sequence[str],
    browser: bool = True,
    port: int = DEFAULT_PORT,
    spread: float = 0.0,
    html: Path | None = None,
    trust: bool = False,
    force: bool = False,
) -> int:
    """Show runs or a campaign until Ctrl-C, or write a page; return the exit code."""
    paths = [run_path(source) for source in sources]
    campaigns = [path for path in paths if (path / PLAN).is_file()]
    if campaigns and len(paths) > 1:
        raise InputError(f"{campaigns[0]} is a campaign; view it alone, or give run folders only")
    if html is not None:
        if campaigns:
            raise InputError(f"--html is for runs; {campaigns[0]} is a campaign. Rerun one of its runs, then view that")
        return _write_page(_runs(sources), check_new(html, force=force), spread)
    if campaigns:
        folder = CampaignFolder.open(campaigns[0], trust=trust)
        title = folder.campaign.name
    else:
        with working("reading the flights"):
            flights = viewed_flights(_runs(sources), spread_m=spread)
        title = ", ".join(flight.name for flight in flights)
    server, inbox = start_server(port, title), Inbox()
    try:
        page: Page = CampaignPage(server, inbox, folder) if campaigns else FlightPage(server, inbox, flights)
        url = f"http://{HOST}:{server.get_port()}"
        write_out(f"{url}\n")
        write_err("press Ctrl-C to stop\n")
        if browser:
            webbrowser.open(url)
        with interrupts.deferred():
            run_page(page, inbox, lambda: interrupts.is_noted)
    finally:
        stop_server(server)
    is_usual = interrupts.number == signal.SIGINT  # the way to end a viewer, not an accident
    code = 0 if is_usual else interrupts.code
    interrupts.forget()
    return code


def _runs(sources: Sequence[str]) -> list[SavedRun]:
    runs = []
    for source in sources:
        if run_path(source).suffix.lower() == ".ulg":
            raise InputError(f"{source} is a ULog file; import it first: px4lockstep import {source}")
        runs.append(read_run(source))
        if is_incomplete(runs[-1].folder):
            write_err(f"warning: the run in {runs[-1].folder} is incomplete\n")
    return runs


def _write_page(runs: Sequence[SavedRun], target: Path, spread: float) -> int:
    with working(f"writing {target}"):
        page = replay_html(runs, spread_m=spread)
        with atomic_write(target) as file:
            file.write(page.encode())
    write_out(f"{target}\n")
    return 0
