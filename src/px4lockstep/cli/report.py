"""`px4lockstep report`: one HTML file of a run, a campaign or a comparison."""

from pathlib import Path

from px4lockstep.cli.output import write_out
from px4lockstep.cli.progress import working
from px4lockstep.reports.report import report

WRITTEN = 0


def report_on(sources: list[str], force: bool, out: Path | None = None) -> int:
    """Write a report; return the exit code."""
    with working("writing the report", flies=len(sources) > 1):
        target = report(*sources, out=out, force=force)
    write_out(f"{target}\n")
    return WRITTEN
