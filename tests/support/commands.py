"""The command line, in processes that are forked from one that has imported everything: this saves a second each.

`python -m commands` is that process; each test process starts its own when it needs one. A command exits as in an
interpreter of its own. `start_command` returns while it runs; `px4lockstep_on_path` does the same for shell scripts.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import numba

import px4lockstep.cli
from px4lockstep.jit import cache

LOOK_S = 0.005
ON_DEMAND = ("flights.figure", "plots.flight", "log.ulog", "log.maps", "log.matlab", "log.params")


class Command:
    """A command that runs, with the interface of `subprocess.Popen` in text mode with both outputs piped.

    Args:
        words: The command's arguments.
        cwd: Folder to run it in.
        env: Its environment.
        timeout_s: When it is killed.
        script: Python script to run instead of the command line.
        leads: Whether it leads a session, and so a process group, of its own.
        stdout: File that standard output goes to instead.
    """

    def __init__(self, words, cwd, env, timeout_s, script=None, leads=False, stdout=None):
        self._files = [tempfile.TemporaryFile("w+") for _ in range(2)]  # noqa: SIM115 - `close` closes them
        self._texts = None
        self.args, self._timeout_s, self.returncode = words, timeout_s, None
        task = {
            "words": [os.fsdecode(word) for word in words],
            "cwd": os.fspath(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "files": [stdout or self._path(0), self._path(1)],
            "script": None if script is None else os.fspath(script),
            "timeout_s": timeout_s,
            "leads": leads,
        }
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(_server())
        self._server.sendall(json.dumps(task).encode() + b"\n")
        self._answers = self._server.makefile()
        self.pid = json.loads(self._answers.readline())

    def _path(self, number):
        return f"/proc/{os.getpid()}/fd/{self._files[number].fileno()}"

    def poll(self):
        """Return the exit code, or None while it runs."""
        is_over = self.returncode is not None or select.select([self._server], [], [], 0.0)[0]
        return self.wait() if is_over else None

    def wait(self, timeout=None):
        """Wait for the end; return the exit code."""
        if self.returncode is None:
            if not select.select([self._server], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout)
            self.returncode = json.loads(self._answers.readline())
            if self.returncode is None:
                raise subprocess.TimeoutExpired(self.args, self._timeout_s)
        return self.returncode

    def communicate(self, timeout=None):
        """Wait for the end; return what it printed on standard output and standard error."""
        self.wait(timeout)
        if self._texts is None:
            self._texts = []
            for file in self._files:
                file.seek(0)
                self._texts.append(file.read())
            self.close()
        return tuple(self._texts)

    def send_signal(self, number):
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def close(self):
        """Close files and socket."""
        for each in (*self._files, self._answers, self._server):
            each.close()


def start_command(*words, cwd=None, env=None, timeout_s=300.0, **options):
    """Start the command line, or a script, with words."""
    return Command(words, cwd, env, timeout_s, **options)


def run_command(*words, **options):
    """Run the command line, as `subprocess.run` with `capture_output` and `text` would; or a script, with words."""
    command = start_command(*words, **options)
    try:
        printed = command.communicate()
    finally:
        command.close()
    return subprocess.CompletedProcess(words, command.returncode, *printed)


SHIM = """#!{python} -SE
import json, os, socket, sys
files = ["/proc/%d/fd/%d" % (os.getpid(), number) for number in (1, 2)]
task = dict(words=sys.argv[1:], cwd=os.getcwd(), env=dict(os.environ), files=files, script=None)
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
server.sendall(json.dumps(task).encode() + b"\\n")
sys.exit(int(server.makefile().readlines()[1]))
"""


def px4lockstep_on_path(folder, monkeypatch):
    """Put a program `px4lockstep` first on the path, whose commands are forked like those of `run_command`."""
    folder.mkdir()
    shim = folder / "px4lockstep"
    shim.write_text(SHIM.format(python=sys.executable, address=_server()), "utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", os.fspath(folder), prepend=os.pathsep)


@functools.cache
def _server():
    """Start the process that forks; return the address of its socket."""
    folder = tempfile.TemporaryDirectory()
    address = os.path.join(folder.name, "socket")
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-m", "commands", address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    assert process.stdout.readline() == b"ready\n"
    atexit.register(_stop, process, folder)
    return address


def _stop(process, folder):
    process.stdin.close()
    process.wait()
    process.stdout.close()
    folder.cleanup()


def preload():
    """Import everything that commands need, load what is compiled, and fly once: whatever is cached is then there.

    Campaigns fork their workers, too.
    """
    for module in pkgutil.walk_packages(px4lockstep.cli.__path__, "px4lockstep.cli."):
        importlib.import_module(module.name)
    for name in ON_DEMAND:
        importlib.import_module(f"px4lockstep.{name}")
    import matplotlib.pyplot as plt  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    from forked_interpreters import start

    from px4lockstep import read_run, simulate
    from px4lockstep.processes import Interpreter

    Interpreter.start = start
    numba.njit("float64(float64)")(lambda x: x + 1.0)  # the first compilation takes longer than later ones

    with tempfile.TemporaryDirectory() as folder:
        run = simulate("iris", overrides={"timeline.t_end_s": 1.0}).save(os.path.join(folder, "run"))
        read_run(run)


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
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    cache.START_NS = time.time_ns()  # it runs sources that were edited since the process that forks started
    sys.argv = [task.get("script") or "px4lockstep", *task["words"]]


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


def main(address):
    """Fork a process for each connection, which waits for the command and answers, until standard input is closed."""
    preload()
    gc.freeze()
    ending = os.dup(0)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        os.write(1, b"ready\n")
        os.dup2(2, 1)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while server in select.select([server, ending], [], [])[0]:
            client, _ = server.accept()
            if os.fork() == 0:
                break
            client.close()
        else:
            return
    os.close(ending)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with client.makefile() as requests:
        task = json.loads(requests.readline())
    child = os.fork()
    if child != 0:
        client.sendall(f"{child}\n".encode())
        client.sendall(json.dumps(_wait(child, task.get("timeout_s", 300.0))).encode() + b"\n")
        os._exit(0)
    client.close()
    if task.get("leads"):
        os.setsid()
    become(task)
    if task["script"] is None:
        run_and_exit()
    sys.path[0] = os.path.dirname(task["script"])
    runpy.run_path(task["script"], run_name="__main__")  # exits like an interpreter, which unloads libraries


if __name__ == "__main__":
    main(sys.argv[1])
