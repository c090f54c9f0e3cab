"""Replace `autopilot.params_file` by its contents: a flight is a value, which does not depend on other files."""

from px4lockstep.errors import InputError
from px4lockstep.part import Key, show
from px4lockstep.px4.params_files import load_params
from px4lockstep.spec.files import NO_FILE, Layers

TABLE, FILE, VALUES = "autopilot", "params_file", "file_params"
KEY: Key = (TABLE, FILE)


def read_params_file(layers: Layers) -> None:
    """Read the parameter file that the merged files name, and replace its path by `autopilot.file_params`.

    Errors are added to the report. The source of each value is its line in the file.
    """
    table = layers.data.get(TABLE)
    path = table.get(FILE) if isinstance(table, dict) else None
    if not isinstance(table, dict) or not isinstance(path, str) or not path:
        return
    rest = {name: value for name, value in table.items() if name != FILE}
    layers.data = {**layers.data, TABLE: rest}
    if path == NO_FILE:
        return
    if rest.get(VALUES):  # a resolved spec has an empty table
        text = f"autopilot.params_file = {show(path)} is given together with autopilot.file_params; give one of them"
        layers.report.add(KEY, f"{text}. Single values go into autopilot.params, which overrides the file")
        return
    try:
        found = load_params(path)
    except InputError as error:
        for line in str(error).splitlines():
            layers.report.add(KEY, f"autopilot.params_file: {line}")
        return
    rest[VALUES] = dict(found.values)
    layers.places.files.pop(KEY, None)
    layers.places.files |= {(TABLE, VALUES, name): f"{path} line {line}" for name, line in found.lines.items()}
