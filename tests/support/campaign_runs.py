"""Synthetic runs for tests of metrics, and errors of the tables of a campaign file."""

from types import SimpleNamespace

import numpy as np
from pydantic import ValidationError

from px4lockstep.log.log import gather
from px4lockstep.part import KEY


def made_run(time_us, rest_m=0.0, summary=None, **columns):
    """Return a minimal run for metrics, with a log of these columns, named as in log files."""
    arrays = {"time_us": np.array(time_us, np.uint64)}
    arrays |= {name: np.array(values) for name, values in columns.items()}
    simulation = SimpleNamespace(plant=SimpleNamespace(traits={"rest_m": rest_m}))
    return SimpleNamespace(log=gather(arrays), summary=SimpleNamespace(**(summary or {})), simulation=simulation)


def error_of(table, key, **values):
    """Return the error of a table, as in the report on a file."""
    try:
        table.model_validate(values)  # as from a file
    except ValidationError as error:
        found = error.errors(include_url=False)
        assert len(found) == 1, found
        place = ".".join([key, *map(str, found[0]["loc"])])
        return found[0]["msg"].replace(KEY, place)
    raise AssertionError("nothing is wrong with it")
