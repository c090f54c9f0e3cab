"""The word `latest` for the newest run folder in `runs/`, and for the newest campaign folder in `campaigns/`.

The newest is the one that was created last, by the file that is written first and never again. A folder that is itself
named `latest` is `./latest`.
"""

from collections.abc import Iterable
from pathlib import Path

from px4lockstep.errors import InputError

LATEST = "latest"
RUNS, CAMPAIGNS = "runs", "campaigns"
RUN_FILES = ("*/spec.toml", "*/branch-*/spec.toml", "*/summary.json")
"""Files of run folders: of flights, of several branches, and of imported flights, which have no spec."""
CAMPAIGN_PLAN = "campaign.json"
CAMPAIGN_FILES = (f"*/{CAMPAIGN_PLAN}",)


def run_path(source: str | Path) -> Path:
    """Return the path of a run folder or file; for the string `latest`, that of the newest run folder in `runs/`.

    Raises:
        InputError: If there is no run in `runs/`.
    """
    if source != LATEST:
        return Path(source)
    return _newest(RUNS, RUN_FILES, "fly one with px4lockstep run, or give the path of a run folder")


def campaign_path(source: str | Path) -> Path:
    """Return the path of a campaign folder; for the string `latest`, that of the newest one in `campaigns/`.

    Raises:
        InputError: If there is no campaign in `campaigns/`.
    """
    if source != LATEST:
        return Path(source)
    return _newest(CAMPAIGNS, CAMPAIGN_FILES, "fly one with px4lockstep campaign run, or give the path of its folder")


def spec_source(source: str | Path) -> str | Path:
    """Return the name or path of a spec; for `latest` or a run folder, the path of the spec that was flown."""
    folder = run_path(source)
    if folder.is_dir() and (source == LATEST or (folder / "spec.toml").exists()):
        return folder / "spec.toml"
    return source


def _newest(root: str, patterns: Iterable[str], remedy: str) -> Path:
    created: dict[Path, tuple[int, str]] = {}
    for pattern in patterns:  # a folder counts by the first pattern that it has
        for file in Path(root).glob(pattern):
            created.setdefault(file.parent, (file.stat().st_mtime_ns, str(file.parent)))
    if not created:
        kind = "campaign" if root == CAMPAIGNS else "run"
        raise InputError(f"there is no latest {kind}: no {kind} folder in {Path(root).absolute()}; {remedy}")
    return max(created, key=lambda folder: created[folder])
