"""A short flight that crashes, for tests that show flights."""

from px4lockstep import simulate


def save_crash(folder):
    """Fly the x500, which loses a motor at 6 s, 3 m above the ground, and crashes; return its run folder."""
    events = [{"at_s": 6.0, "action": "disable_motor", "motor": 2}]
    flown = simulate("x500", overrides={"timeline.t_end_s": 9.0, "scenario.events": events})
    return flown.save(folder / "fault", plots=False)
