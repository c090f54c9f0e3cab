"""Write a report: one HTML file of a run, a campaign, or a comparison of two flights.

report("runs/first")                      # runs/first/report.html
report("campaigns/wind", out="wind.html")
report("runs/good", "runs/bad")           # runs/bad/report-diff.html
"""

from pathlib import Path

from px4lockstep.errors import InputError
from px4lockstep.flights.latest import CAMPAIGN_PLAN, run_path
from px4lockstep.io import atomic_write, check_new
from px4lockstep.reports.page import ReportPage, plotly_script

NAME, DIFF_NAME = "report.html", "report-diff.html"


def report(*sources: str | Path, out: str | Path | None = None, force: bool = False) -> Path:
    """Write a report of a run, a campaign, or the comparison of two flights: one HTML file that opens offline.

    Args:
        sources: A run folder, `latest`, a ULog file or a campaign folder; or two flights to compare.
        out: The file; by default `report.html` in the folder, and `report-diff.html` in the second of two folders.
        force: Whether to overwrite an existing file.

    Returns:
        The path of the file.

    Raises:
        InputError: If a source can't be read, the file exists, or Plotly is not installed.
        OutputError: If the file can't be written.
    """
    if not 1 <= len(sources) <= 2:
        raise InputError(f"a report is of one run or campaign, or compares two runs; {len(sources)} were given")
    paths = [run_path(source) for source in sources]
    target = check_new(out if out is not None else default_file(paths), force=force)
    plotly_script()  # without Plotly, say so before the work
    text = page_of(paths).html()
    with atomic_write(target) as file:
        file.write(text.encode(errors="replace"))
    return target


def default_file(paths: list[Path]) -> Path:
    """Return the file that a report is written to by default."""
    folder = next((path for path in reversed(paths) if path.is_dir()), Path())
    return folder / (NAME if len(paths) == 1 else DIFF_NAME)


def page_of(paths: list[Path]) -> ReportPage:
    """Return the page of a run, a campaign, or two flights."""
    campaigns = [path for path in paths if (path / CAMPAIGN_PLAN).is_file()]
    if len(paths) == 2:
        if campaigns:
            raise InputError(f"{campaigns[0]} is a campaign folder; only flights can be compared")
        from px4lockstep.reports.flight_report import diff_page

        return diff_page(*paths)
    if campaigns:
        from px4lockstep.campaigns.folder import CampaignFolder
        from px4lockstep.reports.campaign_report import campaign_page

        return campaign_page(CampaignFolder.open(paths[0]))
    from px4lockstep.reports.flight_report import run_page

    return run_page(paths[0])
