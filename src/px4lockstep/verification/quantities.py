"""Differences between two flights at each row of the log, in physical quantities.

Vectors (position, velocity, rates) are compared by the length of their difference, attitudes by the angle between them,
rotors and buses by the largest difference.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.simulation import Simulation
from px4lockstep.verification.solutions import angle_between

Array = npt.NDArray[np.float64]


def _length(difference: Array) -> Array:
    return np.asarray(np.hypot.reduce(difference, axis=1))  # does not overflow, even if a run diverges


def _largest(difference: Array) -> Array:
    return np.asarray(np.abs(difference).max(axis=1))


@dataclass(frozen=True)
class Quantity:
    """A physical quantity of a flight."""

    name: str
    unit: str
    source: str  # the group of the state, or the field of the plant's outputs
    size: Callable[[Array], Array] = field(repr=False)  # from rows of vectors to the size of each

    @property
    def column(self) -> str:
        """Its name with the unit, as in the header of a file: `position_m`, `velocity_m_s`."""
        return f"{self.name}_{self.unit}".replace(" ", "_").replace("/", "_")


QUANTITIES = (
    Quantity("position", "m", "pos", _length),
    Quantity("velocity", "m/s", "vel", _length),
    Quantity("attitude", "rad", "att", _length),
    Quantity("rates", "rad/s", "omega", _length),
    Quantity("rotor speed", "rad/s", "rotor", _largest),
    Quantity("voltage", "V", "bus_voltage_v", _largest),
    Quantity("current", "A", "bus_current_a", _largest),
)


def quantities_of(simulation: Simulation) -> tuple[Quantity, ...]:
    """Return the quantities that a plant has."""
    return tuple(quantity for quantity in QUANTITIES if _rows(quantity, simulation).shape[1])


def error(quantity: Quantity, simulation: Simulation, reference: Simulation) -> Array:
    """Return the difference between two flights in a quantity, for each row of the log that both have."""
    ours, theirs = _rows(quantity, simulation), _rows(quantity, reference)
    rows = min(len(ours), len(theirs))
    if quantity.source == "att":
        return angle_between(ours[:rows], theirs[:rows])
    return quantity.size(ours[:rows] - theirs[:rows])


def magnitude(quantity: Quantity, simulation: Simulation) -> Array:
    """Return the magnitude of a quantity for each row of the log."""
    return quantity.size(_rows(quantity, simulation))


def _rows(quantity: Quantity, simulation: Simulation) -> Array:
    """Return the values of a quantity, rows of the log × components; no components if the plant lacks it."""
    if quantity.source in simulation.plant.groups:
        return np.asarray(simulation.log_state[:, simulation.plant.groups[quantity.source]])
    buses = int(simulation.plant.traits["n_buses"])
    return np.asarray(simulation.log["bus"]["outputs"][quantity.source][:, :buses])
