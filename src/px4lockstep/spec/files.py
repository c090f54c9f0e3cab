"""Find and read spec files, follow `extends`, and merge everything into one table.

Tables merge; arrays and scalars replace. The source file of each value is recorded.
"""

import os
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.part import Key, Part, dotted, freeze, is_path, keys_of, model_at, show
from px4lockstep.px4.missions import Mission
from px4lockstep.reading import MAX_DEPTH as MAX_NESTING
from px4lockstep.reading import check_path, decoded, read_regular
from px4lockstep.reading import parse_toml as parse_within_budget
from px4lockstep.spec.code import class_keys, code_in
from px4lockstep.spec.flight_tables import OUTPUTS
from px4lockstep.spec.report import Report
from px4lockstep.spec.shipped import is_name, shipped_aircraft
from px4lockstep.spec.spec import Places, Spec
from px4lockstep.trust import Chosen, place_of
from px4lockstep.user_code import names_code

GREEK_KEY = re.compile(r"^[ \t]*(\w*[τωζμµ]\w*)[ \t]*=", re.MULTILINE)
WHAT = "a spec file (TOML)"
MAX_BYTES = 1_000_000
NO_FILE = "none"
"""Value of `autopilot.params_file` that removes the file of an extended spec."""
MAX_DEPTH = 16
MAX_FILES = 200
"""Maximum number of files in `extends`; a file counts each time it is named."""
MAX_TOTAL_BYTES = 2_000_000
"""Maximum total size of the files in `extends`; a file counts each time it is named."""


