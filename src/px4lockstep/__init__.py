"""Deterministic, fast flight simulation for PX4, in lockstep.

    import px4lockstep

    run = px4lockstep.simulate("iris")
    run.log["pos_ned"], run.summary, run.digest

`simulate` does it all. In steps: `load_spec` reads an aircraft file, `build` makes a flight of it, `fly` flies it.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from px4lockstep.campaigns.load import load_campaign
    from px4lockstep.campaigns.run import run_campaign
    from px4lockstep.flights.branch import Branch, branch
    from px4lockstep.flights.compare import Compared, compare
    from px4lockstep.flights.determinism import determinism
    from px4lockstep.flights.diff import Diff, diff
    from px4lockstep.flights.fork import Forked, fork
    from px4lockstep.flights.replay import Replay, replay
    from px4lockstep.flights.run import Run, fly, simulate
    from px4lockstep.spec.build import Flight, build
    from px4lockstep.spec.load import load_spec
    from px4lockstep.spec.spec import Spec

__all__ = [
    "Branch",
    "Compared",
    "Diff",
    "Flight",
    "Forked",
    "Replay",
    "Run",
    "Spec",
    "__version__",
    "branch",
    "build",
    "compare",
    "determinism",
    "diff",
    "fly",
    "fork",
    "load_campaign",
    "load_spec",
    "replay",
    "run_campaign",
    "simulate",
]

_HOMES = {
    "load_campaign": "px4lockstep.campaigns.load",
    "run_campaign": "px4lockstep.campaigns.run",
    "Branch": "px4lockstep.flights.branch",
    "branch": "px4lockstep.flights.branch",
    "Compared": "px4lockstep.flights.compare",
    "compare": "px4lockstep.flights.compare",
    "determinism": "px4lockstep.flights.determinism",
    "Diff": "px4lockstep.flights.diff",
    "diff": "px4lockstep.flights.diff",
    "Forked": "px4lockstep.flights.fork",
    "fork": "px4lockstep.flights.fork",
    "Replay": "px4lockstep.flights.replay",
    "replay": "px4lockstep.flights.replay",
    "Run": "px4lockstep.flights.run",
    "fly": "px4lockstep.flights.run",
    "simulate": "px4lockstep.flights.run",
    "Flight": "px4lockstep.spec.build",
    "build": "px4lockstep.spec.build",
    "load_spec": "px4lockstep.spec.load",
    "Spec": "px4lockstep.spec.spec",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for, so that `import px4lockstep` takes no time."""
    if name not in _HOMES:
        raise AttributeError(f"module 'px4lockstep' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return what `dir` shows: also what is not imported yet."""
    return sorted({*globals(), *__all__})
