"""A campaign with everything that a worker or a later command needs, serializable as text."""

import dataclasses
import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from px4lockstep.campaigns.build_cache import BuildCache
from px4lockstep.campaigns.file_tables import MAX_RUNS, CampaignFile, Vary
from px4lockstep.campaigns.metrics import DEFAULT_LABELS, Metric, metrics_of, refuse_functions
from px4lockstep.campaigns.own_objects import pickled, with_kinds
from px4lockstep.campaigns.sampling import Sampler, seed_of_run
from px4lockstep.errors import InputError
from px4lockstep.io import to_json
from px4lockstep.part import FrozenDict, Part, entry, freeze
from px4lockstep.part.wording import input_error
from px4lockstep.px4.missions import Mission, parse_mission
from px4lockstep.reading import parse_json
from px4lockstep.reprs import ShortRepr
from px4lockstep.spec.code import class_keys, code_keys, refuse_code
from px4lockstep.spec.files import Layers
from px4lockstep.spec.load import checked
from px4lockstep.spec.overrides import apply_overrides, canonical_key
from px4lockstep.spec.own_parts import own_kinds
from px4lockstep.spec.spec import Places, Spec
from px4lockstep.spec.stages import file_values
from px4lockstep.spec.weight import MASS, mass_changes_motors
from px4lockstep.trust import Chosen, refusal
from px4lockstep.user_code import names_code

SEED = "aircraft.seed"
Sent = tuple[str, bool, bytes]
"""A campaign as sent to a worker: see `Campaign.sent`."""


def refuse_inputs(inputs: Iterable[Vary]) -> None:
    """Raise if a varying input names code to run."""
    for vary in inputs:
        key = canonical_key(vary.key)
        if key in code_keys() and (key not in class_keys() or any(map(names_code, vary.values or ()))):
            raise InputError(refusal(f"vary.key = {vary.key!r}", "remove the input"))


class _Packed(Part):
    """The fields that `Campaign.to_json` writes."""

    file: CampaignFile = entry()
    runs: int = entry(ge=1, le=MAX_RUNS)
    base: dict[str, Any] = entry()
    mission: tuple[str, str] | None = entry()
    sources: dict[str, str] = entry()
    folder: str = entry()


