"""Rotors with first-order motors or with propellers from a table; most rotors have neither.

The functions of an aircraft with such rotors are called by address, and compiled when the first one is built, so that
others neither wait for them nor become slower. The kernels use the `MULTIROTOR` record `m`. The power P of first-order
motors does not depend on the voltage unless it limits them, so that the voltage of their bus solves

    V² − (V0 − R0 I_a) V + R0 P = 0

with the current I_a of the avionics: the larger root, as the smaller one is unstable. If the voltage limits a motor, or
if the battery can't deliver the power, a voltage that satisfies V = V0 − R0 I(V) is found by bisection.
"""

import functools
import math

from px4lockstep.environment.atmosphere import density_kg_m3
from px4lockstep.jit import callback, kernel
from px4lockstep.jit.progress import reporter
from px4lockstep.math.quaternion import to_dcm
from px4lockstep.plant.inputs import INPUT
from px4lockstep.plant.layout import OUTPUTS, STATE
from px4lockstep.vehicle.ground_effect import thrust_gain
from px4lockstep.vehicle.kinematics import air_rel_vehicle, attitude, axial_velocity
from px4lockstep.vehicle.motor import commanded_speed, lagged_regime, lagged_spin, motor_current, spin_acceleration
from px4lockstep.vehicle.multirotor import MULTIROTOR, connected_voltage, hold_bus_current, left_of_thrust
from px4lockstep.vehicle.power import BISECTIONS, avionics_current, drawn_by_avionics, open_voltage
from px4lockstep.vehicle.propeller_table import load_value, speed_value
from px4lockstep.vehicle.propulsion import inflow_factors, propeller_load
from px4lockstep.vehicle.regime import MOTOR_BITS

RESIDUAL_LIMIT_V = 1e-10


@kernel
def rotor_load(m, i, density, omega, axial):
    """Return thrust [N] and torque [N m] of a propeller with or without a table."""
    p = m.rotors[i].propulsion
    if m.table_of[i] < 0:
        return propeller_load(p, density, omega, axial)
    table = m.tables[m.table_of[i]]
    thrust_factor, torque_factor = inflow_factors(p, omega, axial)
    thrust = load_value(table.thrust, omega) * thrust_factor
    return p.kt * density * thrust, p.kq * density * load_value(table.torque, omega) * torque_factor


@kernel
def first_order_motor(m, i, density, omega, duty, voltage, torque):
    """Return ω̇, the motor's current, its power from the bus, and its regime."""
    p = m.rotors[i].propulsion
    table = m.tables[max(m.table_of[i], 0)]
    commanded = commanded_speed(m.lags[i], duty)
    if m.table_of[i] >= 0 and table.speed.points > 0 and duty > 0.0:
        commanded = speed_value(table.speed, duty)
    target = min(commanded, voltage / p.ke)
    spin = lagged_spin(m.lags[i], target, omega)
    drive = p.rotor_inertia * spin + torque + p.viscous_nm_s * omega
    power = drive * omega * p.inverse_eta
    if m.table_of[i] >= 0 and table.power.points > 0:
        steady = p.kt * density * load_value(table.power, omega)
        power = steady + p.rotor_inertia * spin * omega * p.inverse_eta
    regime = lagged_regime(commanded, target, omega, min(drive, power))
    return spin, max(0.0, drive) / p.ke, max(0.0, power), regime


@kernel
def lagged_voltage(m, b, state, inputs, duties):
    """Return the voltage of a bus with first-order motors [V]; set the bits of `duties.regime`.

    The first values of `duties.x`, which are free, hold the torques of the propellers. One loop evaluates the open
    voltage, the root and the bisection, because each call of a kernel is compiled into this one.
    """
    bus = m.power.buses[b]
    density = density_kg_m3(m.home_alt_m - state.x[2])
    v_air_rel_vehicle = air_rel_vehicle(state, inputs, to_dcm(attitude(state)))
    for i in range(m.n_rotors):
        axial = axial_velocity(m.rotors[i], v_air_rel_vehicle)
        duties.x[i] = rotor_load(m, i, density, state.x[m.i_rotor + i], axial)[1]
    v0 = open_voltage(m, b, state)
    open_v = max(v0 - bus.r0_ohm * avionics_current(bus, v0), 0.0)
    low, high, v = 0.0, open_v, open_v
    regime = 0
    for k in range(BISECTIONS + 2):
        power = 0.0
        regime = 0
        for i in range(m.n_rotors):
            if m.rotors[i].bus == b:
                omega, duty = state.x[m.i_rotor + i], duties.x[m.i_rotor + i]
                own = first_order_motor(m, i, density, omega, duty, v, duties.x[i])
                power += own[2]
                regime |= own[3] << (MOTOR_BITS * i)
        drop = bus.r0_ohm * power / v if v > 0.0 else 0.0
        if abs(v + drop - open_v) <= RESIDUAL_LIMIT_V:
            break
        if k == 0:
            v = 0.5 * (open_v + math.sqrt(max(open_v * open_v - 4.0 * bus.r0_ohm * power, 0.0)))
        else:
            if v + drop > open_v:
                high = v
            else:
                low = v
            v = 0.5 * (low + high)
    duties.regime |= regime
    return max(v, bus.min_voltage_v)


