"""Create the figures of the documentation and print their numbers: `make pictures`.

The files are bit-identical on every run with the same Matplotlib: they have no dates and no randomness. Flights
against PX4 are those of the tests, so `tests/support` and `tests/against` are on the path.
"""

import itertools
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from px4_flights import CLOSED_LOOP, MISSIONS, load_flight, scenario_of, stacked
from recorded_flights import shipped
from test_builtin_against_px4_flights import errors

from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.campaigns.figure import plot_campaign
from px4lockstep.campaigns.results import read_results, results_of
from px4lockstep.campaigns.run import run_campaign
from px4lockstep.campaigns.statistics import interval_of_proportion
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.experiments.chirp import chirp
from px4lockstep.experiments.loops import LOOPS
from px4lockstep.experiments.step import step
from px4lockstep.experiments.step_figure import plot_steps
from px4lockstep.flights.branch import branch
from px4lockstep.flights.compare import compare
from px4lockstep.flights.diff import diff
from px4lockstep.flights.run import simulate
from px4lockstep.integrators.solver import Integrator
from px4lockstep.plots.comparison import plot_comparison, plot_local_defect
from px4lockstep.plots.flight import save_plot
from px4lockstep.plots.looks import AXIS_COLOURS
from px4lockstep.plots.style import (
    EVENT,
    WIDTH_IN,
    Spacing,
    add_head,
    add_key,
    figure_style,
    hold_labels,
    new_figure,
    panel_grid,
)
from px4lockstep.spec.load import load_aircraft

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PX4, BUILTIN = AXIS_COLOURS[1], AXIS_COLOURS[0]
ROW_IN = 3.4


def say(text=""):
    """Print a line."""
    sys.stdout.write(text + "\n")


# -- against real PX4 --------------------------------------------------------------------------------------------


def fly(name, end_us):
    """Repeat a recorded flight with the built-in autopilot; return the simulation."""
    scenario = scenario_of(name)
    timeline = Timeline(
        end_us,
        autopilot=Periodic(4_000),
        physics=Periodic(1_000),
        log=Periodic(4_000),
        scenario=Explicit(scenario.times_us()),
    )
    return Simulation(
        load_aircraft("iris"),
        timeline,
        integrator=Integrator("RK4"),
        scenario=scenario,
        estimator=Estimator(),
        autopilot=Builtin(CLOSED_LOOP[name], angular_acceleration=False),
    ).run()


def heading(q):
    """Return the unwrapped headings of attitudes [°]."""
    w, x, y, z = q.T
    return np.degrees(np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))))


def changes(item):
    """Return the rows in which the mission item changes."""
    return np.flatnonzero(np.diff(item) > 0) + 1


class Pair:
    """A recorded flight of real PX4 and the same flight with the built-in autopilot, tick by tick."""

    def __init__(self, name):
        flight = load_flight(name)
        time_us = flight["time_us"].astype(np.int64)
        sim = fly(name, int(time_us[-1]))
        n = min(len(time_us), len(sim.log["time_us"]))
        assert np.array_equal(time_us[:n], sim.log["time_us"][:n])
        own = sim.log["bus"]["autopilot"]
        self.time_s = time_us[:n] / 1e6
        self.px4_pos = stacked(flight, "truth_pos_n", "truth_pos_e", "truth_pos_d")[:n]
        self.own_pos = sim.log_state[:n, :3]
        self.px4_yaw = heading(stacked(flight, "truth_q_w", "truth_q_x", "truth_q_y", "truth_q_z")[:n])
        self.own_yaw = heading(sim.log_state[:n, 6:10])
        self.px4_changes_s = self.time_s[changes(flight["mission_seq"][:n])]
        self.own_changes_s = self.time_s[changes(own["mission_item"][:n])]
        self.px4_down_s = self.time_s[np.flatnonzero(np.diff(flight["landed"][:n]) > 0)[-1] + 1]
        self.own_down_s = self.time_s[np.flatnonzero(np.diff(sim.log["bus"]["scenario"]["landed"][:n]) > 0)[-1] + 1]
        self.is_finished = bool(own["mission_finished"][-1])
        self.px4_disarmed_s = self.time_s[np.flatnonzero(flight["armed"][:n])[-1]]
        self.away_m = np.linalg.norm(self.own_pos - self.px4_pos, axis=1)
        self.turned_deg = self.own_yaw - self.px4_yaw

    def say(self, name):
        """Print the largest differences and the times of events."""
        before = self.time_s <= self.px4_disarmed_s
        distance = self.away_m[before]
        say(f"{name}: finished {self.is_finished}, compared up to {self.px4_disarmed_s} s, when PX4 disarmed")
        say(f"  largest distance {distance.max():.4f} m at {self.time_s[distance.argmax()]:.3f} s")
        say(f"  max altitude {-self.px4_pos[:, 2].min():.4f} and {-self.own_pos[:, 2].min():.4f} m")
        height = np.abs(self.own_pos - self.px4_pos)[before, 2]
        say(f"  largest altitude difference {height.max():.4f} m at {self.time_s[height.argmax()]:.3f} s")
        say(f"  largest heading difference {np.abs(self.turned_deg[before]).max():.4f} °")
        say(f"  items change at {self.px4_changes_s} s")
        say(f"  built-in         {self.own_changes_s} s")
        say(f"  landed {self.px4_down_s:.3f} and {self.own_down_s:.3f} s")


