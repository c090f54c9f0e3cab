"""Whether the tables of the vehicle fit together. Each check yields the key and what is wrong with it."""

import math
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from px4lockstep.part import Key, dotted, show
from px4lockstep.spec.defaults import Tables
from px4lockstep.spec.vehicle_tables import Actuation, Airframe, BatteryTable, Bus, MotorChannel, Power, ServoChannel

Found = Iterator[tuple[Key, str]]
LENGTH_TOLERANCE = 1e-6
MAX_ARM_M = 100.0
"""Of CA_ROTORi_PX, PY and PZ."""


def bad(key: Key, value: Any, text: str) -> tuple[Key, str]:
    """Return what is wrong with a key and its value."""
    return key, f"{dotted(key)} = {show(value)} {text}"


def check_airframe(tables: Tables) -> Found:
    """Inertia, axes, attitude, and as many of each as there are rotors."""
    airframe: Airframe = tables["airframe"]
    rotors = len(airframe.rotor_pos_body_m)
    yield from _check_inertia(airframe)
    for i, pos in enumerate(airframe.rotor_pos_body_m):
        if max(abs(part) for part in pos) > MAX_ARM_M:
            text = f"is out of range; PX4 takes at most {MAX_ARM_M:g} m along each axis"
            yield bad(("airframe", "rotor_pos_body_m", i), pos, text)
    axes = airframe.rotor_axis_body_m or ()
    if len(axes) != rotors:
        yield ("airframe", "rotor_axis_body_m"), _count("airframe.rotor_axis_body_m", len(axes), rotors)
    for i, axis in enumerate(axes):
        length = math.sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2])
        if abs(length - 1.0) > LENGTH_TOLERANCE:
            key: Key = ("airframe", "rotor_axis_body_m", i)
            yield bad(key, axis, f"has length {length:.6g}; it must be 1 within 1e-6")
    directions = airframe.propulsion.rotor_dir or ()
    if len(directions) != rotors:
        yield (
            ("airframe", "propulsion", "rotor_dir"),
            _count("airframe.propulsion.rotor_dir", len(directions), rotors),
        )
    yield from _check_attitude(airframe)


def _count(name: str, count: int, rotors: int) -> str:
    return f"{name} has {count}; airframe.rotor_pos_body_m has {rotors} rotors, and there must be one for each"


def check_inertia_is_given(data: Any) -> Found:
    """Inertia in either form, by the table as it was read: other keys may be missing too."""
    if isinstance(data, dict) and "inertia_kgm2" not in data and "inertia_diag_kgm2" not in data:
        yield ("airframe",), "airframe.inertia_diag_kgm2 is missing; it must be given, or airframe.inertia_kgm2"


def _check_inertia(airframe: Airframe) -> Found:
    whole, diagonal = airframe.inertia_kgm2, airframe.inertia_diag_kgm2
    products = airframe.inertia_products_kgm2
    if whole is not None and (diagonal is not None or products is not None):
        other = "inertia_diag_kgm2" if diagonal is not None else "inertia_products_kgm2"
        yield bad(("airframe", "inertia_kgm2"), whole, f"is given, and airframe.{other} too; give one of the two forms")
        return
    if whole is None and diagonal is None:
        return  # which `check_inertia_is_given` says
    key: Key = ("airframe", "inertia_kgm2" if whole is not None else "inertia_diag_kgm2")
    tensor = np.array(inertia(airframe), np.float64)
    if not np.array_equal(tensor, tensor.T):
        yield bad(key, whole, "is not symmetric; it must be")
        return
    moments = np.linalg.eigvalsh(tensor).tolist()
    if moments[0] <= 1e-12 * abs(moments[2]):
        shown = ", ".join(f"{moment:.6g}" for moment in moments)
        value = whole if whole is not None else diagonal
        beside = f"with airframe.inertia_products_kgm2 = {show(products)} " if products and any(products) else ""
        text = f"{beside}is not positive definite: its principal moments are {shown}; they must be above 0"
        yield bad(key, value, text)


def inertia(airframe: Airframe) -> tuple[tuple[float, float, float], ...]:
    """Return the inertia tensor, in whichever form it was given."""
    if airframe.inertia_kgm2 is not None:
        return airframe.inertia_kgm2
    xx, yy, zz = airframe.inertia_diag_kgm2 or (0.0, 0.0, 0.0)
    xy, xz, yz = airframe.inertia_products_kgm2 or (0.0, 0.0, 0.0)
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def _check_attitude(airframe: Airframe) -> Found:
    x0 = airframe.x0
    given = [name for name in ("q_bn", "euler_deg", "euler_rad") if getattr(x0, name) is not None]
    if len(given) > 1:
        key: Key = ("airframe", "x0", given[1])
        yield bad(key, getattr(x0, given[1]), f"is given, and airframe.x0.{given[0]} too; give one of them")
    if x0.q_bn is not None:
        w, x, y, z = x0.q_bn
        norm = math.sqrt(w * w + x * x + y * y + z * z)
        if abs(norm - 1.0) > LENGTH_TOLERANCE:
            yield bad(("airframe", "x0", "q_bn"), x0.q_bn, f"has norm {norm:.9g}; it must be 1 within 1e-6")


