"""Physical limits: every number of every table has them, and within them nothing overflows."""

import json
import math
import random
from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError

from px4lockstep.campaigns.file_tables import CampaignFile
from px4lockstep.errors import InputError, LockstepError
from px4lockstep.flights.run import fly
from px4lockstep.integrators.solver import Integrator
from px4lockstep.io import to_json
from px4lockstep.part import Part, all_tables, keys_of
from px4lockstep.part.limits import LARGEST, Limits, has_numbers
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec

SHAPES = ("x", "(x,) * 3", "(x,) * 4", "((x,) * 3,) * 3", "(x,)", "((x,) * 3,)", "(x, x)", "{'MPC_XY_P': x}")
"""What a key with numbers may hold."""
WITHOUT = ("rate_limit", "h_max", *(field for field in Integrator.model_fields if field.startswith("atol_")))
"""Keys that infinity means "no limit" of."""


def number_keys() -> dict[str, tuple[type[Part], str]]:
    """Return all numeric keys by table and key."""
    tables = {model for root in (Spec, CampaignFile) for _, model, _ in all_tables(root)}
    return {
        f"{model.__name__}.{name}": (model, name)
        for model in sorted(tables, key=lambda model: model.__name__)
        for name, field in keys_of(model).items()
        if has_numbers(field.annotation) or any(has_numbers(type(mark)) for mark in field.metadata)
    }


KEYS = number_keys()


@pytest.mark.parametrize("key", KEYS)
def test_every_number_has_limits(key: str) -> None:
    """D2: 1e300 and -1e300 are rejected in any shape; only limits and tolerances accept infinity."""
    model, name = KEYS[key]
    field = keys_of(model)[name]
    adapter = TypeAdapter[Any](Annotated[(field.annotation, *field.metadata)])
    for x in (1e300, -1e300, 10**300, -(10**300)):
        for shape in SHAPES:
            try:
                adapter.validate_python(eval(shape, {"x": x}), strict=True)
            except (ValidationError, OverflowError):
                continue
            assert (name in WITHOUT) == (x > 0), f"{key} = {x:g} is taken"


def test_all_numeric_keys_are_found() -> None:
    """So that the test above can fail. Every unit is in the table, or its keys have their own limits."""
    assert len(KEYS) > 190
    units = {
        str((field.json_schema_extra or {}).get("unit", ""))
        for _, model, _ in all_tables(Spec)
        for field in keys_of(model).values()
        if isinstance(field.json_schema_extra, dict)
    }
    assert units - set(LARGEST) == {"Hz", "us"}


def test_a_limit_is_named_with_its_value() -> None:
    """Also for arrays."""
    with pytest.raises(
        LockstepError,
        match=r"wind_mean_ned = \[200\.0, 0\.0, 0\.0\] is out of range; it must be at least "
        r"-150\.0 and at most 150\.0$",
    ):
        load_spec("iris", {"environment.wind_mean_ned": [200.0, 0.0, 0.0]})


ENDS = {
    "environment.gravity_mps2": "m/s²",
    "airframe.mass_kg": "kg",
    "airframe.linear_drag": "N s/m",
    "airframe.x0.pos_ned": "m",
    "airframe.x0.vel_ned": "m/s",
    "airframe.x0.omega_body": "rad/s",
    "airframe.propulsion.km_m": "m",
    "airframe.propulsion.inflow_kT": "",
    "plant.contact.k_n_per_m": "N/m",
    "plant.contact.mu": "",
    "estimator.pos_sigma_m": "m",
}
"""Keys that are set to the ends of their limits, and their units; x0 has vectors."""


def corner(chosen: random.Random) -> dict[str, Any]:
    """Return some keys at one end of their limits."""
    wind = [chosen.choice((-150.0, 150.0)) for _ in range(3)]
    changes: dict[str, Any] = {"environment.wind": "constant", "environment.wind_mean_ned": wind}
    for key, unit in ENDS.items():
        if chosen.random() < 0.3:
            end = LARGEST[unit]
            is_vector = ".x0." in key
            changes[key] = (
                [chosen.choice((-end, 0.0, end)) for _ in range(3)] if is_vector else chosen.choice((1e-6, end))
            )
    return changes | {"timeline.t_end_s": 0.02, "run.mode": "live"}


@pytest.mark.parametrize("seed", range(8))
def test_a_flight_at_its_limits_has_only_finite_numbers(seed: int) -> None:
    """It is rejected, fails with a reason, or is flown; its summary is valid JSON in any case."""
    try:
        run = fly(build(load_spec("iris", corner(random.Random(seed)))))
    except LockstepError:
        return
    summary = json.loads(to_json(run.summary.as_dict()), parse_constant=pytest.fail)
    assert all(math.isfinite(value) for value in summary["final_pos_ned"])
    assert math.isfinite(summary["max_speed_m_s"])


def test_limits_of_a_unit_are_completed() -> None:
    """Limits of the key take precedence; "above 0" becomes the smallest allowed value."""
    assert Limits.of("m/s", {}) == Limits(ge=-1e3, le=1e3)
    assert Limits.of("kg", {"gt": 0.0}) == Limits(ge=1e-12, le=1e4)
    assert Limits.of("", {"gt": 0.0, "lt": 1.0}) == Limits(gt=0.0, lt=1.0)
    assert Limits.of("s", {}) == Limits(le=1e7)


def test_a_suggested_value_is_allowed() -> None:
    """D: for a log period of 0.1 us, 0.0 was suggested."""
    with pytest.raises(InputError, match=r"dt_log_s = 1e-07 is not a whole number of microseconds; use 0\.000001$"):
        load_spec("iris", {"timeline.dt_log_s": 1e-7})
