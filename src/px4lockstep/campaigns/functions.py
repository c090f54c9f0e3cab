"""Metrics in Python: functions of the run, in a file next to the campaign file.

The source is read once, before any flight, and sent along with the metric to the process that computes it; see
`user_code`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.errors import InputError, MetricError, did_you_mean
from px4lockstep.reading import check_path, read_text, user_path
from px4lockstep.user_code import MAX_BYTES, is_signal, module_of, signature_of, told

if TYPE_CHECKING:
    from px4lockstep.campaigns.kinds import FlightSignals


def read_source(function: str, folder: Path) -> tuple[Path, str]:
    """Return the path of the file in `file.py:name`, relative to a folder, and its text."""
    file = function.rpartition(":")[0]
    check_path(file)
    path = (folder / user_path(file)).absolute()
    return path, read_text(path, MAX_BYTES, "a Python file")


@dataclass(frozen=True)
class UserFunction:
    """A function in a file."""

    metric: str
    path: Path  # absolute
    name: str
    source: bytes = field(repr=False)

    @classmethod
    def read(cls, metric: str, function: str, folder: Path, sources: Mapping[str, str] | None = None) -> "UserFunction":
        """Load and check `file.py:name`, from `sources` if given, otherwise from a file relative to the folder."""
        file, _, name = function.rpartition(":")
        place = f"metric {metric!r}, function = {function!r}"
        try:
            if sources is None:
                path, source = read_source(function, folder)
            elif file in sources:
                path, source = (folder / user_path(file)).absolute(), sources[file]
            else:
                raise InputError("its source is missing from the campaign folder")
            made = cls(metric, path, name, source.encode())
            made._check()
        except InputError as error:
            raise InputError(f"{place}: {error}") from None
        return made

    @property
    def is_bool(self) -> bool:
        """Whether the function is annotated as boolean: `def is_safe(run) -> bool`."""
        signature = signature_of(self.load())
        return signature is not None and signature.return_annotation in (bool, "bool")

    @property
    def description(self) -> str:
        """First line of the docstring, or the location of the function."""
        lines = (inspect.getdoc(self.load()) or "").splitlines()
        return lines[0] if lines else f"{self.path.name}:{self.name}"

    @property
    def place(self) -> str:
        """File and name of the function, with its line if it is written in Python."""
        code = getattr(self.load(), "__code__", None)
        return f"{self.path.name}{f', line {code.co_firstlineno}' if code is not None else ''}: {self.name}"

    def __call__(self, flown: "FlightSignals") -> Any:
        """Return the value of the function for a flight."""
        try:
            function = self.load()
        except InputError as error:
            raise MetricError(f"metric {self.metric!r}: {error}") from None
        try:
            return function(flown.run)
        except BaseException as error:
            if is_signal(error):
                raise
            raise MetricError(f"metric {self.metric!r}: {told(error, self.path)}") from error

    def load(self) -> Callable[..., Any]:
        """Return the function."""
        module = module_of(self.path, self.source)
        found: Callable[..., Any] | None = getattr(module, self.name, None)
        if found is None:
            names = [name for name, value in vars(module).items() if inspect.isfunction(value)]
            hint = did_you_mean(self.name, names)
            known = f"{'Functions' if hint else 'functions'} in the file: {', '.join(names) or 'none'}"
            raise InputError(f"{self.path.name} has no function {self.name!r}; {hint}{known}")
        return found

    def _check(self) -> None:
        function = self.load()
        if not callable(function):
            raise InputError(f"{self.name} in {self.path.name} is {function!r:.80}; it must be a function of the run")
        signature = signature_of(function)
        try:
            if signature is not None:
                signature.bind(None)
        except TypeError:
            called = f"{self.name}{signature} in {self.path.name} can't be called with the run as its only argument"
            raise InputError(f"{called}; define it as `def {self.name}(run)`") from None