def find_file(source: str | Path, folder: Path | None = None) -> Path:
    """Return the file of a built-in name or a path; a path is relative to `folder` or the working directory."""
    if isinstance(source, str) and is_name(source):
        known = shipped_aircraft()
        if source not in known:
            hint = did_you_mean(source, known).replace("did", "Did", 1)
            raise InputError(
                f"unknown aircraft {source!r}. {hint}Built-in aircraft: {', '.join(known)}. "
                f"For a file, give a path such as {source}.toml or ./{source}"
            )
        return known[source]
    check_path(source)
    return (folder / source) if folder is not None else Path(source)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the table of a TOML file, with tuples for arrays."""
    return parse_toml(read_regular(path, MAX_BYTES, WHAT), str(path))


def parse_toml(content: bytes, where: str) -> dict[str, Any]:
    """Return the table of TOML text, with tuples for arrays; errors call the file `where`."""
    if len(content) > MAX_BYTES:
        raise InputError(f"{where} is larger than {MAX_BYTES:,} bytes, the limit for {WHAT}")
    text = decoded(content, where, WHAT)
    if "\0" in text:
        raise InputError(f"{where} is not text: it contains a zero byte; it must be {WHAT}")
    try:
        table = parse_within_budget(text, where, WHAT)
        return {name: freeze(value) for name, value in table.items()}
    except InputError as error:
        if (greek := GREEK_KEY.search(text)) is None:
            raise
        hint = f'a key with non-ASCII letters needs quotes: "{greek[1]}" = …'
        raise InputError(f"{error}; {hint}") from error
    except RecursionError as error:
        raise InputError(f"{where} is nested too deeply: more than {MAX_NESTING} levels") from error


@dataclass
class Layers:
    """Spec files and overrides, merged in order."""

    places: Places
    data: dict[str, Any] = field(default_factory=dict)
    missions: dict[str, Mission] = field(default_factory=dict)
    """Missions that are already loaded, by the path that names them."""
    count: int = 0
    trust: bool = False
    """Whether the user trusts all files, in any folder."""
    total_bytes: int = 0
    read: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    """Size and table of each file that was read, by path."""

    def __post_init__(self) -> None:
        """Create the report."""
        self.report = Report(self.places)

    # -- files ---------------------------------------------------------------------------------------------------

    def add_file(self, path: Path, before: tuple[Path, ...] = ()) -> None:
        """Merge a file after those that it extends; add read errors to the report."""
        label = str(path)
        self.count += 1
        if os.path.realpath(path) in [os.path.realpath(other) for other in before]:
            chain = " → ".join(other.name for other in (*before, path))
            self.report.lines.append(f"{before[-1]}: extends = {label!r} is circular: {chain}")
            return
        if len(before) >= MAX_DEPTH or self.count > MAX_FILES:
            limit = f"{MAX_DEPTH} files deep" if len(before) >= MAX_DEPTH else f"{MAX_FILES} files"
            self.report.lines.append(f"{before[-1]}: extends exceeds the limit of {limit}")
            return
        try:
            if label not in self.read:
                content = read_regular(path, MAX_BYTES, WHAT)
                self.read[label] = len(content), parse_toml(content, label)
            size, own = self.read[label]
            self.total_bytes += size
            if before and self.total_bytes > MAX_TOTAL_BYTES:
                raise InputError(f"the files have more than {MAX_TOTAL_BYTES:,} bytes in total, which is the limit")
        except InputError as error:
            named = f"{before[-1]}: extends: " if before else ""
            self.report.lines.append(f"{named}{error}")
            return
        self._add(dict(own), label, path.parent, (*before, path))

    def add_text(self, text: str, label: str) -> None:
        """Merge the text of a spec that is not on disk and extends no file. Its paths are those of `missions`."""
        try:
            own = parse_toml(text.encode(errors="surrogatepass"), label)
        except InputError as error:
            self.report.lines.append(str(error))
            return
        if "extends" in own:
            extends = show(own.pop("extends"))
            self.report.lines.append(f"{label}: extends = {extends} is not allowed in the spec of a result")
        self._add(own, label, None, ())

    def _add(self, own: dict[str, Any], label: str, folder: Path | None, chain: tuple[Path, ...]) -> None:
        """Merge a table, after the files that it extends."""
        version = own.get("schema_version", 1)
        if version != 1 or not isinstance(version, int) or isinstance(version, bool):
            self.report.lines.append(
                f"{label}: schema_version = {show(version)} is unknown; it must be 1, the only version"
            )
        bases = own.pop("extends", ())
        if not isinstance(bases, tuple) or not all(isinstance(base, str) for base in bases):
            self.report.lines.append(f"{label}: extends = {show(bases)} is not allowed; it must be an array of strings")
            bases = ()
        if len(bases) > MAX_FILES:
            self.report.lines.append(f"{label}: extends names {len(bases):,} files; the limit is {MAX_FILES}")
            return
        for base in bases:
            try:
                self.add_file(find_file(base, folder), chain)
            except InputError as error:
                self.report.lines.append(f"{label}: extends: {error}")
        self.add_table(own, label, folder, chain[-1] if chain else None)

    def add_table(self, own: dict[str, Any], label: str, folder: Path | None, file: Path | None = None) -> None:
        """Merge a table that was read from a file; code that it names counts as chosen if the file is trusted."""
        sensors = own.get("sensors")
        if isinstance(sensors, dict) and list(sensors) == [
            "sensors"
        ]:  # PX4Lockstep.jl also accepts [[sensors.sensors]]
            own["sensors"] = sensors["sensors"]
        respelled = self.respell(own, (), label, folder)
        if file is not None and any(code_in(respelled)):
            label = place_of(file, trust=self.trust)
        self.merge(self.data, respelled, label, ())

    # -- spelling --------------------------------------------------------------------------------------------------

    def respell(self, value: Any, key: Key, label: str, folder: Path | None) -> Any:
        """Return a value with canonical key names, and with paths resolved from the folder of their file."""
        model = model_at(key, Spec)
        if isinstance(value, tuple) and model is not None:
            return tuple(self.respell(item, (*key, i), label, folder) for i, item in enumerate(value))
        if not isinstance(value, dict) or model is None:
            return value
        fields, respelled = keys_of(model), {}
        for name, item in value.items():
            own = canonical(model, name)
            if own != name and own in value:
                both = f"{dotted((*key, name))} = {show(item)} and {dotted((*key, own))} = {show(value[own])}"
                self.report.lines.append(f"{label}: {both} are the same key; give one of them")
                continue
            here = (*key, own)
            if own in fields and is_path(fields[own]) and isinstance(item, str):
                item = self._path(item, here, label, folder)
            respelled[own] = self.respell(item, here, label, folder)
            place = class_keys().get(here)
            if place is not None and names_code(item) and folder is not None and place[-1] not in value:
                respelled[str(place[-1])] = os.path.realpath(folder)  # beside the file that names the class
        return respelled

    def _path(self, text: str, key: Key, label: str, folder: Path | None) -> str:
        if not text:
            return text
        try:
            check_path(text)
        except InputError as error:
            self.report.lines.append(f"{label}: {dotted(key)} = {error}")
            return "?"
        if key[-1] == "mission_path" and is_name(text):
            return text
        if (folder is None and text in self.missions) or (key[-1] == "params_file" and text == NO_FILE):
            return text
        self.places.elsewhere.pop(key, None)
        if key[0] == "run" and key[-1] in OUTPUTS and not isinstance(label, Chosen):
            plain = os.path.normpath(text)
            name = os.path.basename(plain) or "."
            if name != plain:
                self.places.elsewhere[key] = text
            return name  # a file may name an output, but not its folder
        # Resolve links before `..`, as the system does. Otherwise a trusted file could be made to name another file.
        return os.path.normpath(Path(os.path.realpath(folder or Path()), os.path.expanduser(text)))

    # -- merging ---------------------------------------------------------------------------------------------------

    def merge(self, into: dict[str, Any], own: dict[str, Any], label: str, key: Key) -> None:
        """Merge a table into another, and record the source of its values."""
        replaced: set[Key] = set()
        self._merge(into, own, label, key, replaced)
        if replaced:  # sources of the replaced values are obsolete
            files = self.places.files.items()
            inside = [other for other, _ in files if any(other[:n] in replaced for n in range(1, len(other)))]
            for other in inside:
                del self.places.files[other]

    def _merge(self, into: dict[str, Any], own: dict[str, Any], label: str, key: Key, replaced: set[Key]) -> None:
        model = model_at(key, Spec)
        if model is not None:
            self._drop_other_forms(into, own, model, key, replaced)
        for name, value in own.items():
            here = (*key, name)
            if isinstance(value, dict) and isinstance(into.get(name), str):
                self.expand_name(into, name, here)
            if isinstance(value, dict) and isinstance(into.get(name), dict):
                into[name] = dict(into[name])  # the existing table may be shared
                self._merge(into[name], value, label, here, replaced)
            else:
                if isinstance(into.get(name), dict | tuple):
                    replaced.add(here)
                into[name] = _copied(value)
                self.places.files[here] = label

    def expand_name(self, into: dict[str, Any], name: str, key: Key) -> None:
        """Replace a plain string by the table that it stands for, if the key allows one."""
        model = model_at(key, Spec)
        if model is not None and model.name_key is not None and isinstance(into[name], str):
            into[name] = {model.name_key: into[name]}

    def _drop_other_forms(
        self, into: dict[str, Any], own: dict[str, Any], model: type[Part], key: Key, replaced: set[Key]
    ) -> None:
        given = [form for form in model.forms if any(name in own for name in form)]
        for form in model.forms:
            if given and form not in given:
                for name in form:
                    into.pop(name, None)
                    self.places.files.pop((*key, name), None)
                    replaced.add((*key, name))


def _copied(value: Any) -> Any:
    """Return a copy of a value whose tables can be merged into without changing the original."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return value


def canonical(model: type[Part], name: str) -> str:
    """Return the canonical name of a key; the micro sign µ counts as the Greek letter μ."""
    return model.aliases.get(unicodedata.normalize("NFKC", name), name)
