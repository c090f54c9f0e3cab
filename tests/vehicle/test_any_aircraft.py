"""Random aircraft: 1 to 12 rotors in any direction, 1 to 4 batteries and buses, all models."""

from dataclasses import replace

import numpy as np
import pytest
from fleet import PowerBus, Rotor, aircraft_of, loaded, power_buses, propulsion
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from plant_probe import Batch

from px4lockstep.environment.gravity import Gravity
from px4lockstep.errors import InputError
from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.contact import Contact

CASES = 20
repeatable = settings(deadline=None, derandomize=True, max_examples=150)  # the first call compiles


def split(draw, items, parts):
    """Distribute items to parts, at least one each if there are enough."""
    owner = [i if i < parts else draw(st.integers(0, parts - 1)) for i in range(items)]
    return [tuple(i for i in range(items) if owner[i] == part) for part in range(parts)]


@st.composite
def any_aircraft(draw):
    """Return an aircraft of random size, models and layout, with plausible values."""
    number = st.floats(-0.5, 0.5)
    n_rotors = draw(st.integers(1, 12))
    n_batteries = draw(st.integers(1, 4))
    n_buses = draw(st.integers(1, n_batteries))
    axes = draw(st.lists(st.tuples(number, number, number), min_size=n_rotors, max_size=n_rotors))
    channels = draw(st.permutations(range(1, 13)))
    rotors = []
    for axis, channel in zip(axes, channels, strict=False):
        length = float(np.linalg.norm(axis))
        unit = (0.0, 0.0, 1.0) if length < 1e-3 else tuple((np.array(axis) / length).tolist())
        rotors.append(Rotor((draw(number), draw(number), draw(number)), draw(st.sampled_from([1, -1])), unit, channel))
    members = split(draw, n_batteries, n_buses)
    loads = split(draw, n_rotors, n_buses) if n_rotors >= n_buses else [tuple(range(n_rotors))] + [()] * (n_buses - 1)
    models = [draw(st.sampled_from(["thevenin", "ideal"])) for _ in range(n_buses)]
    batteries = [Battery()] * n_batteries
    for bus, model in zip(members, models, strict=True):
        for j in bus:
            batteries[j] = Battery(
                model=model, r0=draw(st.floats(1e-4, 1.0)), min_voltage_v=draw(st.sampled_from([0.0, 9.9]))
            )
    kind = st.builds(
        ActuatorDynamics,
        st.sampled_from(["direct", "first_order", "second_order"]),
        rate_limit=st.sampled_from([0.5, np.inf]),
    )
    points = draw(st.lists(st.tuples(number, number, number), min_size=1, max_size=8))
    square = np.array(draw(st.lists(number, min_size=9, max_size=9))).reshape(3, 3)
    inertia = square @ square.T
    inertia = 0.5 * (inertia + inertia.T) + 0.01 * np.eye(3)
    return aircraft_of(
        loaded("iris"),
        name="any",
        mass_kg=draw(st.floats(0.05, 5.0)),
        inertia_kgm2=tuple(map(tuple, inertia.tolist())),
        rotors=tuple(rotors),
        propulsion=propulsion(
            km_m=draw(st.floats(1e-4, 0.02)),
            max_current_a=draw(st.floats(0.5, 100.0)),
            rotor_drag=draw(st.sampled_from([0.0, 8e-5])),
            rolling_moment=draw(st.sampled_from([0.0, 1e-6])),
            ground_effect=draw(st.booleans()),
        ),
        batteries=tuple(batteries),
        buses=tuple(
            PowerBus(cells, load, draw(st.sampled_from([0.0, 20.0])))
            for cells, load in zip(members, loads, strict=True)
        ),
        share_mode=draw(st.sampled_from(["inv_r0", "equal"])),
        drag_kind=draw(st.sampled_from(["linear", "body_quadratic"])),
        drag_area_body_m2=(0.01, 0.02, 0.03),
        linear_drag=0.1,
        contact=Contact(draw(st.sampled_from(["no_contact", "flat_ground", "legs"])), points_body_m=tuple(points)),
        motor_actuator=draw(kind),
        servo_actuator=draw(kind),
        servo_channels=tuple(draw(st.permutations(range(1, 9)))[: draw(st.integers(0, 8))]),
        gravity=Gravity(draw(st.sampled_from(["uniform", "spherical"]))),
    )


