"""The process of stock PX4: found, started in a folder of its own, and ended for sure.

It is the leader of a process group, which gets SIGTERM and then SIGKILL. What is left of the group when the leader has
ended is killed then and never again, since the number may soon be another's. On Linux it ends with this process,
whatever ends that. What it prints goes to a file.
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
"""Where the program is in a folder of PX4: of its build, or of its sources with one in them."""
PARAMETER = "PX4_PARAM_"
END_S = 2.0
"""What it gets to end by itself; 3 ms were measured."""
TAIL_LINES = 8


def find_build(folder: str | Path | None) -> Path:
    """Return the build of PX4 in a folder, or in that of its sources; left out, in the environment's `PX4_SITL_DIR`."""
    given = folder if folder is not None else os.environ.get(VARIABLE)
    name = "px4.sitl.build_dir" if folder is not None else VARIABLE
    if not given:
        raise InputError(
            f"stock PX4 is not known; give the folder that it was built in, such as PX4-Autopilot/{BUILDS[1]}, by "
            f"px4.sitl.build_dir or the environment's {VARIABLE}, or start it yourself and set px4.sitl.wait_for_user"
        )
    root = user_path(given)
    for build in BUILDS:
        if (root / build / "bin" / "px4").is_file() and (root / build / "etc").is_dir():
            return (root / build).resolve()
    lacks = "is no folder" if not root.is_dir() else "has no bin/px4 and etc"
    raise InputError(f"{name} = '{given}' {lacks}; build PX4 by `make px4_sitl_default`, and give {BUILDS[1]} of it")


class Px4Process:
    """PX4, running: with what it keeps in a fresh folder, and what it prints in the log."""

    def __init__(
        self, build: Path, instance: int, airframe: int, parameters: Mapping[str, str], folder: Path, log: Path
    ) -> None:
        self._log = log
        own = {PARAMETER + name: value for name, value in parameters.items()}
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
                    start_new_session=True,  # a Ctrl-C of the terminal is for us alone
                    preexec_fn=end_with_us,
                )
        except OSError as error:
            raise HostError(f"PX4 can't be started: {command[0]}: {error.strerror}") from error

    @property
    def id(self) -> int:
        """The number of the process, and of its group."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._poll() is None

    @property
    def end(self) -> str:
        """Say how it ended."""
        code = self._poll()
        if code is None:
            return "PX4 still runs"
        if code < 0:
            return f"{signal.Signals(-code).name if -code in list(signal.Signals) else f'signal {-code}'} has ended PX4"
        return f"PX4 has ended with exit code {code}"

    @property
    def last_lines(self) -> list[str]:
        """What it printed last."""
        text = self._log.read_bytes()[-10_000:].decode(errors="replace")
        return [line for line in text.splitlines() if line.strip()][-TAIL_LINES:]

    @property
    def unknown_parameters(self) -> list[str]:
        """Parameters that its start script has set and that it does not have, by what it printed."""
        text = self._log.read_bytes().decode(errors="replace")
        return list(dict.fromkeys(re.findall(r"Parameter (\w+) not found", text)))

    def wait(self, timeout_s: float) -> None:
        """Wait until it has ended, but no longer than that."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        self._poll()

    def close(self) -> None:
        """End it and all that it started."""
        if not self.is_running:
            return
        try:
            self._signal(signal.SIGTERM)
            self.wait(END_S)
        finally:  # also if somebody interrupts the wait
            if self.is_running:
                self._signal(signal.SIGKILL)
                self._process.wait()
                self._is_swept = True

    def _poll(self) -> int | None:
        """Return how it ended, if it has; the first time, end what it has started."""
        code = self._process.poll()
        if code is not None and not self._is_swept:
            self._is_swept = True
            self._signal(signal.SIGKILL)
        return code

    def _signal(self, number: signal.Signals) -> None:
        # None may be left; macOS says that it is not permitted, of one that is not reaped.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _environment() -> dict[str, str]:
    """Return the environment without what a shell of Gazebo's, say, has left: another simulator, other parameters."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PX4_SIM", PARAMETER))}
