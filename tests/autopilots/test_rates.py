"""A tick that is longer than the period of a module: a warning for every autopilot, or an error on request."""

import pytest
from fleet import iris

from px4lockstep import Builtin, Periodic, Simulation, Timeline
from px4lockstep.autopilots.base import check_tick
from px4lockstep.autopilots.builtin.autopilot import Rates
from px4lockstep.autopilots.px4_library.autopilot import Px4Library
from px4lockstep.errors import InputError
from px4lockstep.px4 import Config
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.shipped import shipped_aircraft

SLOW = (
    "the autopilot's tick of 20000 us is longer than the period of position (100 Hz), attitude (250 Hz), "
    "rate (250 Hz), allocation (250 Hz); use a tick of at most 4000 us"
)


class Own:
    """A user's autopilot with a fast loop."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def step(self, time_us, inputs, outputs):
        """Do nothing."""


def warnings_of(autopilot, tick_us, **given):
    """Return the warnings of a simulation."""
    timeline = Timeline(100_000, autopilot=Periodic(tick_us), log=Periodic(100_000), wind=Periodic(1_000))
    return Simulation(iris(), timeline, autopilot=autopilot, **given).warnings


@pytest.mark.parametrize("name", shipped_aircraft())
def test_built_in_flights_have_no_warning(name):
    """With the built-in autopilot and with real PX4, at their tick of 4 ms."""
    for kind in ("builtin", "px4") if load_spec(name).autopilot.kind != "none" else ("none",):
        assert build(load_spec(name, {"autopilot.kind": kind}), runs_code=False).warnings == ()


@pytest.mark.parametrize("kind", ["builtin", "px4"])
def test_a_slow_tick_of_a_spec_is_a_warning(kind):
    """Also in `spec check`, which does not load PX4."""
    given = {"autopilot.kind": kind, "timeline.dt_autopilot_s": 0.02, "estimator.delay_s": 0.02}
    (warning,) = build(load_spec("iris", given), runs_code=False).warnings
    modules = ("attitude", "rate") if kind == "builtin" else ("attitude control", "rate control")
    assert all(f"{module} (250 Hz)" in warning for module in modules)
    with pytest.raises(InputError, match=r"px4\.lockstep\.mc_rate_control_rate_hz = 250 is too fast"):
        load_spec("iris", given | {"px4.strict_lockstep_rates": True})


def test_a_module_that_runs_at_every_tick_has_no_period():
    """A rate of 0, and an allocator that does not run."""
    assert check_tick(Builtin(), 20_000, is_strict=False) == (SLOW,)
    assert check_tick(Builtin(rates=Rates(20, 50, 0, 0, 0)), 20_000, is_strict=True) == ()
    config = Config(mc_att_control_rate_hz=0, mc_rate_control_rate_hz=0, enable_control_allocator=0)
    assert check_tick(Px4Library(config=config), 10_000, is_strict=True) == ()
    assert check_tick(Px4Library(), 4_000, is_strict=True) == ()
    assert len(check_tick(Px4Library(), 4_001, is_strict=False)) == 1


def test_an_autopilot_in_python_declares_its_fastest_loop():
    """A warning by default, an error with `strict_rates`; nothing if it declares none."""
    text = (
        "the autopilot's tick of 4000 us is longer than the period of its fastest loop (400 Hz); use a tick of at most"
    )
    (warning,) = warnings_of(Own(max_internal_rate_hz=400), 4_000)
    assert warning == f"{text} 2500 us"
    with pytest.raises(InputError, match=r"longer than the period of its fastest loop \(400 Hz\)"):
        warnings_of(Own(max_internal_rate_hz=400), 4_000, strict_rates=True)
    assert warnings_of(Own(max_internal_rate_hz=400), 2_500, strict_rates=True) == ()
    assert warnings_of(Own(), 4_000, strict_rates=True) == ()


@pytest.mark.parametrize("rate_hz", [0, -1.0, float("nan"), float("inf"), "fast", True])
def test_a_rate_that_is_none_is_an_error(rate_hz):
    """With its value."""
    with pytest.raises(InputError, match=r"max_internal_rate_hz = .* must be a finite number above 0"):
        warnings_of(Own(max_internal_rate_hz=rate_hz), 4_000)
