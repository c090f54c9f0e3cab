"""Lines of the scene."""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.view import colours

Array = npt.NDArray[Any]


def add_lines(
    scene: Any, name: str, segments: Array, colour: tuple[int, int, int] | Array, thickness: float = 1.2
) -> Any:
    """Add straight lines to a scene.

    A colour is sent for each end, also if there is only one: browsers compile one program less, which takes 50 ms
    without a graphics card.

    Args:
        scene: The `scene` of viser.
        name: Name of their node.
        segments: Both ends of each line, (n, 2, 3).
        colour: One colour, or one for each end, (n, 2, 3).
        thickness: Their thickness [pixels].
    """
    each = np.broadcast_to(np.asarray(colour, np.uint8), segments.shape)
    return scene.add_line_segments(name, segments, colours.linear(each), thickness=thickness, thickness_units="screen")
