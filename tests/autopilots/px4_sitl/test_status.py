"""PX4's status from its messages: modes, failsafes, the end of a mission, and status texts."""

import itertools

import pytest
from pymavlink.dialects.v20 import development

from px4lockstep.autopilots.px4_sitl.status import MODES, Status, mode_of
from px4lockstep.log.events import mode_name
from px4lockstep.px4.missions import parse_wpl

TAKEOFF = "22 0 0 0 0 47.397742 8.545594 12 1"
WAYPOINT = "16 0 0 0 0 47.397842 8.545694 12 1"
LAND = "21 0 0 0 0 47.397742 8.545594 0 1"
RETURN = "20 0 0 0 0 0 0 0 1"
JUMP = "177 1 2 0 0 0 0 0 1"
MISSION_MODE, HOLD_MODE, RETURN_MODE, LAND_MODE, DESCEND_MODE = (4, 4), (4, 3), (4, 5), (4, 6), (4, 20)
ACTIVE, COMPLETE = 3, 5
FLYING, CRITICAL = 4, 5


def custom(mode):
    return mode[0] << 16 | mode[1] << 24


class Px4:
    """Feeds a status with PX4's messages."""

    def __init__(self, *lines):
        frames = (f"{i}\t0\t{2 if line[:3] in ('20 ', '177') else 3}\t{line}" for i, line in enumerate(lines))
        text = "\n".join(["QGC WPL 110", *(frame.replace(" ", "\t") for frame in frames)])
        self.status = Status(parse_wpl(text, "test").items if lines else ())
        self._mavlink = development.MAVLink(None, 1, 1)
        self.time_us = 0

    def _payload(self, name, *fields):
        packed = bytes(getattr(self._mavlink, f"{name}_encode")(*fields).pack(self._mavlink))
        return packed[10:-2]

    def armed(self, is_armed=True, is_landed=False):
        self.status.set_vehicle(is_armed, is_landed)

    def beat(self, mode, state=FLYING):
        self.status.heartbeat(self._mavlink.heartbeat_encode(2, 12, 129, custom(mode), state), self.time_us)

    def mode(self, mode, commanded=None):
        fields = (0, custom(mode), custom(mode if commanded is None else commanded))
        self.status.current_mode(self._payload("current_mode", *fields), self.time_us)

    def at(self, item, state=ACTIVE):
        self.status.mission_current(self._mavlink.mission_current_encode(item, 9, state))

    def reached(self, item):
        self.status.item_reached(self._mavlink.mission_item_reached_encode(item))

    def say(self, text, severity=2, number=0, chunk=0):
        data = text if isinstance(text, bytes) else text.encode()
        self.status.status_text(self._payload("statustext", severity, data, number, chunk), self.time_us)

    def fly(self, item):
        self.armed()
        self.mode(MISSION_MODE)
        self.at(item)


# -- the end of a mission ----------------------------------------------------------------------------------------


def test_a_mission_that_lands_is_finished_when_the_vehicle_has_landed_and_disarmed():
    """Not when PX4 has reached its last item: it is above the landing place then."""
    px4 = Px4(TAKEOFF, WAYPOINT, LAND)
    px4.fly(2)
    px4.reached(2)
    px4.armed()
    assert not px4.status.is_finished
    px4.at(2, COMPLETE)
    px4.armed(is_landed=True)
    assert not px4.status.is_finished
    px4.armed(False, is_landed=True)
    assert px4.status.is_finished


def test_a_landing_before_the_last_item_does_not_finish_the_mission():
    """PX4 completes the mission by any landing in land mode."""
    px4 = Px4(TAKEOFF, WAYPOINT, LAND)
    px4.fly(1)
    px4.mode(LAND_MODE)
    px4.at(1, COMPLETE)
    px4.armed(False, is_landed=True)
    assert not px4.status.is_finished


@pytest.mark.parametrize("after", [LAND_MODE, MISSION_MODE])
def test_a_landing_elsewhere_during_the_last_item_does_not_finish_the_mission(after):
    """After disarming, PX4 shows the mode before the landing again, and COMPLETE once per second."""
    px4 = Px4(TAKEOFF, WAYPOINT, LAND)
    px4.fly(2)
    px4.mode(LAND_MODE)
    px4.at(2, COMPLETE)
    px4.armed(False, is_landed=True)
    px4.mode(after)
    px4.at(2, COMPLETE)
    px4.armed(False, is_landed=True)
    assert not px4.status.is_finished


