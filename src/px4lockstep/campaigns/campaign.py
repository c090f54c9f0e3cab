"""A campaign as it is flown: all that a worker or a later command needs, in one piece that can go anywhere as text."""

import dataclasses
import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from px4lockstep.campaigns.build_cache import BuildCache
from px4lockstep.campaigns.file_tables import MAX_RUNS, CampaignFile, Vary
from px4lockstep.campaigns.metrics import Metric, metrics_of, refuse_functions
from px4lockstep.campaigns.sampling import Sampler, seed_of_run
from px4lockstep.errors import InputError
from px4lockstep.io import to_json
from px4lockstep.part import Part, entry, freeze
from px4lockstep.part.wording import input_error
from px4lockstep.px4.missions import parse_mission
from px4lockstep.reading import parse_json
from px4lockstep.spec.code import code_keys, refuse_code
from px4lockstep.spec.files import Layers
from px4lockstep.spec.load import checked
from px4lockstep.spec.overrides import apply_overrides, canonical_key
from px4lockstep.spec.spec import Places, Spec
from px4lockstep.spec.stages import file_values
from px4lockstep.trust import Chosen, refusal

SEED = "aircraft.seed"
Sent = tuple[str, bool]
"""A campaign on its way to a worker: see `Campaign.sent`."""


def refuse_inputs(inputs: Iterable[Vary]) -> None:
    """Raise if an input that varies names code."""
    for vary in inputs:
        if canonical_key(vary.key) in code_keys():
            raise InputError(refusal(f"vary.key = {vary.key!r}", "leave the input out"))


class _Packed(Part):
    """What `Campaign.to_json` writes."""

    file: CampaignFile = entry()
    runs: int = entry(ge=1, le=MAX_RUNS)
    base: dict[str, Any] = entry()
    mission: tuple[str, str] | None = entry()
    sources: dict[str, str] = entry()
    folder: str = entry()


def _packed(value: Any) -> Any:
    """Return a value with `{"float": "inf"}` for what JSON has no number for."""
    if isinstance(value, dict):
        return {name: _packed(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(item) for item in value]
    return {"float": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _unpacked(value: Any) -> Any:
    """Return what `_packed` was given."""
    if isinstance(value, dict):
        word = str(value.get("float")) if len(value) == 1 else ""
        is_float = word in ("inf", "-inf", "nan")
        return float(word) if is_float else {name: _unpacked(item) for name, item in value.items()}
    return tuple(_unpacked(item) for item in value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Campaign:
    """What is flown: the tables of the campaign file, and those of the aircraft file with the changes of all runs."""

    file: CampaignFile
    runs: int
    base: dict[str, Any] = field(repr=False)  # what was left out of the aircraft file is left out
    mission: tuple[str, str] | None = field(repr=False)  # name and text, if it is a file of the user's own
    sources: dict[str, str] = field(repr=False)  # the texts of the files that have users' metrics, by their paths
    folder: str  # where the campaign file was: users' metrics may import from beside them
    is_trusted: bool = field(default=False, repr=False)  # the user chose the code that it names; never in a file

    @property
    def name(self) -> str:
        """What it is called."""
        return self.file.campaign.name

    @property
    def vary(self) -> tuple[Vary, ...]:
        """The inputs that vary."""
        return self.file.vary

    @cached_property
    def _sampler(self) -> Sampler:
        own = self.file.campaign
        return Sampler(self.vary, own.sampling, own.seed, self.runs)

    def inputs(self, index: int) -> dict[str, Any]:
        """Return the inputs of a run, by key."""
        return self._sampler.inputs(index)

    def overrides(self, index: int, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return what a run changes of the aircraft file: its inputs, and its seed unless that is one of them."""
        own = self.file.campaign
        return ({SEED: seed_of_run(own.seed, index)} if own.own_seeds and index >= 0 else {}) | inputs

    def spec(self, overrides: dict[str, Any]) -> Spec:
        """Return the spec of a run that changes this of the aircraft file; it writes to its run folder only."""
        name = f"the aircraft of campaign {self.name!r}"
        layers = Layers(Places(Chosen(name) if self.is_trusted else name), dict(self.base))
        if self.mission is not None:
            name, text = self.mission
            layers.missions[name] = parse_mission(text, name)
            layers.data["px4"] = self.base["px4"] | {"mission_path": name}  # by its name: its text is here
        apply_overrides(layers, overrides, (), is_chosen=self.is_trusted)
        for key, _ in tuple(file_values({"run": layers.data.get("run", {})})):
            layers.data["run"] = {name: value for name, value in layers.data["run"].items() if name != key[1]}
        return checked(layers, self.build_cache)

    def refuse_code(self) -> None:
        """Raise if it names code that the user has not chosen: metrics, inputs, or what all runs fly with."""
        if not self.is_trusted:
            refuse_functions(self.file.metric)
            refuse_inputs(self.vary)
            refuse_code(self.spec({}), is_strict=True)

    @property
    def names_code(self) -> bool:
        """Whether it could not be flown without trust."""
        try:
            dataclasses.replace(self, is_trusted=False).refuse_code()
        except InputError:
            return True
        return False

    @cached_property
    def build_cache(self) -> BuildCache:
        """Parts of the last run: the next one changes a few numbers, and reuses the rest."""
        return BuildCache()

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, those that every campaign has first; to load those in Python needs trust."""
        if not self.is_trusted:
            refuse_functions(self.file.metric)
        return metrics_of(self.file.metric, Path(self.folder), self.sources)

    # -- as text -------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> "Sent":
        """It as text, and whether it is trusted, as a worker gets it."""
        return self.to_json(), self.is_trusted

    def to_json(self) -> str:
        """Return it as text, which says nothing about trust."""
        fields = {own.name: getattr(self, own.name) for own in dataclasses.fields(self) if own.name != "is_trusted"}
        fields["file"] = self.file.model_dump(by_alias=True, exclude_none=True)
        return to_json(_packed(fields), indent=1, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str, name: str = "the campaign", *, is_trusted: bool = False) -> "Campaign":
        """Return what `to_json` has written, in a file of a name; whether it is trusted is never said by the text."""
        fields = _unpacked(freeze(parse_json(text, name, "a campaign")))
        try:
            packed = _Packed.model_validate(fields)
        except ValidationError as error:
            raise InputError(f"{name} is not a campaign: {input_error(_Packed, error)}") from None
        return cls(**{own: getattr(packed, own) for own in _Packed.model_fields}, is_trusted=is_trusted)

    @cached_property
    def identity(self) -> str:
        """A hash of all of it, wherever it came from."""
        return hashlib.sha256(dataclasses.replace(self, folder="").to_json().encode()).hexdigest()