def check_actuation(tables: Tables) -> Found:
    """A motor for each rotor; names and channels once."""
    airframe: Airframe = tables["airframe"]
    actuation: Actuation = tables["actuation"]
    motors = actuation.motors or ()
    if len(motors) != len(airframe.rotor_pos_body_m):
        yield (
            ("actuation", "motors"),
            _count("actuation.motors", len(motors), len(airframe.rotor_pos_body_m)),
        )
    ids = [motor.id for motor in motors] + [servo.id for servo in actuation.servos]
    both: tuple[tuple[str, tuple[MotorChannel | ServoChannel, ...]], ...] = (
        ("motors", motors),
        ("servos", actuation.servos),
    )
    for kind, items in both:
        channels = Counter(item.channel for item in items)
        for i, item in enumerate(items):
            if ids.count(item.id) > 1:
                yield bad(
                    ("actuation", kind, i, "id"), item.id, "is there twice; motors and servos need different names"
                )
            if channels[item.channel] > 1:
                yield bad(("actuation", kind, i, "channel"), item.channel, "is there twice; each has its own channel")


def check_power(tables: Tables) -> Found:
    """Curves that rise, names that are there, everything on exactly one bus."""
    power: Power = tables["power"]
    for i, battery in enumerate(power.batteries):
        yield from _check_battery(("power", "batteries", i), battery)
    both: tuple[tuple[str, tuple[BatteryTable | Bus, ...]], ...] = (
        ("batteries", power.batteries),
        ("buses", power.buses or ()),
    )
    for kind, items in both:
        ids = Counter(item.id for item in items)
        for i, item in enumerate(items):
            if ids[item.id] > 1:
                yield bad(("power", kind, i, "id"), item.id, f"is there twice; {kind} need different names")


def _check_battery(key: Key, battery: BatteryTable) -> Found:
    if len(battery.ocv_soc) != len(battery.ocv_v):
        yield (
            (*key, "ocv_v"),
            f"{dotted((*key, 'ocv_v'))} has {len(battery.ocv_v)}, ocv_soc {len(battery.ocv_soc)}; they must be as many",
        )
    if not all(a < b for a, b in pairwise(battery.ocv_soc)):
        yield bad((*key, "ocv_soc"), battery.ocv_soc, "does not rise; each must be above the one before")
    if battery.ocv_soc[-1] > 1.0:
        yield bad((*key, "ocv_soc"), battery.ocv_soc, "is out of range; states of charge are 0 to 1")
    if not all(a <= b for a, b in pairwise(battery.ocv_v)):
        yield bad((*key, "ocv_v"), battery.ocv_v, "falls; no voltage may be below the one before")
    if battery.ocv_v[-1] <= 0.0:
        yield bad((*key, "ocv_v"), battery.ocv_v, "ends at 0; it must end above")
    elif battery.model == "thevenin" and battery.min_voltage_v > battery.ocv_v[-1]:
        text = f"is above the full battery's {battery.ocv_v[-1]} V; it must not be"
        yield bad((*key, "min_voltage_v"), battery.min_voltage_v, text)
    for lower, upper in (("emerg_thr", "crit_thr"), ("crit_thr", "low_thr")):
        if getattr(battery, lower) > getattr(battery, upper):
            text = f"is above {upper} = {getattr(battery, upper)}; emerg_thr, crit_thr, low_thr must rise in this order"
            yield bad((*key, lower), getattr(battery, lower), text)


def check_wiring(tables: Tables) -> Found:
    """Every motor, servo and battery on exactly one bus; buses name what is there."""
    power: Power = tables["power"]
    actuation: Actuation = tables["actuation"]
    buses = power.buses or ()
    known = {
        "battery_ids": ("power.batteries", [str(battery.id) for battery in power.batteries]),
        "motor_ids": ("actuation.motors", [motor.id for motor in actuation.motors or ()]),
        "servo_ids": ("actuation.servos", [servo.id for servo in actuation.servos]),
    }
    for name, (where, ids) in known.items():
        if name == "motor_ids" and actuation.motors is None:
            continue  # they are the rotors', which are not known
        on: dict[str, list[str]] = {item: [] for item in ids}
        for b, bus in enumerate(buses):
            for i, item in enumerate(getattr(bus, name)):
                if item not in on:
                    has = f"there are {', '.join(ids)}" if ids else "there are none"
                    yield bad(("power", "buses", b, name, i), item, f"is not in {where}; {has}")
                else:
                    on[item].append(str(bus.id))
        for item in dict.fromkeys(ids):
            if name == "servo_ids" and not on[item]:
                continue  # it draws nothing
            if len(on[item]) != 1:
                place = f"on buses {', '.join(on[item])}" if on[item] else "on no bus"
                what = {"battery_ids": "battery", "motor_ids": "motor", "servo_ids": "servo"}[name]
                yield (
                    ("power", "buses"),
                    f"power.buses: {what} {item!r} is {place}; every {what} must be on exactly one",
                )
    by_id = {str(battery.id): battery for battery in power.batteries}
    for b, bus in enumerate(buses):
        members = [by_id[item] for item in bus.battery_ids if item in by_id]
        key: Key = ("power", "buses", b, "battery_ids")
        if not bus.battery_ids:
            yield bad(key, bus.battery_ids, "is empty; every bus needs at least one battery")
        if len({battery.model for battery in members}) > 1:
            yield bad(key, bus.battery_ids, "are an ideal battery and another; on one bus they must be the same model")
        elif members and members[0].model == "ideal" and len({battery.ocv_v[-1] for battery in members}) > 1:
            yield bad(key, bus.battery_ids, "are ideal batteries of different voltages; they must be the same")