def test_a_mission_that_returns_is_finished_after_the_landing():
    """PX4 completes it when the return begins."""
    px4 = Px4(TAKEOFF, WAYPOINT, RETURN)
    px4.fly(2)
    px4.reached(2)
    px4.at(2, COMPLETE)
    px4.mode(RETURN_MODE)
    px4.armed()
    assert not px4.status.is_finished
    px4.armed(False, is_landed=True)
    assert px4.status.is_finished


@pytest.mark.parametrize("is_armed", [True, False])
def test_a_mission_that_returns_is_finished_whichever_change_after_the_landing_comes_first(is_armed):
    """PX4 disarms and changes to hold at the same time; its messages come from different threads."""
    px4 = Px4(TAKEOFF, WAYPOINT, RETURN)
    px4.fly(2)
    px4.at(2, COMPLETE)
    px4.mode(RETURN_MODE)
    px4.armed(is_landed=True)
    px4.armed(is_armed, is_landed=True)
    px4.mode(HOLD_MODE)
    px4.armed(False, is_landed=True)
    assert px4.status.is_finished


def test_a_return_that_ends_elsewhere_does_not_finish_the_mission():
    """A failsafe lands on the way home."""
    px4 = Px4(TAKEOFF, WAYPOINT, RETURN)
    px4.fly(2)
    px4.mode(RETURN_MODE)
    px4.at(2, COMPLETE)
    px4.mode(LAND_MODE, commanded=RETURN_MODE)
    px4.armed(False, is_landed=True)
    assert not px4.status.is_finished


def test_disarming_in_the_air_does_not_finish_the_mission():
    px4 = Px4(TAKEOFF, WAYPOINT, RETURN)
    px4.fly(2)
    px4.mode(RETURN_MODE)
    px4.at(2, COMPLETE)
    px4.armed(False, is_landed=False)
    assert not px4.status.is_finished


@pytest.mark.parametrize("lines", [(TAKEOFF, WAYPOINT), (TAKEOFF, WAYPOINT, JUMP)])
def test_a_mission_that_ends_in_the_air_is_finished_when_px4_says_so(lines):
    """PX4 holds; it stays at the item before DO_JUMP."""
    px4 = Px4(*lines)
    px4.fly(1)
    px4.reached(1)
    assert not px4.status.is_finished
    px4.mode(HOLD_MODE)
    px4.at(1, COMPLETE)
    assert px4.status.is_finished


def test_a_new_mission_is_not_finished():
    """Although PX4 still shows the end of the previous one."""
    px4 = Px4(TAKEOFF, WAYPOINT)
    px4.fly(1)
    px4.at(1, COMPLETE)
    px4.status.begin_mission()
    px4.at(1, COMPLETE)
    assert not px4.status.is_finished


def test_a_mission_that_px4_flies_again_is_not_finished():
    """Armed again after a landing, it is still in mission mode."""
    px4 = Px4(TAKEOFF, WAYPOINT, LAND)
    px4.fly(2)
    px4.at(2, COMPLETE)
    px4.armed(False, is_landed=True)
    assert px4.status.is_finished
    px4.at(0, ACTIVE)
    assert px4.status.is_finished
    px4.fly(0)
    assert not px4.status.is_finished


# -- progress ----------------------------------------------------------------------------------------------------


def test_the_next_item_begins_when_one_is_reached():
    """MISSION_CURRENT would tell up to a second later; PX4 repeats MISSION_ITEM_REACHED."""
    px4 = Px4(TAKEOFF, WAYPOINT, WAYPOINT, LAND)
    px4.fly(0)
    seen = []
    for item in (0, 0, 1, 2, 2, 3):
        px4.reached(item)
        seen.append(px4.status.item)
    assert seen == [1, 1, 2, 3, 3, 3]


def test_px4_decides_where_a_jump_leads():
    px4 = Px4(TAKEOFF, WAYPOINT, JUMP, LAND)
    px4.fly(1)
    px4.reached(1)
    assert px4.status.item == 1
    px4.at(3)
    assert px4.status.item == 3


# -- modes and failsafes -----------------------------------------------------------------------------------------


def test_every_mode_of_px4_has_a_name():
    """Main and sub modes of px4_custom_mode.h, v1.17.0 and August 2026; nav_state differs for each."""
    assert len(set(MODES.values())) == len(MODES)
    assert not [mode for mode in MODES.values() if mode_name(mode).isdigit()]
    wanted = {"descend": (4, 20), "termination": (10, 0), "follow target": (4, 8), "precision land": (4, 9)}
    assert {name: custom(mode) for name, mode in wanted.items()} == {
        name: custom(mode) for name, mode in wanted.items() if mode_name(mode_of(custom(mode))) == name
    }


