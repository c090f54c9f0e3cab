"""The multirotor: all models coupled into one right-hand side.

The state is a flat array: position and velocity (NED), `q_bn`, body rates; outputs of actuators that are not direct,
then the rates of second-order actuators; rotor speeds; state of charge, then polarization voltage, of each battery. An
aircraft has only the states that it needs; their start indices are in its parameters.

    v̇ = (R_bn F_body + F_drag + F_contact) / m + g
    F_body = Σ −T_i a_i,   τ = Σ r_i × (−T_i a_i) + a_i s_i Q_i     and rotor drag (`rotor_drag`)

    H = Σ −s_i J_i ω_i a_i,   −Ḣ = Σ s_i J_i ω̇_i a_i

`a_i` is the axis of the rotor (+z, down, for a normal multirotor: thrust acts along −axis), `s_i` the sign of the
reaction torque on the body about it; the rotor spins in the opposite direction. For the regime of the derivative, see
`regime`.
"""

from px4lockstep.environment.atmosphere import density_kg_m3, temperature_k
from px4lockstep.environment.gravity import GRAVITY, gravity_down_m_s2
from px4lockstep.jit import call_void, inlined_kernel, kernel, record
from px4lockstep.math.quaternion import derivative, to_dcm
from px4lockstep.plant.layout import ATT_START, MAX_MOTORS, OMEGA_START, VEL_START
from px4lockstep.vehicle.actuators import ACTUATION, DIRECT, project_actuators, write_actuator_rates
from px4lockstep.vehicle.battery import charge_rates, warning_of
from px4lockstep.vehicle.contact import CONTACT, contact_wrench
from px4lockstep.vehicle.contact import NONE as NO_CONTACT
from px4lockstep.vehicle.drag import BODY_QUADRATIC, DRAG, quadratic_drag_body
from px4lockstep.vehicle.ground_effect import thrust_gain
from px4lockstep.vehicle.kinematics import air_rel_vehicle, attitude, axial_velocity, body_rates, velocity
from px4lockstep.vehicle.motor import LAG, esc_duty, motor_current, spin_acceleration
from px4lockstep.vehicle.power import POWER, bus_voltage, drawn_by_avionics, rotor_slots
from px4lockstep.vehicle.propeller_table import MAX_TABLES, TABLE
from px4lockstep.vehicle.propulsion import PROPULSION, propeller_load
from px4lockstep.vehicle.rigid_body import BODY, angular_acceleration
from px4lockstep.vehicle.rotor_drag import DISK, rotor_drag_wrench
from px4lockstep.vehicle.rotor_drag import NONE as NO_ROTOR_DRAG

ROTOR = record(
    [
        ("axis", "f8", 3),
        ("moment_arm", "f8", 3),  # −r × a: torque per thrust [m]
        ("reaction_axis", "f8", 3),  # s a: axis of the reaction torque on the body; the rotor spins against it
        ("bus", "i8"),
        ("propulsion", PROPULSION),
        # Relative to rotor 1, so that they are exactly 1 for equal rotors: 1 / (η R), Ke / (η R), J
        ("drive_ratio back_emf_ratio inertia_ratio", "f8"),
    ]
)

SPECIAL_UNITS = "special_rates_address special_outputs_address"
"""Addresses of functions that are compiled for aircraft with special rotors only."""

MULTIROTOR = record(
    [
        ("body", BODY),
        ("drag", DRAG),
        ("gravity", GRAVITY),
        ("home_alt_m", "f8"),
        ("n_rotors", "i8"),
        ("rotors_differ", "i8"),  # 0: all rotors have the propulsion of rotor 1
        ("i_act i_rotor i_soc i_v1", "i8"),  # start indices in the state
        ("rotors", ROTOR, MAX_MOTORS),
        ("power", POWER),
        ("contact", CONTACT),
        ("actuation", ACTUATION),
        ("rotor_drag has_ground_effect", "i8"),  # `rotor_drag.IN_ONE_PLANE` …
        ("rolling_per_drag", "f8"),  # c_r / c_d [m], in one plane
        ("disks", DISK, MAX_MOTORS),
        ("is_special", "i8"),  # 1: first-order motors, or a propeller from a table: `special_rotor`
        (SPECIAL_UNITS, "i8"),  # 0: not special
        ("is_lagged", "i8"),  # 1: first-order motors
        ("table_of", "i8", MAX_MOTORS),  # -1: none
        ("lags", LAG, MAX_MOTORS),
        ("tables", TABLE, MAX_TABLES),
        ("has_cutoff", "i8"),  # 0: no ESC has a cut-off voltage
        ("cutoff_v", "f8", MAX_MOTORS),  # of each ESC; 0: none
    ],
    transient=SPECIAL_UNITS,
)


