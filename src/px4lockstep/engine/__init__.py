"""The engine: timeline, bus, order of stages at an event boundary, the loop, snapshots. It does not access files."""
