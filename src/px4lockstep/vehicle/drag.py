"""Fuselage drag, with two models; u is `v_vehicle_rel_air`, the velocity of the vehicle relative to the air.

    linear           F = −c u                          in world axes, independent of attitude
    body_quadratic   F_i = −½ ρ (CdA)_i |u| u_i        along each body axis

The Iris uses `linear`, which is simple but wrong in tilted flight; `body_quadratic` is better there. Both are valid
well below Mach 0.3. Rotor drag is not modelled.
"""

import math

from px4lockstep.jit import kernel, record

LINEAR, BODY_QUADRATIC = range(2)
KINDS = {"linear": LINEAR, "body_quadratic": BODY_QUADRATIC}

DRAG = record([("kind", "i8"), ("linear_n_s_m", "f8"), ("drag_area_body_m2", "f8", 3)])


@kernel
def quadratic_drag_body(drag, density_kg_m3, v_air_rel_vehicle):
    """Return the quadratic drag [N] in body axes from `v_air_rel_vehicle` = −u, which it is along."""
    air = v_air_rel_vehicle
    half_rho_speed = 0.5 * density_kg_m3 * math.sqrt(air[0] * air[0] + air[1] * air[1] + air[2] * air[2])
    area = drag.drag_area_body_m2
    return half_rho_speed * area[0] * air[0], half_rho_speed * area[1] * air[1], half_rho_speed * area[2] * air[2]
