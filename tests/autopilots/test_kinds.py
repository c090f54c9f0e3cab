"""Capabilities of the autopilot kinds, which can be looked up without importing the autopilots."""

import subprocess
import sys

import pytest

from px4lockstep.autopilots.base import NOBODY, UNKNOWN, Capabilities, PythonSession, Session, capabilities_of
from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.autopilots.kinds import KINDS, AutopilotOptions, workers_allowed
from px4lockstep.autopilots.px4_library.autopilot import Px4Library, Px4Session
from px4lockstep.autopilots.px4_sitl.autopilot import Px4Sitl
from px4lockstep.errors import InputError

CLASSES = {"builtin": Builtin, "px4": Px4Library, "px4-sitl": Px4Sitl}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_class_has_the_capabilities_of_its_kind(kind):
    """There is only one declaration: kind and object have the same."""
    assert AutopilotOptions(kind=kind).capabilities is KINDS[kind].capabilities is capabilities_of(CLASSES[kind])


@pytest.mark.process
def test_capabilities_are_known_without_importing_the_autopilots():
    """Loading a spec does not import the other autopilots."""
    code = (
        "import sys; from px4lockstep.autopilots.kinds import AutopilotOptions; AutopilotOptions().capabilities; "
        "print([name for name in sys.modules if name.endswith('.autopilot')])"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout == "[]\n"


def test_capabilities_of_real_and_stock_px4():
    """Real PX4 needs a child process and is branched by a fork; stock PX4 is a process and not repeatable."""
    px4, sitl, builtin = (KINDS[kind].capabilities for kind in ("px4", "px4-sitl", "builtin"))
    assert (px4.needs_child, px4.branches_by_fork, px4.is_repeatable, px4.is_process) == (True, True, True, False)
    assert (sitl.needs_child, sitl.branches_by_fork, sitl.is_repeatable, sitl.is_process) == (False, False, False, True)
    chosen = dict.fromkeys(("commands_own_only", "takes_setpoints", "sets_params", "takes_commands"), True)
    assert builtin == Capabilities("the built-in autopilot", **chosen)
    assert KINDS["none"].capabilities == NOBODY == capabilities_of(None)
    assert capabilities_of(object()) is UNKNOWN


@pytest.mark.parametrize(("kind", "workers"), [("builtin", 64), ("px4", 64), ("px4-sitl", 10), ("none", 64)])
def test_the_number_of_workers_is_limited(kind, workers):
    """Ten instances of stock PX4 have their own ports."""
    assert workers_allowed({"autopilot": {"kind": kind}}, 64) == workers
    assert workers_allowed({}, 3) == 3


@pytest.mark.parametrize(
    ("sitl", "said"),
    [
        ({"wait_for_user": True}, r"px4\.sitl\.wait_for_user = true is not supported in campaigns"),
        ({"instance": 2}, r"px4\.sitl\.instance = 2 allows only one PX4, but there are 4 workers"),
    ],
)
def test_several_workers_cannot_share_one_stock_px4(sitl, said):
    """The user would have to start one for each run, or all would use the same ports."""
    with pytest.raises(InputError, match=said):
        workers_allowed({"autopilot": {"kind": "px4-sitl"}, "px4": {"sitl": sitl}}, 4)


# -- sessions ----------------------------------------------------------------------------------------------------


class Own:
    """A user's autopilot with all optional methods and attributes."""

    capabilities = Capabilities("mine", takes_sensor_faults=True)
    warnings = ("it was cold",)
    asks_user = True

    def __init__(self):
        self.calls = []

    def work_in(self, folder, on_wait):
        self.calls.append(("work_in", folder))

    def close(self):
        self.calls.append(("close",))


def test_a_python_session_forwards_to_the_autopilot(tmp_path):
    """An autopilot that has only `step` works, too."""
    own, bare = Own(), PythonSession(object())
    session = PythonSession(own)
    session.work_in(tmp_path, print)
    assert not session.close(None)
    assert own.calls == [("work_in", tmp_path), ("close",)]
    assert (session.warnings, session.asks_user, session.capabilities) == (own.warnings, True, Own.capabilities)
    bare.work_in(tmp_path, print)
    assert not bare.close(None)
    assert (bare.warnings, bare.asks_user, bare.capabilities) == ((), False, UNKNOWN)


def test_parameters_can_not_change_in_flight_by_default():
    Session(UNKNOWN).set_parameters({})
    with pytest.raises(
        InputError, match=r"^MPC_XY_P can't change in flight: the autopilot reads parameters at the start"
    ):
        Session(UNKNOWN).set_parameters({"MPC_XY_P": 1.0})
    assert Px4Session.set_parameters is not Session.set_parameters