def draw_pair(pair, title, columns):
    """Plot both flights in a row of axes: track, height, heading, distance."""
    track, height, turn, away = columns
    some = slice(None, None, 10)
    t = pair.time_s[some]
    for pos, yaw, colour, width, label in (
        (pair.px4_pos, pair.px4_yaw, PX4, 3.2, "real PX4"),
        (pair.own_pos, pair.own_yaw, BUILTIN, 1.2, "built-in"),
    ):
        track.plot(pos[some, 1], pos[some, 0], color=colour, lw=width, label=label)
        height.plot(t, -pos[some, 2], color=colour, lw=width, label=label)
        turn.plot(t, yaw[some], color=colour, lw=width)
    track.set(title=title, xlabel="east [m]", ylabel="north [m]", aspect="equal")
    track.set_adjustable("datalim")
    height.set(title="Height", xlabel="time [s]", ylabel="[m]")
    turn.set(title="Heading", xlabel="time [s]", ylabel="[°]")
    if np.ptp(pair.px4_yaw) < 20.0:
        turn.set_ylim(-10.0, 10.0)
    away.plot(t, 1e3 * pair.away_m[some], color="0.2", lw=1.3)
    away.set(title="Distance between them", xlabel="time [s]", ylabel="[mm]")
    away.set_ylim(bottom=0.0)
    for time_s in pair.px4_changes_s:
        for axes in (height, turn, away):
            axes.axvline(time_s, color=EVENT, lw=0.9, ls=":")
    for axes in columns:
        hold_labels(axes)
    add_key(track)


def compare_with_px4():
    """Plot and print the closed loop against the recorded flights."""
    with figure_style():
        figure = new_figure(WIDTH_IN, 0.6 + ROW_IN * len(CLOSED_LOOP))
        head_in = add_head(figure, "The built-in autopilot against recorded flights of real PX4")
        grid = panel_grid(figure, len(CLOSED_LOOP), 4, head_in=head_in, spacing=Spacing(between_rows=0.95))
        for row, name in enumerate(CLOSED_LOOP):
            pair = Pair(name)
            pair.say(name)
            draw_pair(pair, name, [figure.add_subplot(grid[row, column]) for column in range(4)])
    save_small(figure, "against_px4.png")
    say("\nmodule by module, largest difference over all ticks in flight:")
    for name in MISSIONS:
        say(f"  {name}: " + ", ".join(f"{what} {error.max():.1e}" for what, error in errors(name).items()))


# -- step responses ----------------------------------------------------------------------------------------------


def draw_step_responses():
    """Measure the step response of each loop of the X500, plot them, and print them as a table."""
    found = [step("x500", name) for name in LOOPS]
    say(
        "\n| loop | step | delay, to 50 % | rise, 10 to 90 % | overshoot | settling to 5 % |\n|---|---|---|---|---|---|"
    )
    for own in found:
        cells = [own.loop.title, f"{own.size:g} {own.loop.unit}", f"{own.delay_s:.3f} s", f"{own.rise_s:.3f} s"]
        say("| " + " | ".join([*cells, f"{own.overshoot_percent:.1f} %", f"{own.settling_s:.2f} s"]) + " |")
    save_small(plot_steps(found), "step_responses.png")


def draw_frequency_response():
    """Measure the frequency response of the roll rate loop of the X500, and print its margins."""
    found = chirp("x500", "roll_rate")
    say(f"\n{found}\nlinear model: {found.model.bandwidth_hz:.2f} Hz, {found.model.margins}")
    save_small(found.plot(), "frequency_response.png")


# -- a flight ----------------------------------------------------------------------------------------------------


def save_small(figure, name):
    """Write a figure as the package does, but with 96 colours."""
    PICTURES.mkdir(exist_ok=True)
    path = PICTURES / name
    save_plot(figure, path)
    picture = Image.open(path).convert("RGB")
    picture.quantize(96, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)


