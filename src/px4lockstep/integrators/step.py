"""One explicit Runge-Kutta step, by whatever tableau.

The stages are not normalized: a quaternion leaves the unit sphere within a step by the order of the method, and is put
back once, by the projection, after the step is accepted.
"""

from px4lockstep.jit import kernel
from px4lockstep.plants.layout import MAX_STATES
from px4lockstep.plants.plant import rhs


@kernel
def combine(n_x, h_s, state, work, tableau, row):
    """Write x + h Σ_{j<row} a[row, j] k_j to `work.trial`.

    One loop per number of terms: a sum of products over the slopes for each state, in the order of the slopes.
    """
    n = min(n_x, MAX_STATES)  # which the compiler can't know, and needs to leave out the bounds checks
    x = state.x
    y = work.trial.x
    a = tableau.a
    k0 = work.k[0].x
    k1 = work.k[1].x
    k2 = work.k[2].x
    k3 = work.k[3].x
    k4 = work.k[4].x
    k5 = work.k[5].x
    a0, a1, a2, a3, a4, a5 = a[row, 0], a[row, 1], a[row, 2], a[row, 3], a[row, 4], a[row, 5]
    if row == 0:
        for i in range(n):
            y[i] = x[i]
    elif row == 1:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i])
    elif row == 2:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i])
    elif row == 3:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i] + a2 * k2[i])
    elif row == 4:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i] + a2 * k2[i] + a3 * k3[i])
    elif row == 5:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i] + a2 * k2[i] + a3 * k3[i] + a4 * k4[i])
    else:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i] + a2 * k2[i] + a3 * k3[i] + a4 * k4[i] + a5 * k5[i])


@kernel
def take_slopes(t_s, h_s, state, inputs, plant, tableau, work, first, stop):
    """Evaluate the slopes from `first` up to, not including, `stop`; each state that is tried is left in `work.trial`.

    Slope 0 is at the state itself, slope `n_stages` at the new state, which only an error estimate needs.
    """
    for stage in range(first, stop):
        combine(plant.n_x, h_s, state, work, tableau, stage)
        rhs(t_s + tableau.c[stage] * h_s, work.trial, inputs, plant, work.k[stage])