@inlined_kernel
def applied_duty(state, inputs, m, i):
    """Return the duty that the ESC of rotor i applies.

    This is the actuator output after the deadzone of the ESC, unless the motor is disabled (0) or stuck.
    """
    faults = inputs.faults
    disabled, stuck = faults.motor_disabled_mask, faults.motor_stuck_mask
    if ((disabled | stuck) >> i) & 1:
        return 0.0 if (disabled >> i) & 1 else faults.stuck_duty[i]
    if m.actuation.motor.kind == DIRECT:
        return inputs.rotor_duty[i]
    if (faults.motor_cut_off_mask >> i) & 1:
        return 0.0
    return esc_duty(m.rotors[i].propulsion, state.x[m.i_act + i])


@inlined_kernel
def write_duties(state, inputs, m, duties):
    """Write the duty of each ESC to the rotor slots of `duties.x`."""
    i_rotor, n_rotors = rotor_slots(m)
    for i in range(n_rotors):
        duties.x[i_rotor + i] = applied_duty(state, inputs, m, i)


@inlined_kernel
def connected_voltage(m, b, state, inputs, duties):
    """Return voltage [V] and avionics current at V0 [A] of a bus with electrical motors; 0 if it is disconnected."""
    return bus_voltage(m, b, state, duties) if inputs.faults.battery_disconnected == 0 else (0.0, 0.0)


@kernel
def cut_off(inputs, m, bus_voltage_v):
    """Stop the motors whose bus is below the cut-off voltage of their ESC; release those whose command is 0."""
    faults = inputs.faults
    for i in range(m.n_rotors):
        if m.cutoff_v[i] > 0.0:
            command = inputs.command.motors[m.actuation.motor_channel[i]]
            if esc_duty(m.rotors[i].propulsion, command) <= 0.0:
                faults.motor_cut_off_mask &= ~(1 << i)
            elif bus_voltage_v[m.rotors[i].bus] < m.cutoff_v[i]:
                faults.motor_cut_off_mask |= 1 << i


@kernel
def autopilot_tick(inputs, m, outputs):
    """Decide which ESCs cut off, and set the duties of direct motors, held until the next autopilot tick."""
    if m.has_cutoff != 0:
        cut_off(inputs, m, outputs.bus_voltage_v)
    if m.actuation.motor.kind == DIRECT:
        for i in range(m.n_rotors):
            command = inputs.command.motors[m.actuation.motor_channel[i]]
            duty = esc_duty(m.rotors[i].propulsion, command)
            inputs.rotor_duty[i] = 0.0 if (inputs.faults.motor_cut_off_mask >> i) & 1 else duty


@kernel
def left_of_thrust(faults, i, thrust):
    """Return the thrust of a rotor after a thrust-loss fault; the fault does not change its torque."""
    return thrust * (1.0 - faults.thrust_loss[i]) if (faults.motor_weak_mask >> i) & 1 else thrust


@inlined_kernel
def hold_bus_current(m, b, current_a, dstate):
    """Write the current of a bus to the slots of its batteries, for `write_battery_rates`."""
    for j in range(m.power.n_batteries):
        if m.power.batteries[j].bus == b:
            dstate.x[m.i_soc + j] = current_a


@kernel
def write_battery_rates(m, state, dstate):
    """Write the derivatives of the batteries, which share the current of their bus (`hold_bus_current`)."""
    for j in range(m.power.n_batteries):
        battery = m.power.batteries[j]
        i_soc, i_v1 = m.i_soc + j, m.i_v1 + j
        rates = charge_rates(battery, state.x[i_soc], state.x[i_v1], battery.share * dstate.x[i_soc])
        dstate.x[i_soc] = rates[0]
        dstate.x[i_v1] = rates[1]


