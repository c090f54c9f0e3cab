"""`px4lockstep determinism`: fly a spec in several ways and compare the digests."""

from collections.abc import Sequence

from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import print_json, write_err, write_out
from px4lockstep.cli.progress import working
from px4lockstep.cli.watched import in_child
from px4lockstep.flights.determinism import Determinism, Variant, VariantFlight, determinism
from px4lockstep.flights.latest import spec_source
from px4lockstep.px4.console import STANDARD_ERROR, console_into
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec

IDENTICAL, DIFFERENT = 0, 1
SHOWN = 16  # digits of a digest in the table, of 64


def run_determinism(
    spec: str, runs: int, trust: bool, as_json: bool, settings: Sequence[str] = (), compat: bool = False
) -> int:
    """Fly all variants, print the digests, and return the exit code."""
    loaded = load_spec(spec_source(spec), settings=settings, trust=trust, compat=compat)
    if not loaded.autopilot.capabilities.needs_child:
        return _fly(loaded, runs, as_json)
    return in_child(lambda: _fly(loaded, runs, as_json))


def _fly(spec: Spec, runs: int, as_json: bool) -> int:
    try:
        with working("flying; JIT off and generic CPU take longest", quiet=as_json), console_into(STANDARD_ERROR):
            found = determinism(spec, runs=runs, begin=_announce, watch=_say)
    except KeyboardInterrupt:
        write_err("interrupted; all flights were stopped\n")
        return interrupts.code
    if as_json:
        print_json(found.as_dict())
    else:
        _print_result(found)
    return IDENTICAL if found.identical else DIFFERENT


def _announce(variants: Sequence[Variant]) -> None:
    count = sum(variant.workers * variant.flights for variant in variants)
    names = ", ".join(variant.name for variant in variants)
    write_err(f"flying {count} flights in {len(variants)} variants ({names}); can take several minutes\n")


def _say(flown: VariantFlight) -> None:
    outcome = flown.digest[:SHOWN] if flown.digest else f"failed: {flown.error}"
    write_err(f"{flown.name}: {outcome}, {flown.wall_s:.1f} s\n")


def _print_result(found: Determinism) -> None:
    title = "The same flight, computed in several ways"
    table = Table("variant", "digest", "live digest", title=title, title_justify="left")
    for flown in found.flights:
        if flown.digest is None or flown.live_digest is None:
            table.add_row(flown.name, "[red]failed[/]", "")
        else:
            table.add_row(flown.name, flown.digest[:SHOWN], flown.live_digest[:SHOWN])
    Console(soft_wrap=True).print(table)
    for flown in found.flights:
        if flown.error is not None:
            write_out(f"{flown.name} failed: {flown.error}\n")
    if found.parted is not None:
        write_out(f"different: {' and '.join(found.parted)} first differ at {found.first_difference}\n")
    if found.identical:
        write_out(f"identical\ndigest {found.flights[0].digest}\nlive digest {found.flights[0].live_digest}\n")
