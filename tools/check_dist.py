"""Install each distribution of a folder into a new environment, and fly the X500 there: `check_dist.py dist`.

Each flight starts with empty caches and must have the golden digest. `px4lockstep doctor` must say before the flight
that the wheel's code is used, or that the first flight will compile.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AIRCRAFT = "x500"
GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden" / "digests.json"
COMPILED = {"ahead_of_time": "OK", "loop": "compiled ahead of time"}
PURE = {"ahead_of_time": "none", "loop": "will be compiled at the first flight"}
"""How these lines of the doctor begin."""


def interpreter(distribution: str) -> str:
    """Return the Python that a distribution is for; this one if it is for any."""
    tag = re.search(r"-cp(\d)(\d+)-", distribution)
    return f"python{tag[1]}.{tag[2]}" if tag else sys.executable


def problems(distribution: str, doctor: dict[str, str], digest: str) -> list[str]:
    """Return what is wrong with an installation, given what its doctor says and the digest of its flight."""
    expected = COMPILED if re.search(r"-cp\d+-", distribution) else PURE
    found = [f"{key}: {doctor[key]}" for key, start in expected.items() if not doctor[key].startswith(start)]
    golden = json.loads(GOLDEN.read_text("utf-8"))[AIRCRAFT]["digest"]
    return found + ([f"digest {digest}, not {golden}"] if digest != golden else [])


def run(*command: str | Path, folder: Path) -> str:
    """Run a command with nothing of this environment and with caches in a folder; return what it prints."""
    lent = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in lent}
    caches = {"PX4LOCKSTEP_CACHE_DIR": str(folder / "cache"), "MPLCONFIGDIR": str(folder / "fonts")}
    variables = {**kept, **caches, "PX4LOCKSTEP_NATIVE": "off"}
    words = " ".join(map(str, command))
    try:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise SystemExit(f"error: {command[0]} is not installed; {words} can't be run") from None
    if done.returncode != 0:
        raise SystemExit(f"error: {words} failed: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def check(distribution: Path, folder: Path) -> list[str]:
    """Install and fly a distribution; print a line and return what is wrong."""
    python = interpreter(distribution.name)
    run(python, "-m", "venv", "environment", folder=folder)
    installed = folder / "environment" / "bin"
    run(installed / "python", "-m", "pip", "install", "--quiet", distribution, folder=folder)
    doctor = json.loads(run(installed / "px4lockstep", "doctor", "--json", folder=folder))
    start_s = time.perf_counter()
    digest = json.loads(run(installed / "px4lockstep", "run", AIRCRAFT, "--json", folder=folder))["digest"]
    took_s = time.perf_counter() - start_s
    found = problems(distribution.name, doctor, digest)
    verdict = "; ".join(found) or f"{AIRCRAFT} has its digest"
    sys.stdout.write(f"{distribution.name}, Python {doctor['python']}: {verdict}; first flight took {took_s:.1f} s\n")
    sys.stdout.flush()
    return found


def main(folder: str) -> int:
    """Check all distributions of the simulator; return 1 if one is wrong or none is there."""
    paths = sorted(Path(folder).resolve().glob("px4lockstep-*"))
    failed = not paths
    for path in paths:
        with tempfile.TemporaryDirectory() as temporary:
            failed |= bool(check(path, Path(temporary)))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
