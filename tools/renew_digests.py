"""Update the golden digests of the built-in aircraft, with a reason for the changelog.

    make digests REASON="the drag of the hex was measured again; its flight moves by 0.2 m"

A digest changes only if a flight is no longer bit-identical. Users with recordings or results of such a flight need to
know why, so the reason is added to CHANGELOG.md.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import px4lockstep
from px4lockstep.spec.files import shipped_aircraft

ROOT = Path(__file__).resolve().parents[1]
DIGESTS = ROOT / "tests" / "golden" / "digests.json"
CHANGELOG = ROOT / "CHANGELOG.md"

MIN_REASON = 20
UNRELEASED, SECTION = "## Unreleased", "### Digests renewed"

Digests = dict[str, dict[str, str]]


def flown_digests(name: str) -> dict[str, str]:
    """Fly a built-in aircraft; return its digests."""
    simulation = px4lockstep.simulate(name).simulation
    return {"digest": simulation.digest(), "live_digest": simulation.live_digest()}


def renew(
    reason: str,
    digests: Path = DIGESTS,
    changelog: Path = CHANGELOG,
    fly: Callable[[str], dict[str, str]] = flown_digests,
) -> list[str]:
    """Fly all built-in aircraft, write their digests and the reason; return the names of those that changed.

    Raises:
        ValueError: If the reason is too short, nothing changed, or the changelog has no section for it.
    """
    reason = " ".join(reason.split()).removesuffix(".")
    if len(reason) < MIN_REASON:
        raise ValueError(
            f"the reason {reason!r} is too short; explain in at least {MIN_REASON} characters why flights change"
        )
    before: Digests = json.loads(digests.read_text("utf-8"))
    after = {name: fly(name) for name in shipped_aircraft()}
    changed = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    if not changed:
        raise ValueError("no digest has changed; there is nothing to update")
    text = with_line(changelog.read_text("utf-8"), f"- {', '.join(changed)}: {reason}.")
    digests.write_text(json.dumps(after, indent=2) + "\n", "utf-8")
    changelog.write_text(text, "utf-8")
    return changed


def with_line(changelog: str, line: str) -> str:
    """Return a changelog with a new line about renewed digests in its unreleased section.

    Raises:
        ValueError: If there is no such section.
    """
    head, found, rest = changelog.partition(f"{UNRELEASED}\n")
    if not found:
        raise ValueError(f"the changelog has no section {UNRELEASED!r}; add it")
    part, mark, released = rest.partition("\n## ")
    if f"\n{SECTION}\n" not in part:
        part = f"\n{SECTION}\n{part}"
    before, section, after = part.partition(f"\n{SECTION}\n")
    lines, next_mark, others = after.partition("\n### ")
    lines = lines.rstrip("\n") + f"\n{line}\n"
    return head + found + before + section + lines + next_mark + others + mark + released


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Update the golden digests.")
    parser.add_argument("--reason", required=True, help="why flights change, for the changelog")
    try:
        names = renew(parser.parse_args().reason)
    except ValueError as error:
        sys.exit(f"error: {error}")
    sys.stdout.write(f"updated: {', '.join(names)}; the reason is in {CHANGELOG.name}\n")
