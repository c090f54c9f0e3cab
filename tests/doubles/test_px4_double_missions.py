"""The conformance double and a host that does not act as PX4's commander: the end of missions, and the next flight."""

import ctypes

import numpy as np
import pytest
from mission_files import wpl
from px4_double import build_double, message_dtype
from px4_double_host import MANUAL, Host, HostAutopilot, ready
from spec_files import write

from flights import TAKE_OFF

HERE = "47.397742 8.545594"
NORTH = "47.397822 8.545594"
TAKEOFF = f"0 1 3 22 0 0 0 0 {HERE} 5 1"
WAYPOINT = f"1 0 3 16 0 1 0 0 {NORTH} 5 1"
RETURN = "2 0 2 20 0 0 0 0 0 0 0 1"


def flown(folder, *lines, end_s=20, scenario=TAKE_OFF, params=()):
    """Fly a mission with the simple host, which serves no commands."""
    mission = write(folder, wpl(*lines), "m.waypoints")
    sim, autopilot = ready(build_double(folder), mission, scenario=scenario, end_s=end_s, params=params)
    topics = {name: autopilot.host.subscriber(name) for name in ("vehicle_command", "mavlink_log")}
    sim.run()
    return sim, autopilot.host, topics


def messages_of(host, subscriber, topic):
    """Return the messages that are left in the queue."""
    found, updated = [], ctypes.c_int32()
    while host.call("orb_check", subscriber, ctypes.byref(updated)) == 0 and updated.value:
        message = np.zeros(1, message_dtype(topic))
        assert host.call("orb_copy", subscriber, message.ctypes.data_as(ctypes.c_void_p), message.nbytes) == 0
        found.append(message[0])
    return found


def checks_of(host):
    return {line.split(" at ")[0] for line in host.report()}


def test_without_a_commander_the_vehicle_sinks_instead_of_returning(tmp_path):
    """PX4 commands the return at every run of its navigator, until the host disarms; the queue holds eight commands."""
    sim, host, topics = flown(tmp_path, TAKEOFF, WAYPOINT, RETURN)
    assert checks_of(host) == {"mission_end"}
    commands = messages_of(host, topics["vehicle_command"], "vehicle_command")
    assert [int(message["command"]) for message in commands] == [20] * 7 + [2003]
    times = [int(message["timestamp"]) for message in commands]
    assert times == sorted(times)
    assert sim.plant["pos"][0] > 5.0  # landed away from home, with a mission that is "finished"
    assert sim.plant["pos"][2] > -0.05


def test_a_mission_that_ends_in_the_air_starts_over(tmp_path):
    """With its last item, again and again."""
    sim, host, topics = flown(tmp_path, TAKEOFF, WAYPOINT)
    assert checks_of(host) == {"mission_end"}
    texts = messages_of(host, topics["mavlink_log"], "mavlink_log")
    assert {bytes(text["text"]).partition(b"\0")[0] for text in texts} == {b"Mission finished, loitering\t"}
    assert {int(text["severity"]) for text in texts} == {6}
    assert sim.plant["pos"][2] == pytest.approx(-5.0, abs=0.8)


def test_setpoints_stay_latched_in_manual_mode(tmp_path, monkeypatch):
    """Disarmed at touchdown, armed again: the motors run without a request, and the vehicle leaves the ground."""
    step = HostAutopilot.step

    def disarming(self, time_us, inputs, outputs):
        self.is_done = self.is_done or (self.has_flown and bool(inputs.bus.scenario.landed))
        step(self, time_us, inputs, outputs)

    monkeypatch.setattr(HostAutopilot, "step", disarming)
    params = [("RTL_RETURN_ALT", 5.0), ("RTL_DESCEND_ALT", 3.0)]
    mission = write(tmp_path, wpl(TAKEOFF, WAYPOINT), "m.waypoints")
    scenario = TAKE_OFF.at(8.0).return_home()
    sim, autopilot = ready(build_double(tmp_path), mission, scenario=scenario, end_s=32, params=params)
    sim.run(until_us=28_000_000)
    assert autopilot.is_done
    assert checks_of(autopilot.host) == set()
    autopilot.is_done = autopilot.has_flown = False
    monkeypatch.setattr(autopilot, "_choose_mode", lambda *_: setattr(autopilot, "nav_state", MANUAL))
    sim.run()
    assert checks_of(autopilot.host) == {"manual"}


def test_a_geofence_refuses_the_mission(tmp_path):
    """With a text; the bytes after it are undefined."""
    sim, host, topics = flown(tmp_path, TAKEOFF, WAYPOINT, end_s=3, params=[("GF_MAX_HOR_DIST", 5.0)])
    texts = [message["text"].tobytes() for message in messages_of(host, topics["mavlink_log"], "mavlink_log")]
    said = [text.partition(b"\0")[0].decode() for text in texts]
    assert said == ["Geofence violation for waypoint 2\t"]
    assert texts[0].endswith(b"~")
    result = host.read("mission_result")
    assert (bool(result["valid"]), bool(result["finished"])) == (False, True)
    assert sim.plant["pos"][2] > -0.05


def test_a_queue_keeps_the_newest_messages(tmp_path):
    """Ten commands of the host, instance 1; a subscriber gets the last eight in order, and then the newest again."""
    host = Host(build_double(tmp_path), publish=())
    publisher, subscriber = host.publisher("vehicle_command"), host.subscriber("vehicle_command", 1)
    message = np.zeros(1, message_dtype("vehicle_command"))
    for k in range(10):
        message["timestamp"], message["command"] = k * 4_000 + 1, k
        assert host.publish("vehicle_command", message, publisher) == 0
        host.step(k * 4_000)
    assert [int(each["command"]) for each in messages_of(host, subscriber, "vehicle_command")] == list(range(2, 10))
    host.call("orb_copy", subscriber, message.ctypes.data_as(ctypes.c_void_p), message.nbytes)
    assert message["command"][0] == 9
