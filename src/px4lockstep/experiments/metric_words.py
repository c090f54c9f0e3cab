"""Metrics of experiments, in one word each.

tracking_rms                           a kind of metric
max:tilt_deg                           a statistic of a signal; also "max tilt_deg"
rms:tracking_error_m,after_s=20        with options of the kind
my_metrics.py:overshoot                a function in a file
0.5*max:tilt_deg                       a weighted term of a cost
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from px4lockstep.campaigns.flight_signals import unit_of
from px4lockstep.campaigns.kinds import KINDS
from px4lockstep.campaigns.metrics import DEFAULTS, MetricTable
from px4lockstep.errors import InputError
from px4lockstep.part.wording import input_error
from px4lockstep.spec.overrides import parse_override

FUNCTION = re.compile(r"(?P<file>.+\.py):(?P<name>\w+)")
WORDS = re.compile(r"(?P<kind>\w+)(?:[:\s]\s*(?P<signal>\w+))?(?P<options>(?:,[^,]+)*)")
TERM = re.compile(r"\s*(?P<weight>[^*]+?)\s*\*\s*(?P<metric>.+)")
FORMS = "a kind (tracking_rms) or a kind and a signal (max:tilt_deg), with options as in rms:tilt_deg,after_s=10"

Given = str | Mapping[str, Any] | MetricTable
"""A metric in one word, or as a table of a campaign file."""


@dataclass(frozen=True)
class Term:
    """A weighted metric of a cost."""

    weight: float
    metric: MetricTable

    def __str__(self) -> str:
        return self.metric.name if self.weight == 1.0 else f"{self.weight:g} * {self.metric.name}"


def metric_of_words(given: Given) -> MetricTable:
    """Return the table of a metric."""
    try:
        if isinstance(given, MetricTable):
            return given
        return MetricTable(**(_parsed(given) if isinstance(given, str) else given))
    except ValidationError as error:
        raise InputError(f"metric {given!r}: {input_error(MetricTable, error)}") from None


def metrics_of_words(given: Given | Sequence[Given]) -> tuple[MetricTable, ...]:
    """Return the tables of one or several metrics, without repetitions."""
    several = [given] if isinstance(given, str | Mapping | MetricTable) else list(given)
    return tuple({table.name: table for table in map(metric_of_words, several)}.values())


def terms_of(given: str | Sequence[str]) -> tuple[Term, ...]:
    """Return the terms of a cost, each `METRIC` or `WEIGHT*METRIC`."""
    found = []
    for text in [given] if isinstance(given, str) else given:
        parts = TERM.fullmatch(text)
        try:
            weight = float(parts["weight"]) if parts else 1.0
        except ValueError:
            weight = 0.0
        if not 0.0 < abs(weight) < float("inf"):
            raise InputError(f"cost {text!r}: the weight must be a finite number other than 0, as in 0.5*max:tilt_deg")
        found.append(Term(weight, metric_of_words(parts["metric"] if parts else text.strip())))
    names = [term.metric.name for term in found]
    if not names or len(dict.fromkeys(names)) != len(names):
        raise InputError(f"the cost has {'a metric twice' if names else 'no terms'}; give each of its metrics once")
    return tuple(found)


def _parsed(text: str) -> dict[str, Any]:
    """Return the fields of a metric's table."""
    own = text.strip()
    function = FUNCTION.fullmatch(own)
    if function is not None:
        return {"name": function["name"], "function": own}
    words = WORDS.fullmatch(own)
    if words is None:
        raise InputError(f"metric {text!r} is not valid; write {FORMS}")
    kind, signal = words["kind"], words["signal"]
    _refuse_signal(kind)
    options = dict(parse_override(option) for option in words["options"].split(",")[1:])
    name = "_".join([kind, *([signal] if signal else []), *(f"{key}_{_word(options[key])}" for key in options)])
    # Every campaign has these under their own names.
    table = {"name": f"{name}_share" if name in DEFAULTS else name, "kind": kind}
    return table | ({"signal": signal} if signal else {}) | options


def _word(value: Any) -> str:
    return re.sub(r"\W", "_", f"{value:g}" if isinstance(value, float) else str(value))


def _refuse_signal(kind: str) -> None:
    """Raise if a signal is given instead of a kind."""
    if kind in KINDS:
        return
    try:
        unit_of(kind)
    except InputError:
        return  # an unknown kind: see `MetricTable`
    raise InputError(f"metric {kind!r} is a signal; say which statistic of it, such as max:{kind} or rms:{kind}")
