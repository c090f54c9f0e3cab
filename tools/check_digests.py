"""Fly built-in aircraft and compare their digests with the golden ones: `check_digests.py iris octa`."""

import json
import platform
import sys
from pathlib import Path

import px4lockstep

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden" / "digests.json"


def main(names: list[str]) -> int:
    """Print a line for each aircraft; return 1 if a digest differs."""
    golden = json.loads(GOLDEN.read_text("utf-8"))
    failed = False
    for name in names or sorted(golden):
        simulation = px4lockstep.simulate(name).simulation
        flown = {"digest": simulation.digest(), "live_digest": simulation.live_digest()}
        failed |= flown != golden[name]
        verdict = "identical" if flown == golden[name] else f"differs: {flown}"
        sys.stdout.write(f"{platform.machine()} Python {platform.python_version()} {name}: {verdict}\n")
        sys.stdout.flush()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
