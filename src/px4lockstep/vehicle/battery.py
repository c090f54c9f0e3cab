"""Battery models: an ideal source, or a Thevenin model with one RC pair.

    E = OCV(SOC) − V1,   V = max(V_min, E − R0 I)
    V̇1 = −V1 / (R1 C1) + I / C1,   SOĊ = −I / Q

(Plett: Battery Management Systems, vol. 1, 2015, ch. 2.) OCV is interpolated linearly between the points and held
constant outside. An ideal battery has the last voltage of its curve at any current; its charge is still counted. The
warning follows from the remaining charge: low below 0.15, critical below 0.10, emergency below 0.05 by default.

A battery of `cells` runs empty: V_min is 0, and below a charge of 0 the rest voltage falls linearly to 0 V within
0.1 % of the capacity, so that all energy comes from the charge. Without `cells`, as in PX4Lockstep.jl, SOC does not
fall below 0, and an empty battery supplies current at the first voltage of its curve, and V_min at any current.
"""

from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import SerializerFunctionWrapHandler, model_serializer

from px4lockstep.jit import inlined_kernel, kernel, record
from px4lockstep.part import KEY, Found, NotNegative, Part, entry, fill, given_keys, misfit

IDEAL, THEVENIN = range(2)
MODELS = {"ideal": IDEAL, "thevenin": THEVENIN}

MAX_OCV_POINTS = 16
EMPTY_SOC = -0.001
"""State of charge at which the rest voltage of a battery of cells is 0 V."""
BROWNOUT_V = 2.0
"""Voltage per cell below which regulators of the avionics drop out."""
PACK = ("ocv_soc", "ocv_v", "min_voltage_v")
CELLS = ("cells", "cell_soc", "cell_v")
LIPO_SOC = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LIPO_V = (3.27, 3.61, 3.69, 3.73, 3.77, 3.79, 3.84, 3.87, 3.95, 4.02, 4.11, 4.20)
"""Typical rest voltage of a lithium polymer cell."""

BATTERY = record(
    [
        ("model", "i8"),
        ("bus", "i8"),
        ("share", "f8"),  # fraction of the bus current
        ("inverse_capacity", "f8"),  # [1/C]
        ("ocv_points", "i8"),
        ("ocv_soc ocv_v ocv_slope_v", "f8", MAX_OCV_POINTS),
        ("r0_ohm", "f8"),
        ("conductance", "f8"),  # 1 / R0
        ("inverse_r1c1 inverse_c1 min_voltage_v low_threshold critical_threshold emergency_threshold", "f8"),
        ("empty_soc", "f8"),  # the lowest state of charge, 0 or `EMPTY_SOC`
    ]
)


@inlined_kernel
def open_circuit_voltage(battery, soc):
    """Return OCV by clamped linear interpolation [V]."""
    last = battery.ocv_points - 1
    if soc >= battery.ocv_soc[last]:
        return battery.ocv_v[last]
    if soc <= battery.ocv_soc[0]:
        return battery.ocv_v[0]
    i = last - 1
    while soc <= battery.ocv_soc[i]:  # from the full end, where flights begin
        i -= 1
    return battery.ocv_v[i] + battery.ocv_slope_v[i] * (soc - battery.ocv_soc[i])


@inlined_kernel
def source_voltage(battery, soc, v1):
    """Return the voltage behind the series resistance [V]."""
    if battery.model == IDEAL:
        return battery.ocv_v[battery.ocv_points - 1]
    return max(battery.min_voltage_v, open_circuit_voltage(battery, soc) - v1)


@kernel
def charge_rates(battery, soc, v1, current_a):
    """Return SOĊ and V̇1 at a current [A]; the charge does not fall below its lowest value."""
    soc_rate = -current_a * battery.inverse_capacity
    if soc <= battery.empty_soc and soc_rate < 0.0:
        soc_rate = 0.0
    if battery.model == IDEAL:
        return soc_rate, 0.0
    return soc_rate, -v1 * battery.inverse_r1c1 + current_a * battery.inverse_c1


@kernel
def warning_of(battery, remaining):
    """Return the warning: 0 none, 1 low, 2 critical, 3 emergency."""
    if remaining < battery.emergency_threshold:
        return 3
    if remaining < battery.critical_threshold:
        return 2
    if remaining < battery.low_threshold:
        return 1
    return 0


