"""Integrate from one event boundary to the next, in one step or in as many as the tolerances require.

Adaptive steps are measured in microseconds from the start of the interval, as float64. Whole microseconds (the default)
are exact, and the last step is always the exact remainder, so the interval ends on its boundary. A remainder shorter
than `h_min` is integrated in one step, and a step cut short by a boundary does not shorten the next one.

The first slope is evaluated again after each accepted step, although Dormand-Prince and Bogacki-Shampine could reuse
the last one: the projection may have moved the state in between.

**Kinks.** Where the plant changes its regime (a motor passes its no-load current, a leg touches the ground), the step
across the kink loses its order, and its error estimate is unreliable. A step that starts and ends in different regimes
is accepted only if its error is below `kink_tolerance` times the usual tolerance, or if it is as short as `h_min`. The
steps shrink towards the kink until the one that contains it contributes almost no error; then the step size returns to
its previous value.

**Contact.** A fixed step ignores kinks, unless `splits_at_contact` is set. Then bisection finds the longest step, in
whole microseconds, after which the same points touch the ground as before it. That step is taken, then one of a
microsecond, and the remainder of the interval follows in the same way. A vehicle too high to touch the ground takes
plain steps, without the further evaluation that shows what touches it.
"""

import math

import numpy as np

from px4lockstep.integrators.error_norm import error_norm, write_error
from px4lockstep.integrators.step import combine, take_slopes
from px4lockstep.jit import kernel
from px4lockstep.math.exponential import pow
from px4lockstep.plant.layout import MAX_STATES
from px4lockstep.vehicle.contact import TOUCHING
from px4lockstep.vehicle.dispatch import is_clear, project, settle

FIRST = np.int64(0)

REACHED, TOO_MANY_SUBSTEPS, NOT_FINITE = map(np.int64, range(3))


@kernel
def step_factor(error, solver):
    """Return the factor from this step size to the next."""
    if error <= solver.error_for_max_factor:
        return solver.max_factor
    if not math.isfinite(error):
        return solver.min_factor
    factor = solver.safety * pow(error, solver.error_exponent)
    return min(max(factor, solver.min_factor), solver.max_factor)


@kernel
def accept(h_s, state, inputs, plant, solver, work):
    """Copy the trial state to the state, with closed forms where the plant has them, and project it into its bounds."""
    settle(h_s, state, inputs, plant, work.trial)
    for i in range(min(plant.n_x, MAX_STATES)):
        state.x[i] = work.trial.x[i]
    solver.projected += project(state, plant)
    solver.accepted += 1


@kernel
def adapt_step(error, h_us, is_cut, solver):
    """Choose the next step size; an accurate step that a boundary or a kink cut short does not reduce it."""
    factor = step_factor(error, solver)
    if not is_cut or factor < 1.0 or h_us * factor > solver.h_us:
        solver.h_us = min(max(h_us * factor, solver.h_min_us), solver.h_max_us)


@kernel
def changes_regime(start, end):
    """Return whether the plant's regime differs between the slopes at the start and at the end of a step."""
    return start.regime != end.regime or start.contact_regime != end.contact_regime


@kernel
def changes_contact(start, end):
    """Return whether other points touch the ground at the end of a step than at its start."""
    return (start.contact_regime ^ end.contact_regime) & TOUCHING != 0


@kernel
def integrate_split(start_us, interval_us, state, inputs, plant, solver, work):
    """Advance the state by an interval with fixed steps that end where the contact with the ground changes."""
    n_stages = solver.tableau.n_stages
    done_us, attempts = 0.0, 0
    first = FIRST  # first slope to evaluate: after a step that is too long, slope 0 is still valid
    try_us = interval_us
    same_us, other_us = 0.0, interval_us  # lengths known to end without and with a change of contact
    while done_us < interval_us:
        h_us = max(1.0, try_us)
        is_last = h_us >= interval_us - done_us
        if is_last:
            h_us = interval_us - done_us
        if attempts >= solver.max_substeps:
            return TOO_MANY_SUBSTEPS
        attempts += 1
        solver.last_h_us = h_us
        solver.last_offset_us = done_us

        h_s = h_us / 1e6
        t_s = (start_us + done_us) / 1e6
        take_slopes(t_s, h_s, state, inputs, plant, solver.tableau, work, first, n_stages + 1)
        solver.evaluations += n_stages + 1 - first
        has_changed = changes_contact(work.k[0], work.k[n_stages])
        same_us, other_us = (same_us, h_us) if has_changed else (h_us, other_us)
        is_found = other_us - same_us <= 1.0
        first = FIRST + 1
        if (is_found and (h_us == same_us or same_us == 0.0)) or (is_last and not has_changed):
            accept(h_s, state, inputs, plant, solver, work)
            first = FIRST
            done_us = interval_us if is_last else done_us + h_us
            same_us, other_us = 0.0, interval_us - done_us
            try_us = other_us if has_changed else 1.0
        else:
            try_us = same_us if is_found else float(math.floor(0.5 * (same_us + other_us)))
    return REACHED


