"""From one boundary to the next: one step, or as many as the tolerances ask for.

Adaptive steps are counted in microseconds from the start of the interval, as float64: whole ones (the default) are
exact, and the last step is always the exact remainder, so that the interval ends on its boundary. A remainder shorter
than `h_min` is taken as it is, and a step cut short by a boundary does not shorten the next.

The first slope is taken anew after each accepted step, though Dormand-Prince and Bogacki-Shampine could reuse the
last one: the projection has moved the state since.
"""

import math

from px4lockstep.integrators.error_norm import error_norm, write_error
from px4lockstep.integrators.step import accept, try_step
from px4lockstep.jit import kernel
from px4lockstep.math.exponential import pow
from px4lockstep.plants.plant import project, rhs

REACHED = 0
TOO_MANY_SUBSTEPS = 1
NOT_FINITE = 2


@kernel
def integrate(t0_us, t1_us, state, inputs, plant, solver, work):
    """Advance the state from one boundary to the next with its inputs held; return `REACHED` or what went wrong."""
    if solver.is_adaptive != 0:
        return integrate_adaptive(t0_us, t1_us, state, inputs, plant, solver, work)
    t_s = float(t0_us) * 1e-6
    rhs(t_s, state, inputs, plant, work.k[0])
    try_step(t_s, float(t1_us - t0_us) * 1e-6, state, inputs, plant, solver.tableau, work)
    accept(state, plant, work)
    solver.projected += project(state, plant)
    solver.evaluations += solver.tableau.n_stages
    solver.accepted += 1
    return REACHED


@kernel
def integrate_adaptive(t0_us, t1_us, state, inputs, plant, solver, work):
    """Advance the state by steps whose error stays within the tolerances."""
    start_us = float(t0_us)
    interval_us = float(t1_us - t0_us)
    done_us = 0.0
    attempts = 0
    is_new = True  # the state has moved since its slope was taken
    while done_us < interval_us:
        remaining_us = interval_us - done_us
        h_us = solver.h_us
        if solver.is_quantized != 0:
            h_us = max(1.0, float(math.floor(h_us)))
        is_cut = h_us >= remaining_us
        if is_cut:
            h_us = remaining_us
        solver.last_h_us = h_us
        solver.last_offset_us = done_us
        if attempts >= solver.max_substeps:
            return TOO_MANY_SUBSTEPS
        attempts += 1

        t_s = (start_us + done_us) * 1e-6
        h_s = h_us * 1e-6
        if is_new:
            rhs(t_s, state, inputs, plant, work.k[0])
            solver.evaluations += 1
            is_new = False
        try_step(t_s, h_s, state, inputs, plant, solver.tableau, work)
        rhs(t_s + h_s, work.trial, inputs, plant, work.k[solver.tableau.n_stages])
        write_error(h_s, plant, solver.tableau, work)
        solver.evaluations += solver.tableau.n_stages
        error = error_norm(state, plant, solver, work)

        is_shortest = h_us <= solver.h_min_us
        factor = step_factor(error, solver)
        if error <= 1.0 or (is_shortest and math.isfinite(error)):
            accept(state, plant, work)
            solver.projected += project(state, plant)
            is_new = True
            done_us = interval_us if is_cut else done_us + h_us
            solver.accepted += 1
            if error > 1.0:
                solver.forced += 1
            if not is_cut or factor < 1.0 or h_us * factor > solver.h_us:
                solver.h_us = min(max(h_us * factor, solver.h_min_us), solver.h_max_us)
        elif is_shortest:
            return NOT_FINITE
        else:
            solver.rejected += 1
            solver.h_us = max(h_us * factor, solver.h_min_us)
    return REACHED


@kernel
def step_factor(error, solver):
    """Return by how much the next step may be longer (or must be shorter) than this one."""
    if error <= solver.error_for_max_factor:
        return solver.max_factor
    if not math.isfinite(error):
        return solver.min_factor
    factor = solver.safety * pow(error, solver.error_exponent)
    return min(max(factor, solver.min_factor), solver.max_factor)
