"""How files of older versions are read: each step turns the contents of one version into those of the next.

Rules. A change of what is in the file raises `contents.VERSION` and adds a step here, and a file of the version before
stays in the tests. A step never invents what a replay computes with: what an old file lacks is left empty, and what
needs it says so. Bytes of a layout that has changed (`moments/core`) are dropped.
"""

from collections.abc import Callable

import numpy as np

from px4lockstep.recording.contents import VERSION, Contents


def migrated(contents: Contents) -> Contents:
    """Return contents as this version has them."""
    while contents.version < VERSION:
        STEPS[contents.version](contents)
        contents.version += 1
    return contents


def _from_1(contents: Contents) -> None:
    """Version 2 added moments, the mission and the names of states."""
    contents.attributes |= {"core_layout": "", "mission_name": ""}
    contents.arrays["moments/core"] = np.zeros((0, 0), np.uint8)
    states = len(contents.arrays.get("plant/initial_state", ()))
    contents.texts["state_names"] = "\n".join(f"x[{i}]" for i in range(states))


STEPS: dict[int, Callable[[Contents], None]] = {1: _from_1}
"""By the version that each step starts from."""