def _packed(value: Any) -> Any:
    """Return a value with `{"float": "inf"}` for numbers that JSON can't represent."""
    if isinstance(value, dict):
        return {name: _packed(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(item) for item in value]
    return {"float": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _unpacked(value: Any) -> Any:
    """Invert `_packed`."""
    if isinstance(value, dict):
        word = str(value.get("float")) if len(value) == 1 else ""
        is_float = word in ("inf", "-inf", "nan")
        return float(word) if is_float else {name: _unpacked(item) for name, item in value.items()}
    return tuple(_unpacked(item) for item in value) if isinstance(value, tuple) else value


def _immutable(value: Any) -> Any:
    """Return a value whose tables can't be changed."""
    if isinstance(value, dict):
        return FrozenDict((name, _immutable(item)) for name, item in value.items())
    return tuple(map(_immutable, value)) if isinstance(value, tuple) else value


@dataclass(frozen=True, repr=False)
class Campaign(ShortRepr):
    """The tables of the campaign file, and those of the spec file with the changes common to all runs."""

    file: CampaignFile
    runs: int
    base: dict[str, Any] = field(repr=False)  # tables of the spec file, without defaults
    mission: tuple[str, str] | None = field(repr=False)  # name and text of a user's mission file
    sources: dict[str, str] = field(repr=False)  # source text of the user's metrics, by path
    folder: str  # folder of the campaign file, from which the user's metrics may import
    is_trusted: bool = field(default=False, repr=False)  # whether the user trusts its code; never stored in a file
    objects: bytes = field(default=b"", repr=False)  # the user's objects for the workers; never stored in a file

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return self.file.campaign.name

    @property
    def vary(self) -> tuple[Vary, ...]:
        """The varying inputs."""
        return self.file.vary

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the changes of the spec file."""
        changed = [canonical_key(key) for key in (*self.file.set, *(vary.key for vary in self.vary))]
        return mass_changes_motors(self.spec({}), is_changed=True) if MASS in changed else ()

    @cached_property
    def _sampler(self) -> Sampler:
        own = self.file.campaign
        return Sampler(self.vary, own.sampling, own.seed, self.runs)

    def inputs(self, index: int) -> dict[str, Any]:
        """Return the inputs of a run, by key."""
        return self._sampler.inputs(index)

    def overrides(self, index: int, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the overrides of the spec file for a run: its inputs, and its seed unless that is an input."""
        own = self.file.campaign
        return ({SEED: seed_of_run(own.seed, index)} if own.own_seeds and index >= 0 else {}) | inputs

    @cached_property
    def _path(self) -> Path:
        return Path(self.folder)

    @cached_property
    def _missions(self) -> dict[str, Mission]:
        """The user's mission, parsed, by its name."""
        return {} if self.mission is None else {self.mission[0]: parse_mission(self.mission[1], self.mission[0])}

    @cached_property
    def _tables(self) -> FrozenDict:
        """The tables of all runs, immutable, so that the build cache recognizes those that a run does not change."""
        tables = self.base
        if self.mission is not None:
            tables = tables | {"px4": tables["px4"] | {"mission_path": self.mission[0]}}  # only a name: it is parsed
        frozen: FrozenDict = _immutable(tables)
        return frozen

    def spec(self, overrides: dict[str, Any]) -> Spec:
        """Return the spec of a run with these overrides; it writes only to its run folder."""
        name = f"the aircraft of campaign {self.name!r}"
        places = Places(Chosen(name) if self.is_trusted else name)
        layers = Layers(places, dict(self._tables), dict(self._missions))
        apply_overrides(layers, overrides, (), self._path, is_chosen=self.is_trusted)
        for key, _ in tuple(file_values({"run": layers.data.get("run", {})})):
            layers.data["run"] = {name: value for name, value in layers.data["run"].items() if name != key[1]}
        spec = checked(layers, self.build_cache)
        spec._sources = self.sources
        spec.timeline.check_has_end("in a campaign", "set an end in [set], such as 'timeline.t_end_s' = 60.0")
        return spec

    def refuse_code(self) -> None:
        """Raise if an untrusted campaign names code to run: in a metric, an input, or the spec of all runs."""
        if not self.is_trusted:
            refuse_functions(self.file.metric)
            refuse_inputs(self.vary)
            refuse_code(self.spec({}), is_strict=True)

    @property
    def names_code(self) -> bool:
        """Whether flying it requires trust."""
        try:
            dataclasses.replace(self, is_trusted=False).refuse_code()
        except InputError:
            return True
        return False

    def with_objects(self, parts: Mapping[str, object]) -> "Campaign":
        """Return the campaign with objects of the user, by stage, which it names in its spec."""
        kinds, objects = pickled(parts)
        return dataclasses.replace(self, base=with_kinds(self.base, kinds), objects=objects) if kinds else self

    @property
    def own_parts(self) -> dict[str, str]:
        """Parts of the user by stage, as in the spec of all runs: module and class."""
        return {stage: f"{kind.module}:{kind.name}" for stage, kind in own_kinds(self.spec({})).items()}

    @cached_property
    def build_cache(self) -> BuildCache:
        """Parts of the last run, reused by the next one where its inputs are the same."""
        return BuildCache()

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, default metrics first. Loading a metric in Python requires trust."""
        if not self.is_trusted:
            refuse_functions(self.file.metric)
        return metrics_of(self.file.metric, Path(self.folder), self.sources)

    # -- as text -------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> "Sent":
        """The campaign as text, whether it is trusted, and the user's objects, as sent to a worker."""
        return self.to_json(), self.is_trusted, self.objects

    def to_json(self) -> str:
        """Return the campaign as text, without the trust flag and the user's objects."""
        kept = [own.name for own in dataclasses.fields(self) if own.name not in ("is_trusted", "objects")]
        fields = {name: getattr(self, name) for name in kept}
        fields["file"] = self.file.model_dump(by_alias=True, exclude_none=True)
        return to_json(_packed(fields), indent=1, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str, name: str = "the campaign", *, is_trusted: bool = False) -> "Campaign":
        """Return the campaign written by `to_json`; errors call the text `name`. The text never decides about trust."""
        fields = _unpacked(freeze(parse_json(text, name, "a campaign")))
        try:
            packed = _Packed.model_validate(fields)
        except ValidationError as error:
            raise InputError(f"{name} is not a campaign: {input_error(_Packed, error)}") from None
        return cls(**{own: getattr(packed, own) for own in _Packed.model_fields}, is_trusted=is_trusted)

    @cached_property
    def identity(self) -> str:
        """Hash of the campaign, independent of its folder and of labels."""
        tables = {"vary": self.file.vary, "metric": self.file.metric}
        unnamed = {name: tuple(own.model_copy(update={"label": None}) for own in each) for name, each in tables.items()}
        plain = dataclasses.replace(self, folder="", file=self.file.model_copy(update=unnamed))
        return hashlib.sha256(plain.to_json().encode()).hexdigest()

    @property
    def labels(self) -> dict[str, str]:
        """Labels of inputs and metrics, by key or name, for figures and reports."""
        named = [(own.key, own.label) for own in self.vary] + [(own.name, own.label) for own in self.file.metric]
        return DEFAULT_LABELS | {name: label for name, label in named if label is not None}
