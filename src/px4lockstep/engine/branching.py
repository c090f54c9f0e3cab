"""Going on from a moment of one simulation in another, which was made otherwise.

Three sets of records meet, word by word: those that the first simulation was made with, those that it has come to, and
those that the second was made with.

    result = second   where making differs and the run has changed nothing: a value of the model, a parameter, a seed
             moment   elsewhere: what the run has come to

A value that the run has changed is a state, and goes on, whatever it would have started from.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import NATIVE
from px4lockstep.engine.snapshot import Snapshot
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, view
from px4lockstep.scenario.stage import look_ahead


def merged_records(
    made: npt.NDArray[Any], moment: npt.NDArray[Any], other: npt.NDArray[Any], at_us: int
) -> npt.NDArray[Any]:
    """Return the records to go on with.

    Args:
        made: Those that the first simulation was made with.
        moment: Those that it has come to.
        other: Those that the second was made with.
        at_us: When that is.

    Raises:
        InputError: If the two have different states of the plant, or an event of the past was changed.
    """
    for name in ("n_x", "group_start", "group_stop"):
        if not np.array_equal(made["plant"][name], other["plant"][name]):
            raise InputError("the plant has other states than before; parts can't be added or left out in flight")
    if made["state"].tobytes() != other["state"].tobytes():
        raise InputError("the initial state was changed; it is long past")
    result = other.copy()
    words, was, now = (records.view(np.uint64) for records in (result, made, moment))
    np.copyto(words, now, where=(words == was) | (now != was))
    if int(result["modes"]["scenario"][0]) == NATIVE:
        _join_scenario(made, moment, result, at_us)
    return result


def check_past(timeline: Timeline, snapshot: Snapshot) -> None:
    """Check that a timeline has the same boundaries up to a snapshot, and that one.

    Raises:
        InputError: If not.
    """
    k = int(snapshot.core["cursor"]["k"][0])
    has_same_times = np.array_equal(timeline.time_us[: k + 1], snapshot.time_us[: k + 1])
    if timeline.end_us <= int(snapshot.time_us[k]):
        raise InputError(f"the end, {timeline.end_us} us, is not after the moment to go on from")
    if not has_same_times or not np.array_equal(timeline.due[:k], snapshot.due[:k]):
        raise InputError("a period, or the time of an event or a gust before the moment to go on from, was changed")


def _join_scenario(made: npt.NDArray[Any], moment: npt.NDArray[Any], result: npt.NDArray[Any], at_us: int) -> None:
    """Check that events of the past stay, and look ahead at those to come."""
    before, after = made["scenario"], result["scenario"]
    is_fired = moment["scenario"]["is_fired"][0] != 0
    for i in np.flatnonzero(is_fired):
        if before["events"][0, i].tobytes() != after["events"][0, i].tobytes():
            raise InputError(f"scenario.events[{i}] was changed; it has happened already")
    interpreted(look_ahead)(view(after, writable=True))
    if int(after["next_us"][0]) < at_us:
        raise InputError(f"an event is at {int(after['next_us'][0])} us, before the moment to go on from, {at_us} us")
    step, ticks = int(after["next_step"][0]), int(moment["cursor"]["autopilot_ticks"][0])
    if step < ticks:
        raise InputError(f"an event is at step {step}; the autopilot has ticked {ticks} times before the moment")
