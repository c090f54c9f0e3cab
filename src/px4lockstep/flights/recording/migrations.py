"""Read files of older versions: each step converts the contents of one version to the next.

Rules: A change of the file format raises `contents.VERSION` and adds a step here, and a file of the previous version
stays in the tests. A step never invents inputs of a replay: data that an old file lacks is left empty, and code that
needs it raises an error. Checkpoints are matched by the names of their fields. Up to version 4 they were the raw bytes
of all records; their state is extracted with a description of that layout (`version_4.json`), and checkpoints of other
layouts are dropped.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.bus import layout_hash
from px4lockstep.engine.core import LOG_ROW
from px4lockstep.errors import InputError
from px4lockstep.flights.recording.contents import VERSION, Contents, without_later_faults


def migrated(contents: Contents) -> Contents:
    """Return contents converted to this version."""
    while contents.version < VERSION:
        STEPS[contents.version](contents)
        contents.version += 1
    return contents


def _from_1(contents: Contents) -> None:
    """Version 2 added checkpoints, the mission and the names of states, and removed duplicates from the log."""
    row = without_later_faults(LOG_ROW)
    contents.attributes |= {"core_layout": "", "mission_name": "", "bus_layout": layout_hash(row)}
    if "log/rows" in contents.arrays:
        contents.arrays["log/rows"] = _with_fields(contents.arrays["log/rows"], row, "log/rows")
    states = len(contents.arrays.get("plant/initial_state", ()))
    contents.texts["state_names"] = "\n".join(f"x[{i}]" for i in range(states))


def _from_2(contents: Contents) -> None:
    """Version 3 added state fingerprints at each boundary, which are optional."""


def _from_3(contents: Contents) -> None:
    """Version 4 added `kink_tolerance` to the spec; before, a step across a discontinuity was like any other."""
    spec, table = contents.texts.get("spec"), "[plant.integrator]\n"
    if spec is None:
        return  # a missing spec is reported elsewhere
    if table not in spec:
        raise InputError("its spec lacks the table [plant.integrator]")
    contents.texts["spec"] = spec.replace(table, f"{table}kink_tolerance = 1.0\n", 1)


def _from_4(contents: Contents) -> None:
    """Version 5 stores only the state of the simulation in its checkpoints, by the names of fields.

    Version 2 of the bus dropped a field that was never logged.
    """
    if contents.attributes.get("bus_version") == 1:
        contents.attributes["bus_version"] = 2
    layout = json.loads((Path(__file__).parent / "version_4.json").read_text("utf-8"))
    if "plant/marks" in contents.arrays:
        contents.arrays["plant/fingerprints"] = contents.arrays.pop("plant/marks")
    rows, hash_of_layout = contents.arrays.pop("moments/core", None), contents.attributes.pop("core_layout", None)
    if rows is None or hash_of_layout != layout["core_layout"] or not len(rows):
        return
    size = layout["state"]["itemsize"]
    if rows.dtype != np.uint8 or rows.shape[1:] != (size,):
        raise InputError(f"moments/core has rows of {rows.shape[1:]} {rows.dtype}, not ({size},) uint8")
    from numpy.lib.recfunctions import repack_fields  # imports numpy.ma, which only old recordings need

    state = np.ascontiguousarray(rows).view(_dtype_of(layout["state"])).reshape(-1)
    contents.arrays["checkpoints/state"] = repack_fields(state, recurse=True)


def _from_5(contents: Contents) -> None:
    """Version 6 omits from the rows of the log what the aircraft does not have; earlier rows have everything."""


def _dtype_of(layout: Any) -> np.dtype[Any]:
    """Return the type of a description: a NumPy code, an array `{"of", "shape"}`, or a record."""
    if isinstance(layout, str):
        return np.dtype(layout)
    if "of" in layout:
        return np.dtype((_dtype_of(layout["of"]), tuple(layout["shape"])))
    offsets, types = zip(*layout["fields"].values(), strict=True)
    formats = [_dtype_of(each) for each in types]
    names, size = list(layout["fields"]), layout["itemsize"]
    return np.dtype({"names": names, "formats": formats, "offsets": list(offsets), "itemsize": size})


def _with_fields(array: npt.NDArray[Any], dtype: np.dtype[Any], name: str) -> npt.NDArray[Any]:
    """Return records reduced to the fields of a layout."""
    kept = np.zeros(array.shape, dtype)
    for field in dtype.names or ():
        if field not in (array.dtype.names or ()):
            raise InputError(f"{name} lacks the field {field!r}")
        values = array[field]
        if kept[field].dtype.names is not None and values.dtype != kept[field].dtype:
            kept[field] = _with_fields(values, kept[field].dtype, f"{name}.{field}")
        elif values.dtype != kept[field].dtype or values.shape != kept[field].shape:
            raise InputError(f"{name}.{field} is {values.dtype} with the shape {values.shape}")
        else:
            kept[field] = values
    return kept


STEPS: dict[int, Callable[[Contents], None]] = {1: _from_1, 2: _from_2, 3: _from_3, 4: _from_4, 5: _from_5}
"""The steps by the version that they start from."""
