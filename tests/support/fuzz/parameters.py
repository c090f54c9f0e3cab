"""PX4 parameters in a spec: known and unknown ones with odd values, and some flown."""

import functools

from fuzz.flights import fly_briefly
from fuzz.mutations import ODD_NUMBERS, nested, odd_value, toml_of
from px4lockstep.px4.parameters import known_parameters
from px4lockstep.spec.load import load_spec

FLOWN = "flown"


@functools.cache
def names():
    """Return the known parameters."""
    return tuple(known_parameters())


def one(rng):
    """Return a parameter and its value."""
    name = rng.choice(names())
    parameter, way = known_parameters()[name], rng.random()
    if way < 0.1:
        name = rng.choice((name.lower(), name + "X", "", "A" * 400, name[:-1], "µ"))
    if way < 0.5:
        limits = [limit for limit in (parameter.minimum, parameter.maximum, parameter.default) if limit is not None]
        return name, rng.choice(limits) * rng.choice((1, 1, 1, 0.5, 2, -1)) + rng.choice((0, 0, 1, -1))
    if way < 0.8:
        return name, rng.choice(ODD_NUMBERS)
    return name, nested(rng, 1) if way > 0.97 else odd_value(rng)


def write(folder, rng):
    """Write a spec with some parameters."""
    own = {"MPC_XY_CRUISE": 4.0} if rng is None else dict(one(rng) for _ in range(rng.choice((1, 1, 2, 5, 200))))
    tables = {"extends": ["iris"], "autopilot": {"params": own}}
    if rng is not None and rng.random() < 0.3:  # those of real PX4
        tables = {
            "extends": ["iris"],
            "px4": {"params": [{"name": name, "value": value} for name, value in own.items()]},
        }
    (folder / "spec.toml").write_text(toml_of(tables), "utf-8")
    if rng is None or rng.random() < 0.1:
        (folder / FLOWN).touch()


def use(folder):
    """Load it; fly it for four seconds if requested."""
    spec = load_spec(folder / "spec.toml")
    if (folder / FLOWN).exists():
        fly_briefly(
            spec, 4.0, **{"plant.integrator": "RK4", "scenario.arm_time_s": 0.1, "scenario.mission_time_s": 0.2}
        )
