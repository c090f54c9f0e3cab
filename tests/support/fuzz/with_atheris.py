"""`python -m fuzz.with_atheris recordings|logs`: the binary formats, with coverage-guided mutations.

Needs `pip install atheris`. Stops at the first input that is neither accepted nor rejected, and keeps it.
"""

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

INSTRUMENTED = ["px4lockstep.flights.recording", "px4lockstep.log", "px4lockstep.flights.folder"]
"""Modules without kernels: what atheris adds to a function, Numba does not compile."""

with atheris.instrument_imports(include=INSTRUMENTED):
    from recording_files import reseal

    from fuzz import logs, recordings, warm_up
    from px4lockstep.errors import LockstepError

FILES = {"recordings": (recordings, recordings.FILE), "logs": (logs, logs.PARQUET)}


def main():
    """Fuzz a format; further arguments are libFuzzer's: `-runs=10000`, `-max_total_time=600`."""
    name, *options = sys.argv[1:]
    module, file = FILES[name]
    with tempfile.TemporaryDirectory() as place:
        folder, seeds = Path(place) / "input", Path(place) / "seeds"
        seeds.mkdir()
        warm_up(name, folder)
        (seeds / "whole").write_bytes((folder / file).read_bytes())
        for marker in ("flown", "drawn"):
            (folder / marker).unlink(missing_ok=True)

        def use(data):
            (folder / file).write_bytes(data)
            if name == "recordings" and len(data) > 512:
                reseal(folder / file)
            with contextlib.suppress(LockstepError):
                module.use(folder)

        limits = ["-rss_limit_mb=2000", "-timeout=5", "-max_len=2000000"]
        atheris.Setup([sys.argv[0], *limits, *options, str(seeds)], use)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
