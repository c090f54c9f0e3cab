"""Parts created in Python: accepted values, and messages for invalid ones."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pytest

from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.jit import plain, record, zeros
from px4lockstep.part import CHECK_LATER, Found, Part, Vector, at, checks_of, entry, fill, misfit


class Thing(Part):
    """Simple part."""

    where = "things.one"
    at_m: Vector = entry((0.0, 0.0, 0.0), "A place.", "m")
    count: int = entry(1, "How many.", ge=1, le=3)


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0], (1, 2, 3), np.array([1.0, 2.0, 3.0])])
def test_lists_and_arrays_are_vectors(value):
    """As in a file, whose arrays are lists."""
    assert Thing(at_m=value).at_m == (1.0, 2.0, 3.0)
    assert Thing(count=np.int64(2)).count == 2


def test_errors_in_python_have_the_key_of_a_file():
    """A part created in Python names the table it would be in."""
    with pytest.raises(InputError, match=r"things.one.count = 4 is out of range; it must be at least 1 and"):
        Thing(count=4)
    with pytest.raises(InputError, match=r"things.one.at_m = \[1, 2\] is not a vector") as caught:
        Thing(at_m=[1, 2])
    assert caught.value.key == ("things", "one", "at_m")


class Span(Part):
    """Limits and a step."""

    where: ClassVar[str] = "span"
    low: float = entry(0.0, "The lower.")
    high: float = entry(1.0, "The upper.")
    step: float = entry(0.1, "Between the two.")

    def check(self) -> Found:
        """The limits must rise, and the step fit."""
        if self.low > self.high:
            yield misfit("low", self.low, f"is above high = {self.high}")
        if self.step > self.high - self.low:
            yield misfit("step", self.step, "does not fit")


class Spans(Part):
    """Part with nested parts."""

    spans: tuple[Span, ...] = entry((), "Several.")


def test_the_first_key_may_be_given_by_position() -> None:
    """Like a plain name for a table in a file; the others are given by name."""
    assert Span(0.5) == Span(low=0.5)
    with pytest.raises(TypeError, match="Span accepts only its first key by position"):
        Span(0.5, 2.0)


def test_conflicting_values_are_one_error_with_the_first_key() -> None:
    """Each with its value."""
    with pytest.raises(InputError) as caught:
        Span(2.0)
    assert str(caught.value) == "span.low = 2.0 is above high = 1.0\nspan.step = 0.1 does not fit"
    assert caught.value.key == ("span", "low")


def test_the_caller_of_a_validation_may_check_later() -> None:
    """Tables of a file are checked against others even if values in them conflict."""
    spans = Spans.model_validate({"spans": ({"low": 0.5}, {"low": 2.0, "step": 0.5})}, context=CHECK_LATER)
    assert list(checks_of(spans, ("a",))) == [
        (("a", "spans", 1, "low"), "a.spans[1].low = 2.0 is above high = 1.0"),
        (("a", "spans", 1, "step"), "a.spans[1].step = 0.5 does not fit"),
    ]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("wnd", "wind"),
        ("GRAVITY", "Gravity"),
        ("mas_kg", "mass_kg"),
        ("mas", "mass_kg"),
        ("gsp", "gps"),
        ("wing_tip", None),
        ("ma", None),
        ("x", None),
        (3, None),
    ],
)
def test_only_close_names_are_suggested(name: object, hint: str | None) -> None:
    """Case is ignored. The beginning of a name and the same letters in another order count as close."""
    expected = f"did you mean {hint!r}? " if hint else ""
    assert did_you_mean(name, ["Gravity", "wind", "mass_kg", "gps", "MIS_YAW_TMT"]) == expected


class Wheel(Part, where="car.wheels", stage="plant"):
    radius_m: float = 0.3
    bolts_m: tuple[float, ...] = (0.1, 0.2)
    spare: Thing | None = None


class Tyre(Wheel, where="car.tyres"):
    grip: float = 1.0


def test_place_and_stage_are_set_or_inherited() -> None:
    """By the class statement, otherwise from the base class."""
    assert (Wheel.where, Wheel.stage) == ("car.wheels", "plant")
    assert (Tyre.where, Tyre.stage) == ("car.tyres", "plant")


def test_a_record_is_filled_by_name_and_given_values_win() -> None:
    """A short tuple fills the beginning of its field; nested parts and None are skipped."""
    rec = zeros(record([("radius_m", "f8"), ("bolts_m", "f8", 4), ("grip spare", "f8")]))
    fill(plain(rec)[0], Wheel(spare=Thing()), grip=0.5)
    assert rec["bolts_m"].tolist() == [[0.1, 0.2, 0.0, 0.0]]
    assert (rec["radius_m"], rec["grip"], rec["spare"]) == (0.3, 0.5, 0.0)
    fill(plain(rec)[0], Wheel(), radius_m=0.4, bolts_m=())
    assert rec["radius_m"] == 0.4
    with pytest.raises(ValueError, match="mass_kg"):
        fill(plain(rec)[0], Wheel(), mass_kg=1.0)


def test_overflow_is_an_error_with_its_key():
    """Limits prevent it in files; values created in Python have none."""
    with pytest.raises(InputError, match=r"^power: its values are too large or too small"), at(("power",)):
        np.multiply(1e308, 10.0)


def parts(base: type[Part] = Part) -> Iterator[type[Part]]:
    """Yield all parts of the package."""
    for part in base.__subclasses__():
        if part.__module__.startswith("px4lockstep."):
            yield part
            yield from parts(part)


def test_a_part_of_defaults_is_the_validated_one() -> None:
    """It is created without validation, because the schemas of all parts would take a tenth of a warm start."""
    import px4lockstep.campaigns.load
    import px4lockstep.spec.load  # noqa: F401 - defines the parts

    found = [part for part in parts() if not any(field.is_required() for field in part.model_fields.values())]
    assert len(found) > 30
    for part in found:
        created, validated = part(), part.model_validate({})
        assert vars(created) == vars(validated), part
        assert list(map(type, vars(created).values())) == list(map(type, vars(validated).values())), part
        assert created == validated
        assert created.model_fields_set == validated.model_fields_set


class Doubtful(Part):
    """A part whose defaults are in conflict."""

    low: float = entry(2.0)
    high: float = entry(1.0)
    free: dict[str, float] = entry({"a": 1.0})

    def check(self) -> Found:
        """Yield the conflict."""
        if self.low > self.high:
            yield misfit("low", self.low, "is above high")


def test_defaults_in_conflict_are_an_error() -> None:
    """As other values are."""
    with pytest.raises(InputError, match=r"low = 2\.0 is above high"):
        Doubtful()
    assert Doubtful(low=0.0).free == {"a": 1.0}
    with pytest.raises(TypeError, match="immutable"):
        Doubtful(low=0.0).free["b"] = 2.0