@kernel
def special_rotor(m, i, density, omega, axial, duty, voltage):
    """Return thrust, torque, ω̇, motor current and bus current of a rotor of any kind."""
    p = m.rotors[i].propulsion
    thrust, torque = rotor_load(m, i, density, omega, axial)
    if m.is_lagged != 0:
        spin, current, power, _ = first_order_motor(m, i, density, omega, duty, voltage, torque)
        return thrust, torque, spin, current, power / voltage if voltage > 0.0 else 0.0
    current = motor_current(p, duty, voltage, omega)
    return thrust, torque, spin_acceleration(p, omega, current, torque), current, duty * current * p.inverse_eta


@kernel
def any_voltage(m, b, state, inputs, duties):
    """Return voltage [V] and avionics current at V0 [A] of a bus with motors of any kind; 0 if it is disconnected."""
    if m.is_lagged != 0 and inputs.faults.battery_disconnected == 0:
        solved_a = avionics_current(m.power.buses[b], open_voltage(m, b, state))
        return lagged_voltage(m, b, state, inputs, duties), solved_a
    return connected_voltage(m, b, state, inputs, duties)


@kernel
def rotor_thrust(m, i, state, inputs, dcm, thrust):
    """Return the thrust of a rotor with ground effect and after faults, from that in free air [N]."""
    if m.has_ground_effect != 0:
        thrust *= thrust_gain(m.disks[i].pos_body_m, m.rotors[i].propulsion.radius_m, dcm, state.x[2])
    return left_of_thrust(inputs.faults, i, thrust)


@kernel
def write_special_rates(state, inputs, m, dstate):
    """Write ω̇ of the rotors and the currents of the buses, and the sums that `rhs` forms to the first slots."""
    dx = dstate.x
    fx, fy, fz = 0.0, 0.0, 0.0
    tx, ty, tz = 0.0, 0.0, 0.0
    hx, hy, hz = 0.0, 0.0, 0.0
    gx, gy, gz = 0.0, 0.0, 0.0
    density = density_kg_m3(m.home_alt_m - state.x[2])
    dcm = to_dcm(attitude(state))
    v_air_rel_vehicle = air_rel_vehicle(state, inputs, dcm)
    for b in range(m.power.n_buses):
        voltage, solved_a = any_voltage(m, b, state, inputs, dstate)
        bus_a = drawn_by_avionics(m.power.buses[b], voltage, solved_a)
        for i in range(m.n_rotors):
            rotor = m.rotors[i]
            if rotor.bus != b:
                continue
            omega = state.x[m.i_rotor + i]
            axial = axial_velocity(rotor, v_air_rel_vehicle)
            duty = dx[m.i_rotor + i]
            thrust, torque, spin, _, drawn = special_rotor(m, i, density, omega, axial, duty, voltage)
            thrust = rotor_thrust(m, i, state, inputs, dcm, thrust)
            dx[m.i_rotor + i] = spin
            bus_a += drawn
            axis, arm, reaction = rotor.axis, rotor.moment_arm, rotor.reaction_axis
            fx, fy, fz = fx - thrust * axis[0], fy - thrust * axis[1], fz - thrust * axis[2]
            tx += thrust * arm[0] + torque * reaction[0]
            ty += thrust * arm[1] + torque * reaction[1]
            tz += thrust * arm[2] + torque * reaction[2]
            h, g = omega * rotor.inertia_ratio, spin * rotor.inertia_ratio
            hx, hy, hz = hx + h * reaction[0], hy + h * reaction[1], hz + h * reaction[2]
            gx, gy, gz = gx + g * reaction[0], gy + g * reaction[1], gz + g * reaction[2]
        hold_bus_current(m, b, bus_a, dstate)
    dx[0], dx[1], dx[2] = fx, fy, fz
    dx[3], dx[4], dx[5] = tx, ty, tz
    dx[6], dx[7], dx[8] = hx, hy, hz
    dx[9], dx[10], dx[11] = gx, gy, gz


@kernel
def write_special_outputs(state, inputs, m, duties, outputs):
    """Write loads, currents and voltages; `duties.x[i_rotor + i]` is the duty of rotor i."""
    dcm = to_dcm(attitude(state))
    v_air_rel_vehicle = air_rel_vehicle(state, inputs, dcm)
    for b in range(m.power.n_buses):
        voltage, solved_a = any_voltage(m, b, state, inputs, duties)
        bus_a = drawn_by_avionics(m.power.buses[b], voltage, solved_a)
        for i in range(m.n_rotors):
            if m.rotors[i].bus != b:
                continue
            omega, duty = state.x[m.i_rotor + i], duties.x[m.i_rotor + i]
            axial = axial_velocity(m.rotors[i], v_air_rel_vehicle)
            load = special_rotor(m, i, outputs.air_density_kg_m3, omega, axial, duty, voltage)
            outputs.rotor_thrust_n[i] = rotor_thrust(m, i, state, inputs, dcm, load[0])
            outputs.rotor_torque_nm[i] = load[1]
            outputs.motor_current_a[i] = load[3]
            bus_a += load[4]
        outputs.bus_voltage_v[b] = voltage
        outputs.bus_current_a[b] = bus_a


@functools.cache
def special_units() -> tuple[int, int]:
    """Return the addresses of the functions for rates and outputs; they are compiled on first use."""
    with reporter.together():
        rates = callback(write_special_rates, "void", (STATE, INPUT, MULTIROTOR, STATE))
        return rates, callback(write_special_outputs, "void", (STATE, INPUT, MULTIROTOR, STATE, OUTPUTS))
