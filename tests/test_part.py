"""Parts that are made in Python: what is accepted, and the words of what is not."""

import numpy as np
import pytest

from px4lockstep.errors import InputError
from px4lockstep.part import Part, Vector, entry


class Thing(Part):
    """A part."""

    where = "things.one"
    at_m: Vector = entry((0.0, 0.0, 0.0), "A place.", "m")
    count: int = entry(1, "How many.", ge=1, le=3)


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0], (1, 2, 3), np.array([1.0, 2.0, 3.0])])
def test_lists_and_arrays_are_vectors(value):
    """As in a file, whose arrays are lists."""
    assert Thing(at_m=value).at_m == (1.0, 2.0, 3.0)
    assert Thing(count=np.int64(2)).count == 2


def test_an_error_has_the_words_and_the_key_of_a_file():
    """A part that is made in Python says where its table would be."""
    with pytest.raises(InputError, match=r"things.one.count = 4 is out of range; it must be at least 1 and"):
        Thing(count=4)
    with pytest.raises(InputError, match=r"things.one.at_m = \[1, 2\] is not a vector") as caught:
        Thing(at_m=[1, 2])
    assert caught.value.key == ("things", "one", "at_m")
