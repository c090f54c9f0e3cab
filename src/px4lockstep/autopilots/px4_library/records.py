"""The host's records: PX4's inputs and outputs as named numbers, and the message field of each.

All numbers in `INPUTS` and `OUTPUTS` are float64, whatever the type of the message field. The fields and their offsets
are known only once the library is loaded; `FIELD` lists them by address, so one compiled loop serves every version.
"""

import numpy as np

from px4lockstep.autopilots.fence import FENCE
from px4lockstep.jit import record
from px4lockstep.plant.layout import MAX_BATTERIES, MAX_MOTORS, MAX_SERVOS

MAX_PUBLISHERS = 24
MAX_SUBSCRIBERS = 16
MAX_FIELDS = 320
MAX_LOGGED = 32

BATTERY_INPUTS = record([("connected voltage_v current_a remaining warning", "f8")])

INPUTS = record(
    [
        ("time_us", "f8"),
        ("stamp_us", "f8"),  # the same, but at least 1: a timestamp of 0 means never
        ("pos_ned vel_ned", "f8", 3),
        ("q_bn", "f8", 4),
        ("heading", "f8"),
        ("omega_body omega_dot_body", "f8", 3),
        ("is_valid", "f8"),  # position and velocity
        ("lat_deg lon_deg", "f8"),
        ("alt_m", "f8"),  # above sea level
        ("landed in_air armed", "f8"),
        ("arming_state", "f8"),  # 1 disarmed, 2 armed
        ("nav_state mode_since_us armed_since_us is_auto is_manual home_count", "f8"),
        ("battery", BATTERY_INPUTS, MAX_BATTERIES),
    ]
)
"""Inputs that the host publishes to PX4."""

OUTPUTS = record(
    [
        ("motors", "f8", MAX_MOTORS),  # NaN: off
        ("servos", "f8", MAX_SERVOS),
        ("torque_sp_body thrust_sp_body", "f8", 3),
        ("q_sp", "f8", 4),
        ("rate_sp_body pos_sp_ned vel_sp_ned acc_sp_ned", "f8", 3),
        ("yaw_sp yawspeed_sp mission_valid mission_finished mission_failure mission_item mission_count", "f8"),
        ("mission_us", "f8"),  # time of the mission result
        ("triplet_valid triplet_type", "f8"),
        ("command command_mode", "f8"),  # a vehicle command, and its second parameter
        ("severity", "f8"),  # of a text, as in syslog
    ]
)
"""The outputs that PX4 published last."""

FIELD = record(
    [
        ("kind", "i8"),  # number type: see `jit.memory.KINDS`
        ("number", "i8"),  # address of the number in `INPUTS` or `OUTPUTS`
        ("place", "i8"),  # address of the field in the message
    ]
)

# `message` is the address of the message, `received` the number of messages received.
PUBLISHER = record([("id message n_bytes period_ticks phase_ticks first_field stop_field", "i8")])
SUBSCRIBER = record([("id message n_bytes first_field stop_field received role", "i8")])

# Roles of subscribers. The topics of the last two have queues, of which every message is read.
SETPOINTS, MOTORS, COMMANDS, TEXTS = (np.int64(i) for i in range(4))

# A row is the time of the tick [us] as an int64, then the message. `rows` is the address of the first row, `counter`
# that of the number of complete rows. At most `depth` messages, the length of the topic's queue, arrive in a tick.
LOGGED_TOPIC = record([("id n_bytes depth rows row_bytes capacity received counter", "i8")])

COMMANDER = record(
    [
        ("navigator_us", "i8"),  # navigator period: duration of the return to manual mode when a mission starts
        ("is_armed armed_us nav_state", "i8"),
        ("mode_us", "i8"),  # time of the last change of nav_state
        ("is_starting", "i8"),  # stage of the mission start: see `commander`
        ("manual_until_us", "i8"),
        ("asked_arm asked_mission asked_return asked_land", "i8"),  # requests at the last tick
        ("commanded_mode", "i8"),  # the mode that PX4's navigator has asked for; 0: none
        ("is_returning", "i8"),  # on the return that completes the mission
        ("has_flown is_finished", "i8"),
        ("failsafe", "i8"),  # 1: the geofence
        ("fence", FENCE),
    ]
)

CALL = record([("function which code", "i8")])
"""A failed call: the function, the publisher or subscriber, and the returned code."""

PX4_HOST = record(
    [
        ("handle", "i8"),
        ("step_address", "i8"),  # of `exchange.step_px4`
        ("own_address", "i8"),  # address of this record, for which the addresses in `fields` are valid
        ("step_uorb orb_queue_publish orb_check orb_copy", "i8"),  # function addresses
        ("updated", "i8"),  # address that orb_check writes to
        ("n_publishers n_subscribers n_batteries n_motors n_servos", "i8"),
        ("motor_channel", "i8", MAX_MOTORS),  # command channel of each rotor
        ("servo_channel", "i8", MAX_SERVOS),
        ("home_lat_rad home_lon_rad home_alt_m", "f8"),
        ("rate_gain", "f8"),  # 1 / tick; 0 if the angular acceleration is not published
        ("tick", "i8"),
        ("silent_ticks", "i8"),  # ticks since PX4 last published motors
        ("stopped_ticks", "i8"),  # ticks for which all motors have been off while armed
        ("omega_body", "f8", 3),  # at the last tick
        ("text texts n_texts", "i8"),  # addresses of the received and the kept texts; number of texts received
        ("commander", COMMANDER),
        ("failed", CALL),
        ("inputs", INPUTS),
        ("outputs", OUTPUTS),
        ("publishers", PUBLISHER, MAX_PUBLISHERS),
        ("subscribers", SUBSCRIBER, MAX_SUBSCRIBERS),
        ("fields", FIELD, MAX_FIELDS),
        ("has_inputs", "i8"),  # whether anything is published to PX4
        ("n_logged", "i8"),
        ("logged", LOGGED_TOPIC, MAX_LOGGED),  # see `logged`
    ]
)
