"""Compare this checkout's benchmarks with the recorded ones, or record them, in `benchmarks/history.md`.

    make bench-check      # exits with 1 if a ratio is more than 10 % above the newest entry of this processor
    make bench-record     # adds an entry; exits with 2 on a busy machine

Both exit with 2 if the benchmarks can't be run. Use a quiet machine. Ratios are compared, not times; still, the ratio
to C depends on the processor.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HISTORY = ROOT / "benchmarks" / "history.md"
TOLERANCE = 1.10
QUIET = 1.0
"""Largest load average of a quiet machine, in the last minute before the benchmarks."""
SLOWER, FAILED = 1, 2
PACKAGES = ("numba", "numpy", "typer", "pydantic", "h5py", "pyarrow", "matplotlib")
UNITS = {"c_ratio": "C", "import_ratio": "import of Numba"}
ENTRY = re.compile(r"^## (?P<title>.+)\n\n(?P<machine>.+)\n(?P<versions>.+)\n\n(?P<table>(?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \| ([\d.]+) \|", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """One measurement of all benchmarks."""

    title: str  # date and commit
    machine: str
    ratios: dict[str, float]


def entries(text: str) -> list[Entry]:
    """Return the entries of the history, the newest first."""
    return [
        Entry(found["title"], found["machine"], {name: float(ratio) for name, ratio in ROW.findall(found["table"])})
        for found in ENTRY.finditer(text)
    ]


def compare(measured: dict[str, float], recorded: Entry) -> list[str]:
    """Return a line for each benchmark that has become slower than its tolerance allows."""
    return [
        f"{name}: {measured[name]:.2f}, recorded {ratio:.2f} ({measured[name] / ratio - 1.0:+.0%})"
        for name, ratio in recorded.ratios.items()
        if name in measured and measured[name] > TOLERANCE * ratio
    ]


def chosen(history: list[Entry], here: str) -> Entry:
    """Return the newest entry of this machine, or the newest of all."""
    return next((entry for entry in history if entry.machine == here), history[0])


def with_entry(text: str, title: str, machine: str, versions: str, measurements: list[dict[str, Any]]) -> str:
    """Return the history with a new entry in front of the others."""
    rows = []
    for m in measurements:
        unit = next((unit for unit in UNITS if m[unit] is not None), None)
        if unit is not None:
            rows.append(f"| `{m['name']}` | {m[unit]:.2f} | {UNITS[unit]} | {1e3 * m['wall_s']:.1f} |\n")
    table = "| name | ratio | to | wall time [ms] |\n|---|---|---|---|\n" + "".join(rows)
    head, mark, rest = text.partition("\n## ")
    return f"{head.rstrip()}\n\n## {title}\n\n{machine}\n{versions}\n\n{table}" + (f"{mark}{rest}" if mark else "")


def ratios_of(measurements: list[dict[str, Any]]) -> dict[str, float]:
    """Return the ratio of each benchmark that has one, rounded as in the history."""
    found = {m["name"]: next((m[unit] for unit in UNITS if m[unit] is not None), None) for m in measurements}
    return {name: round(ratio, 2) for name, ratio in found.items() if ratio is not None}


def machine() -> str:
    """Return processor and number of cores."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"^model name\s*: (.+)$", info.read_text("utf-8"), re.MULTILINE)
        name = found[1] if found else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}."


def versions() -> str:
    """Return the versions of Python, of the C compiler and of the packages that matter for speed."""
    compiler = subprocess.run(["cc", "-dumpfullversion"], capture_output=True, text=True, check=False).stdout.strip()
    packages = (f"{name} {version(name)}" for name in PACKAGES)
    return f"Python {platform.python_version()}, cc {compiler or 'unknown'}, {', '.join(packages)}."


def measured() -> list[dict[str, Any]]:
    """Run all benchmarks."""
    command = [sys.executable, "-P", "-m", "px4lockstep", "bench", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.stderr.write(f"error: px4lockstep bench exited with {done.returncode}; nothing was compared or recorded\n")
        sys.exit(FAILED)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def check() -> int:
    """Compare with the history; return the exit code."""
    recorded = chosen(entries(HISTORY.read_text("utf-8")), machine())
    if recorded.machine != machine():
        sys.stderr.write(f"note: no entry of this machine; compared with {recorded.machine}\n")
    if (load := os.getloadavg()[0]) > QUIET:
        sys.stderr.write(f"note: the machine is busy (load average {load:.1f}), so ratios may be too high\n")
    found = ratios_of(measured())
    slower, missing = compare(found, recorded), [name for name in recorded.ratios if name not in found]
    sys.stdout.write("".join(f"slower: {line}\n" for line in slower))
    sys.stdout.write("".join(f"not measured: {name}\n" for name in missing))
    if not slower and not missing:
        sys.stdout.write(f"no slower than {recorded.title}\n")
    return SLOWER if slower else FAILED if missing else 0


def record() -> int:
    """Add an entry to the history; return the exit code."""
    if (load := os.getloadavg()[0]) > QUIET:
        sys.stderr.write(f"error: the machine is busy (load average {load:.1f}); an entry needs a quiet one\n")
        return FAILED
    show = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    commit = subprocess.run(show, capture_output=True, text=True, check=True).stdout.strip()
    title = f"{time.strftime('%Y-%m-%d')}, {commit}"
    text = HISTORY.read_text("utf-8")
    HISTORY.write_text(with_entry(text, title, machine(), versions(), measured()), "utf-8")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["check", "record"])
    sys.exit({"check": check, "record": record}[parser.parse_args().action]())
