"""A second implementation of the multirotor, with NumPy and from its equations, for comparison rather than speed.

It uses an `Aircraft`, and shares nothing else with the package: no parameter records, no kernels. Each block has its
equation above it. The bus voltage is found only by bisection.
"""

import numpy as np
from fleet import power_buses
from plant_probe import rotation


def air_density_kg_m3(alt_msl_m):
    """ISA 1976."""
    height_m = np.clip(alt_msl_m, 0.0, 20_000.0)
    exponent = 9.80665 / (0.0065 * 287.05287)
    temperature = 288.15 - 0.0065 * np.minimum(height_m, 11_000.0)
    pressure = 101_325.0 * (temperature / 288.15) ** exponent
    pressure = pressure * np.exp(-9.80665 * np.maximum(height_m - 11_000.0, 0.0) / (287.05287 * 216.65))
    return pressure / (287.05287 * temperature)


def motors_of(aircraft):
    """Return the values of each rotor as arrays: the common ones, replaced by those of the overrides."""
    p, n = aircraft.propulsion, len(aircraft.rotors)
    own = ("km_m", "V_nom", "rotor_radius_m", "inflow_kT", "inflow_kQ", "rotor_drag", "rolling_moment")
    tables = {"esc": ("eta", "deadzone"), "motor": type(p.motor).model_fields}
    values = {name: np.full(n, getattr(p, name)) for name in own} | {"thrust_ratio": np.ones(n)}
    for table, names in tables.items():
        values |= {name: np.full(n, getattr(getattr(p, table), name)) for name in names}
    for override in p.overrides:
        at = np.array(override.rotors) - 1
        given = override.model_dump(exclude_none=True)
        given |= given.pop("esc") | given.pop("motor")
        for name in given.keys() - {"rotors"}:
            values[name][at] = given[name]
    return values | {"ke": 60.0 / (2.0 * np.pi * values["kv_rpm_per_volt"])}


def thrust_constants(aircraft, p):
    """kT of each rotor: ratio × the scale at which ΣT = multiplier × weight, by bisection.

    ω from kQ ρ ω² + (b + Kt Ke / R) ω − Kt V / R = 0,   kQ = km kT,   T = kT ρ ω²
    """
    rho = aircraft.propulsion.rho_nom
    b = p["viscous_friction_nm_per_rad_s"] + p["ke"] ** 2 / p["r_ohm"]
    c = -p["ke"] * p["V_nom"] / p["r_ohm"]
    target = aircraft.propulsion.thrust_calibration_mult * aircraft.airframe.mass_kg * aircraft.gravity.at_home_m_s2

    def thrust(scale):
        kt = scale * p["thrust_ratio"]
        a = p["km_m"] * kt * rho
        # The root of a quadratic without cancellation.
        omega = -2.0 * c / (b + np.sqrt(b * b - 4.0 * a * c))
        return np.sum(kt * rho * omega * omega)

    low, high = 0.0, 1.0
    while thrust(high) < target:
        high *= 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if thrust(middle) < target else (low, middle)
    return 0.5 * (low + high) * p["thrust_ratio"]


def bus_voltage(v0, r0, v_min, drawn):
    """V = max(V_min, V0 − R0 I(V)), I not falling with V, by bisection."""
    low, high = min(v_min, v0), v0
    for _ in range(200):
        v = 0.5 * (low + high)
        if v + r0 * drawn(v) > v0:
            high = v
        else:
            low = v
    return max(v_min, 0.5 * (low + high))


