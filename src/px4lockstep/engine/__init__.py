"""The engine: timeline, bus, boundary order, the one loop, snapshots. It knows nothing of files."""
