"""Structure-aware fuzzing: one module per format makes inputs and uses them as px4lockstep does.

    make_input("missions", seed=1, index=7, folder=folder)   # the same files, always
    use_input("missions", folder)                            # returns, or raises LockstepError: anything else is a bug

`python -m fuzz` runs many in worker processes with limits of memory and time. Each format has `write(folder, rng)`,
which writes a mutated input (with `rng` None: one that is accepted), and `use(folder)`, which uses it.
"""

import importlib
import os
import random
import tempfile
from pathlib import Path

# Inputs are written there, and some of them name code of their own.
os.environ.setdefault("PX4LOCKSTEP_TRUST", os.path.realpath(tempfile.gettempdir()))

FORMATS = {
    "specs": 24,
    "missions": 15,
    "settings": 10,
    "campaigns": 9,
    "recordings": 10,
    "checkpoints": 4,
    "logs": 6,
    "ulogs": 4,
    "messages": 4,
    "parameters": 4,
    "params_files": 4,
    "metrics": 3,
    "campaign_folders": 3,
}
"""The formats, and how many of 100 inputs each gets."""


class BrokenError(AssertionError):
    """An input was accepted, but the result is wrong."""


def expect(is_so: bool, what: str) -> None:
    """Raise `BrokenError` unless a condition is true."""
    if not is_so:
        raise BrokenError(what)


def module_of(name: str):
    """Return the module of a format."""
    return importlib.import_module(f"fuzz.{name}")


def make_input(name: str, seed: int, index: int, folder: Path) -> Path:
    """Write the files of an input into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    module_of(name).write(folder, random.Random(f"{name} {seed} {index}"))
    return folder


def use_input(name: str, folder: Path) -> None:
    """Use the files of an input.

    Raises:
        LockstepError: If it is rejected, as it should be.
    """
    module_of(name).use(folder)


def warm_up(name: str, folder: Path) -> None:
    """Use a valid input, so that one-time imports and compilation do not count for the others."""
    folder.mkdir(parents=True, exist_ok=True)
    module_of(name).write(folder, None)
    use_input(name, folder)


def shares(total: int, names: list[str]) -> dict[str, int]:
    """Split a number of inputs among the formats, by weight."""
    weights = {name: FORMATS[name] for name in names}
    counts = {name: total * weight // sum(weights.values()) for name, weight in weights.items()}
    counts[names[0]] += total - sum(counts.values())
    return counts
