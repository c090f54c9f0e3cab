"""`px4lockstep view`: show runs or a campaign in the browser, or write a page that needs no server.

The browser loads its page while this process imports the rest and reads the flights (`viewed.py`).
"""

import signal
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import write_err, write_out
from px4lockstep.cli.progress import working
from px4lockstep.errors import InputError
from px4lockstep.flights.latest import CAMPAIGN_PLAN, run_path
from px4lockstep.view.inbox import Inbox
from px4lockstep.view.loop import run_page
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
    campaigns = [path for path in paths if (path / CAMPAIGN_PLAN).is_file()]
    if campaigns and len(paths) > 1:
        raise InputError(f"{campaigns[0]} is a campaign; view it alone, or give run folders only")
    if campaigns and html is not None:
        raise InputError(f"--html is for runs; {campaigns[0]} is a campaign. Rerun one of its runs, then view that")
    if html is not None:
        from px4lockstep.cli.viewed import write_page

        return write_page(paths, html, spread, force=force)
    flights = None
    if not campaigns and not all(any(path.glob("log.*")) for path in paths):  # an error, before a browser opens
        from px4lockstep.cli.viewed import read_flights

        flights = read_flights(paths, spread)
    inbox = Inbox()
    server = start_server(port, ", ".join(path.resolve().name for path in paths))
    try:
        url = f"http://{HOST}:{server.get_port()}"
        if browser:
            webbrowser.open(url)
        from px4lockstep.cli.viewed import campaign_page, flight_page, read_flights

        with working("reading the flights"):
            if campaigns:
                page = campaign_page(server, inbox, campaigns[0], trust=trust)
            else:
                page = flight_page(server, inbox, flights or read_flights(paths, spread))
        write_out(f"{url}\n")
        write_err("press Ctrl-C to stop\n")
        with interrupts.deferred():
            run_page(page, inbox, lambda: interrupts.is_noted)
    finally:
        stop_server(server)
    is_usual = interrupts.number == signal.SIGINT  # the way to end a viewer, not an accident
    code = 0 if is_usual else interrupts.code
    interrupts.forget()
    return code
