"""The propeller of a rotor, and the calibration of its thrust. ESC and motor are in `motor`.

    T = kT ρ ω² fT,   Q = kQ ρ ω² fQ
    f = 1 / (1 + k μ²),   μ = V_ax / max(1e-3, |ω| R_rotor)

V_ax is the velocity of the air through the disk against the rotor axis: descending at 1 m/s in still air gives +1. μ
enters squared, so climb and descent have the same effect.

A propeller is given by its constants, its coefficients, a table (`propeller_table`), or by the hover thrust. With
constants at ρ_nom, T = kT ω² and Q = kQ ω² there. With coefficients, D = 2 R_rotor and n = ω / 2π,

    T = CT ρ n² D⁴,   P = CP ρ n³ D⁵ = Q ω     (e.g. Brandt, Selig: Propeller Performance Data, AIAA 2011-1255)

Otherwise kT is calibrated so that duty 1 at V_nom and ρ_nom gives a multiple of the hover thrust per rotor. In the
steady state

    km T + (b + Kt Ke / R) ω = Kt V / R,   T = kT ρ ω²

This deliberately neglects I0 and the ESC. It follows that T < Kt V / (R km).

Rotors may differ (`overrides`). Then calibrated rotors have kT_i = s r_i with the ratios r_i of the propellers, and one
scale s for all rotors such that their thrusts at duty 1 add up to the same multiple of the hover thrust.
"""

import math
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, SerializerFunctionWrapHandler, model_serializer

from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, record
from px4lockstep.part import KEY, Found, Part, entry, fill, given_keys, misfit, show, wrong
from px4lockstep.plant.layout import MAX_MOTORS
from px4lockstep.vehicle.motor import Esc, EscOverride, Motor, MotorOverride
from px4lockstep.vehicle.propeller_table import MAX_TABLES, Table

PROPELLERS = (("kT", "kQ"), ("CT", "CP"), ("table",))
"""The keys of each way to give a propeller."""
CALIBRATION = ("km_m", "thrust_calibration_mult", "calibration_mass_kg")
"""The keys of the hover calibration, which has defaults and applies if no propeller is given."""
REACHABLE = 0.999
"""Fraction of the motors' maximum thrust to which `Propulsion.within_reach` limits the calibration."""

PROPULSION = record(
    [
        ("ke", "f8"),  # [V s/rad] and [N m/A]
        ("inverse_r", "f8"),
        ("i0_a viscous_nm_s max_current_a", "f8"),
        ("rotor_inertia", "f8"),  # [kg m2]
        ("inverse_rotor_inertia inverse_eta deadzone", "f8"),
        ("kt", "f8"),  # [N / (kg/m3) / (rad/s)2]; with a table, kt and kq are its gain [1 / (kg/m3)]
        ("kq inflow_kt inflow_kq radius_m", "f8"),
    ]
)


@kernel
def inflow_factors(propulsion, omega, axial_m_s):
    """Return the fractions of thrust and torque that axial inflow leaves."""
    # f = 1 / (1 + k (V_ax / tip)²) = tip² / (tip² + k V_ax²): one division. Skipping the second division where both
    # factors are equal does not help: LLVM computes it anyway and then selects.
    tip = max(1e-3, abs(omega) * propulsion.radius_m)
    tip_squared = tip * tip
    axial_squared = axial_m_s * axial_m_s
    thrust_factor = tip_squared / (tip_squared + propulsion.inflow_kt * axial_squared)
    return thrust_factor, tip_squared / (tip_squared + propulsion.inflow_kq * axial_squared)


@kernel
def propeller_load(propulsion, density_kg_m3, omega, axial_m_s):
    """Return thrust [N] and torque [N m] of the propeller."""
    thrust_factor, torque_factor = inflow_factors(propulsion, omega, axial_m_s)
    pressure = density_kg_m3 * omega * omega
    return propulsion.kt * pressure * thrust_factor, propulsion.kq * pressure * torque_factor


