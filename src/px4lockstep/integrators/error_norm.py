"""How large the error of a step is, in units of its tolerance, and in which group of states it is largest.

pos, vel, omega        |e| / (atol + rtol max(|x|, |x'|)),        Euclidean norms
att                    2 |e| / atol,                              a small quaternion error is half the angle
all others             max_i |e_i| / (atol + rtol max(|x_i|, |x'_i|))
"""

import math

from px4lockstep.jit import kernel
from px4lockstep.plants.layout import ACT, ATT, GROUPS

GROUP_COUNT = len(GROUPS)


@kernel
def write_error(h_s, plant, tableau, work):
    """Write the error estimate h Σ e_j k_j to `work.error`."""
    e = tableau.e
    error = work.error.x
    k0, k1, k2, k3 = work.k[0].x, work.k[1].x, work.k[2].x, work.k[3].x
    if tableau.n_error_slopes == 4:
        for i in range(plant.n_x):
            error[i] = h_s * (e[0] * k0[i] + e[1] * k1[i] + e[2] * k2[i] + e[3] * k3[i])
    else:
        k4, k5, k6 = work.k[4].x, work.k[5].x, work.k[6].x
        for i in range(plant.n_x):
            error[i] = h_s * (
                e[0] * k0[i] + e[1] * k1[i] + e[2] * k2[i] + e[3] * k3[i] + e[4] * k4[i] + e[5] * k5[i] + e[6] * k6[i]
            )


@kernel
def vector_error(start, stop, rtol, atol, error, old, new):
    """Return the scaled error of a vector, by Euclidean norms."""
    error_squared = 0.0
    old_squared = 0.0
    new_squared = 0.0
    for i in range(start, stop):
        error_squared += error[i] * error[i]
        old_squared += old[i] * old[i]
        new_squared += new[i] * new[i]
    return math.sqrt(error_squared) / (atol + rtol * math.sqrt(max(old_squared, new_squared)))


@kernel
def largest_error(start, stop, rtol, atol, error, old, new):
    """Return the largest scaled error of independent states."""
    largest = 0.0
    for i in range(start, stop):
        scaled = abs(error[i]) / (atol + rtol * max(abs(old[i]), abs(new[i])))
        if not scaled <= largest:  # keeps a NaN
            largest = scaled
    return largest


@kernel
def error_norm(state, plant, solver, work):
    """Return the largest scaled error of the groups, and note in the solver which group it was."""
    error = work.error.x
    worst = 0.0
    worst_group = 0
    for group in range(GROUP_COUNT):
        start = plant.group_start[group]
        stop = plant.group_stop[group]
        if stop == start or solver.is_controlled[group] == 0:
            continue
        rtol = solver.rtol[group]
        atol = solver.atol[group]
        if group == ATT:
            scaled = 2.0 * vector_error(start, stop, rtol, atol, error, state.x, work.trial.x)
        elif group < ACT:
            scaled = vector_error(start, stop, rtol, atol, error, state.x, work.trial.x)
        else:
            scaled = largest_error(start, stop, rtol, atol, error, state.x, work.trial.x)
        if not scaled <= worst:  # keeps a NaN
            worst = scaled
            worst_group = group
    solver.last_error = worst
    solver.last_group = worst_group
    return worst
