"""Setpoints in the compiled loop: their records, and the selection of the current one at an autopilot tick.

All setpoints of a scenario are rows of one array: first the table, by time, then one row for each event. The source
that began last gives the setpoint, at every tick: the table from its first row on, an event from its time on. A row of
the table holds until the next one, or is interpolated linearly between rows of the same kind:

    x = x_i + (x_{i+1} - x_i) (t - t_i) / (t_{i+1} - t_i)

Yaw angles are interpolated along the shorter way.
"""

from px4lockstep.jit import kernel, record

# Kinds of setpoints. NONE: no setpoint at this tick.
NONE, TRAJECTORY, ATTITUDE, RATES = range(4)

SETPOINT = record(
    [
        ("kind", "i8"),
        ("pos_ned vel_ned acc_ned", "f8", 3),
        ("attitude_rad", "f8", 3),  # roll, pitch, yaw
        ("omega_body", "f8", 3),
        ("yaw_rad yaw_rate_rad_s thrust", "f8"),
    ],
    limits={"kind": RATES},
)
"""A setpoint; NaN components are not controlled. The thrust is collective and normalized."""

SETPOINT_ROW = record([("time_us", "i8"), ("setpoint", SETPOINT)])

SETPOINT_IN = record([("requests", "i8"), ("setpoint", SETPOINT)])
"""The autopilot's input at a tick: the number of requests for setpoint mode, and the setpoint, if there is one."""

# Sources of setpoints.
NOTHING, TABLE, EVENT_ROW = range(3)

SETPOINTS = record(
    [
        ("table_rows", "i8"),  # rows of the table; the rows of events follow
        ("is_linear", "i8"),
        ("end_us", "i8"),  # the table gives no setpoint from here on
        ("source", "i8"),
        ("begun", "i8"),  # number of rows of the table that have begun
        ("event_row", "i8"),
        ("requests", "i8"),
    ],
    state="source begun event_row requests",
    limits={"source": EVENT_ROW},
)

PI = 3.141592653589793


@kernel
def between(a, b, part):
    """Return a value between two values; NaN if one of them is NaN."""
    return a + (b - a) * part


@kernel
def yaw_between(a, b, part):
    """Return an angle between two angles of at most 1000 rad, along the shorter way."""
    turn = b - a
    while turn > PI:
        turn -= 2.0 * PI
    while turn < -PI:
        turn += 2.0 * PI
    return a + turn * part


@kernel
def interpolate(a, b, part, out):
    """Write the setpoint between two setpoints of the same kind."""
    out.kind = a.kind
    for i in range(3):
        out.pos_ned[i] = between(a.pos_ned[i], b.pos_ned[i], part)
        out.vel_ned[i] = between(a.vel_ned[i], b.vel_ned[i], part)
        out.acc_ned[i] = between(a.acc_ned[i], b.acc_ned[i], part)
        out.attitude_rad[i] = yaw_between(a.attitude_rad[i], b.attitude_rad[i], part)
        out.omega_body[i] = between(a.omega_body[i], b.omega_body[i], part)
    out.yaw_rad = yaw_between(a.yaw_rad, b.yaw_rad, part)
    out.yaw_rate_rad_s = between(a.yaw_rate_rad_s, b.yaw_rate_rad_s, part)
    out.thrust = between(a.thrust, b.thrust, part)


@kernel
def follow_table(source, rows, t_us, given):
    """Write the setpoint of the table at a time."""
    if t_us >= source.end_us:
        given.setpoint.kind = NONE
        return
    row = rows[source.begun - 1]
    if source.is_linear != 0 and source.begun < source.table_rows:
        after = rows[source.begun]
        if after.setpoint.kind == row.setpoint.kind:
            part = float(t_us - row.time_us) / float(after.time_us - row.time_us)
            interpolate(row.setpoint, after.setpoint, part, given.setpoint)
            return
    given.setpoint = row.setpoint


@kernel
def give_setpoint(source, rows, t_us, given):
    """Write the setpoint of an autopilot tick; the first row of the table requests setpoint mode."""
    before = source.begun
    while source.begun < source.table_rows and rows[source.begun].time_us <= t_us:
        source.begun += 1
    if before == 0 and source.begun > 0:
        source.source = TABLE
        source.requests += 1
    if source.source == TABLE:
        follow_table(source, rows, t_us, given)
    elif source.source == EVENT_ROW:
        given.setpoint = rows[source.event_row].setpoint
    else:
        given.setpoint.kind = NONE
    given.requests = source.requests
