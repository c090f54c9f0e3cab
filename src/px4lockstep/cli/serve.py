"""`px4lockstep serve`: vehicles for ground stations and applications."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from px4lockstep.autopilots.mavlink.links import PortTakenError, check_is_free
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import print_json, write_err, write_out
from px4lockstep.errors import InputError, LockstepError, SimulationError
from px4lockstep.flights.folder import summary_of
from px4lockstep.flights.latest import spec_source
from px4lockstep.flights.tables import run_rows
from px4lockstep.service.endpoint import MAX_INSTANCE, Endpoint, ports_of
from px4lockstep.service.loop import ServiceLoop
from px4lockstep.service.speed import speed_overrides
from px4lockstep.service.status import VehicleStatus
from px4lockstep.service.vehicle import Vehicle
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec

ENDED, FAILED = 0, 1
MAX_SPEED, MIN_SPEED = 1e4, 1e-2
RUNS = Path("runs")
Show = Callable[[VehicleStatus], None]


def serve_spec(
    spec: str,
    trust: bool,
    speed: str,
    instance: int,
    count: int,
    host: str,
    no_record: bool,
    view: bool,
    as_json: bool,
    record: Path | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
) -> int:
    """Serve vehicles until an interrupt; return the exit code."""
    factor = _speed(speed)
    if record is not None and no_record:
        raise InputError("--record and --no-record exclude each other")
    if count < 1 or instance < 0 or instance + count - 1 > MAX_INSTANCE:
        given = f"--instance {instance} --count {count}"
        raise InputError(f"{given}: instances must be 0 to {MAX_INSTANCE}, and there must be at least one vehicle")
    _check_ports(range(instance, instance + count), host)
    loaded = load_spec(spec_source(spec), {}, list(settings), trust=trust)
    if count > 1 and loaded.autopilot.capabilities.needs_child:
        name = loaded.autopilot.capabilities.name
        raise InputError(f"--count {count}: {name} flies one vehicle per process; start {count}, each with --instance")
    overrides = speed_overrides(loaded, factor)
    root = None if no_record else record or RUNS
    with interrupts.deferred(), ExitStack() as stack:
        show = stack.enter_context(_shown(loaded, view))
        endpoints = []
        for number in range(instance, instance + count):
            folder = root if root is None or count == 1 else root / f"instance-{number}"
            vehicle = Vehicle(loaded, seed=seed, overrides=overrides, record=folder)
            stack.callback(vehicle.close)
            endpoint = Endpoint(vehicle, number, host)
            stack.callback(endpoint.close)
            endpoints.append(endpoint)
        if not as_json:
            _tell_addresses(endpoints, host)
        error = _serve(ServiceLoop(endpoints, factor), endpoints[0].vehicle, show)
        for endpoint in endpoints:
            endpoint.close()
            endpoint.vehicle.close()
        _tell_results(endpoints, as_json)
        if error is not None:
            write_err(f"error: {error}\n")
            return FAILED
        interrupts.forget()  # it was the end of the service
    return ENDED


def _speed(text: str) -> float:
    """Return the factor of `--speed`."""
    if text == "max":
        return math.inf
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not MIN_SPEED <= factor <= MAX_SPEED:
        raise InputError(f"--speed {text} must be a number from {MIN_SPEED:g} to {MAX_SPEED:g}, or max")
    return factor


def _check_ports(instances: range, host: str) -> None:
    """Check that all ports can be bound, before anything is written."""
    try:
        for number in instances:
            for ports in ports_of(number):
                check_is_free(ports.bound, host)
    except PortTakenError as error:
        raise InputError(f"{error}, perhaps by another vehicle; choose another with --instance") from error
    except SimulationError as error:
        raise InputError(f"--host {host}: {error}") from error


def _tell_addresses(endpoints: Sequence[Endpoint], host: str) -> None:
    """Tell where the vehicles are, as soon as clients can connect."""
    for endpoint in endpoints:
        ground, api = ports_of(endpoint.instance)
        write_out(
            f"vehicle {endpoint.instance + 1} ({endpoint.vehicle.spec.aircraft.name}): ground stations on UDP "
            f"{ground.partner} (or send to {host}:{ground.bound}), applications on UDP {api.partner} (or send to "
            f"{host}:{api.bound})\n"
        )
    write_out("Ctrl-C ends the service\n")
    sys.stdout.flush()


def _serve(loop: ServiceLoop, vehicle: Vehicle, show: Show | None) -> LockstepError | None:
    """Serve until an interrupt, or an error of a flight; show the first vehicle, if there is a viewer."""
    try:
        while not interrupts.is_noted:
            loop.step()
            if show is not None:
                show(vehicle.status)
    except KeyboardInterrupt:
        if not interrupts.is_noted:
            raise
    except LockstepError as error:
        return error
    return None


@contextmanager
def _shown(spec: Spec, is_wanted: bool) -> Iterator[Show | None]:
    """Open the viewer if it is wanted; give a function that shows a status."""
    if not is_wanted:
        yield None
        return
    from px4lockstep.cli.serve_view import LivePage

    page = LivePage(spec)
    write_out(f"viewer: {page.url}\n")
    sys.stdout.flush()
    try:
        yield page.show
    finally:
        page.close()


def _tell_results(endpoints: Sequence[Endpoint], as_json: bool) -> None:
    runs = [(endpoint.vehicle.last_run, endpoint.vehicle.folders) for endpoint in endpoints]
    if as_json:
        print_json([summary_of(run, folders[-1] if folders else None) for run, folders in runs if run is not None])
        return
    for run, folders in runs:
        if run is None:
            continue
        write_out(f"{run.spec.aircraft.name}: {run.summary.outcome}\n")
        for name, value in run_rows(run, folders[-1] if folders else None):
            write_out(f"  {name}: {value}\n")
