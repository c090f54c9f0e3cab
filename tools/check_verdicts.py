"""Fly random aircraft and compare each verdict with that of an independent checker, which uses only the log.

PYTHONPATH=tests/support .venv/bin/python tools/check_verdicts.py 500
"""

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from random_aircraft import HOME, random_flight
from verdict_checker import checked_ending, checked_verdict


def compare(index):
    """Fly an aircraft; return its number, the verdict, the checker's verdict, and the reason. None if refused.

    If the checker finds another ending of the flight, this is part of its verdict.
    """
    with tempfile.TemporaryDirectory() as folder:
        run, mission = random_flight(index, Path(folder))
    if isinstance(run, Exception):
        return index, None, None, str(run)
    has_mission = run.flight.mission is not None
    end_s = run.spec.timeline.t_end_s
    flown = mission if has_mission else None
    checked, ending = checked_verdict(run.log, flown, HOME, end_s), checked_ending(run.log, flown, HOME)
    if ending != run.summary.ending:
        checked = f"{checked}, {ending} instead of {run.summary.ending}"
    return index, run.outcome.word, checked, run.outcome.reason


def main():
    """Print a table of verdicts and agreements with the checker; return 1 unless they all agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=500, help="Number of aircraft to fly.")
    parser.add_argument("--first", type=int, default=0, help="Number of the first aircraft.")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="Print each flight.")
    options = parser.parse_args()
    flown, agreed, refused, first = Counter(), Counter(), 0, options.first
    with ProcessPoolExecutor(options.workers) as pool:
        while (missing := options.count - flown.total()) > 0:
            for index, word, checked, reason in pool.map(compare, range(first, first + missing)):
                if options.verbose or word != checked:
                    sys.stderr.write(f"{index}: {word}; checker: {checked}; {reason}\n")
                if word is None:
                    refused += 1
                    continue
                flown[word] += 1
                agreed[word] += word == checked
            first += missing
    rows = [f"| `{word}` | {count} | {agreed[word]} |" for word, count in flown.most_common()]
    lines = ["| verdict | flights | checker agrees |", "|---|---|---|", *rows]
    lines += [
        f"| all | {flown.total()} | {agreed.total()} |",
        "",
        f"Refused because the autopilot cannot fly the aircraft: {refused}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0 if flown == agreed else 1


if __name__ == "__main__":
    sys.exit(main())
