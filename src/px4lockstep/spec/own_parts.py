"""Parts of the user in a flight: objects that replace the autopilot, wind, estimator or scenario of a spec.

A spec file names a class, `autopilot.kind = "python:my_module:MyController"`, and an object is created for each flight.
An object that is passed in Python is named in the spec of its flight: `object:my_module:MyController`.
"""

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from px4lockstep.autopilots.base import NativeAutopilot, Session
from px4lockstep.engine.stages import check_stage
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.part import Key, Part, dotted
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.code import class_keys
from px4lockstep.spec.mission_time import with_requests
from px4lockstep.spec.report import Report
from px4lockstep.spec.spec import Spec
from px4lockstep.user_code import (
    CLASS,
    Named,
    can_be_found,
    identify,
    is_signal,
    load_class,
    named,
    signature_of,
    told,
)

KEYS: dict[str, Key] = {"autopilot": ("autopilot", "kind"), "wind": ("environment", "wind")}
KEYS |= {"estimator": ("estimator", "kind")}
"""The key that names the class of each part."""
KIND_OF = {stage: operator.attrgetter(dotted(key)) for stage, key in KEYS.items()}
"""Functions that return the value of that key in a spec."""
OPTIONS: dict[str, Key] = {"autopilot": ("autopilot", "options"), "wind": ("environment", "wind_options")}
OPTIONS |= {"estimator": ("estimator", "options")}
SCENARIO = "scenario"
MODELS: dict[str, type[Part]] = {"wind": Wind, "estimator": Estimator, SCENARIO: Scenario}
"""Models of the package that can be passed as objects, too; they become part of the spec."""


@dataclass(frozen=True)
class OwnPart:
    """A part of the user: its object, its kind, and the hash of the file that defines it."""

    made: Any
    kind: str
    hash: str

    @property
    def identity(self) -> str:
        """Name and hash, as in summaries and recordings."""
        return f"{self.kind.partition(':')[2]} {self.hash}"


OwnParts = dict[str, OwnPart]
"""Parts of the user by stage."""


def value_of(spec: Spec, key: Key) -> Any:
    """Return a value of a spec."""
    return functools.reduce(getattr, map(str, key), spec)


def own_kinds(spec: Spec) -> dict[str, Named]:
    """Return the stages for which a spec names a class or an object of the user."""
    found = {stage: named(kind_of(spec)) for stage, kind_of in KIND_OF.items()}
    return {stage: kind for stage, kind in found.items() if kind is not None}


def with_kinds(spec: Spec, kinds: Mapping[str, str]) -> Spec:
    """Return a spec with other kinds of parts, by stage, without the options of a class."""
    for stage, kind in kinds.items():
        (table, name), options = map(str, KEYS[stage]), str(OPTIONS[stage][-1])
        folder = str(class_keys()[KEYS[stage]][-1])
        part = getattr(spec, table).model_copy(update={name: kind, options: None, folder: None})
        spec = changed_copy(spec, {table: part})
    return spec


def changed_copy(spec: Spec, update: dict[str, Any]) -> Spec:
    """Return a copy of a spec with other tables; code that it no longer names needs no trust."""
    copy = spec.model_copy(update=update)
    copy._untrusted = {key: value for key, value in spec.untrusted.items() if value_of(copy, key) == value}
    return copy


def with_objects(spec: Spec, given: Mapping[str, object]) -> tuple[Spec, OwnParts]:
    """Return a spec that names the given objects, by stage, and the objects that are not models of the package."""
    parts: OwnParts = {}
    for stage, item in given.items():
        if item is None:
            continue
        model = MODELS.get(stage)
        if model is not None and isinstance(item, model):
            whole: dict[str, Any] = {stage: item}
            if isinstance(item, Scenario):
                whole = {stage: with_requests(item, spec.px4.mission_path is not None)}
            elif stage == "wind":
                values = {name: getattr(item, name) for name in model.model_fields}
                whole = {"environment": spec.environment.model_copy(update=values)}
            spec = changed_copy(spec, whole)
            continue
        _refuse_models(stage, item)
        check_stage(stage, item)
        kind, hashed = identify(item)
        parts[stage] = OwnPart(item, kind, hashed)
        if stage in KEYS:
            spec = with_kinds(spec, {stage: kind})
        else:  # its times are boundaries, as when the spec is loaded from a recording
            spec = changed_copy(spec, {SCENARIO: with_requests(Scenario(), spec.px4.mission_path is not None)})
    return spec, parts


def _refuse_models(stage: str, item: object) -> None:
    """Raise for objects that are not the user's: an autopilot of the package, or a model of another stage."""
    if isinstance(item, NativeAutopilot | Session):
        raise InputError(
            f"autopilot = {type(item).__name__}: the autopilots of the package are chosen by autopilot.kind and its "
            "parameters, with overrides; pass an object of your own, or use px4lockstep.Simulation"
        )
    if isinstance(item, Part | str):
        raise InputError(
            f"{stage} = {item!r:.80} is not allowed; it must be an object with a method step(time_us, inputs, outputs)"
        )


def created_parts(spec: Spec, stages: Mapping[str, object], *, is_flown: bool) -> OwnParts:
    """Create an object of each class that a spec names, except for the stages whose objects are given.

    Raises:
        InputError: If a class can't be loaded or created, with all errors; or if the spec names an object that is not
            given.
    """
    kinds = own_kinds(spec)
    if not kinds:
        return {}
    report, parts = Report(spec.places), {}
    for stage, kind in kinds.items():
        key = KEYS[stage]
        if stage in stages or not is_flown:
            continue
        name = f"{dotted(key)} = {value_of(spec, key)!r}"
        if kind.prefix != CLASS:
            again = f"{stage}={kind.name}(...)"
            report.add(key, f"{name} is an object that was passed in Python, and is not in the file; pass it: {again}")
            continue
        try:
            parts[stage] = _created(spec, stage, kind)
        except InputError as error:
            report.add(key, f"{name}: {error}")
    report.raise_if_any()
    return parts


def _created(spec: Spec, stage: str, kind: Named) -> OwnPart:
    options = value_of(spec, OPTIONS[stage]) or {}
    loaded = load_class(kind, value_of(spec, class_keys()[KEYS[stage]]), spec.sources)
    signature = signature_of(loaded.made)
    try:
        if signature is not None:
            signature.bind(**options)
    except TypeError as error:
        called, where = ", ".join(f"{name}={value!r}" for name, value in options.items()), dotted(OPTIONS[stage])
        takes = f"{kind.name}{signature}"
        raise InputError(f"{kind.name}({called}): {error}; {takes} gets its arguments from {where}") from None
    try:
        made = loaded.made(**options)
    except BaseException as error:
        if is_signal(error):
            raise
        raise InputError(f"{kind.name} can't be created: {told(error)}") from error
    check_stage(stage, made)
    return OwnPart(made, f"{CLASS}:{kind.module}:{kind.name}", loaded.hash)


def check_found(spec: Spec, report: Report) -> None:
    """Check that the modules of the classes that a spec names can be found, without importing them."""
    for stage, kind in own_kinds(spec).items():
        folder = value_of(spec, class_keys()[KEYS[stage]])
        if kind.prefix == CLASS and not can_be_found(kind.module, folder):
            where = "on the Python path" if folder is None else f"in {folder} or on the Python path"
            name = f"{dotted(KEYS[stage])} = {value_of(spec, KEYS[stage])!r}"
            report.add(KEYS[stage], f"{name}: module {kind.module!r} not found {where}")
