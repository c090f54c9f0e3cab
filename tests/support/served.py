"""A served vehicle for tests: short ways to give commands and to fly."""

import math

from px4lockstep.scenario.commands import Arm, CommandResult, Item, Land, Takeoff
from px4lockstep.service.vehicle import Vehicle

CALM = {"environment.wind": "none"}
NAN = math.nan
DEG_PER_M = 1.0 / 111_194.93
"""Latitude per metre to the north."""


class Flown:
    """A vehicle to which commands are given one after another."""

    def __init__(self, spec="x500", **options):
        self.vehicle = Vehicle(spec, **options)
        self.home = self.vehicle.status.home

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.vehicle.close()

    @property
    def status(self):
        return self.vehicle.status

    @property
    def run(self):
        self.vehicle.close()
        return self.vehicle.last_run

    def fly(self, seconds):
        """Fly for a time; return the status then."""
        self.vehicle.run_until(self.vehicle.time_us + round(seconds * 1e6))
        return self.vehicle.status

    def give(self, command) -> CommandResult:
        """Give a command at the next tick, and return its result."""
        results = []
        self.vehicle.submit(command, results.append)
        self.fly(0.01)
        (result,) = results
        return result

    def give_all(self, *commands):
        """Give commands that must be accepted."""
        for command in commands:
            assert self.give(command) == CommandResult(), command

    def take_off(self, height_m=NAN):
        """Arm, take off, and wait until it holds."""
        self.give_all(Arm(), Takeoff(self.home.alt_amsl_m + height_m))
        self.until(lambda status: status.nav_state == 4, 30.0)
        return self.fly(4.0)

    def until(self, holds, seconds):
        """Fly until a condition holds; fail after a time."""
        for _ in range(round(seconds / 0.1)):
            if holds(self.fly(0.1)):
                return self.status
        raise AssertionError(f"not within {seconds} s: {self.status}, {self.status.pos_ned}")

    def place(self, north_m, east_m, height_m):
        """Return latitude, longitude and altitude of a place."""
        lon_per_m = DEG_PER_M / math.cos(math.radians(self.home.lat_deg))
        return (
            self.home.lat_deg + north_m * DEG_PER_M,
            self.home.lon_deg + east_m * lon_per_m,
            self.home.alt_amsl_m + height_m,
        )

    def waypoint(self, north_m, east_m, height_m, command=16, hold_s=0.0):
        """Return an item of a mission, with the altitude above home."""
        lat_deg, lon_deg, _ = self.place(north_m, east_m, height_m)
        return Item(6, command, (hold_s, 1.0, 0.0, NAN), lat_deg, lon_deg, height_m)


def square(flown):
    """Return a mission: takeoff and three corners of a square of 20 m, at 10 m."""
    corners = ((0.0, 0.0, 22), (20.0, 0.0, 16), (20.0, 20.0, 16), (0.0, 20.0, 16))
    return tuple(flown.waypoint(north_m, east_m, 10.0, command) for north_m, east_m, command in corners)


def stream(flown, command, seconds):
    """Give a setpoint or stick positions again and again."""
    for _ in range(round(seconds / 0.05)):
        flown.vehicle.submit(command)
        flown.fly(0.05)


def landed(flown):
    """Land, end the service, and return the outcome."""
    flown.give_all(Land())
    flown.until(lambda status: not status.armed, 60.0)
    return flown.run.outcome
