"""Measure time and memory of an hour's flight, first with a requested end, then with a fixed end.

    python benchmarks/long_flight.py --duration 3600

The Iris repeats its mission with a large battery, wind at 1 kHz and log at 100 Hz, and writes a run folder with the
recording. Each of the two flights runs in a separate process, whose peak memory is that of the flight and of writing
its files. The last line of the output is the result as JSON.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import px4lockstep
from px4lockstep.engine.simulation import Simulation
from px4lockstep.flights.folder import RunFolder
from px4lockstep.flights.recording.file import NAME

BOUND_S = 7_200.0
"""The end of the timeline of the flight with a requested end."""
MISSION = """QGC WPL 110
0	1	3	22	0	0	0	0	47.397742	8.545594	12	1
1	0	3	16	2	2	0	0	47.397842	8.545694	12	1
2	0	3	16	2	2	0	0	47.397842	8.545494	12	1
3	0	3	16	2	2	0	0	47.397642	8.545494	12	1
4	0	3	16	2	2	0	0	47.397642	8.545694	12	1
5	0	3	177	1	9999	0	0	0	0	0	1
6	0	3	21	0	0	0	0	47.397742	8.545594	0	1
"""


def fly(folder: Path, duration_s: float, *, is_fixed: bool) -> dict[str, object]:
    """Fly, write a run folder, and return the measurements."""
    mission = folder / "round.waypoints"
    mission.write_text(MISSION, "utf-8")
    overrides = {
        "px4.mission_path": str(mission),
        "power.batteries[0].capacity_ah": 500.0,
        "environment.wind": "ou",
        "timeline.dt_log_s": 0.01,
        "timeline.t_end_s": duration_s if is_fixed else BOUND_S,
    }
    flight = px4lockstep.build(px4lockstep.load_spec("iris", overrides), record=True)
    target = RunFolder.create(folder / "run", flight, holds_log=True)

    def watch(simulation: Simulation) -> bool:
        target.watch(simulation)
        return not is_fixed and simulation.time_us >= duration_s * 1e6

    start_s = time.perf_counter()
    run = px4lockstep.fly(flight, watch)
    flown_s = time.perf_counter() - start_s
    flown_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    target.keep(run)
    target.close(run)
    return {
        "duration_s": run.summary.duration_s,
        "boundaries": flight.simulation.boundary,
        "digest": run.digest,
        "flown_s": flown_s,
        "us_per_boundary": 1e6 * flight.simulation.statistics.wall_s / flight.simulation.boundary,
        "flown_peak_mb": flown_mb,
        "kept_s": time.perf_counter() - start_s - flown_s,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "recording_mb": (target.path / NAME).stat().st_size / 1e6,
    }


def main() -> None:
    """Run both flights in child processes, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=3600.0, help="duration of the flight [s]")
    parser.add_argument("--child", choices=("open", "fixed"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(fly(Path(folder), options.duration, is_fixed=options.child == "fixed")))
        return
    results = {}
    for child in ("open", "fixed"):
        command = (sys.executable, __file__, "--duration", str(options.duration), "--child", child)
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode:
            raise SystemExit(finished.stderr)
        results[child] = json.loads(finished.stdout.splitlines()[-1])
        print(f"{child:5}  {results[child]}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
