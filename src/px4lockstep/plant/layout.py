"""The interface records of a plant: flat state, commands, outputs. `faults` and `inputs` have the other ones.

The state of any plant is one flat float64 vector, `state.x[0:n_x]`, so an integrator does not depend on its meaning.
States that share a tolerance form named groups (`GROUPS`), contiguous and in this order.
"""

from px4lockstep.jit import record

MAX_MOTORS = 12
MAX_SERVOS = 8
MAX_BATTERIES = 4
MAX_BUSES = 4
MAX_POINTS = 8

MAX_STATES = 79
"""For 13 rigid-body states, 2 for each of 20 actuator channels, 12 rotor speeds and 2 for each of 4 batteries."""

MULTIROTOR_PLANT = 10
USER_PLANT = 100
"""Kinds of plant. Kinds 1 to 6 are the reference problems."""

GROUPS = ("pos", "vel", "att", "omega", "act", "actdot", "rotor", "soc", "v1")
"""Position, velocity, attitude quaternion, body rates; actuator outputs and rates, rotor speeds, state of charge,
polarization voltage."""

POS, VEL, ATT, OMEGA, ACT, ACTDOT, ROTOR, SOC, V1 = range(len(GROUPS))

VEL_START = 3
ATT_START = 6
OMEGA_START = 10
RIGID_BODY_STATES = 13
"""Where velocity (NED), attitude `q_bn` and body rates start in the state of a rigid body; position (NED) is first."""

STATE = record(
    [
        ("x", "f8", MAX_STATES),
        ("regime", "i8"),
        ("contact_regime", "i8"),
        ("padding", "i8", 7),
        ("thrust_n torque_nm", "f8", MAX_MOTORS),
    ]
)
"""A state or its derivative. Only a derivative has regimes: numbers that change where it has a kink or a jump.

`contact_regime` is that of the ground contact, `regime` that of everything else. A derivative also has the loads of the
rotors, intermediate values of the multirotor. The padding fills a cache line, so that the vectors used by a step start
on cache lines; without it, adaptive steps take 2 % longer.
"""

REGIME_BITS = 63
"""Bits of a regime: all but the sign of an int64."""

COMMAND = record([("motors", "f8", MAX_MOTORS), ("servos", "f8", MAX_SERVOS)])
"""Motor commands in [0, 1] and servo commands in [-1, 1]."""

HORIZONTAL_DROPOUT = 2
"""Value of `estimate_faults.dropout` while only the horizontal position and velocity are lost, as without GPS."""

SENSOR_FAULT_GYRO, SENSOR_FAULT_ACCEL, SENSOR_FAULT_MAG, SENSOR_FAULT_BARO, SENSOR_FAULT_GPS = 1, 2, 4, 8, 16
SENSOR_FAULT_EST_FREEZE = 32  # the estimate is frozen; the others are faults of sensors

BATTERY_STATUS = record(
    [("voltage_v", "f8"), ("current_a", "f8"), ("remaining", "f8"), ("warning", "i8")], limits={"warning": 3}
)
"""Status of one battery; the warning is 0 none, 1 low, 2 critical, 3 emergency."""

OUTPUTS = record(
    [
        ("values", "f8", 8),  # the invariants of a reference problem, or any outputs of a user's plant
        ("rotor_duty", "f8", MAX_MOTORS),  # duty that the ESC applies, after faults and deadzone
        ("rotor_thrust_n rotor_torque_nm motor_current_a", "f8", MAX_MOTORS),
        ("bus_voltage_v bus_current_a", "f8", MAX_BUSES),
        ("battery", BATTERY_STATUS, MAX_BATTERIES),
        ("air_density_kg_m3 air_temperature_k", "f8"),
        ("air_vel_body", "f8", 3),  # v_air_rel_vehicle: velocity of the air relative to the vehicle
    ]
)
"""The outputs of a plant besides its state."""

TRAITS = record(
    [
        ("is_vehicle", "i8"),  # 1: it writes rotors, power and air data into its outputs, not `values`
        ("n_motors", "i8"),
        ("n_motor_commands", "i8"),  # the highest motor command that drives something
        ("n_servo_commands n_batteries n_buses", "i8"),
        ("has_ground", "i8"),  # 1: there is ground at z = 0
        ("reads_outputs", "i8"),  # 1: what it does at an autopilot tick depends on its outputs there
        ("rest_m", "f8"),  # height of the centre of mass when the vehicle stands on the ground
        ("thrust_to_weight", "f8"),  # of full thrust in the air of home
        ("capacity_ah", "f8", MAX_BATTERIES),
    ],
    limits={
        "n_motors n_motor_commands": MAX_MOTORS,
        "n_servo_commands": MAX_SERVOS,
        "n_batteries": MAX_BATTERIES,
        "n_buses": MAX_BUSES,
    },
)
"""Model-independent properties of a plant; all 0 if it is not a vehicle."""
