"""Start a leg: from the target of the previous leg to a point, or to where the vehicle can stop."""

import math

from px4lockstep.autopilots.builtin.flight_task import LOITER
from px4lockstep.autopilots.builtin.vectors import norm_xy
from px4lockstep.jit import kernel


@kernel
def fly_to(nav, kind, n, e, d, yaw, radius_m):
    """Start a leg to a point; it begins at the target of the previous leg."""
    leg = nav.leg
    leg.has_start = leg.is_valid
    for i in range(3):
        leg.start[i] = leg.target[i]
    leg.has_next = 0
    leg.is_valid = 1
    leg.kind = kind
    leg.target[0], leg.target[1], leg.target[2] = n, e, d
    leg.yaw = yaw
    leg.radius_m = radius_m
    nav.is_reached = 0
    nav.is_yaw_reached = 0
    nav.reached_us = 0


@kernel
def loiter_here(nav, estimate):
    """Start to loiter at the point where the vehicle can stop."""
    vn, ve = estimate.vel_ned[0], estimate.vel_ned[1]
    speed = norm_xy(vn, ve)
    ahead = 0.0
    if speed > 0.1:  # braking distance
        ahead = speed * (0.5 * speed / nav.brake_acc + nav.brake_acc / nav.brake_jerk) / speed
    nav.leg.is_valid = 0
    n, e = estimate.pos_ned[0] + ahead * vn, estimate.pos_ned[1] + ahead * ve
    fly_to(nav, LOITER, n, e, estimate.pos_ned[2], math.nan, nav.acceptance_m)