@kernel
def rhs(state, inputs, m, dstate):
    """Write the derivative and the regime of the whole aircraft."""
    x = state.x
    dx = dstate.x
    density = density_kg_m3(m.home_alt_m - x[2])
    q_bn = attitude(state)
    vel = velocity(state)
    omega_body = body_rates(state)
    dcm = to_dcm(q_bn)
    v_air_rel_vehicle = air_rel_vehicle(state, inputs, dcm)

    # The slots of the rotor accelerations hold the duties until the accelerations are computed.
    i_rotor, n_rotors = rotor_slots(m)
    write_duties(state, inputs, m, dstate)
    dstate.regime = 0
    dstate.contact_regime = 0
    fx, fy, fz = 0.0, 0.0, 0.0
    tx, ty, tz = 0.0, 0.0, 0.0
    hx, hy, hz = 0.0, 0.0, 0.0
    gx, gy, gz = 0.0, 0.0, 0.0
    n_buses = m.power.n_buses
    if m.is_special != 0:  # instead of the loop below; the sums come in slots that are written last
        call_void(m.special_rates_address, state, inputs, m, dstate)
        fx, fy, fz = dx[0], dx[1], dx[2]
        tx, ty, tz = dx[3], dx[4], dx[5]
        hx, hy, hz = dx[6], dx[7], dx[8]
        gx, gy, gz = dx[9], dx[10], dx[11]
        n_buses = 0
    p = m.rotors[0].propulsion
    for b in range(n_buses):
        voltage, solved_a = connected_voltage(m, b, state, inputs, dstate)
        bus_a = drawn_by_avionics(m.power.buses[b], voltage, solved_a)
        for i in range(n_rotors):
            rotor = m.rotors[i]
            if rotor.bus == b:
                if m.rotors_differ != 0:
                    p = rotor.propulsion
                omega, duty = x[i_rotor + i], dx[i_rotor + i]
                axial = axial_velocity(rotor, v_air_rel_vehicle)
                current = motor_current(p, duty, voltage, omega)
                thrust, torque = propeller_load(p, density, omega, axial)
                if m.has_ground_effect != 0:
                    thrust *= thrust_gain(m.disks[i].pos_body_m, p.radius_m, dcm, x[2])
                dstate.thrust_n[i] = left_of_thrust(inputs.faults, i, thrust)
                dstate.torque_nm[i] = torque
                dx[i_rotor + i] = spin_acceleration(p, omega, current, torque)
                bus_a += duty * current * p.inverse_eta
        # A loop of its own, so that the processor works on several rotors at once in the one above.
        for i in range(n_rotors):
            rotor = m.rotors[i]
            if rotor.bus == b:
                omega, spin = x[i_rotor + i], dx[i_rotor + i]
                thrust, torque = dstate.thrust_n[i], dstate.torque_nm[i]
                axis, arm, reaction = rotor.axis, rotor.moment_arm, rotor.reaction_axis
                fx -= thrust * axis[0]
                fy -= thrust * axis[1]
                fz -= thrust * axis[2]
                tx += thrust * arm[0] + torque * reaction[0]
                ty += thrust * arm[1] + torque * reaction[1]
                tz += thrust * arm[2] + torque * reaction[2]
                # H = -J h and -dH/dt = J g with rotor 1's J: the rotor spins against its reaction
                if m.rotors_differ != 0:
                    omega *= rotor.inertia_ratio
                    spin *= rotor.inertia_ratio
                hx += omega * reaction[0]
                hy += omega * reaction[1]
                hz += omega * reaction[2]
                gx += spin * reaction[0]
                gy += spin * reaction[1]
                gz += spin * reaction[2]
        hold_bus_current(m, b, bus_a, dstate)

    if m.rotor_drag != NO_ROTOR_DRAG:
        force, moment = rotor_drag_wrench(m, state, density, v_air_rel_vehicle, omega_body)
        fx += force[0]
        fy += force[1]
        fz += force[2]
        tx += moment[0]
        ty += moment[1]
        tz += moment[2]
    if m.drag.kind == BODY_QUADRATIC:
        drag = quadratic_drag_body(m.drag, density, v_air_rel_vehicle)
        fx += drag[0]
        fy += drag[1]
        fz += drag[2]
    fn = dcm[0] * fx + dcm[1] * fy + dcm[2] * fz
    fe = dcm[3] * fx + dcm[4] * fy + dcm[5] * fz
    fd = dcm[6] * fx + dcm[7] * fy + dcm[8] * fz
    if m.drag.kind != BODY_QUADRATIC:
        fn += m.drag.linear_n_s_m * (inputs.wind_ned[0] - vel[0])
        fe += m.drag.linear_n_s_m * (inputs.wind_ned[1] - vel[1])
        fd += m.drag.linear_n_s_m * (inputs.wind_ned[2] - vel[2])
    if m.contact.kind != NO_CONTACT:
        force, moment = contact_wrench(m.contact, dcm, x[2], vel, omega_body, (fn, fe), dstate)
        fn += force[0]
        fe += force[1]
        fd += force[2]
        tx += moment[0]
        ty += moment[1]
        tz += moment[2]

    dx[0], dx[1], dx[2] = vel
    dx[VEL_START] = fn * m.body.inverse_mass
    dx[VEL_START + 1] = fe * m.body.inverse_mass
    dx[VEL_START + 2] = fd * m.body.inverse_mass + gravity_down_m_s2(m.gravity, x[2])
    dx[ATT_START], dx[ATT_START + 1], dx[ATT_START + 2], dx[ATT_START + 3] = derivative(q_bn, omega_body)
    inertia = m.rotors[0].propulsion.rotor_inertia
    torque_body = (tx + inertia * gx, ty + inertia * gy, tz + inertia * gz)
    momentum = (-inertia * hx, -inertia * hy, -inertia * hz)
    angular = angular_acceleration(m.body, omega_body, torque_body, momentum)
    dx[OMEGA_START], dx[OMEGA_START + 1], dx[OMEGA_START + 2] = angular

    # Last, where few values are live: calls within the loop over the buses would spill the sums.
    write_battery_rates(m, state, dstate)
    write_actuator_rates(m.actuation, m, state, inputs, dstate)


