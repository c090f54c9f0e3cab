"""Fly the runs of a campaign in this process."""

import functools
import gc
import json
import os
import traceback
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from px4lockstep.campaigns.campaign import Campaign, Sent
from px4lockstep.campaigns.criteria import passes
from px4lockstep.campaigns.kinds import FlightSignals
from px4lockstep.campaigns.own_objects import created
from px4lockstep.campaigns.result_rows import ERROR, Row
from px4lockstep.engine.buffers import grow_in_memory
from px4lockstep.errors import HostError, LockstepError, SimulationError
from px4lockstep.flights.outcome import Outcome
from px4lockstep.flights.run import Run, fly
from px4lockstep.processes import ask_child, crash_of
from px4lockstep.px4.console import log_of_console
from px4lockstep.spec.build import build
from px4lockstep.spec.spec import Spec

NOT_KEPT = {"run.mode": "live"}
"""Overrides that turn off recording: a run can be repeated with `campaign rerun`, which records it."""


class Flyer:
    """Flies the runs of one campaign, one at a time."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._metrics = campaign.metrics
        self._memory: dict[str, npt.NDArray[Any]] = {}
        campaign.build_cache.grow = self._lend

    def fly(self, index: int, inputs: dict[str, Any]) -> Row:
        """Fly a run. Errors are reported in its row."""
        try:
            spec = self._campaign.spec(self._campaign.overrides(index, inputs) | NOT_KEPT)
            if spec.autopilot.capabilities.needs_child:
                return self._row_of_child(spec, index, inputs)
            return self._row(spec, index, inputs)
        except LockstepError as error:
            return Row.failed(index, inputs, str(error))
        except Exception:
            return Row.failed(index, inputs, traceback.format_exc())

    def _row_of_child(self, spec: Spec, index: int, inputs: dict[str, Any]) -> Row:
        """Fly in a child process: PX4's library can be loaded only once per process, and it may crash."""

        def work() -> str:
            with log_of_console(Path(os.devnull), ""):
                return json.dumps(asdict(self._row(spec, index, inputs)))

        code, text = ask_child(work)
        if code < 0:
            return Row.failed(index, inputs, crash_of(-code))
        return Row(**json.loads(text) | {"inputs": inputs}) if code == 0 else Row.failed(index, inputs, text)

    def _row(self, spec: Spec, index: int, inputs: dict[str, Any]) -> Row:
        flight = build(spec, builder=self._campaign.build_cache, **created(self._campaign.objects))
        try:
            run = fly(replace(flight, pace=None))
        except HostError:
            raise  # not an outcome of the flight
        except SimulationError as error:
            run = Run(flight, error)
        outcome = run.outcome
        values: dict[str, Any] = {}
        problems, flown = [], FlightSignals(run)
        for metric in self._metrics:
            try:
                values[metric.name] = metric.of(flown)
            except LockstepError as error:
                values[metric.name] = None
                problems.append(str(error))
        return Row(
            index=index,
            status=ERROR if problems else outcome.word,
            passed=None if problems else self._passes(outcome, values),
            reason=outcome.reason,
            error="\n".join(problems) or None,
            digest=run.digest,
            seed=run.spec.aircraft.seed,
            inputs=inputs,
            metrics=values,
        )

    def _passes(self, outcome: Outcome, values: dict[str, Any]) -> bool | None:
        """Return whether the outcome is accepted and all criteria are met; None if the campaign has neither."""
        criteria, accepted = self._campaign.file.pass_, self._campaign.file.campaign.accept
        if not criteria and not accepted:
            return None
        return (outcome.is_success or outcome.is_in(accepted)) and passes(criteria, values) is not False

    def _lend(self, name: str, array: npt.NDArray[Any], rows: int, used: int) -> npt.NDArray[Any]:
        """Lend a flight the log buffers of the previous one: new ones take as long as computing a metric."""
        lent = self._memory.get(name)
        if lent is None or len(lent) < rows or lent.shape[1:] != array.shape[1:]:
            lent = self._memory[name] = grow_in_memory(name, array, rows, used)
        if used:
            lent[:used] = array[:used]
        return lent


@functools.lru_cache(maxsize=2)
def flyer_of(campaign: Sent) -> Flyer:
    """Return the flyer of a campaign in this process."""
    text, is_trusted, objects = campaign
    flyer = Flyer(replace(Campaign.of_json(text, is_trusted=is_trusted), objects=objects))
    gc.freeze()  # all objects so far stay alive, so exempt them from garbage collection
    return flyer


def fly_run(campaign: Sent, index: int, inputs: dict[str, Any]) -> Row:
    """Fly a run of a campaign in this process. Errors are reported in its row."""
    try:
        flyer = flyer_of(campaign)
    except LockstepError as error:
        return Row.failed(index, inputs, str(error))
    return flyer.fly(index, inputs)
