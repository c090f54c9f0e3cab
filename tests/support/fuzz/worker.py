"""The process that uses inputs: one JSON line in per input, one out at its start and one at its end."""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

from fuzz import make_input, use_input, warm_up
from px4lockstep.errors import LockstepError

ACCEPTED, REFUSED, FOREIGN = "accepted", "refused", "foreign exception"
SLOW, LARGE, SIGNAL, MUTATOR = "too slow", "too large", "signal", "no input"
VERDICTS = (ACCEPTED, REFUSED, FOREIGN, SIGNAL, SLOW, LARGE, MUTATOR)
GOOD = (ACCEPTED, REFUSED)
CEILING_BYTES = 6 * 2**30
"""Address space beyond what the worker has: nothing that is fuzzed may take the machine with it."""


def verdict_of(name, folder):
    """Use an input; return the verdict, and what was raised."""
    try:
        use_input(name, folder)
    except LockstepError as error:
        text = str(error)
        return (REFUSED, text) if len(text) < 100_000 else (LARGE, f"a message of {len(text)} characters")
    except MemoryError as error:
        return LARGE, repr(error)
    except BaseException as error:
        return FOREIGN, f"{type(error).__name__}: {error}{_place_of(error)}"
    return ACCEPTED, ""


def _place_of(error):
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code if trace is not None else None
    return "" if code is None else f" ({Path(code.co_filename).name}:{trace.tb_lineno}, {code.co_name})"


def memory_mb(field):
    """Return a value from /proc/self/status in MB: VmRSS, or VmHWM, the peak since it was reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def main():
    """Answer until there are no more inputs."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    warm = set()
    root = Path(tempfile.mkdtemp(prefix="fuzz-"))
    os.chdir(root)

    def answer(**values):
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    try:
        for line in sys.stdin:
            task = json.loads(line)
            name, folder = task["format"], root / "input"
            shutil.rmtree(folder, ignore_errors=True)
            try:
                if name not in warm:
                    warm_up(name, root / f"warm-{name}")
                    shutil.rmtree(root / f"warm-{name}")
                    warm.add(name)
                if "folder" in task:
                    folder = Path(task["folder"])
                else:
                    make_input(name, task["seed"], task["index"], folder)
            except Exception as error:
                answer(begun=False)
                answer(
                    verdict=MUTATOR, text=f"{type(error).__name__}: {error}{_place_of(error)}", cpu_s=0.0, peak_mb=0.0
                )
                continue
            limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + CEILING_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
            Path("/proc/self/clear_refs").write_text("5")
            before_mb, start_s = memory_mb("VmRSS"), time.process_time()
            answer(begun=True, rss_mb=before_mb)
            verdict, text = verdict_of(name, folder)
            cpu_s, peak_mb = time.process_time() - start_s, memory_mb("VmHWM") - before_mb
            answer(verdict=verdict, text=text[:2_000], cpu_s=cpu_s, peak_mb=peak_mb)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