@kernel
def write_loads(state, inputs, m, duties, dcm, outputs):
    """Write loads, currents and voltages of electrical motors; `duties` holds the duties as in `rhs`."""
    v_air_rel_vehicle = air_rel_vehicle(state, inputs, dcm)
    for b in range(m.power.n_buses):
        voltage, solved_a = connected_voltage(m, b, state, inputs, duties)
        bus_a = drawn_by_avionics(m.power.buses[b], voltage, solved_a)
        for i in range(m.n_rotors):
            rotor = m.rotors[i]
            if rotor.bus != b:
                continue
            p = rotor.propulsion
            omega, duty = state.x[m.i_rotor + i], duties.x[m.i_rotor + i]
            axial = axial_velocity(rotor, v_air_rel_vehicle)
            thrust, torque = propeller_load(p, outputs.air_density_kg_m3, omega, axial)
            if m.has_ground_effect != 0:
                thrust *= thrust_gain(m.disks[i].pos_body_m, p.radius_m, dcm, state.x[2])
            current = motor_current(p, duty, voltage, omega)
            outputs.rotor_thrust_n[i] = left_of_thrust(inputs.faults, i, thrust)
            outputs.rotor_torque_nm[i] = torque
            outputs.motor_current_a[i] = current
            bus_a += duty * current * p.inverse_eta
        outputs.bus_voltage_v[b] = voltage
        outputs.bus_current_a[b] = bus_a


@kernel
def write_outputs(state, inputs, m, scratch, outputs):
    """Write loads, currents, voltages, battery status and air data; `scratch` is a state buffer."""
    x = state.x
    outputs.air_density_kg_m3 = density_kg_m3(m.home_alt_m - x[2])
    outputs.air_temperature_k = temperature_k(m.home_alt_m - x[2])
    dcm = to_dcm(attitude(state))
    v_air_rel_vehicle = air_rel_vehicle(state, inputs, dcm)
    outputs.air_vel_body[0], outputs.air_vel_body[1], outputs.air_vel_body[2] = v_air_rel_vehicle
    write_duties(state, inputs, m, scratch)
    for i in range(m.n_rotors):
        outputs.rotor_duty[i] = scratch.x[m.i_rotor + i]
    if m.is_special != 0:
        call_void(m.special_outputs_address, state, inputs, m, scratch, outputs)
    else:
        write_loads(state, inputs, m, scratch, dcm, outputs)
    for j in range(m.power.n_batteries):
        battery, status = m.power.batteries[j], outputs.battery[j]
        status.voltage_v = outputs.bus_voltage_v[battery.bus]
        status.current_a = battery.share * outputs.bus_current_a[battery.bus]
        status.remaining = max(0.0, x[m.i_soc + j])
        status.warning = warning_of(battery, x[m.i_soc + j])


@kernel
def project(state, m):
    """Limit rotor speeds, charge and actuators to their bounds; return the number of states that changed."""
    x = state.x
    moved = 0
    for i in range(m.i_rotor, m.i_rotor + m.n_rotors):
        if x[i] < 0.0:
            x[i] = 0.0
            moved += 1
    for j in range(m.power.n_batteries):
        i = m.i_soc + j
        empty_soc = m.power.batteries[j].empty_soc
        if not empty_soc <= x[i] <= 1.0:
            x[i] = min(max(x[i], empty_soc), 1.0)
            moved += 1
    return moved + project_actuators(m.actuation, m, state)
