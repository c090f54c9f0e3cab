"""Defaults of PX4's parameters: those without which it can't fly, and those of its start scripts."""

from contextlib import closing

import pytest
from px4_double import OPTIONS
from px4_runs import flight_of

from px4lockstep.autopilots.kinds import make_autopilot
from px4lockstep.errors import InputError
from px4lockstep.px4.parameters import SITL_DEFAULTS, resolve
from px4lockstep.spec.load import load_spec

pytestmark = pytest.mark.process


def test_a_geometry_without_rotors_is_rejected(tmp_path):
    """PX4's default is 0."""
    with pytest.raises(InputError, match=r"CA_ROTOR_COUNT is 0.*px4\.derive_ca_params = true"):
        flight_of(tmp_path, changes={"px4.derive_ca_params": False})


def test_defaults_can_be_those_of_sitl(tmp_path):
    """PX4's start scripts set them; the user's parameters override them."""
    params = [{"name": "RTL_RETURN_ALT", "value": 20.0}]
    flight = flight_of(tmp_path, changes={"px4.defaults": "sitl", "px4.params": params})
    with closing(flight.simulation):
        get = flight.simulation.autopilot.px4.param_get
        assert [get(name) for name in ("RTL_RETURN_ALT", "RTL_DESCEND_ALT", "NAV_ACC_RAD")] == [20.0, 10.0, 2.0]


def test_a_default_that_px4_does_not_have_is_not_set(tmp_path, monkeypatch):
    """It is not the user's mistake."""
    monkeypatch.setenv(OPTIONS, "missing.NAV_ACC_RAD")
    with closing(flight_of(tmp_path, changes={"px4.defaults": "sitl"}).simulation):
        pass


def test_the_built_in_autopilot_has_them_too():
    """All of them have an effect there; the user's parameters override them."""
    spec = load_spec("iris", {"px4.defaults": "sitl", "autopilot.params": {"RTL_RETURN_ALT": 20.0}})
    autopilot = make_autopilot(spec.autopilot, spec.px4, (47.4, 8.5), None)
    assert (autopilot.default_params, autopilot.params) == (SITL_DEFAULTS, {"RTL_RETURN_ALT": 20.0})
    assert all(resolve({})[name] != value for name, value in SITL_DEFAULTS.items())