def test_an_unknown_mode_is_shown_as_unknown():
    """Each with a number of its own, which is not the last mode's."""
    px4 = Px4()
    px4.beat(MISSION_MODE)
    px4.beat((4, 99))
    assert mode_name(px4.status.mode) == "unknown (4, 99)"
    unknown = [mode for mode in itertools.product(range(256), range(256)) if mode not in MODES]
    assert len({mode_of(custom(mode)) for mode in unknown} - set(MODES.values())) == len(unknown)


def test_a_mode_that_nobody_commanded_is_a_failsafe():
    """It stays after disarming, and is cleared when PX4 clears it."""
    px4 = Px4()
    px4.fly(0)
    assert px4.status.failsafe == 0
    px4.say("Critical battery\t")
    px4.mode(RETURN_MODE, commanded=MISSION_MODE)
    assert px4.status.failsafe == 2
    px4.beat(RETURN_MODE, CRITICAL)
    px4.armed(False, is_landed=True)
    assert px4.status.failsafe == 2
    px4.armed()
    px4.beat(MISSION_MODE)
    assert px4.status.failsafe == 0


def test_the_name_of_a_message_is_not_the_cause_of_a_failsafe():
    """PX4 rejects a setpoint, and returns because there are none: no position was lost."""
    px4 = Px4()
    px4.fly(0)
    px4.say("SET_POSITION_TARGET_LOCAL_NED invalid\t")
    px4.mode(RETURN_MODE, commanded=MISSION_MODE)
    assert px4.status.failsafe == 5


@pytest.mark.parametrize(
    ("said", "mode", "failsafe"),
    [
        ("Geofence exceeded", RETURN_MODE, 1),
        ("Motor failure: Motor 1 undercurrent detected", LAND_MODE, 3),
        ("", DESCEND_MODE, 4),
        ("", HOLD_MODE, 5),
    ],
)
def test_failsafes_are_named_by_mode_and_status_texts(said, mode, failsafe):
    px4 = Px4()
    px4.armed()
    px4.say("Low battery")
    px4.time_us = 60_000_000
    if said:
        px4.say(said)
    px4.beat(mode, CRITICAL)
    assert px4.status.failsafe == failsafe


def test_disarmed_px4_has_no_failsafe():
    """It changes its mode by itself after disarming."""
    px4 = Px4()
    px4.mode(HOLD_MODE, commanded=MISSION_MODE)
    assert px4.status.failsafe == 0


# -- status texts ------------------------------------------------------------------------------------------------


def test_chunks_of_a_text_are_joined():
    """Of 50 bytes each, also between characters of two bytes; PX4's first text has the id 0."""
    text = f"{'x' * 49}é and {'y' * 60}\t"
    data = text.encode()
    px4 = Px4()
    px4.say("one\t")
    for chunk in range(3):
        px4.say(data[50 * chunk : 50 * chunk + 50], number=1, chunk=chunk)
    px4.say("z" * 50, number=2)
    px4.say("three", number=3)
    assert px4.status.texts == ("one", text.strip(), "z" * 50, "three")


def test_lost_chunks_do_not_join_other_texts():
    px4 = Px4()
    px4.say("a" * 50, number=1)
    px4.say("b" * 20, number=2, chunk=1)
    px4.say("c" * 20, number=1, chunk=2)
    assert px4.status.texts == ("a" * 50, "b" * 20, "c" * 20)


def test_only_the_last_warnings_and_errors_are_kept():
    """Each once; information is left out."""
    px4 = Px4()
    for i, severity in enumerate((6, 5, 4, 3, 2, 1, 0, 4, 4)):
        px4.say(f"text {i}", severity, number=i)
    px4.say("text 4", 4, number=9)
    assert px4.status.texts == ("text 3", "text 5", "text 6", "text 7", "text 8", "text 4")


def test_failed_checks_are_forgotten_once_px4_is_armed():
    """Some always fail while PX4 boots."""
    px4 = Px4()
    px4.say("Preflight Fail: no heading reference")
    px4.say("Geofence violation for waypoint 2")
    px4.say("Arming denied: Resolve system health failures first", chunk=0)
    px4.armed()
    assert px4.status.texts == ("Geofence violation for waypoint 2",)
