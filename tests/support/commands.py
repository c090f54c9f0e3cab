"""The command line, in processes that are forked from one that has imported everything: this saves a second each.

`python -m commands` is that process; each test process starts its own when it needs one. A command exits as in an
interpreter of its own. Tests that send it signals start interpreters themselves.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

LOOK_S = 0.005
MODULES = ("run", "replay", "branch", "folders", "compare", "diff", "campaign", "app")


def run_command(*words, cwd=None, env=None, timeout_s=300.0, script=None):
    """Run the command line, as `subprocess.run` with `capture_output` and `text` would; or a script, with words."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        files = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, err)]
        task = {
            "words": [os.fsdecode(word) for word in words],
            "cwd": os.fspath(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "files": files,
            "script": None if script is None else os.fspath(script),
            "timeout_s": timeout_s,
        }
        server = _server()
        server.stdin.write(json.dumps(task) + "\n")
        server.stdin.flush()
        code = json.loads(server.stdout.readline())
        if code is None:
            raise subprocess.TimeoutExpired(words, timeout_s)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return subprocess.CompletedProcess(words, code, *texts)


@functools.cache
def _server():
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    server = subprocess.Popen(
        [sys.executable, "-m", "commands"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    atexit.register(_stop, server)
    return server


def _stop(server):
    server.stdin.close()
    server.wait()
    server.stdout.close()


def preload():
    """Import everything that commands need, and load what is compiled."""
    for name in MODULES:
        importlib.import_module(f"px4lockstep.cli.{name}")
    import matplotlib.pyplot as plt  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    from px4lockstep.engine.simulation import Simulation
    from px4lockstep.engine.timeline import Periodic, Timeline

    Simulation(None, Timeline(1, log=Periodic(1)))


def _wait(child, timeout_s):
    """Return the exit code of a process; None if it had to be killed."""
    end_s = time.monotonic() + timeout_s
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end_s:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return None
        time.sleep(LOOK_S)


def become(task):
    """Take over the words, folder, environment and output files of a command."""
    for number, path in enumerate(["/dev/null", *task["files"]]):
        file = os.open(path, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(file, number)
        os.close(file)
    os.chdir(task["cwd"])
    os.environ.clear()
    os.environ.update(task["env"])
    sys.argv = ["px4lockstep", *task["words"]]


def run_and_exit():
    """Run the command and end the process, without freeing what was imported, which would take half of the time."""
    from px4lockstep.cli import main as command

    code = 1
    try:
        command()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def main():
    """Fork a command for each request until there are no more."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    preload()
    gc.freeze()
    for line in requests:
        task = json.loads(line)
        child = os.fork()
        if child == 0:
            requests.close()
            answers.close()
            become(task)
            if task["script"] is None:
                run_and_exit()
            runpy.run_path(task["script"], run_name="__main__")
            return
        answers.write(json.dumps(_wait(child, task["timeout_s"])) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
