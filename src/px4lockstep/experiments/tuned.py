"""The result of a search of parameters: the found values, their check on held-out seeds, and the files of both."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import tomli_w

from px4lockstep.campaigns.folder import SUMMARY, CampaignFolder
from px4lockstep.errors import counted
from px4lockstep.experiments.evaluations import Evaluation
from px4lockstep.experiments.held_out import HeldOut, mean_metrics
from px4lockstep.experiments.inputs import Range
from px4lockstep.experiments.metric_words import Term
from px4lockstep.experiments.sweep_results import shown
from px4lockstep.io import to_json
from px4lockstep.plots.html import HtmlTable, ShownInNotebook
from px4lockstep.px4.params_files import format_params

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOML, PARAMS = "tuned.toml", "tuned.params"
NEAR = 0.02
"""Share of a range within which a value counts as at its limit."""


@dataclass(frozen=True, repr=False)
class Tuned(ShownInNotebook):
    """Parameters that were searched, and how the found values compare with the starting values."""

    ranges: tuple[Range, ...]
    terms: tuple[Term, ...]
    history: tuple[Evaluation, ...]  # in the order of the search, the starting values first
    best: Evaluation  # on the training seeds
    held_out: HeldOut
    folder: CampaignFolder = field(repr=False)
    spec: str

    @property
    def start(self) -> Evaluation:
        """The starting values, on the training seeds."""
        return self.history[0]

    @property
    def values(self) -> dict[str, float | int]:
        """The found values by parameter."""
        return self._named(self.best)

    @property
    def is_improved(self) -> bool:
        """Whether the found values are better than the starting values on the held-out seeds."""
        return self.held_out.is_improved

    @property
    def at_limits(self) -> tuple[str, ...]:
        """Found values in the outer 2 % of their range, beyond which there may be better ones."""
        pairs = zip(self.ranges, self.best.values, strict=True)
        return tuple(own.label for own, value in pairs if abs(own.scale.place(value) - 0.5) >= 0.5 - NEAR)

    @property
    def cost(self) -> str:
        """The cost as a sum of metrics."""
        return " + ".join(map(str, self.terms))

    @property
    def table(self) -> list[tuple[str, str, str, str]]:
        """Rows of name, range or seeds, value before and value after: parameters, then cost and metrics."""
        rows = [
            (own.label, f"{own.scale.low:g} … {own.scale.high:g}", f"{before:.6g}", f"{after:.6g}")
            for own, before, after in zip(self.ranges, self.start.values, self.best.values, strict=True)
        ]
        check = self.held_out
        sides = {
            counted(len(self.start.rows), "training seed"): (self.start, self.best),
            counted(len(check.seeds), "held-out seed"): (check.start, check.found),
        }
        names = [term.metric.name for term in self.terms]
        for seeds, (before, after) in sides.items():
            rows.append(("cost", seeds, _cost(before), _cost(after)))
            old, new = mean_metrics(before, names), mean_metrics(after, names)
            if len(names) > 1 or self.terms[0].weight != 1.0:
                rows += [(name, seeds, shown(old[name]), shown(new[name])) for name in names]
            if before.failed or after.failed:
                rows.append(("failed flights", seeds, str(before.failed), str(after.failed)))
        return rows

    @property
    def toml(self) -> str:
        """The found values as a part of a spec file."""
        about = [f"# Tuned for {self.spec}, cost {self.cost}", f"# {self.held_out.verdict}"]
        return "\n".join(
            [*(" ".join(line.split()) for line in about), tomli_w.dumps({"autopilot": {"params": self.values}})]
        )

    @property
    def params(self) -> str:
        """The found values as a parameter file, for QGroundControl or `px4lockstep run --params`."""
        return format_params(self.values, [f"Tuned for {self.spec}, cost {self.cost}", self.held_out.verdict])

    def plot(self) -> "Figure":
        """Return the figure: cost over evaluations, and before and after on the held-out seeds."""
        from px4lockstep.experiments.tune_figure import plot_tuned

        return plot_tuned(self)

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON, with None for infinite costs and missing values."""
        return {
            "name": self.folder.campaign.name,
            "cost": [{"weight": term.weight, "metric": term.metric.name} for term in self.terms],
            "ranges": {own.label: [own.scale.low, own.scale.high] for own in self.ranges},
            "start": self._named(self.start),
            "found": self.values,
            "at_limits": list(self.at_limits),
            "improved": self.is_improved,
            "training": {
                "flights_each": len(self.start.rows),
                "cost_before": _finite(self.start.cost),
                "cost_after": _finite(self.best.cost),
            },
            "held_out": self.held_out.as_dict(),
            "evaluations": [
                {"values": self._named(own), "cost": _finite(own.cost), "failed": own.failed} for own in self.history
            ],
            "campaign_dir": str(self.folder.path),
        }

    def write(self) -> None:
        """Write the found values and the summary to the folder."""
        self.folder.write(TOML, self.toml)
        self.folder.write(PARAMS, self.params)
        self.folder.write(SUMMARY, to_json(self.as_dict(), indent=2) + "\n")

    def __repr__(self) -> str:
        values = ", ".join(f"{name} = {value:.6g}" for name, value in self.values.items())
        return f"<Tuned {values[:300]}; {self.held_out.verdict}>"

    def _tables(self) -> Iterable[HtmlTable]:
        return (HtmlTable(self.table, ("", "", "before", "after"), self.held_out.verdict),)

    def _figure(self) -> "Figure":
        return self.plot()

    def _named(self, own: Evaluation) -> dict[str, float | int]:
        return {each.label: value for each, value in zip(self.ranges, own.values, strict=True)}


def _cost(own: Evaluation) -> str:
    return f"{own.cost:.4g}" if not own.failed else f"{own.failed} of {len(own.rows)} flights failed"


def _finite(cost: float) -> float | None:
    return cost if cost < float("inf") else None
