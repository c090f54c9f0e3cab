"""Setpoints to stock PX4: the messages on the wire, the request of offboard mode, and a flight of its double."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from fleet import iris
from px4_sitl_double import heard, make_flight
from sitl_wire import Wire

from px4lockstep.autopilots.px4_sitl.api import OFFBOARD, Api
from px4lockstep.autopilots.px4_sitl.setpoints import SetpointSender
from px4lockstep.engine.simulation import Simulation
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.scenario.setpoint_rows import SETPOINT_IN
from px4lockstep.scenario.setpoints import SetpointTable, row_of

NAN = math.nan
START = (10.0, -4.0, 0.5)
OFFBOARD_MODE, LAND_MODE = 14, 18
POSITION, ATTITUDE = "SET_POSITION_TARGET_LOCAL_NED", "SET_ATTITUDE_TARGET"
HALF = math.sqrt(0.5)


class Sending:
    """A sender of setpoints, the wire that it writes to, and the orders that it gives."""

    def __init__(self):
        self.wire, self.orders, self.sender = Wire(), [], SetpointSender()
        self.api = Api(self.wire, ())
        self.api.order = self.orders.append

    def step(self, time_us, given=None, requests=1):
        """Run a tick at a time of PX4's clock; return the messages that it sends."""
        asked = np.zeros(1, SETPOINT_IN).view(np.recarray)
        asked["requests"], asked["setpoint"] = requests, row_of(given or {})
        inputs = SimpleNamespace(setpoint=asked[0], plant={"pos": np.array(START)})
        before = len(self.wire.sent)
        self.sender.step(time_us, time_us, inputs, self.api)
        return self.wire.sent[before:]


@pytest.mark.parametrize(
    ("given", "mask", "numbers"),
    [
        ({"pos_ned": (1, 2, -5), "yaw_rad": 0.5}, 0x9F8, {"x": -9.0, "y": 6.0, "z": -5.5, "yaw": 0.5}),
        ({"vel_ned": (1, 2, -3)}, 0xDC7, {"vx": 1.0, "vy": 2.0, "vz": -3.0}),
        (
            {"vel_ned": (1, 0, NAN), "pos_ned": (NAN, NAN, -5), "yaw_rate_rad_s": 0.25},
            0x5E3,
            {"vx": 1.0, "vy": 0.0, "z": -5.5, "yaw_rate": 0.25},
        ),
        ({"acc_ned": (0.5, 0, -1)}, 0xC3F, {"afx": 0.5, "afy": 0.0, "afz": -1.0}),
    ],
)
def test_positions_velocities_and_accelerations_are_sent_in_the_local_frame(given, mask, numbers):
    """Positions count from where PX4 booted; what is not controlled is masked, and NaN."""
    [message] = Sending().step(1_004_000, given)
    assert (message.get_type(), message.coordinate_frame, message.type_mask) == (POSITION, 1, mask)
    assert (message.get_srcSystem(), message.get_srcComponent(), message.time_boot_ms) == (245, 190, 1004)
    names = ("x", "y", "z", "vx", "vy", "vz", "afx", "afy", "afz", "yaw", "yaw_rate")
    assert {name: value for name in names if not math.isnan(value := getattr(message, name))} == numbers


@pytest.mark.parametrize(
    ("given", "mask", "q", "rates"),
    [
        ({"attitude_rad": (math.pi / 2, 0, 0)}, 0b111, (HALF, HALF, 0, 0), (NAN, NAN, NAN)),
        ({"attitude_rad": (0, 0, -math.pi / 2), "yaw_rate_rad_s": 0.5}, 0b011, (HALF, 0, 0, -HALF), (NAN, NAN, 0.5)),
        ({"omega_body": (0.25, NAN, -1)}, 0x80, (1, 0, 0, 0), (0.25, NAN, -1.0)),
    ],
)
def test_attitudes_and_body_rates_are_sent_with_their_thrust(given, mask, q, rates):
    """PX4 would take an attitude for body rates, too, if their bits were not set; a free rate is not masked."""
    [message] = Sending().step(1_004_000, given | {"thrust": 0.75})
    assert (message.get_type(), message.type_mask, message.thrust) == (ATTITUDE, mask, 0.75)
    assert message.q == pytest.approx(q, abs=1e-7)
    sent = (message.body_roll_rate, message.body_pitch_rate, message.body_yaw_rate)
    assert sent == pytest.approx(rates, nan_ok=True)


def test_a_setpoint_is_sent_when_it_changes_and_repeated_every_20_ms():
    """Nothing is sent without a setpoint, so that PX4 notices a loss."""
    sending, low, high = Sending(), {"pos_ned": (0, 0, -5)}, {"pos_ned": (0, 0, -6)}
    sent = [len(sending.step(4000 * i, low if i < 12 else high if i < 14 else None)) for i in range(1, 16)]
    assert sent == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0]


def test_each_request_orders_offboard_mode_once_after_the_first_setpoint():
    """A request without a setpoint is a warning: PX4 rejects the mode, and answers no step while it is disarmed."""
    sending, given = Sending(), {"pos_ned": (0, 0, -5)}
    for time_us, requests in ((4000, 0), (8000, 1), (12000, 1), (16000, 2)):
        sending.step(time_us, given, requests)
    assert sending.orders == [OFFBOARD, OFFBOARD]
    sending.step(2_500_000, None, 3)
    sending.step(2_504_000, given, 3)
    assert len(sending.orders) == 2
    [warning] = sending.api.warnings
    assert warning.startswith("setpoint mode was requested at 2.5 s without a setpoint")


def test_a_table_is_flown_in_offboard_mode_recorded_and_left_by_landing(sitl_build, tmp_path, monkeypatch):
    """Armed and requested at the same tick; the double climbs to 4 m, and lands when the scenario requests it."""
    monkeypatch.setenv("PX4_DOUBLE_TRACE", "1")
    table = SetpointTable(time_s=(0.5, 5.0), pos_ned=((0.0, 0.0, -3.0), (0.0, 0.0, -4.0)))
    scenario = Scenario(setpoints=table).arm(at_s=0.5).at(9.0).land()
    simulation, sitl = make_flight(sitl_build, tmp_path, mission=None, scenario=scenario, end_s=9.5, boot_s=4.0)
    try:
        simulation.run()
    finally:
        simulation.close()
    time_s, modes = simulation.log["time_us"] / 1e6, simulation.log["bus"]["autopilot"]["nav_state"]
    assert [int(modes[time_s == second][0]) for second in (0.4, 1.0, 9.0, 9.4)] == [4, *[OFFBOARD_MODE] * 2, LAND_MODE]
    assert -simulation.log_state[time_s == 5.0][0, 2] == pytest.approx(3.0, abs=0.5)
    assert -simulation.log_state[time_s == 9.0][0, 2] == pytest.approx(4.0, abs=0.5)
    assert (sitl.missed, simulation.warnings) == (0, ())
    down = [message["z"] for message in heard(tmp_path, POSITION)]
    assert down == sorted(down, reverse=True)
    assert set(down) == {-3.0, -4.0}
    given = simulation.streams.setpoints["setpoint"]["pos_ned"][:, 2]
    assert [given[round(second / 0.004)] for second in (1.0, 6.0)] == [-3.0, -4.0]
    replayed = Simulation(iris(), simulation.timeline, replay=simulation.streams).run()
    assert replayed.digest() == simulation.digest()
