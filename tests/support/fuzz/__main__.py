# ruff: noqa: T201 - a script that tells what it found
"""`python -m fuzz N`: run N inputs, print a table, keep those that failed, and exit with 1 if any did."""

import argparse
import itertools
import os
import shutil
import sys
import time
from pathlib import Path

from fuzz import FORMATS, make_input, shares
from fuzz.runner import run_inputs, workers
from fuzz.worker import MUTATOR, VERDICTS


def tasks_of(counts, seed, start):
    """Yield the inputs, one format after the other, so that each worker warms up once per format."""
    for name, count in counts.items():
        yield from ({"format": name, "seed": seed, "index": index} for index in range(start, start + count))


def print_table(outcomes):
    """Print the outcomes of each format, and the most resources that an input used."""
    print(
        f"{'format':18}{'inputs':>8}"
        + "".join(f"{word:>19}" for word in VERDICTS[:-1])
        + f"{'most CPU':>11}{'most memory':>13}"
    )
    for name in (*FORMATS, "total"):
        own = [each for each in outcomes if name in (each.format, "total")]
        if own:
            counts = "".join(f"{sum(each.verdict == word for each in own):>19,}" for word in VERDICTS[:-1])
            most = f"{max(each.cpu_s for each in own):>9.2f} s{max(each.peak_mb for each in own):>10.0f} MB"
            print(f"{name:18}{len(own):>8,}{counts}{most}")


def main():
    """Run inputs and return the exit code."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("count", type=int, help="how many inputs, shared among the formats by their weights")
    parser.add_argument("--format", action="append", choices=sorted(FORMATS), help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--index", type=int, default=0, help="the first index; with a count of 1, one input once more")
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="where inputs that failed are kept")
    options = parser.parse_args()
    counts = shares(options.count, options.format or list(FORMATS))
    outcomes, start_s = [], time.monotonic()
    with workers(options.workers) as own:
        for outcome in run_inputs(tasks_of(counts, options.seed, options.index), own):
            outcomes.append(outcome)
            if not outcome.is_good:
                seed, _, index = outcome.where.partition(":")
                folder = options.out / outcome.format / f"{seed}-{index}"
                shutil.rmtree(folder, ignore_errors=True)
                if outcome.verdict != MUTATOR:
                    make_input(outcome.format, int(seed), int(index), folder)
                print(
                    f"FAILED {outcome.format} {seed} {index}: {outcome.verdict}: {outcome.text[:300]!r}; see {folder}",
                    flush=True,
                )
    print_table(outcomes)
    failed = [each for each in outcomes if not each.is_good]
    print(f"seed {options.seed}, {len(outcomes):,} inputs, {time.monotonic() - start_s:.0f} s, {len(failed)} failed")
    for name, own in itertools.groupby(failed, key=lambda each: each.format):
        indexes = ", ".join(each.where.partition(":")[2] for each in own)
        print(f"  make fuzz N=1 FORMAT={name} SEED={options.seed} INDEX=… with {indexes}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
