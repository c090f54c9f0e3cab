"""The process of stock PX4: find it, start it in its own folder, and terminate it reliably.

PX4 leads a process group, which gets SIGTERM and then SIGKILL. When the leader has exited, the rest of the group is
killed exactly once, because the group ID may be reused afterwards. On Linux, PX4 also dies with this process, however
that ends. PX4's output goes to a file.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from px4lockstep.errors import HostError, InputError
from px4lockstep.processes import ending_with
from px4lockstep.reading import user_path

VARIABLE = "PX4_SITL_DIR"
BUILDS = ("", "build/px4_sitl_default")
"""Build folder relative to the given one, which is the build itself or the PX4 source tree."""
PARAMETER = "PX4_PARAM_"
END_S = 2.0
"""Grace period before SIGKILL; PX4 was measured to exit within 3 ms."""
TAIL_LINES = 8


def find_build(folder: str | Path | None) -> Path:
    """Return the PX4 build in a build folder or source tree; `folder` defaults to the variable `PX4_SITL_DIR`."""
    given = folder if folder is not None else os.environ.get(VARIABLE)
    name = "px4.sitl.build_dir" if folder is not None else VARIABLE
    if not given:
        raise InputError(
            f"stock PX4 not found; set px4.sitl.build_dir or the environment variable {VARIABLE} to its build folder, "
            f"such as PX4-Autopilot/{BUILDS[1]}, or set px4.sitl.wait_for_user and start it yourself"
        )
    root = user_path(given)
    for build in BUILDS:
        if (root / build / "bin" / "px4").is_file() and (root / build / "etc").is_dir():
            return (root / build).resolve()
    lacks = "is not a folder" if not root.is_dir() else "lacks bin/px4 and etc"
    raise InputError(f"{name} = '{given}' {lacks}; build PX4 with `make px4_sitl_default`, and use its {BUILDS[1]}")


class Px4Process:
    """A running PX4, with its files in a fresh folder and its output in a log."""

    def __init__(
        self, build: Path, instance: int, airframe: int, parameters: Mapping[str, object], folder: Path, log: Path
    ) -> None:
        self._log = log
        own = {PARAMETER + name: str(value) for name, value in parameters.items()}
        end_with_us = ending_with(os.getpid()) if sys.platform == "linux" else None
        self._is_swept = False
        command = [str(build / "bin" / "px4"), "-d", "-i", str(instance), "-w", str(folder), str(build / "etc")]
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env={**_environment(), **own, "PX4_SYS_AUTOSTART": str(airframe)},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # so that Ctrl-C in the terminal reaches only this process
                    preexec_fn=end_with_us,
                )
        except OSError as error:
            raise HostError(f"can't start PX4: {command[0]}: {error.strerror}") from error

    @property
    def id(self) -> int:
        """ID of the process, and of its group."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it is still running."""
        return self._poll() is None

    @property
    def end(self) -> str:
        """How it ended, as a clause."""
        code = self._poll()
        if code is None:
            return "PX4 is still running"
        if code < 0:
            name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
            return f"PX4 was killed by {name}"
        return f"PX4 exited with code {code}"

    @property
    def last_lines(self) -> list[str]:
        """The last lines of its output."""
        text = self._log.read_bytes()[-10_000:].decode(errors="replace")
        return [line for line in text.splitlines() if line.strip()][-TAIL_LINES:]

    @property
    def unknown_parameters(self) -> list[str]:
        """Parameters set by its start script that PX4 reported as unknown in its output."""
        text = self._log.read_bytes().decode(errors="replace")
        return list(dict.fromkeys(re.findall(r"Parameter (\w+) not found", text)))

    def wait(self, timeout_s: float) -> None:
        """Wait until it has exited, at most for a timeout."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        self._poll()

    def close(self) -> None:
        """Terminate it and everything that it started."""
        if not self.is_running:
            return
        try:
            self._signal(signal.SIGTERM)
            self.wait(END_S)
        finally:  # also if the wait is interrupted
            if self.is_running:
                self._signal(signal.SIGKILL)
                self._process.wait()
                self._is_swept = True

    def _poll(self) -> int | None:
        """Return its exit code, or None while it runs; the first time after its exit, kill the rest of its group."""
        code = self._process.poll()
        if code is not None and not self._is_swept:
            self._is_swept = True
            self._signal(signal.SIGKILL)
        return code

    def _signal(self, number: signal.Signals) -> None:
        # The group may be gone; macOS reports EPERM if only an unreaped process is left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _environment() -> dict[str, str]:
    """Return the environment without the settings of other simulators, such as Gazebo's, and without parameters."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PX4_SIM", PARAMETER))}
