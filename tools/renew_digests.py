"""Write the golden digests of the aircraft that ship again, with a reason for the changelog.

    make digests REASON="the drag of the hex was measured again; its flight moves by 0.2 m"

A digest changes only if a flight does, to the last bit, and whoever has recordings or results of such a flight is to be
told why. So the reason goes into CHANGELOG.md.
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
    """Fly an aircraft that ships; return its digests."""
    simulation = px4lockstep.simulate(name).simulation
    return {"digest": simulation.digest(), "live_digest": simulation.live_digest()}


def renew(
    reason: str,
    digests: Path = DIGESTS,
    changelog: Path = CHANGELOG,
    fly: Callable[[str], dict[str, str]] = flown_digests,
) -> list[str]:
    """Fly all aircraft that ship, write their digests and the reason; return the names of those that changed.

    Raises:
        ValueError: If there is no good reason, nothing changed, or the changelog has no place for it.
    """
    reason = " ".join(reason.split()).removesuffix(".")
    if len(reason) < MIN_REASON:
        raise ValueError(
            f"the reason {reason!r} is too short; say in {MIN_REASON} characters or more why flights change"
        )
    before: Digests = json.loads(digests.read_text("utf-8"))
    after = {name: fly(name) for name in shipped_aircraft()}
    changed = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    if not changed:
        raise ValueError("all digests are as they were; there is nothing to renew")
    text = with_line(changelog.read_text("utf-8"), f"- {', '.join(changed)}: {reason}.")
    digests.write_text(json.dumps(after, indent=2) + "\n", "utf-8")
    changelog.write_text(text, "utf-8")
    return changed


def with_line(changelog: str, line: str) -> str:
    """Return a changelog with one more line about renewed digests, in what is not released yet.

    Raises:
        ValueError: If there is no such part.
    """
    head, found, rest = changelog.partition(f"{UNRELEASED}\n")
    if not found:
        raise ValueError(f"the changelog has no part {UNRELEASED!r}; add it")
    part, mark, released = rest.partition("\n## ")
    if f"\n{SECTION}\n" not in part:
        part = f"\n{SECTION}\n{part}"
    before, section, after = part.partition(f"\n{SECTION}\n")
    lines, next_mark, others = after.partition("\n### ")
    lines = lines.rstrip("\n") + f"\n{line}\n"
    return head + found + before + section + lines + next_mark + others + mark + released


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the golden digests again.")
    parser.add_argument("--reason", required=True, help="why flights change, for the changelog")
    try:
        names = renew(parser.parse_args().reason)
    except ValueError as error:
        sys.exit(f"error: {error}")
    sys.stdout.write(f"renewed: {', '.join(names)}; the reason is in {CHANGELOG.name}\n")