def fill(batch, aircraft, seed):
    """Fill a batch with states and inputs within their ranges, including the corners."""
    rng = np.random.default_rng(seed)
    shape = (CASES, 80)
    batch.x[:] = 0.0
    start = 0
    low_high = {
        "pos": (-3e4, 3e4),
        "vel": (-80.0, 80.0),
        "att": (-1.0, 1.0),
        "omega": (-30.0, 30.0),
        "act": (0.0, 1.0),
        "actdot": (-20.0, 20.0),
        "rotor": (0.0, 3000.0),
        "soc": (0.0, 1.0),
        "v1": (-1.0, 1.0),
    }
    for name, size in aircraft.groups.items():
        low, high = low_high[name]
        values = rng.uniform(low, high, shape)[:, :size]
        corner = rng.random(values.shape)
        values[corner < 0.1] = max(low, 0.0)
        values[corner > 0.95] = high
        batch.x[:, start : start + size] = values
        start += size
    batch.x[::2, :3] *= 1e-5  # near the ground
    attitude = batch.x[:, 6:10]
    attitude[np.linalg.norm(attitude, axis=1) < 1e-3] = (1.0, 0.0, 0.0, 0.0)
    attitude /= np.linalg.norm(attitude, axis=1)[:, None]
    command = batch.inputs["command"]
    command["motors"] = rng.choice([0.0, 0.02, 0.5, 1.0, 0.3], (CASES, 12))
    command["servos"] = rng.uniform(-1.0, 1.0, (CASES, 8))
    batch.inputs["wind_ned"] = rng.uniform(-30.0, 30.0, (CASES, 3))
    batch.inputs["faults"]["motor_disabled_mask"] = rng.integers(0, 1 << 12, CASES)
    batch.inputs["faults"]["battery_disconnected"] = rng.random(CASES) < 0.1


def reachable(aircraft):
    """Return whether the motors can be calibrated."""
    try:
        Batch([aircraft])
    except InputError:
        return False
    return True


@pytest.mark.long
@repeatable
@given(any_aircraft(), st.integers(0, 2**32))
def test_valid_aircraft_and_inputs_give_finite_derivatives(aircraft, seed):
    """And finite outputs; the projection changes nothing in a valid state except rates of actuators."""
    assume(reachable(aircraft))
    batch = Batch([aircraft], CASES)
    fill(batch, aircraft, seed)
    batch.evaluate()
    assert np.isfinite(batch.dx).all()
    for name in ("rotor_thrust_n", "rotor_torque_nm", "motor_current_a", "bus_voltage_v", "bus_current_a"):
        assert np.isfinite(batch.outputs[name]).all(), name
    assert np.isfinite(batch.projected).all()
    n_rates = aircraft.groups["actdot"]
    assert batch.moved.max() <= n_rates


@pytest.mark.long
@repeatable
@given(any_aircraft(), st.integers(0, 2**32))
def test_the_order_of_rotors_does_not_matter(aircraft, seed):
    """Permuted rotors: thrust, torque and duty are permuted bit-identically; sums (voltages, slopes) agree to 1e-12.

    The tolerance is relative to the largest value of each group, because the terms of the sums cancel.
    """
    assume(reachable(aircraft))
    n = len(aircraft.rotors)
    order = np.random.default_rng(seed).permutation(n)
    place = np.argsort(order)
    axes = aircraft.airframe.rotor_axis_body_m  # as given: normalizing twice may change the last bit
    permuted = aircraft_of(
        aircraft,
        rotors=tuple(replace(aircraft.rotors[i], axis_body=axes[i]) for i in order),
        buses=tuple(
            PowerBus(bus.batteries, tuple(int(place[i]) for i in bus.rotors), bus.avionics_load_w)
            for bus in power_buses(aircraft)
        ),
    )
    first, second = Batch([aircraft], CASES), Batch([permuted], CASES)
    fill(first, aircraft, seed)
    indices = np.arange(first.x.shape[1])
    for name, per_rotor in (
        ("act", aircraft.actuation.motor_actuators.kind != "direct"),
        ("actdot", aircraft.actuation.motor_actuators.kind == "second_order"),
        ("rotor", True),
    ):
        if per_rotor:
            start = aircraft.offset(name)
            indices[start : start + n] = start + order
    second.x[:] = first.x[:, indices]
    second.inputs[:] = first.inputs
    masks = first.inputs["faults"]["motor_disabled_mask"]
    second.inputs["faults"]["motor_disabled_mask"] = [
        sum(1 << i for i in range(n) if mask >> int(order[i]) & 1) for mask in masks.tolist()
    ]
    a, b = first.evaluate(), second.evaluate()
    for name in ("rotor_thrust_n", "rotor_torque_nm", "rotor_duty"):
        assert np.array_equal(a.outputs[name][:, order], b.outputs[name][:, :n]), name
    scale = np.abs(a.outputs["motor_current_a"]).max() + 1.0
    assert np.abs(a.outputs["motor_current_a"][:, order] - b.outputs["motor_current_a"][:, :n]).max() <= 1e-12 * scale
    assert b.outputs["bus_voltage_v"] == pytest.approx(a.outputs["bus_voltage_v"], rel=1e-12)
    expected = a.dx[:, indices]
    start = 0
    for name, size in aircraft.groups.items():
        part = slice(start, start + size)
        start += size
        if size:
            largest = np.abs(expected[:, part]).max()
            assert np.abs(b.dx[:, part] - expected[:, part]).max() <= 1e-12 * largest, name