class Battery(Part, where="power.batteries"):
    """A battery and its sensor."""

    forms: ClassVar[tuple[tuple[str, ...], ...]] = (PACK, CELLS)

    id: str | None = entry(None, "Name of the battery, referenced by buses. Default: `bat1`, `bat2` …", min_length=1)
    model: Literal["ideal", "thevenin"] = entry(
        "thevenin", "Battery model. The voltage of `ideal` is the last value of `ocv_v`."
    )
    capacity_ah: float = entry(5.0, "Capacity of the battery.", "Ah", gt=0.0)
    soc0: float = entry(1.0, "Initial state of charge.", ge=0.0, le=1.0)
    cells: int | None = entry(
        None,
        "Number of cells in series. A battery with this key runs empty; without it, `ocv_v` and `min_voltage_v` apply.",
        ge=1,
        le=100,
    )
    cell_soc: tuple[NotNegative, ...] | None = entry(
        None,
        "States of charge of the rest voltage of a cell, strictly increasing. Default: a typical lithium polymer cell.",
        min_length=1,
        max_length=MAX_OCV_POINTS - 2,
        ge=0.0,
    )
    cell_v: tuple[NotNegative, ...] | None = entry(
        None,
        "Rest voltages of a cell at `cell_soc`, non-decreasing. Default: a typical lithium polymer cell.",
        "V",
        min_length=1,
        max_length=MAX_OCV_POINTS - 2,
        ge=0.0,
    )
    ocv_soc: tuple[NotNegative, ...] = entry(
        (0.0, 1.0),
        "States of charge of the open-circuit voltage curve, strictly increasing.",
        min_length=1,
        max_length=MAX_OCV_POINTS,
        ge=0.0,
    )
    ocv_v: tuple[NotNegative, ...] = entry(
        (10.8, 12.6),
        "Open-circuit voltages at `ocv_soc`, non-decreasing.",
        "V",
        min_length=1,
        max_length=MAX_OCV_POINTS,
        validate_default=True,
        ge=0.0,
    )
    r0: float = entry(0.02, "Series resistance.", "Ω", gt=0.0)
    r1: float = entry(0.01, "Polarization resistance.", "Ω", gt=0.0)
    c1: float = entry(2000.0, "Polarization capacitance.", "F", gt=0.0)
    v1_0: float = entry(0.0, "Initial polarization voltage.", "V")
    min_voltage_v: float = entry(9.9, "Lower limit of the battery voltage.", "V", ge=0.0)
    low_thr: float = entry(0.15, "State of charge below which the warning is low.", ge=0.0, le=1.0)
    crit_thr: float = entry(0.10, "State of charge below which the warning is critical.", ge=0.0, le=1.0)
    emerg_thr: float = entry(0.05, "State of charge below which the warning is emergency.", ge=0.0, le=1.0)
    sense_tau_s: float = entry(0.0, "Time constant of the battery sensor; 0 disables the lag.", "s", ge=0.0)
    sense_delay_s: float = entry(0.0, "Delay of the battery sensor, in whole autopilot ticks.", "s", ge=0.0)
    sense_voltage_sigma_v: float = entry(0.0, "Standard deviation of the noise of the measured voltage.", "V", ge=0.0)
    sense_current_sigma_a: float = entry(0.0, "Standard deviation of the noise of the measured current.", "A", ge=0.0)

    @model_serializer(mode="wrap")
    def _in_one_form(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit the keys that do not apply, so that what is written can be read again."""
        values: dict[str, Any] = dump(self)
        return {name: value for name, value in values.items() if name not in (PACK if self.cells else CELLS)}

    def check(self) -> Found:
        """Check the curve of the rest voltage, the minimum voltage and the order of the thresholds."""
        others = given_keys(self, CELLS if self.cells is None else PACK)
        if others:
            text = "needs cells, the number of cells" if self.cells is None else f"is given with cells = {self.cells}"
            yield misfit(others[0], getattr(self, others[0]), f"{text}; remove it, or give the battery in one form")
        elif self.cells is not None and self.model != "thevenin":
            yield misfit("cells", self.cells, "is for model = 'thevenin'; an ideal battery has ocv_v and never empties")
        if self.cells is None:
            yield from self._check_curve("ocv_soc", "ocv_v", self.ocv_soc, self.ocv_v)
        else:
            yield from self._check_curve("cell_soc", "cell_v", *self.cell_curve)
        order = "emerg_thr ≤ crit_thr ≤ low_thr is required"
        if self.emerg_thr > self.crit_thr:
            yield misfit("emerg_thr", self.emerg_thr, f"is above crit_thr = {self.crit_thr}; {order}")
        if self.crit_thr > self.low_thr:
            yield misfit("crit_thr", self.crit_thr, f"is above low_thr = {self.low_thr}; {order}")

    def _check_curve(self, soc: str, volts: str, ocv_soc: tuple[float, ...], ocv_v: tuple[float, ...]) -> Found:
        if len(ocv_soc) != len(ocv_v):
            counts = f"has {len(ocv_v)} items, {soc} has {len(ocv_soc)}"
            yield (volts,), f"{KEY} {counts}; they must have the same number"
        if not all(a < b for a, b in pairwise(ocv_soc)):
            yield misfit(soc, ocv_soc, "is not strictly increasing; each value must exceed the previous one")
        if ocv_soc[-1] > 1.0:
            yield misfit(soc, ocv_soc, "is out of range; states of charge are 0 to 1")
        if not all(a <= b for a, b in pairwise(ocv_v)):
            yield misfit(volts, ocv_v, "decreases; no voltage may be below the previous one")
        if ocv_v[-1] <= 0.0:
            yield misfit(volts, ocv_v, "ends at 0; the last voltage must be above 0")
        elif self.cells is None and self.model == "thevenin" and self.min_voltage_v > ocv_v[-1]:
            text = f"is above the voltage of the full battery; it must be at most {ocv_v[-1]}"
            yield misfit("min_voltage_v", self.min_voltage_v, text)

    @property
    def cell_curve(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """States of charge and rest voltages of a cell."""
        return self.cell_soc or LIPO_SOC, self.cell_v or LIPO_V

    @property
    def curve(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """States of charge and rest voltages of the battery."""
        if self.cells is None:
            return self.ocv_soc, self.ocv_v
        soc, volts = self.cell_curve
        pack_v = tuple(self.cells * volt for volt in volts)
        empty = ((EMPTY_SOC,), (0.0,)) if soc[0] == 0.0 else ((EMPTY_SOC, 0.0), (0.0, pack_v[0]))
        return (*empty[0], *soc), (*empty[1], *pack_v)

    @property
    def full_voltage_v(self) -> float:
        """Rest voltage of the full battery."""
        return self.curve[1][-1]

    @property
    def floor_v(self) -> float:
        """Lower limit of the voltage."""
        return self.min_voltage_v if self.cells is None else 0.0

    @property
    def brownout_v(self) -> float:
        """Voltage below which the avionics no longer get their power; 0 if they always do."""
        return BROWNOUT_V * (self.cells or 0)

    def without_start(self) -> "Battery":
        """Return a copy with the default initial state."""
        return self.model_copy(update={"soc0": 1.0, "v1_0": 0.0})

    def write(self, rec: Any, bus: int, share: float) -> None:
        """Write a `BATTERY` record with its bus and its share of the bus current."""
        soc, volts = self.curve
        points = len(soc)
        capacity = {"inverse_capacity": 1.0 / (self.capacity_ah * 3600.0), "ocv_points": points}
        circuit = {"r0_ohm": self.r0, "conductance": 1.0 / self.r0, "inverse_c1": 1.0 / self.c1}
        curve = {"ocv_soc": soc, "ocv_v": volts, "min_voltage_v": self.floor_v, "empty_soc": min(0.0, soc[0])}
        fill(rec, self, model=MODELS[self.model], bus=bus, share=share, **capacity, **circuit, **curve)
        rec["inverse_r1c1"] = 1.0 / (self.r1 * self.c1)
        rec["ocv_slope_v"][: points - 1] = np.diff(volts) / np.diff(soc)
        thresholds = self.low_thr, self.crit_thr, self.emerg_thr
        rec["low_threshold"], rec["critical_threshold"], rec["emergency_threshold"] = thresholds