def draw_flight():
    """Draw the flight of `make fly`, pixel for pixel."""
    with TemporaryDirectory() as folder:
        simulate("x500").save(Path(folder) / "x500")
        Image.open(Path(folder) / "x500" / "plots.png").convert("RGB").save(PICTURES / "flight.png", optimize=True)


# -- integrators -------------------------------------------------------------------------------------------------


def say_rows(rows):
    """Print rows as a table."""
    say("\n| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
    for row in rows:
        cells = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()]
        say("| " + " | ".join(cells) + " |")


def draw_crash():
    """Draw a flight that loses a motor, which is drawn again around its crash."""
    events = [{"at_s": 30.0, "action": "disable_motor", "motor": 2}]
    save_small(simulate("x500", overrides={"scenario.events": events}).plot(), "crash.png")


def compare_integrators():
    """Plot the integrators on the Iris mission, and print their errors over 72 s and over 60 s."""
    compared = compare(shipped("iris", 72.0), local_defect=True)
    save_small(plot_comparison(compared.comparison), "comparison.png")
    save_small(plot_local_defect(compared.local_defect), "local_defect.png")
    say_rows(compared.comparison.rows())
    say_rows(compared.local_defect.rows())
    say_rows(compare(shipped("iris", 60.0)).comparison.rows())


def draw_diff():
    """Plot the X500 mission and a branch of it that returns home in stronger wind."""
    changed = {"environment.wind_mean_ned": [4.0, 0.0, 0.0]}
    with TemporaryDirectory() as folder:
        mission, returned = Path(folder) / "mission", Path(folder) / "return"
        simulate("x500").save(mission, plots=False)
        [one] = branch(mission, 30.0, overrides=changed, events=[{"at_s": 40.0, "action": "return"}])
        one.run.save(returned, plots=False)
        save_small(diff(mission, returned).plot(), "diff.png")


def say_pass_rates(results, name, values, edges, among=True):
    """Print the pass rate between each two edges of an input, among some of the runs."""
    for low, high in itertools.pairwise(edges):
        is_in = (values >= low) & (values < high) & among
        rate = interval_of_proportion(int(results.is_passed[is_in].sum()), int(is_in.sum()))
        passed = round(rate.estimate * rate.count) if rate.count else 0
        interval = f"{100 * rate.low:.1f} to {100 * rate.high:.1f} %"
        say(f"| {name} {low:g} to {high:g} | {rate.count} | {passed} | {interval} |")


def say_campaign(results):
    """Print the outcomes of the campaign and its pass rates by some inputs."""
    inputs = {name: results.columns[name].astype(float) for name in results.inputs}
    loss, payload_kg = inputs["scenario.events[0].fraction"], inputs["airframe.payload_kg"]
    wind_m_s = np.hypot(inputs["environment.wind_mean_ned[0]"], inputs["environment.wind_mean_ned[1]"])
    small, medium = loss < 0.2, (loss >= 0.2) & (loss < 0.4)
    say(f"all: {Counter(results.columns['status'])}; loss below 0.2: {Counter(results.columns['status'][small])}")
    say_pass_rates(results, "all", loss, (0.0, 1.0))
    say_pass_rates(results, "loss", loss, (0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6))
    say_pass_rates(results, "loss below 0.2, wind", wind_m_s, (0.0, 4.0, 8.0, 12.0, 15.0), small)
    say_pass_rates(results, "loss of 0.2 to 0.4, wind", wind_m_s, (0.0, 4.0, 8.0, 12.0, 15.0), medium)
    say_pass_rates(results, "loss of 0.2 to 0.4, payload", payload_kg, (0.0, 0.2, 0.4, 0.6), medium)
    charge = inputs["power.batteries[0].soc0"]
    say_pass_rates(results, "loss of 0.2 to 0.4, charge", charge, (0.4, 0.6, 0.8, 1.0), medium)


def draw_campaign():
    """Run and plot the campaign of examples/motor_loss, and print its results."""
    with TemporaryDirectory() as folder:
        flown = run_campaign(EXAMPLES / "motor_loss" / "campaign.toml", out=Path(folder) / "flown", trust=True)
        results = results_of(flown.folder.campaign, read_results(flown.folder.results))
    save_small(plot_campaign(results), "motor_loss.png")
    say_campaign(results)


if __name__ == "__main__":
    if sys.argv[1:] == ["flight"]:  # the README's figure alone
        draw_flight()
        sys.exit()
    compare_with_px4()
    draw_step_responses()
    draw_frequency_response()
    draw_flight()
    draw_crash()
    compare_integrators()
    draw_diff()
    draw_campaign()
