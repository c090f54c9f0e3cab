"""Short flights of accepted inputs, and what must hold for them."""

import json

from fuzz import expect
from px4lockstep.errors import SimulationError
from px4lockstep.flights.run import Run
from px4lockstep.spec.build import build
from px4lockstep.spec.load import change_spec

MAX_BOUNDARIES = 200_000


def fly_briefly(spec, end_s, **changes):
    """Fly for some time with every validator check, except with an autopilot in another process."""
    if spec.autopilot.kind not in ("builtin", "none"):
        return None
    wanted = {"timeline.t_end_s": end_s, "run.validate": "paranoid", "run.mode": "live"} | changes
    flight = build(change_spec(spec, wanted))
    if len(flight.simulation.timeline) > MAX_BOUNDARIES:
        return None
    error = None
    try:
        flight.simulation.run()
    except SimulationError as caught:
        error = caught
    run = Run(flight, error)
    try:
        json.dumps(run.summary.as_dict(), allow_nan=False)
    except ValueError as wrong:
        expect(False, f"the summary is not JSON: {wrong}")
    return run
