"""From a `Spec` to its `Aircraft`, and errors of what is built with their keys."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from px4lockstep.engine.builder import Builder
from px4lockstep.environment.gravity import Gravity
from px4lockstep.errors import InputError
from px4lockstep.part import Key, dotted
from px4lockstep.spec.spec import Spec
from px4lockstep.vehicle.aircraft import Aircraft


class PlacedError(InputError):
    """An error of a key that is known.

    Args:
        key: The key.
        text: What is wrong, with the key's name.
    """

    def __init__(self, key: Key, text: str) -> None:
        super().__init__(text)
        self.key = key


@contextmanager
def at(key: Key) -> Iterator[None]:
    """Let an error of what is built here name the key; numbers that overflow are one."""
    name, whose = (f"{dotted(key)}: ", "its") if key else ("", "some")
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except PlacedError:
        raise
    except InputError as error:
        if error.key:
            raise PlacedError(error.key, str(error)) from error
        raise PlacedError(key, str(error) if str(error).startswith(dotted(key)) else f"{name}{error}") from error
    except ArithmeticError as error:
        raise PlacedError(
            key,
            f"{name}{whose} numbers are so large or small that computing with them fails ({error}); use plausible ones",
        ) from error


def build_aircraft(spec: Spec, builder: Builder | None = None) -> Aircraft:
    """Return the aircraft of a spec.

    Args:
        spec: The spec.
        builder: Makes the parts and writes the records; left out, all anew.

    Raises:
        InputError: If its parts do not fit together, which the checks of a loaded spec say before.
    """
    made = (builder or Builder()).made
    return made(
        Aircraft,
        spec.airframe,
        spec.actuation,
        spec.power,
        spec.plant.contact,
        spec.environment.only(Gravity),
        spec.home.alt_msl_m,
        spec.aircraft.name,
    )
