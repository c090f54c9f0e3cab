"""The heading's trajectory: bounded rate and acceleration, by the shorter way round.

It is one axis of `velocity_smoothing` shifted by one derivative: its velocity is the heading, its acceleration the yaw
rate, its jerk the yaw acceleration.
"""

from px4lockstep.autopilots.builtin.vectors import wrap_pi
from px4lockstep.autopilots.builtin.velocity_smoothing import advance_axis, plan
from px4lockstep.jit import kernel


@kernel
def smooth_heading(axis, yaw_sp, dt_s):
    """Go on towards a heading; `axis.vel` is then the smoothed heading and `axis.acc` its rate."""
    plan(axis, axis.vel + wrap_pi(yaw_sp - axis.vel))
    advance_axis(axis, dt_s)
    axis.vel = wrap_pi(axis.vel)