def _whole(value: Any) -> Any:
    """Accept 1.0 for 1, as PX4Lockstep.jl does, but not true, which Python accepts."""
    if isinstance(value, bool):
        raise wrong(f"{KEY} = {show(value)} is not allowed; it must be 1 or -1")
    return int(value) if isinstance(value, float) and value in (-1.0, 1.0) else value


Sign = Annotated[Literal[-1, 1], BeforeValidator(_whole)]


OWN = ("V_nom", "rotor_radius_m", "inflow_kT", "inflow_kQ", "rotor_drag", "rolling_moment")
"""Keys of `Propulsion` that an override replaces."""


class Override(Part, where="airframe.propulsion.overrides"):
    """ESC, motor and propeller of some rotors, where they differ from `airframe.propulsion`."""

    forms: ClassVar[tuple[tuple[str, ...], ...]] = (("km_m",), *PROPELLERS)

    rotors: tuple[int, ...] = entry(..., "Rotors with these values, from 1.", min_length=1, ge=1, le=MAX_MOTORS)
    thrust_ratio: float = entry(1.0, "Thrust constant kT, relative to a rotor without this key.", gt=0.0, le=1e3)
    km_m: float | None = entry(None, "Torque per thrust of the propeller.", "m", gt=0.0)
    kT: float | None = entry(None, "Thrust per squared speed of the propeller at `rho_nom`.", "N s²", gt=0.0)  # noqa: N815
    kQ: float | None = entry(None, "Torque per squared speed of the propeller at `rho_nom`.", "N m s²", gt=0.0)  # noqa: N815
    CT: float | None = entry(None, "Thrust coefficient of the propeller.", gt=0.0, le=10.0)
    CP: float | None = entry(None, "Power coefficient of the propeller.", gt=0.0, le=10.0)
    table: Table | None = entry(None, "Propeller from a test stand.")
    V_nom: float | None = entry(None, "Voltage at which the thrust is calibrated.", "V", gt=0.0)
    rotor_radius_m: float | None = entry(None, "Radius of the propeller.", "m", gt=0.0)
    inflow_kT: float | None = entry(None, "Coefficient of thrust loss with axial inflow.", ge=0.0)  # noqa: N815
    inflow_kQ: float | None = entry(None, "Coefficient of torque loss with axial inflow.", ge=0.0)  # noqa: N815
    rotor_drag: float | None = entry(
        None, "Rotor drag per rotor speed and air speed across the disk.", "N s²/m", ge=0.0
    )
    rolling_moment: float | None = entry(
        None, "Rolling moment per rotor speed and air speed across the disk.", "N s²", ge=0.0
    )
    esc: EscOverride = entry(EscOverride(), "Speed controllers (ESC) of these rotors.")
    motor: MotorOverride = entry(MotorOverride(), "Motors of these rotors.")

    def check(self) -> Found:
        """Check that the propeller is given in one form, with all of its keys."""
        yield from _check_forms(self)
        form = _form_of(self)
        if form in PROPELLERS and self.thrust_ratio != 1.0:
            yield misfit("thrust_ratio", self.thrust_ratio, f"is given together with {form[0]}; give only one of them")

    def applied(self, common: "Propulsion") -> "Propulsion":
        """Return the propulsion of these rotors."""
        changes = {name: getattr(self, name) for name in OWN if getattr(self, name) is not None}
        if _form_of(self):
            changes |= {name: getattr(self, name) for form in self.forms for name in form}
        for name in ("esc", "motor"):
            given = getattr(self, name).model_dump(exclude_none=True)
            changes[name] = getattr(common, name).model_copy(update=given)
        return common.model_copy(update=changes)


