"""The error of a step in units of its tolerance, and the state group in which it is largest.

pos, vel, omega        |e| / (atol + rtol max(|x|, |x'|)),        Euclidean norms
att                    2 |e| / atol,                              a small quaternion error is half the angle
all others             max_i |e_i| / (atol + rtol max(|x_i|, |x'_i|))
"""

import math

from px4lockstep.jit import kernel
from px4lockstep.plant.layout import ACT, ATT, GROUPS, MAX_STATES

GROUP_COUNT = len(GROUPS)


@kernel
def write_error(h_s, plant, tableau, work):
    """Write the error estimate h Σ e_j k_j to `work.error`."""
    e = tableau.e
    error = work.error.x
    n = min(plant.n_x, MAX_STATES)
    k0, k1, k2, k3 = work.k[0].x, work.k[1].x, work.k[2].x, work.k[3].x
    if tableau.n_error_slopes == 4:
        for i in range(n):
            error[i] = h_s * (e[0] * k0[i] + e[1] * k1[i] + e[2] * k2[i] + e[3] * k3[i])
    else:
        k4, k5, k6 = work.k[4].x, work.k[5].x, work.k[6].x
        for i in range(n):
            error[i] = h_s * (
                e[0] * k0[i] + e[1] * k1[i] + e[2] * k2[i] + e[3] * k3[i] + e[4] * k4[i] + e[5] * k5[i] + e[6] * k6[i]
            )


@kernel
def vector_error(start, stop, rtol, atol, state, work):
    """Return the scaled error of a vector, using Euclidean norms."""
    error_squared, old_squared, new_squared = 0.0, 0.0, 0.0
    for i in range(start, stop):
        error, old, new = work.error.x[i], state.x[i], work.trial.x[i]
        error_squared += error * error
        old_squared += old * old
        new_squared += new * new
    return math.sqrt(error_squared) / (atol + rtol * math.sqrt(max(old_squared, new_squared)))


@kernel
def largest_error(start, stop, rtol, atol, state, work):
    """Return the largest scaled error of independent states."""
    largest = 0.0
    for i in range(start, stop):
        scaled = abs(work.error.x[i]) / (atol + rtol * max(abs(state.x[i]), abs(work.trial.x[i])))
        if not scaled <= largest:  # also if it is NaN, which ends the search
            largest = scaled
            if math.isnan(scaled):
                break
    return largest


@kernel
def error_norm(state, plant, solver, work):
    """Return the largest scaled error of all groups; store it and its group in the solver record."""
    worst, worst_group = 0.0, 0
    for group in range(GROUP_COUNT):
        start, stop = plant.group_start[group], plant.group_stop[group]
        if stop == start or solver.is_controlled[group] == 0:
            continue
        rtol, atol = solver.rtol[group], solver.atol[group]
        if group == ATT:
            scaled = 2.0 * vector_error(start, stop, rtol, atol, state, work)
        elif group < ACT:
            scaled = vector_error(start, stop, rtol, atol, state, work)
        else:
            scaled = largest_error(start, stop, rtol, atol, state, work)
        if not scaled <= worst:  # also if it is NaN, which ends the search
            worst, worst_group = scaled, group
            if math.isnan(scaled):
                break
    solver.last_error, solver.last_group = worst, worst_group
    return worst