class NumpyMultirotor:
    """The derivative of an aircraft's state."""

    def __init__(self, aircraft):
        self.aircraft = aircraft
        self.p = motors_of(aircraft)
        self.kt = thrust_constants(aircraft, self.p)

    def groups(self, x):
        """Split a state vector into its groups."""
        sizes = self.aircraft.groups
        return dict(zip(sizes, np.split(x, np.cumsum(list(sizes.values()))[:-1]), strict=True))

    def commands_and_duties(self, state, motors, servos, disabled):
        """Return the actuator commands, and the duty of each rotor after faults and ESC."""
        craft = self.aircraft
        commands = np.array([motors[channel - 1] for channel in craft.motor_channels])
        outputs = commands if craft.actuation.motor_actuators.kind == "direct" else state["act"][: len(commands)]
        duties = np.clip(outputs, 0.0, 1.0)
        duties = np.where(duties < self.p["deadzone"], 0.0, duties)
        duties = np.where([disabled >> i & 1 for i in range(len(duties))], 0.0, duties)
        servo_commands = np.array([servos[channel - 1] for channel in craft.servo_channels])
        return commands, servo_commands, duties

    def motor_current(self, rotors, duty, voltage, omega):
        """I = clamp((d V − Ke ω) / R, 0, I_max)."""
        p = {name: values[rotors] for name, values in self.p.items()}
        return np.clip((duty * voltage - p["ke"] * omega) / p["r_ohm"], 0.0, p["max_current_a"])

    def power(self, state, duties, disconnected):
        """Return bus voltages and currents, motor currents and battery currents."""
        craft = self.aircraft
        volts, amps = [], []
        currents = np.zeros(len(craft.rotors))
        battery_amps = np.zeros(len(craft.batteries))
        for bus in power_buses(craft):
            fed = list(bus.rotors)
            cells = [craft.batteries[j] for j in bus.batteries]
            if disconnected:
                volts.append(0.0)
                amps.append(0.0)
                continue
            if cells[0].model == "ideal":
                v = cells[0].ocv_v[-1]
            else:
                conductance = np.array([1.0 / cell.r0 for cell in cells])
                sources = np.array(
                    [
                        max(cell.min_voltage_v, np.interp(state["soc"][j], cell.ocv_soc, cell.ocv_v) - state["v1"][j])
                        for j, cell in zip(bus.batteries, cells, strict=True)
                    ]
                )
                v0 = float(np.sum(conductance * sources) / np.sum(conductance))
                avionics = bus.avionics_load_w / v0 if bus.avionics_load_w else 0.0

                def drawn(v, fed=fed, avionics=avionics):
                    motors = self.motor_current(fed, duties[fed], v, state["rotor"][fed])
                    return avionics + np.sum(duties[fed] * motors / self.p["eta"][fed])

                v = bus_voltage(v0, 1.0 / np.sum(conductance), max(cell.min_voltage_v for cell in cells), drawn)
            currents[fed] = self.motor_current(fed, duties[fed], v, state["rotor"][fed])
            total = np.sum(duties[fed] * currents[fed] / self.p["eta"][fed])
            total += bus.avionics_load_w / v if bus.avionics_load_w and v > 0.0 else 0.0
            if cells[0].model == "ideal" or craft.power.share_mode == "equal":
                shares = np.full(len(cells), 1.0 / len(cells))
            else:
                shares = conductance / np.sum(conductance)
            battery_amps[list(bus.batteries)] = shares * total
            volts.append(v)
            amps.append(total)
        return np.array(volts), np.array(amps), currents, battery_amps

    def contact(self, state, r_bn, load):
        """Return the ground's force in world axes and its torque in body axes; `load` is the force of all else."""
        c = self.aircraft.contact
        force, torque = np.zeros(3), np.zeros(3)
        mu_static = c.mu if c.mu_static is None else c.mu_static
        grips = []
        if c.kind == "no_contact":
            return force, torque
        points = [(0.0, 0.0, 0.0)] if c.kind == "flat_ground" else c.points_body_m
        for point in np.array(points):
            depth = state["pos"][2] + (r_bn @ point)[2]
            if depth <= 0.0:
                continue
            velocity = state["vel"] + r_bn @ np.cross(state["omega"], point)
            # N = k z + c max(0, v_z), k and c divided by the points
            normal = (c.k_n_per_m * depth + c.c_n_per_mps * max(0.0, velocity[2])) / len(points)
            sideways = np.array([velocity[0], velocity[1], 0.0])
            speed = np.linalg.norm(sideways)
            if not c.enable_friction or speed == 0.0:
                friction = np.zeros(3)
            elif c.kind == "flat_ground":
                friction = -c.mu * normal * sideways / (speed + c.v_eps)
            else:
                sliding = c.mu + (mu_static - c.mu) * (c.v_eps / max(speed, c.v_eps)) ** 2
                cone = normal * (mu_static * speed / c.v_eps if speed <= c.v_eps else sliding)
                slope = max(c.c_n_per_mps, 2.0 * np.sqrt(c.k_n_per_m * self.aircraft.airframe.mass_kg)) / len(points)
                friction = -min(cone, slope * speed) * sideways / speed
            push = friction - np.array([0.0, 0.0, normal])
            force = force + push
            torque = torque + np.cross(point, r_bn.T @ push)
            grips.append((point, normal, max(0.0, 1.0 - speed / c.v_eps)))
        if c.kind == "legs" and c.enable_friction:
            # R_i = −F min(1 / Σ N, μ_s / |F|) N_i max(0, 1 − |v_i| / v_eps)
            sideways, total = np.array([load[0], load[1], 0.0]), sum(normal for _, normal, _ in grips)
            for point, normal, slowness in grips:
                most = min(np.linalg.norm(sideways) / total, mu_static)
                size = np.linalg.norm(sideways)
                hold = -most * normal * slowness * sideways / size if size > 0.0 else np.zeros(3)
                force = force + hold
                torque = torque + np.cross(point, r_bn.T @ hold)
        return force, torque

    def actuator_rates(self, actuator, commands, outputs, rates):
        """ẏ = (u − y) / τ, or ÿ = ωn² (u − y) − 2 ζ ωn ẏ with a rate limit."""
        if actuator.kind == "first_order":
            return (commands - outputs) / actuator.tau_s, np.zeros(0)
        limited = np.clip(rates, -actuator.rate_limit, actuator.rate_limit)
        acceleration = actuator.omega_n**2 * (commands - outputs) - 2.0 * actuator.zeta * actuator.omega_n * limited
        into_limit = (np.abs(limited) >= actuator.rate_limit) & (acceleration * limited > 0.0)
        return limited, np.where(into_limit, 0.0, acceleration)

    def derivative(self, x, motors, servos, wind, disabled=0, disconnected=False):
        """Return the derivative of a state vector."""
        craft, p = self.aircraft, self.p
        state = self.groups(x)
        r_bn = rotation(state["att"])
        rho = air_density_kg_m3(craft.home_alt_msl_m - state["pos"][2])
        commands, servo_commands, duties = self.commands_and_duties(state, motors, servos, disabled)
        _, _, currents, battery_amps = self.power(state, duties, disconnected)

        # T = kT ρ ω² fT,  Q = kQ ρ ω² fQ,  f = 1 / (1 + k μ²),  μ = V_ax / max(1e-3, ω R)
        omega = state["rotor"]
        axes = np.array([rotor.axis_body for rotor in craft.rotors])
        arms = np.array([rotor.pos_body_m for rotor in craft.rotors])
        signs = np.array([rotor.direction for rotor in craft.rotors])
        through_air = np.asarray(wind) - state["vel"]
        v_ax = -axes @ (r_bn.T @ through_air)
        mu = v_ax / np.maximum(1e-3, np.abs(omega) * p["rotor_radius_m"])
        thrust = self.kt * rho * omega**2 / (1.0 + p["inflow_kT"] * mu**2)
        torque = p["km_m"] * self.kt * rho * omega**2 / (1.0 + p["inflow_kQ"] * mu**2)
        if craft.propulsion.ground_effect and craft.contact.kind != "no_contact":
            # T / T∞ = 1 / (1 − (R / 4z)²), z at least R / 2
            radius = p["rotor_radius_m"]
            heights = np.maximum(-(state["pos"][2] + (arms @ r_bn.T)[:, 2]), 0.5 * radius)
            thrust = thrust / (1.0 - (radius / (4.0 * heights)) ** 2)
        # J ω̇ = Kt max(0, I − I0) − Q − b ω, no negative spin
        spin = (
            p["ke"] * np.maximum(0.0, currents - p["i0_a"]) - torque - p["viscous_friction_nm_per_rad_s"] * omega
        ) / p["j_kgm2"]
        spin = np.where((omega <= 0.0) & (spin < 0.0), 0.0, spin)

        # F = Σ −T a,  τ = Σ r × (−T a) + a s Q,  H = Σ −s J ω a
        pushes = -thrust[:, None] * axes
        moment = np.sum(np.cross(arms, pushes) + axes * (signs * torque)[:, None], axis=0)
        # F = −c ρ / ρ_nom |ω| u⊥ at the hub, M = −c_r ρ / ρ_nom |ω| u⊥
        hubs = np.cross(state["omega"], arms) - r_bn.T @ through_air
        across = (hubs - axes * np.sum(hubs * axes, axis=1)[:, None]) * (
            np.abs(omega) * rho / craft.propulsion.rho_nom
        )[:, None]
        drags = -p["rotor_drag"][:, None] * across
        moment = moment + np.sum(np.cross(arms, drags) - p["rolling_moment"][:, None] * across, axis=0)
        h = np.sum(-axes * (signs * p["j_kgm2"] * omega)[:, None], axis=0)
        h_dot = np.sum(-axes * (signs * p["j_kgm2"] * spin)[:, None], axis=0)
        force = r_bn @ np.sum(pushes + drags, axis=0)
        if craft.airframe.drag == "linear":
            force = force + craft.airframe.linear_drag * through_air
        else:
            u_body = -r_bn.T @ through_air
            drag = -0.5 * rho * np.array(craft.airframe.drag_area_body_m2) * np.linalg.norm(u_body) * u_body
            force = force + r_bn @ drag
        ground, ground_moment = self.contact(state, r_bn, force)
        moment = moment + ground_moment
        g = craft.gravity.gravity_mps2
        if craft.gravity.gravity == "spherical":
            g = craft.gravity.gravity_mu / (craft.gravity.gravity_r0_m - state["pos"][2]) ** 2

        # I ω̇ = τ − D ω − ω × (I ω + H) − Ḣ
        inertia, rates = np.array(craft.airframe.inertia), state["omega"]
        damping = np.array(craft.airframe.angular_damping) * rates
        gyroscopic = np.cross(rates, inertia @ rates + h)
        rates_dot = np.linalg.solve(inertia, moment - damping - gyroscopic - h_dot)
        # q̇ = ½ q ⊗ (0, ω)
        w, v = state["att"][0], state["att"][1:]
        q_dot = 0.5 * np.concatenate([[-v @ rates], w * rates + np.cross(v, rates)])

        act, actdot = [], []
        n_motors = len(commands)
        kinds = ((craft.actuation.motor_actuators, commands), (craft.actuation.servo_actuators, servo_commands))
        outputs, output_rates = state["act"], state["actdot"]
        for actuator, wanted in kinds:
            if actuator.kind == "direct":
                continue
            n = len(wanted)
            rate, acceleration = self.actuator_rates(actuator, wanted, outputs[:n], output_rates[:n])
            outputs = outputs[n:]
            if actuator.kind == "second_order":
                output_rates = output_rates[n:]
            act.append(rate)
            actdot.append(acceleration)
        assert n_motors == len(craft.rotors)

        # SOĊ = −I / Q, held at 0;  V̇1 = −V1 / (R1 C1) + I / C1
        soc_dot, v1_dot = np.zeros(len(craft.batteries)), np.zeros(len(craft.batteries))
        for j, cell in enumerate(craft.batteries):
            soc_dot[j] = -battery_amps[j] / (cell.capacity_ah * 3600.0) if state["soc"][j] > 0.0 else 0.0
            if cell.model == "thevenin":
                v1_dot[j] = -state["v1"][j] / (cell.r1 * cell.c1) + battery_amps[j] / cell.c1
        acceleration = force + ground
        parts = [state["vel"], acceleration / craft.airframe.mass_kg + np.array([0.0, 0.0, g]), q_dot, rates_dot]
        return np.concatenate([*parts, *act, *actdot, spin, soc_dot, v1_dot])
