"""One explicit Runge-Kutta step with any tableau.

The stages are not normalized: within a step a quaternion leaves the unit sphere by an error of the method's order. The
projection normalizes it once, after the step is accepted.
"""

from px4lockstep.jit import kernel
from px4lockstep.plant.layout import MAX_STATES
from px4lockstep.vehicle.dispatch import rhs


@kernel
def combine(n_x, h_s, state, work, tableau, row):
    """Write x + h Σ_{j<row} a[row, j] k_j to `work.trial`.

    There is one loop per number of terms, each a sum of products over the slopes in their order.
    """
    n = min(n_x, MAX_STATES)  # lets the compiler omit the bounds checks
    x = state.x
    y = work.trial.x
    first = tableau.leading_zeros[row]
    terms = row - first
    if terms == 0:
        for i in range(n):
            y[i] = x[i]
        return
    a0, k0 = tableau.a[row, first], work.k[first].x
    if terms == 1:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i])
        return
    a1, k1 = tableau.a[row, first + 1], work.k[first + 1].x
    if terms == 2:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i])
        return
    a2, k2 = tableau.a[row, first + 2], work.k[first + 2].x
    if terms == 3:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i] + a2 * k2[i])
        return
    a3, k3 = tableau.a[row, first + 3], work.k[first + 3].x
    if terms == 4:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i] + a2 * k2[i] + a3 * k3[i])
        return
    a4, k4 = tableau.a[row, first + 4], work.k[first + 4].x
    if terms == 5:
        for i in range(n):
            y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i] + a2 * k2[i] + a3 * k3[i] + a4 * k4[i])
        return
    a5, k5 = tableau.a[row, first + 5], work.k[first + 5].x
    for i in range(n):
        y[i] = x[i] + h_s * (a0 * k0[i] + a1 * k1[i] + a2 * k2[i] + a3 * k3[i] + a4 * k4[i] + a5 * k5[i])


@kernel
def take_slopes(t_s, h_s, state, inputs, plant, tableau, work, first, stop):
    """Evaluate the slopes from `first` up to, but not including, `stop`; `work.trial` holds the last trial state.

    Slope 0 is at the state itself, slope `n_stages` at the new state; only an error estimate needs the latter.
    """
    for stage in range(first, stop):
        combine(plant.n_x, h_s, state, work, tableau, stage)
        rhs(t_s + tableau.c[stage] * h_s, work.trial, inputs, plant, work.k[stage])
