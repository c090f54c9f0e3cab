"""A user's program, which `make lint` checks with mypy: types are known, and a wrong argument is an error."""

from typing import Any, assert_type

import numpy as np

import px4lockstep

run = px4lockstep.simulate("iris", overrides={"aircraft.seed": 7})
assert_type(run, px4lockstep.Run)
assert_type(run.summary.outcome, str)
assert_type(run.log["pos_ned"], np.ndarray[tuple[Any, ...], np.dtype[Any]])
flight = px4lockstep.build(px4lockstep.load_spec("iris"))
assert_type(px4lockstep.fly(flight), px4lockstep.Run)
px4lockstep.simulate("iris", watch=lambda simulation: None)
px4lockstep.load_spec(3)  # type: ignore[arg-type]
