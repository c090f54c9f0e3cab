"""`px4lockstep tune`: search PX4 parameters, and check the found values on held-out seeds."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rich.table import Table

from px4lockstep.campaigns.run import Progress
from px4lockstep.cli.campaign import CampaignProgress, progress_bar
from px4lockstep.cli.console import Console
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import print_json, write_err, write_out
from px4lockstep.experiments.evaluations import SearchStoppedError
from px4lockstep.experiments.inputs import by_name
from px4lockstep.experiments.tune import tune
from px4lockstep.experiments.tuned import PARAMS, TOML, Tuned
from px4lockstep.flights.latest import spec_source
from px4lockstep.plots.flight import save_plot
from px4lockstep.spec.overrides import parse_override

IMPROVED, NOT_IMPROVED = 0, 1
FIGURE = "tune.png"


def tune_spec(
    spec: str, inputs: Sequence[str], plots: bool, as_json: bool, settings: Sequence[str] = (), **options: Any
) -> int:
    """Search parameters; return the exit code."""
    overrides = dict(parse_override(text) for text in settings)
    with progress_bar(Console(stderr=True), quiet=as_json) as bar, interrupts.deferred():

        def watch(done: Progress) -> bool:
            if isinstance(bar, CampaignProgress):
                bar.show(done)
            return not interrupts.is_noted

        try:
            found = tune(str(spec_source(spec)), by_name(inputs), overrides=overrides, watch=watch, **options)
        except SearchStoppedError:
            write_err("interrupted: the search was not finished, and nothing was written\n")
            return interrupts.code
    with interrupts.deferred():
        if plots:
            with suppress(KeyboardInterrupt), interrupts.raised():
                save_plot(found.plot(), found.folder.path / FIGURE)
        _show(found, as_json)
    return IMPROVED if found.is_improved else NOT_IMPROVED


def _show(found: Tuned, as_json: bool) -> None:
    """Print the result, as JSON or as a table."""
    if as_json:
        print_json(found.as_dict())
        return
    table = Table("", "range or seeds", "before", "after", title=f"cost = {found.cost}", title_justify="left")
    for row in found.table:
        table.add_row(*row)
    Console(soft_wrap=True, markup=False, highlight=False).print(table)
    write_out(f"{found.held_out.verdict}\n\n{found.toml}\n")
    if found.at_limits:
        write_err(
            f"warning: at a limit of its range: {', '.join(found.at_limits)}; a wider range may have a lower cost\n"
        )
    path = found.folder.path
    write_out(f"files: {path / PARAMS}, {TOML}, all flights as a campaign\n")