class Propulsion(Part, where="airframe.propulsion"):
    """ESC, motor and propeller, the same for all rotors except for `overrides`."""

    forms: ClassVar[tuple[tuple[str, ...], ...]] = (CALIBRATION, *PROPELLERS)

    kind: Literal["multirotor_default"] = entry("multirotor_default", "Propulsion model.")
    kT: float | None = entry(None, "Thrust per squared speed of the propeller at `rho_nom`.", "N s²", gt=0.0)  # noqa: N815
    kQ: float | None = entry(None, "Torque per squared speed of the propeller at `rho_nom`.", "N m s²", gt=0.0)  # noqa: N815
    CT: float | None = entry(
        None, "Thrust coefficient of the propeller, with n in rev/s and D = 2 `rotor_radius_m`.", gt=0.0, le=10.0
    )
    CP: float | None = entry(
        None, "Power coefficient of the propeller, with n in rev/s and D = 2 `rotor_radius_m`.", gt=0.0, le=10.0
    )
    table: Table | None = entry(None, "Propeller from a test stand.")
    km_m: float = entry(0.05, "Torque per thrust of a calibrated propeller.", "m", gt=0.0)
    V_nom: float = entry(12.0, "Voltage at which the thrust is calibrated.", "V", gt=0.0)
    rho_nom: float = entry(1.225, "Air density at which the thrust is calibrated.", "kg/m³", gt=0.0)
    rotor_radius_m: float = entry(0.127, "Radius of the propeller.", "m", gt=0.0)
    inflow_kT: float = entry(8.0, "Coefficient of thrust loss with axial inflow.", ge=0.0)  # noqa: N815 (key in files)
    inflow_kQ: float = entry(8.0, "Coefficient of torque loss with axial inflow.", ge=0.0)  # noqa: N815
    rotor_drag: float = entry(0.0, "Rotor drag per rotor speed and air speed across the disk.", "N s²/m", ge=0.0)
    rolling_moment: float = entry(0.0, "Rolling moment per rotor speed and air speed across the disk.", "N s²", ge=0.0)
    ground_effect: bool = entry(False, "Whether rotors near the ground have more thrust.")
    thrust_calibration_mult: float = entry(
        2.0,
        "Thrust at full duty, as a multiple of the hover thrust at the calibration mass, if no propeller is given.",
        gt=0.0,
        le=1e3,
    )
    calibration_mass_kg: float | None = entry(
        None,
        "Mass for which the thrust is calibrated. Default: `mass_kg`, so that motors scale with the mass.",
        "kg",
        gt=0.0,
    )
    rotor_dir: tuple[Sign, ...] | None = entry(
        None,
        "Sign of each rotor's reaction torque on the body. Default: 1, 1, -1, -1 for four rotors, otherwise 1, -1, 1 …",
    )
    esc: Esc = entry(Esc(), "Speed controllers (ESC).")
    motor: Motor = entry(Motor(), "Motors.")

    overrides: tuple[Override, ...] = entry((), "Rotors whose ESC, motor or propeller differs.", max_length=MAX_MOTORS)

    @model_serializer(mode="wrap")
    def _in_one_form(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit the hover calibration if a propeller is given, so that what is written can be read again."""
        values: dict[str, Any] = dump(self)
        return {name: value for name, value in values.items() if self.is_calibrated or name not in CALIBRATION}

    def check(self) -> Found:
        """Check the form of the propellers, and that no rotor has two overrides."""
        yield from _check_forms(self)
        seen: dict[int, int] = {}
        for k, override in enumerate(self.overrides):
            form = _form_of(override)
            if form and self.is_calibrated != (form not in PROPELLERS):
                here = "a given propeller" if self.is_calibrated else "a calibrated propeller"
                there = "is calibrated" if self.is_calibrated else f"has {(_form_of(self) or form)[0]}"
                text = f"is for {here}, but airframe.propulsion {there}; give all propellers, or calibrate all"
                yield ("overrides", k, form[0]), f"{KEY} = {show(getattr(override, form[0]))} {text}"
            for i, rotor in enumerate(override.rotors):
                if rotor in seen:
                    text = f"{KEY} = {rotor} is used more than once; a rotor can have one override"
                    yield ("overrides", k, "rotors", i), text
                seen[rotor] = k
        yield from self._check_tables()

    def _check_tables(self) -> Found:
        """Check that tables fit the motors, and that there are not too many of them."""
        units = [((), self), *((("overrides", k), each.applied(self)) for k, each in enumerate(self.overrides))]
        for where, unit in units:
            own = unit.table
            for name in ("duty", "current_a"):
                if own is not None and getattr(own, name) is not None and not unit.motor.is_lagged:
                    text = "is for motors of kind = 'first_order'; omit it, or choose that kind"
                    yield (*where, "table", name), f"{KEY} = {show(getattr(own, name))} {text}"
            for key, text in unit.motor.check() if where else ():
                yield (*where, "motor", *key), text
        tables = len(dict.fromkeys(unit.table for _, unit in units if unit.table is not None))
        if tables > MAX_TABLES:
            yield ("overrides",), f"{KEY} has {tables} different tables; there may be at most {MAX_TABLES}"

    def units(self, rotors: int) -> tuple["Propulsion", ...]:
        """Return the propulsion of each rotor, without overrides."""
        common = self.model_copy(update={"overrides": ()}) if self.overrides else self
        units = [common] * rotors
        for override in self.overrides:
            unit = override.applied(common)
            for rotor in override.rotors:
                units[rotor - 1] = unit
        return tuple(units)

    def thrust_ratios(self, rotors: int) -> tuple[float, ...]:
        """Return the thrust constant of each rotor, relative to that of a rotor without an override."""
        ratios = {rotor: override.thrust_ratio for override in self.overrides for rotor in override.rotors}
        return tuple(ratios.get(i + 1, 1.0) for i in range(rotors))

    @property
    def is_calibrated(self) -> bool:
        """Whether the thrust is calibrated to the weight, because no propeller is given."""
        return self.kT is None and self.CT is None and self.table is None

    @property
    def given_kt(self) -> float:
        """Thrust constant of a given propeller [N / (kg/m³) / (rad/s)²]; of a table, at its last point."""
        if self.table is not None:
            return self.table.last_kt / self.rho_nom
        if self.CT is not None:
            per_turn = self.diameter_m * self.diameter_m / (2.0 * math.pi)
            return self.CT * per_turn * per_turn
        return (self.kT or 0.0) / self.rho_nom

    @property
    def torque_per_thrust_m(self) -> float:
        """Ratio of torque to thrust of the propeller, kQ / kT; of a table, at its last point."""
        if self.table is not None:
            return self.table.last_torque_per_thrust_m
        if self.CT is not None and self.CP is not None:
            return self.CP * self.diameter_m / (2.0 * math.pi * self.CT)
        return self.kQ / self.kT if self.kQ is not None and self.kT is not None else self.km_m

    @property
    def diameter_m(self) -> float:
        """Diameter of the propeller."""
        return 2.0 * self.rotor_radius_m

    @property
    def full_torque_nm(self) -> float:
        """Torque of the stalled motor at V_nom, Kt V / R."""
        return self.motor.ke * self.V_nom / self.motor.r_ohm

    @property
    def friction_nm_s(self) -> float:
        """Torque that is lost per speed, b + Kt Ke / R."""
        return self.motor.viscous_friction_nm_per_rad_s + self.motor.ke * self.motor.ke / self.motor.r_ohm

    def thrust_constant(self, hover_thrust_n: float) -> float:
        """Return the kT that gives the calibrated multiple of the hover thrust at duty 1, in steady state."""
        thrust_n = self.thrust_calibration_mult * hover_thrust_n
        if self.motor.is_lagged:
            omega = self.full_speed_rad_s(0.0)
            return thrust_n / (self.rho_nom * omega * omega)
        spin_left = self.full_torque_nm - self.km_m * thrust_n
        if spin_left <= 0.0:
            raise _too_heavy(
                thrust_n,
                f"with this motor, V_nom = {self.V_nom} V and km_m = {self.km_m} the maximum is "
                f"{self.full_torque_nm / self.km_m:.3f} N",
            )
        omega = spin_left / self.friction_nm_s
        return thrust_n / (self.rho_nom * omega * omega)

    def full_speed_rad_s(self, kt: float, density_kg_m3: float | None = None) -> float:
        """Return ω at duty 1, V_nom and an air density, by default rho_nom, in steady state.

        As their calibration does, calibrated rotors neglect I0 and the current limit.
        """
        motor, friction, torque = self.motor, self.friction_nm_s, self.full_torque_nm
        density = self.rho_nom if density_kg_m3 is None else density_kg_m3
        if motor.is_lagged:
            at_full_duty = self.table.full_speed_rad_s if self.table is not None else None
            return min(at_full_duty or motor.max_speed_rad_s, self.V_nom / motor.ke)
        load = self.torque_per_thrust_m * (kt * density)
        if self.is_calibrated:
            return _steady_speed(load, friction, torque)
        at_limit = motor.ke * max(0.0, motor.max_current_a - motor.i0_a)
        if self.table is not None:
            low, high = 0.0, self.V_nom / motor.ke
            while low < (omega := 0.5 * (low + high)) < high:
                drive = min(at_limit, motor.ke * ((self.V_nom - motor.ke * omega) / motor.r_ohm - motor.i0_a))
                left = drive - motor.viscous_friction_nm_per_rad_s * omega
                is_below = left > self._table_loads(kt, density, omega)[1]
                low, high = (omega, high) if is_below else (low, omega)
            return low
        driven = _steady_speed(load, friction, max(0.0, torque - motor.ke * motor.i0_a))
        return min(driven, _steady_speed(load, motor.viscous_friction_nm_per_rad_s, at_limit))

    def full_thrust_n(self, kt: float, density_kg_m3: float | None = None) -> float:
        """Return the thrust at duty 1, V_nom and an air density, by default rho_nom, in steady state."""
        omega, density = self.full_speed_rad_s(kt, density_kg_m3), density_kg_m3 or self.rho_nom
        return self._table_loads(kt, density, omega)[0] if self.table is not None else kt * density * omega * omega

    def _table_loads(self, kt: float, density_kg_m3: float, omega: float) -> tuple[float, float]:
        """Return thrust and torque of a propeller with a table; kT relative to that of the table scales them."""
        thrust_n, torque_nm = self.table.loads(omega) if self.table is not None else (0.0, 0.0)
        gain = kt / self.given_kt * density_kg_m3 / self.rho_nom
        return gain * thrust_n, gain * torque_nm

    def thrust_constants(self, hover_thrust_n: float, rotors: int) -> tuple[float, ...]:
        """Return kT of each rotor: given, or together the calibrated multiple of the hover thrust at duty 1."""
        units, ratios = self.units(rotors), self.thrust_ratios(rotors)
        if not self.is_calibrated:
            return tuple(unit.given_kt * ratio for unit, ratio in zip(units, ratios, strict=True))
        if len(set(ratios)) == 1 and all(unit is units[0] or unit == units[0] for unit in units):
            return (units[0].thrust_constant(hover_thrust_n),) * rotors
        target_n, bound_n = self.thrust_calibration_mult * hover_thrust_n * rotors, _bound_n(units)
        if target_n >= bound_n:
            raise _too_heavy(target_n / rotors, f"with these motors the maximum is {bound_n / rotors:.3f} N on average")

        def thrust_n(scale: float) -> float:
            total = 0.0
            for unit, ratio in zip(units, ratios, strict=True):
                total += unit.full_thrust_n(scale * ratio)
            return total

        low, high = 0.0, 1.0
        while thrust_n(high) < target_n:
            low, high = high, 2.0 * high
        while low < (middle := 0.5 * (low + high)) < high:
            low, high = (middle, high) if thrust_n(middle) < target_n else (low, middle)
        return tuple(high * ratio for ratio in ratios)

    def within_reach(self, hover_thrust_n: float, rotors: int) -> "Propulsion":
        """Return this propulsion, with the calibrated multiple limited to what the motors can almost reach."""
        most_n = REACHABLE * _bound_n(self.units(rotors)) / rotors
        if not self.is_calibrated or self.thrust_calibration_mult * hover_thrust_n <= most_n:
            return self
        return self.model_copy(update={"thrust_calibration_mult": most_n / hover_thrust_n})

    def time_constant_s(self, hover_thrust_n: float, kt: float) -> float:
        """Return the motor's time constant: at hover J / (b + Kt Ke / R + 2 kQ ρ ω), or that of its first-order lag."""
        if self.motor.is_lagged:
            return min(self.motor.tau_up_s, self.motor.tau_down_s)
        # kQ ρ ω = km kT ρ ω with kT ρ ω² = T
        propeller = 2.0 * self.torque_per_thrust_m * math.sqrt(hover_thrust_n * kt * self.rho_nom)
        return self.motor.j_kgm2 / (self.friction_nm_s + propeller)

    def write(self, rec: Any, kt: float) -> None:
        """Write a `PROPULSION` record."""
        motor = self.motor
        fill(rec, motor, ke=motor.ke, inverse_r=1.0 / motor.r_ohm, viscous_nm_s=motor.viscous_friction_nm_per_rad_s)
        fill(rec, motor, rotor_inertia=motor.j_kgm2, inverse_rotor_inertia=1.0 / motor.j_kgm2)
        fill(rec, self.esc, inverse_eta=1.0 / self.esc.eta, kt=kt, kq=self.torque_per_thrust_m * kt)
        if self.table is not None:
            rec["kt"] = rec["kq"] = kt / self.given_kt / self.rho_nom
        fill(rec, self, inflow_kt=self.inflow_kT, inflow_kq=self.inflow_kQ, radius_m=self.rotor_radius_m)


def _form_of(part: Part) -> tuple[str, ...] | None:
    """Return the first form of which a key is given, or None."""
    return next((form for form in part.forms if given_keys(part, form)), None)


def _check_forms(part: "Override | Propulsion") -> Found:
    """Yield an error for a propeller in two forms, and for one without all of its keys."""
    given = [given_keys(part, form) for form in part.forms]
    found = [names for names in given if names]
    if len(found) > 1:
        text = f"is given together with {found[0][0]}; give it in one form: kT and kQ, CT and CP, table, or km_m"
        yield misfit(found[1][0], getattr(part, found[1][0]), text)
        return
    for names, form in zip(given, part.forms, strict=True):
        missing = [name for name in form if name not in names]
        if form in PROPELLERS and names and missing:
            text = f"is given without {missing[0]}; a propeller needs {' and '.join(form)}"
            yield misfit(names[0], getattr(part, names[0]), text)


def _steady_speed(load: float, friction: float, torque: float) -> float:
    """Return the root of load ω² + friction ω − torque = 0, without cancellation."""
    root = math.sqrt(friction * friction + 4.0 * load * torque)
    return 2.0 * torque / (friction + root) if torque > 0.0 else 0.0


def _bound_n(units: Iterable[Propulsion]) -> float:
    """Return the thrust that rotors together can't reach, Σ Kt V / (R km)."""
    total = 0.0
    for unit in units:
        total += math.inf if unit.motor.is_lagged else unit.full_torque_nm / unit.torque_per_thrust_m
    return total


def _too_heavy(thrust_n: float, limit: str) -> InputError:
    return InputError(
        f"airframe.propulsion can't reach a thrust of {thrust_n:.3f} N per rotor: {limit}. Use a motor with a lower "
        "resistance or Kv, a higher voltage, a smaller km_m, less mass or a smaller thrust_calibration_mult",
        key=("airframe", "propulsion"),
    )
