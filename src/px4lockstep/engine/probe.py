"""Order probe: a source for any stage that writes down when it ran and what it saw.

A probe reads the bus's marker, which the probe before it wrote, and writes its own: boundary × 16 + stage. The trace
of (own marker, marker seen) shows the order of stages from the inside, compiled and interpreted alike.
"""

from px4lockstep.jit import kernel, record

TRACE_LENGTH = 256
STAGES_PER_BOUNDARY = 16

PROBE = record([("count", "i8"), ("marker", "i8", TRACE_LENGTH), ("seen", "i8", TRACE_LENGTH)])


@kernel
def probe_stage(boundary, stage, bus, probe):
    """Append to the trace, as long as there is room, and leave this stage's marker on the bus."""
    marker = boundary * STAGES_PER_BOUNDARY + stage
    if probe.count < TRACE_LENGTH:
        probe.marker[probe.count] = marker
        probe.seen[probe.count] = bus.marker
        probe.count += 1
    bus.marker = marker