@kernel
def integrate(t0_us, t1_us, state, inputs, plant, solver, work):
    """Advance the state to the next boundary with its inputs held; return `REACHED` or the code of the failure."""
    n_stages = solver.tableau.n_stages
    start_us = float(t0_us)
    interval_us = float(t1_us - t0_us)
    may_touch = solver.is_adaptive == 0 and solver.splits_at_contact != 0 and not is_clear(state, plant)
    if solver.is_adaptive == 0 and not may_touch:
        h_s = interval_us / 1e6
        take_slopes(start_us / 1e6, h_s, state, inputs, plant, solver.tableau, work, FIRST, n_stages)
        combine(plant.n_x, h_s, state, work, solver.tableau, n_stages)
        solver.evaluations += n_stages
        may_touch = solver.splits_at_contact != 0 and not is_clear(work.trial, plant)
        if not may_touch:
            accept(h_s, state, inputs, plant, solver, work)
            return REACHED
    if may_touch:
        return integrate_split(start_us, interval_us, state, inputs, plant, solver, work)

    done_us, attempts = 0.0, 0
    first = FIRST  # first slope to evaluate: after a rejected step, slope 0 is still valid
    up_to_kink_us = solver.h_max_us  # step limit until the detected kink has been passed
    kink_by_us = 0.0  # offset by which the kink has been passed
    while done_us < interval_us:
        remaining_us = interval_us - done_us
        h_us = min(solver.h_us, up_to_kink_us)
        if solver.is_quantized != 0:
            h_us = max(1.0, float(math.floor(h_us)))
        is_last = h_us >= remaining_us
        if is_last:
            h_us = remaining_us
        if attempts >= solver.max_substeps:
            return TOO_MANY_SUBSTEPS
        attempts += 1
        solver.last_h_us = h_us
        solver.last_offset_us = done_us

        h_s = h_us / 1e6
        t_s = (start_us + done_us) / 1e6
        take_slopes(t_s, h_s, state, inputs, plant, solver.tableau, work, first, n_stages + 1)
        solver.evaluations += n_stages + 1 - first
        write_error(h_s, plant, solver.tableau, work)
        error = error_norm(state, plant, solver, work)
        has_kink = solver.kink_tolerance < 1.0 and changes_regime(work.k[0], work.k[n_stages])
        limit = solver.kink_tolerance if has_kink else 1.0

        is_shortest = h_us <= solver.h_min_us
        if error <= limit or (is_shortest and math.isfinite(error)):
            accept(h_s, state, inputs, plant, solver, work)
            first = FIRST
            if error > 1.0:
                if solver.forced == 0:
                    solver.first_forced_us = start_us + done_us
                solver.forced += 1
            done_us = interval_us if is_last else done_us + h_us
            adapt_step(error, h_us, is_last or up_to_kink_us < solver.h_us, solver)
            if has_kink or done_us >= kink_by_us:
                up_to_kink_us = solver.h_max_us
        elif is_shortest:
            return NOT_FINITE
        else:
            solver.rejected += 1
            first = FIRST + 1
            if has_kink and math.isfinite(error):
                up_to_kink_us = max(h_us * step_factor(error / limit, solver), solver.h_min_us)
                kink_by_us = done_us + h_us
            else:
                adapt_step(error, h_us, is_last, solver)
    return REACHED
