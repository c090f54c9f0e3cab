"""Report of a run whose PX4 process crashed, written by the parent from what the child noted before."""

import json
import os
from pathlib import Path
from typing import BinaryIO

from px4lockstep.cli.output import print_json, write_err
from px4lockstep.cli.watched import remedy
from px4lockstep.errors import InputError
from px4lockstep.flights.crashed import keep_crashed
from px4lockstep.flights.folder import MARK, PX4_LOG
from px4lockstep.processes import crash_of
from px4lockstep.px4.console import printed_in
from px4lockstep.spec.spec import Spec

LAST_LINES = 10
MAX_LINE = 200
PRINTED = b"\n"


class Told:
    """Notes from the child, which flies, to its parent, in files that both have open.

    `console` holds what PX4 printed before the run folder existed; `notes` holds the path of the run folder, and
    whether the summary was printed.
    """

    def __init__(self, console: BinaryIO, notes: BinaryIO) -> None:
        self._console = console
        self._notes = notes

    def folder_is(self, path: Path) -> None:
        """Note the path of the run folder."""
        os.write(self._notes.fileno(), json.dumps(str(path)).encode())

    def summary_is_printed(self) -> None:
        """Note that the summary was printed."""
        os.write(self._notes.fileno(), PRINTED)

    def heard(self) -> tuple[Path | None, bool]:
        """Return the run folder, or None if none was created, and whether the summary was printed."""
        said = printed_in(self._notes)
        return Path(json.loads(said)) if said else None, said.endswith(PRINTED.decode())

    def console(self, folder: Path | None) -> str:
        """Return what PX4 printed."""
        path = None if folder is None else folder / PX4_LOG
        if path is None or not path.exists():
            return printed_in(self._console)
        return path.read_text("utf-8", "replace")


def tell_of_crash(number: int, spec: Spec, told: Told, as_json: bool) -> None:
    """Complete the run folder as far as possible, and print what happened and what to do."""
    folder, is_printed = told.heard()
    lines = []
    try:
        summary = keep_crashed(folder, spec, number)
    except InputError as error:  # such as a full disk
        summary = keep_crashed(None, spec, number) | {"reason": crash_of(number), "run_dir": str(folder)}
        lines.append(f"  {error}")
    if as_json and not is_printed:
        print_json(summary)
    if folder is not None:
        is_marked = (folder / MARK).exists()
        lines.append(f"  {folder} {f'holds the log up to then and is marked {MARK}' if is_marked else 'is complete'}")
    name = "" if folder is None else f" in {folder / PX4_LOG}"
    lines += last_lines(told.console(folder), name)
    text = "\n".join([f"error: {summary['reason']}", *lines])
    write_err(f"{text}\n{remedy(number)}")


def last_lines(printed: str, place: str = "") -> list[str]:
    """Return the last lines that PX4 printed, indented below a heading; nothing if it printed nothing."""
    lines = [line[:MAX_LINE] for line in printed.splitlines() if line.strip()][-LAST_LINES:]
    return [f"  last output of PX4{place}:", *(f"    {line}" for line in lines)] if lines else []
