"""The PX4 parameters of a flight, from its spec, its run folder or a `.params` file, and how two sets differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from px4lockstep.autopilots.area import Area, area_of
from px4lockstep.autopilots.kinds import flown_params
from px4lockstep.errors import InputError
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.recorded import SPEC, recorded_spec
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.parameters import known_parameters, stored
from px4lockstep.px4.params_files import load_params, shortest
from px4lockstep.spec.build import build_aircraft
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.own_parts import own_kinds
from px4lockstep.spec.spec import Spec

Params = Mapping[str, float | int]
PARAMS_SUFFIX = ".params"
RECORDING_SUFFIX = ".h5"


def parameters_of(spec: Spec) -> dict[str, float | int]:
    """Return the PX4 parameters of a spec's flight by name, with PX4's types, floats in their shortest form."""
    found, known = flown_params(spec.autopilot, spec.px4, build_aircraft(spec)), known_parameters()
    typed = {name: stored(known[name], value) if name in known else value for name, value in sorted(found.items())}
    return {name: value if isinstance(value, int) else shortest(value) for name, value in typed.items()}


def flown_area(spec: Spec, mission: Mission | None) -> Area:
    """Return fence and rally points of a spec's flight, with the limits of its PX4 parameters, if it has any."""
    has_params = "autopilot" not in own_kinds(spec) and spec.autopilot.capabilities.flies
    params = parameters_of(spec) if has_params else {}
    return area_of(mission, spec.home.lat_deg, spec.home.lon_deg, params)


def read_parameters(source: str | Path) -> dict[str, float | int]:
    """Return the parameters of a `.params` file, a run folder, `latest`, a recording, a spec file or an aircraft."""
    path = run_path(source)
    if path.suffix == PARAMS_SUFFIX:
        return dict(load_params(path).values)
    if path.suffix == RECORDING_SUFFIX:
        return parameters_of(recorded_spec(read_recording(path)))
    if path.is_dir():
        if not (path / SPEC).exists():
            raise InputError(f"{source} is not a run folder: it has no {SPEC}")
        return parameters_of(load_spec(path / SPEC, reads_mission=False))
    return parameters_of(load_spec(str(source), reads_mission=False))


@dataclass(frozen=True)
class ParameterDifferences:
    """How two sets of parameters differ."""

    values: Mapping[str, tuple[float | int, float | int]]
    """The values of parameters that both have and that differ, by name."""
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def parameter_differences(a: Params, b: Params) -> ParameterDifferences:
    """Compare two sets of parameters by name."""
    differing = {name: (a[name], b[name]) for name in sorted(a) if name in b and a[name] != b[name]}
    only_a, only_b = (tuple(sorted(x.keys() - y.keys())) for x, y in ((a, b), (b, a)))
    return ParameterDifferences(differing, only_a, only_b)
