"""Commands that are killed at chosen times.

`python -m strikes` imports everything that commands need once, and forks for each command: a kill costs a fraction of a
second, and hits the command rather than its imports.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from commands import become, preload, run_and_exit
from processes import PATIENCE_S, wait_until

LOOK_S = 0.002


class Struck:
    """The process that forks commands."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "strikes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
            },
        )

    def run(self, folder, *words, after_s=None):
        """Run a command in a folder; with `after_s`, kill it that long after it has first written something there.

        Returns:
            The exit code (minus the signal), the seconds from the first write to the end, and the output.
        """
        task = {"folder": str(folder), "words": words, "after_s": after_s}
        self._process.stdin.write(json.dumps(task).encode() + b"\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return answer["code"], answer["seconds"], answer["text"]

    def end(self):
        """Stop it."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@contextmanager
def striking():
    """Start the process that forks, and stop it."""
    struck = Struck()
    try:
        yield struck
    finally:
        struck.end()


def files_in(folder):
    """Return size and time of all files below a folder by path, which change with a write."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                about = os.stat(os.path.join(root, name), follow_symlinks=False)
                found[os.path.join(root, name)] = about.st_size, about.st_mtime_ns
    return found


def _is_session_gone(leader):
    """Return whether no process of a session is left; the workers of a campaign exit separately."""
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with suppress(OSError, IndexError):
                words = (path / "stat").read_text().rpartition(")")[2].split()
                if int(words[3]) == leader and words[0] != "Z":
                    return False
    return True


def _command(folder, words, output):
    """Run the command in a session of its own; never returns."""
    os.setsid()
    file = f"/proc/self/fd/{output.fileno()}"
    become({"words": words, "cwd": folder, "env": dict(os.environ), "files": [file, file]})
    run_and_exit()


def _strike(task):
    """Fork a command, kill it if requested, and return its outcome."""
    import tempfile

    with tempfile.TemporaryFile() as output:
        before = files_in(task["folder"])
        child = os.fork()
        if child == 0:
            _command(task["folder"], task["words"], output)
        status, first_s = 0, None
        while not status:
            done, code = os.waitpid(child, os.WNOHANG)
            if first_s is None and (done or files_in(task["folder"]) != before):
                first_s = time.monotonic()
            if done:
                break
            if first_s is not None and task["after_s"] is not None and time.monotonic() - first_s >= task["after_s"]:
                os.kill(child, signal.SIGKILL)
                code = os.waitpid(child, 0)[1]
                break
            time.sleep(LOOK_S if first_s is None or task["after_s"] is not None else 0.01)
        wait_until(lambda: _is_session_gone(child))
        output.seek(0)
        text = output.read().decode(errors="replace")
    return {"code": os.waitstatus_to_exitcode(code), "seconds": time.monotonic() - first_s, "text": text[-2_000:]}


def main():
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    preload()
    for line in sys.stdin:
        answers.write(json.dumps(_strike(json.loads(line))) + "\n")
        answers.flush()


__all__ = ["PATIENCE_S", "Struck", "files_in", "striking"]

if __name__ == "__main__":
    main()
