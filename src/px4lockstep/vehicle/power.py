"""The power network: bus voltages from the batteries and the currents of the motors.

Parallel batteries act as one source, weighted by conductance:

    V0 = Σ E_j / R0_j / Σ 1 / R0_j,   R0 = 1 / Σ 1 / R0_j

The voltage solves V = max(V_min, V0 − R0 (I(V) + P / V0)). I(V) is the current of the motors, which does not decrease
with V; P is the avionics load, a constant current during the solve. The solver has three steps of fixed length:

1. the closed form that assumes every driven motor is between its current limits, accepted if that holds,
2. up to six iterations, each motor classified as off, linear or saturated at the previous voltage,
3. bisection between V_min and V0, if the residual is above 1e-6 V.

The kernels use the `MULTIROTOR` record `m`, because they need rotors, motors and batteries.

After the solve, the avionics draw P / V, and the batteries of the bus share the current by 1 / R0 or equally. They do
not charge each other. With the batteries disconnected, the bus has 0 V and 0 A.

On a bus with batteries of `cells`, the avionics draw the current of the solve instead, so that V0 I = V I + R0 I² holds
exactly. Below the voltage V_b at which their regulators drop out they are a resistance: P V0 / V_b² instead of P / V0.
"""

import functools
import operator
from collections import Counter
from typing import Annotated, Any, Literal

from px4lockstep.jit import inlined_kernel, kernel, record
from px4lockstep.part import KEY, Found, Part, entry, spelled
from px4lockstep.plant.layout import MAX_BATTERIES, MAX_BUSES, MAX_MOTORS, MAX_STATES
from px4lockstep.vehicle.battery import BATTERY, Battery, source_voltage
from px4lockstep.vehicle.motor import motor_current, motor_regime
from px4lockstep.vehicle.regime import MOTOR_BITS

RESIDUAL_LIMIT_V = 1e-6
BISECTIONS = 60

BUS = record(
    [
        ("avionics_w r0_ohm inverse_conductance min_voltage_v", "f8"),
        ("brownout_v", "f8"),  # 0: batteries without cells
    ]
)

POWER = record(
    [("n_batteries", "i8"), ("n_buses", "i8"), ("batteries", BATTERY, MAX_BATTERIES), ("buses", BUS, MAX_BUSES)]
)


@kernel
def rotor_slots(m):
    """Return the start index and the number of the rotors, limited to bounds that the compiler can see.

    The values are always within these bounds; the explicit limits let the compiler omit bounds checks in loops.
    """
    return min(max(m.i_rotor, 0), MAX_STATES - MAX_MOTORS), min(m.n_rotors, MAX_MOTORS)


@kernel
def avionics_current(bus, voltage_v):
    """Return the avionics current of a bus at a voltage [A]; 0 at 0 V."""
    if not (bus.avionics_w > 0.0 and voltage_v > 0.0):
        return 0.0
    if voltage_v < bus.brownout_v:
        return bus.avionics_w * voltage_v / (bus.brownout_v * bus.brownout_v)
    return bus.avionics_w / voltage_v


@inlined_kernel
def open_voltage(m, b, state):
    """Return V0 of a bus: the combined voltage of its batteries without load."""
    power = m.power
    x = state.x
    if power.n_batteries == 1:
        return source_voltage(power.batteries[0], x[m.i_soc], x[m.i_v1])
    weighted = 0.0
    for j in range(power.n_batteries):
        battery = power.batteries[j]
        if battery.bus == b:
            weighted += battery.conductance * source_voltage(battery, x[m.i_soc + j], x[m.i_v1 + j])
    return max(weighted * power.buses[b].inverse_conductance, power.buses[b].min_voltage_v)


@kernel
def drawn_by_avionics(bus, voltage_v, solved_a):
    """Return the current that the avionics draw from a bus whose voltage is known [A]; `solved_a` is that at V0."""
    if bus.brownout_v > 0.0 and voltage_v > 0.0:
        return solved_a
    return avionics_current(bus, voltage_v)


@kernel
def motors_current(m, b, state, duties, voltage_v):
    """Return the current that the motors draw from a bus at a voltage [A]."""
    i_rotor, n_rotors = rotor_slots(m)
    total = 0.0
    for i in range(n_rotors):
        duty = duties.x[i_rotor + i]
        rotor = m.rotors[i]
        if duty > 0.0 and rotor.bus == b:
            p = rotor.propulsion
            current = motor_current(p, duty, voltage_v, state.x[i_rotor + i])
            total += duty * current * p.inverse_eta
    return total


