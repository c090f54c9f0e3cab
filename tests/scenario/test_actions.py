"""Actions: each changes its own signals on the bus, and no others."""

import pytest
from scenario_flight import flatten, outputs_at_each_boundary

from px4lockstep.scenario.actions import ACTIONS, SENSOR_BITS
from px4lockstep.scenario.scenario import Scenario, Then

BIAS = {"pos_ned": (1.0, 2.0, 3.0), "vel_ned": (4.0, 5.0, 6.0), "yaw_rad": 0.7, "omega_body": (8.0, 9.0, 10.0)}


def error(part):
    """Return the signals of `BIAS` in a part of the faults of the estimate."""
    names = [f"{name}[{i}]" for name in ("pos_ned", "vel_ned") for i in range(3)]
    names += ["yaw", *[f"omega_body[{i}]" for i in range(3)]]
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.7, 8.0, 9.0, 10.0]
    return {f"estimate_faults.{part}.{name}": value for name, value in zip(names, values, strict=True)}


def zeros(signals):
    return dict.fromkeys(signals, 0)


NOT_ON_THE_BUS = {"setpoint", "stop_setpoints", "offboard", "set_param"}
"""Actions that change nothing on the bus: `flights/test_setpoints.py` tests them."""

FROM_REST = [
    ("arm", (), {}, {"arm": 1}),
    ("start_mission", (), {}, {"mission": 1}),
    ("return_home", (), {}, {"return_home": 1}),
    ("land", (), {}, {"land": 1}),
    ("wind_step", ([3, -2.0, 1.0],), {}, {"wind_ned[0]": 3.0, "wind_ned[1]": -2.0, "wind_ned[2]": 1.0}),
    ("disable_motor", (1,), {}, {"faults.motor_disabled_mask": 1}),
    ("disable_motor", (4,), {}, {"faults.motor_disabled_mask": 8}),
    ("thrust_loss", (3, 0.25), {}, {"faults.motor_weak_mask": 4, "faults.thrust_loss[2]": 0.25}),
    ("stuck_motor", (2, 0.75), {}, {"faults.motor_stuck_mask": 2, "faults.stuck_duty[1]": 0.75}),
    ("disconnect_battery", (), {}, {"faults.battery_disconnected": 1}),
    ("sensor_fault", ("estimate",), {}, {"faults.sensor_fault_mask": 32}),
    ("estimate_bias", (), BIAS, error("bias")),
    ("estimate_drift", (), BIAS, error("drift")),
    ("estimate_drift", (), {"yaw_rad": 0.1}, {"estimate_faults.drift.yaw": 0.1}),
    ("estimate_dropout", (), {}, {"estimate_faults.dropout": 1}),
]


def broken():
    """Return a scenario with everything active from the start."""
    scenario = Scenario()
    for name, arguments, named, _ in FROM_REST:
        if name not in ("return_home", "land") and named != {"yaw_rad": 0.1}:
            scenario = getattr(scenario.at_us(0), name)(*arguments, **named)
    for motor in (1, 3):
        scenario = (
            scenario.at_us(0).disable_motor(motor).at_us(0).stuck_motor(motor, 0.5).at_us(0).thrust_loss(motor, 0.5)
        )
    return scenario


MENDED_3 = {
    "faults.motor_disabled_mask": 0b1001,
    "faults.motor_stuck_mask": 0b0011,
    "faults.motor_weak_mask": 0b0001,
    "faults.stuck_duty[2]": 0.0,
    "faults.thrust_loss[2]": 0.0,
}

FROM_BROKEN = [
    ("arm", (), {}, {"arm": 2}),
    ("disarm", (), {}, {"arm": 0}),
    ("return_home", (), {}, {"return_home": 1}),
    ("land", (), {}, {"land": 1}),
    ("wind_step", ((0.0, 0.0, 0.0),), {}, zeros(f"wind_ned[{i}]" for i in range(3))),
    ("restore_motor", (3,), {}, MENDED_3),
    ("reconnect_battery", (), {}, {"faults.battery_disconnected": 0}),
    ("clear_sensor_fault", ("estimate",), {}, {"faults.sensor_fault_mask": 0}),
    ("clear_estimate_faults", (), {}, zeros(["estimate_faults.dropout", *error("bias"), *error("drift")])),
]


@pytest.mark.parametrize(
    ("before", "name", "arguments", "named", "expected"),
    [(Scenario(), *case) for case in FROM_REST] + [(broken(), *case) for case in FROM_BROKEN],
)
def test_an_action_changes_exactly_its_signals(before, name, arguments, named, expected):
    """All other signals of the scenario's part of the bus keep their values from the previous boundary."""
    scenario = getattr(before.at_us(3_000), name)(*arguments, **named)
    _, outputs = outputs_at_each_boundary(scenario, 0.003)
    was, now = flatten(outputs[-2]), flatten(outputs[-1])
    assert {signal: value for signal, value in now.items() if value != was[signal]} == expected


def test_requests_are_counted():
    """A reader sees each request, also a repeated one."""
    scenario = Scenario().at_us(0).land().at_us(1_000).return_home().at_us(2_000).start_mission().at_us(3_000).land()
    _, outputs = outputs_at_each_boundary(scenario, 0.003)
    requests = zip(outputs["mission"].tolist(), outputs["return_home"].tolist(), outputs["land"].tolist(), strict=True)
    assert list(requests) == [(0, 0, 1), (0, 1, 1), (1, 1, 1), (1, 1, 2)]


def test_every_action_has_its_method_and_its_case():
    """`return` is called `return_home` in Python; `do` is for functions."""
    methods = {name for name in vars(Then) if not name.startswith("_")} - {"do"}
    assert {"return" if name == "return_home" else name for name in methods} == set(ACTIONS)
    assert {name for name, *_ in (*FROM_REST, *FROM_BROKEN)} == methods - NOT_ON_THE_BUS
    assert SENSOR_BITS == {"gyro": 1, "accel": 2, "mag": 4, "baro": 8, "gps": 16, "estimate": 32}
