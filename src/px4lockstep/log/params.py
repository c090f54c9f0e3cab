"""The parameters of a flight as a `.params` file, which QGroundControl loads."""

from pathlib import Path

from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write
from px4lockstep.log.export_source import ExportOptions, ExportSource
from px4lockstep.px4.params_files import format_params


def export_params(source: ExportSource, path: Path, options: ExportOptions) -> None:  # noqa: ARG001 (it has none)
    """Write the parameters that were flown."""
    about = source.about
    if not about.parameters:
        raise InputError("the flight has no parameters: it had no autopilot, or its spec can't be read")
    comments = (f"Parameters of {about.name}, flown by autopilot {about.autopilot}",)
    with atomic_write(path) as file:
        file.write(format_params(about.parameters, comments).encode())