@kernel
def classified_voltage(m, b, state, duties, v0, avionics_a):
    """Return the bus voltage from up to six iterations with classified motors, or from bisection."""
    bus = m.power.buses[b]
    r0 = bus.r0_ohm
    i_rotor, n_rotors = rotor_slots(m)
    v = v0
    for _ in range(6):
        slope = 0.0
        offset = avionics_a
        for i in range(n_rotors):
            duty = duties.x[i_rotor + i]
            rotor = m.rotors[i]
            if duty > 0.0 and rotor.bus == b:
                p = rotor.propulsion
                slope_scale = p.inverse_eta * p.inverse_r
                back_emf = p.ke * state.x[i_rotor + i]
                current = (duty * v - back_emf) * p.inverse_r
                if current >= p.max_current_a:
                    offset += duty * p.max_current_a * p.inverse_eta
                elif current > 0.0:
                    slope += duty * duty * slope_scale
                    offset -= duty * back_emf * slope_scale
        before = v
        v = min(max((v0 - r0 * offset) / (1.0 + r0 * slope), bus.min_voltage_v), v0)
        if v == before:  # so would the other iterations be
            break
    low = bus.min_voltage_v
    high = v0
    residual = v + r0 * (avionics_a + motors_current(m, b, state, duties, v)) - v0
    if abs(residual) <= RESIDUAL_LIMIT_V or (v <= low and residual >= 0.0):
        return v
    for _ in range(BISECTIONS):
        v = 0.5 * (low + high)
        if v + r0 * (avionics_a + motors_current(m, b, state, duties, v)) > v0:
            high = v
        else:
            low = v
    return 0.5 * (low + high)


@kernel
def unusual_voltage(m, b, state, duties, v, v0, avionics_a):
    """Return the voltage of a bus with a motor without torque or at its limit; set the bits of `duties.regime`.

    `v` is the voltage from the closed form.
    """
    i_rotor, n_rotors = rotor_slots(m)
    is_linear = True
    for i in range(n_rotors):
        duty = duties.x[i_rotor + i]
        rotor = m.rotors[i]
        if duty > 0.0 and rotor.bus == b:
            p = rotor.propulsion
            current = (duty * v - p.ke * state.x[i_rotor + i]) * p.inverse_r
            is_linear = is_linear and 0.0 < current < p.max_current_a
    if not is_linear:
        v = classified_voltage(m, b, state, duties, v0, avionics_a)
    for i in range(n_rotors):
        rotor = m.rotors[i]
        if rotor.bus == b:
            p = rotor.propulsion
            current = motor_current(p, duties.x[i_rotor + i], v, state.x[i_rotor + i])
            duties.regime |= motor_regime(p, current) << (MOTOR_BITS * i)
    return v


@inlined_kernel
def bus_voltage(m, b, state, duties):
    """Return the voltage of a bus [V] and its avionics current at V0 [A].

    `duties.x[i_rotor + i]` is the duty of rotor i.
    """
    p = m.rotors[0].propulsion
    bus = m.power.buses[b]
    r0 = bus.r0_ohm
    v0 = open_voltage(m, b, state)
    avionics_a = avionics_current(bus, v0)
    i_rotor, n_rotors = rotor_slots(m)
    slope = 0.0
    back = 0.0
    if m.rotors_differ == 0:
        for i in range(n_rotors):
            duty = duties.x[i_rotor + i]
            if duty > 0.0 and m.rotors[i].bus == b:
                slope += duty * duty
                back += duty * state.x[i_rotor + i]
    else:
        for i in range(n_rotors):
            duty = duties.x[i_rotor + i]
            rotor = m.rotors[i]
            if duty > 0.0 and rotor.bus == b:
                slope += duty * duty * rotor.drive_ratio
                back += duty * state.x[i_rotor + i] * rotor.back_emf_ratio
    slope_scale = p.inverse_eta * p.inverse_r
    offset = avionics_a - back * (p.ke * slope_scale)
    v = min(max((v0 - r0 * offset) / (1.0 + r0 * slope * slope_scale), bus.min_voltage_v), v0)
    for i in range(n_rotors):
        rotor = m.rotors[i]
        if rotor.bus == b:
            if m.rotors_differ != 0:
                p = rotor.propulsion
            current = (duties.x[i_rotor + i] * v - p.ke * state.x[i_rotor + i]) * p.inverse_r
            if not p.i0_a < current < p.max_current_a:
                return unusual_voltage(m, b, state, duties, v, v0, avionics_a), avionics_a
    return v, avionics_a


class Bus(Part, where="power.buses"):
    """A power bus with its batteries and loads."""

    id: str | None = entry(None, "Name of the bus. Default: `bus1`, `bus2` …", min_length=1)
    battery_ids: tuple[str, ...] = entry(..., "Names of the batteries that feed the bus.")
    motor_ids: tuple[str, ...] = entry(..., "Names of the motors on the bus.")
    servo_ids: tuple[str, ...] = entry((), "Names of the servos on the bus. They draw no current.")
    avionics_load_w: float = entry(0.0, "Constant power of the avionics on the bus.", "W", ge=0.0)


@functools.lru_cache(maxsize=16)
def _main_bus(battery_ids: tuple[str, ...], motor_ids: tuple[str, ...], servo_ids: tuple[str, ...]) -> Bus:
    """Return one bus with everything."""
    return Bus(id="main", battery_ids=battery_ids, motor_ids=motor_ids, servo_ids=servo_ids)


class Power(Part, where="power"):
    """Batteries and power buses."""

    share_mode: Annotated[Literal["inv_r0", "equal"], spelled(("inv_r0", "equal"))] = entry(
        "inv_r0", "How the batteries of a bus share its current: by 1 / `r0`, or equally."
    )
    batteries: tuple[Battery, ...] = entry(
        (Battery(),), "Batteries of the aircraft.", min_length=1, max_length=MAX_BATTERIES
    )
    buses: tuple[Bus, ...] | None = entry(
        None,
        "Power buses. Every motor and battery is on exactly one. Default: one bus with everything.",
        min_length=1,
        max_length=MAX_BUSES,
    )

    def check(self) -> Found:
        """Yield names that are used more than once."""
        both: dict[str, tuple[Battery | Bus, ...]] = {"batteries": self.batteries, "buses": self.buses or ()}
        for kind, items in both.items():
            ids = Counter(item.id for item in items)
            for i, item in enumerate(items):
                if item.id is not None and ids[item.id] > 1:
                    yield (kind, i, "id"), f"{KEY} = {item.id!r} is used more than once; {kind} need unique names"

    def completed(self, motor_ids: tuple[str, ...], servo_ids: tuple[str, ...]) -> "Power":
        """Return a power system with names for all batteries and buses, and a bus with everything if none are given."""
        batteries = tuple(
            battery if battery.id is not None else battery.model_copy(update={"id": f"bat{i + 1}"})
            for i, battery in enumerate(self.batteries)
        )
        buses = self.buses
        if buses is None:
            battery_ids = tuple(str(battery.id) for battery in batteries)
            buses = (_main_bus(battery_ids, motor_ids, servo_ids),)
        buses = tuple(
            bus if bus.id is not None else bus.model_copy(update={"id": f"bus{i + 1}"}) for i, bus in enumerate(buses)
        )
        if self.buses is not None and all(map(operator.is_, (*batteries, *buses), (*self.batteries, *self.buses))):
            return self
        return self.model_copy(update={"batteries": batteries, "buses": buses})

    def without_start(self) -> "Power":
        """Return a copy with the default initial state."""
        return self.model_copy(update={"batteries": tuple(battery.without_start() for battery in self.batteries)})

    def write(self, rec: Any) -> None:
        """Write a `POWER` record; requires names for all batteries and buses."""
        buses, numbers = self.buses or (), {battery.id: j for j, battery in enumerate(self.batteries)}
        rec["n_batteries"], rec["n_buses"] = len(self.batteries), len(buses)
        for b, bus in enumerate(buses):
            members = [self.batteries[numbers[item]] for item in bus.battery_ids]
            conductance = 0.0
            for battery in members:  # not by sum(), whose rounding changed in Python 3.12
                conductance += 1.0 / battery.r0
            is_ideal = members[0].model == "ideal"
            r0_ohm = 0.0 if is_ideal else 1.0 / conductance
            min_voltage_v = 0.0 if is_ideal else max(battery.floor_v for battery in members)
            brownout_v = min(battery.brownout_v for battery in members)
            rec["buses"][b] = bus.avionics_load_w, r0_ohm, 1.0 / conductance, min_voltage_v, brownout_v
            for battery in members:
                by_conductance = self.share_mode == "inv_r0" and not is_ideal
                share = 1.0 / battery.r0 / conductance if by_conductance else 1.0 / len(members)
                battery.write(rec["batteries"][numbers[battery.id]], b, share)
