"""Summaries, events and figures of known flights."""

import gc
import json

import matplotlib as mpl
import numpy as np
import pytest
from fleet import PowerBus, iris, octa
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, ScalarFormatter
from px4_flights import MISSIONS
from scenario_flight import simulation as short_flight

from flights import HOME, TAKE_OFF, disturbed, flight, mission_of
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.flights.summary import summarize
from px4lockstep.log.events import FlightEvent, events_of, mission_times_us
from px4lockstep.log.log import Log
from px4lockstep.log.parquet import read_parquet, write_parquet
from px4lockstep.plant.models import FreeFall, Oscillator
from px4lockstep.plots.flight import crash_window, plot_flight, save_plot
from px4lockstep.plots.style import FAULT, STYLE, draw_scale, figure_style, key_of, new_figure, panel_size_in, scale_of
from px4lockstep.plots.waypoints import mission_waypoints
from px4lockstep.px4.missions import load_mission
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.vehicle.battery import Battery

PANELS = {
    "Track over ground": ("east [m]", "north [m]"),
    "Height": ("", "above origin [m]"),
    "Velocity": ("", "over ground [m/s]"),
    "Roll and pitch": ("", "[°]"),
    "Heading": ("", "[°]"),
    "Tracking error": ("", "[m]"),
    "Estimate error": ("", "[m]"),
    "Wind": ("time [s]", "[m/s]"),
    "Body rates": ("", "[°/s]"),
    "Motor commands": ("", "motor, each 0 to 0.8"),
    "Rotor speeds [rad/s]": ("", "rotor, each 0 to 300"),
    "Battery voltage": ("time [s]", "[V]"),
    "Battery current": ("", "[A]"),
    "State of charge": ("time [s]", "[%]"),
}


@pytest.fixture(scope="module")
def mission():
    return disturbed().run()


def title_of(axes):
    return axes.get_title(loc="left")


def test_the_summary_of_the_mission(mission):
    """8 items, 12 m altitude, 5 m/s cruise speed in light wind, landing within a metre of home."""
    summary = summarize(mission)
    assert summary.digest == mission.digest()
    assert summary.duration_s == 72.0
    assert summary.wall_s == mission.statistics.wall_s
    assert summary.realtime_factor == 72.0 / summary.wall_s
    assert summary.mission_finished
    assert summary.landed
    assert not summary.crashed
    assert len(summary.waypoint_times_s) == 8
    assert 12.0 < summary.waypoint_times_s[0] < 18.0
    assert sorted(summary.waypoint_times_s) == list(summary.waypoint_times_s)
    assert 11.9 < summary.max_altitude_m < 12.5
    assert 4.9 < summary.max_speed_m_s < 6.0
    # 47 A for 63 s is 0.165 of 5 Ah.
    assert 0.15 < summary.battery_used < 0.18
    assert np.hypot(*summary.final_pos_ned[:2]) < 1.0
    assert summary.final_pos_ned == tuple(mission.plant["pos"])
    assert summary.warnings == mission.warnings


def test_a_summary_can_be_written_as_json(mission):
    """With the documented fields."""
    promised = (
        "outcome reason digest duration_s wall_s realtime_factor mission_asked mission_finished landed crashed "
        "waypoint_times_s max_altitude_m max_speed_m_s battery_used final_pos_ned events warnings px4_rates_hz "
        "tilt_deg standing distance_to_target_m waypoint_items autopilot_texts ending paced_s px4_clock_us own_parts"
    )
    fields = summarize(mission, Log.of(mission)).as_dict()
    assert list(fields) == promised.split()
    assert json.loads(json.dumps(fields, allow_nan=False)) == fields
    assert fields["events"][0] == {"time_s": 1.0, "label": "armed", "is_fault": False}


def test_the_summary_of_free_fall_agrees_with_theory():
    """After 2 s from a height of 100 m: 19.6133 m down at 19.6133 m/s; no mission, no battery."""
    sim = Simulation(FreeFall(pos_ned=(1.0, 2.0, -100.0)), Timeline(2_000_000, log=Periodic(10_000))).run()
    summary = summarize(sim)
    assert summary.max_altitude_m == 100.0
    assert summary.max_speed_m_s == pytest.approx(2.0 * 9.80665, rel=1e-12)
    assert summary.final_pos_ned == pytest.approx((1.0, 2.0, -100.0 + 2.0 * 9.80665), rel=1e-12)
    assert summary.battery_used is None
    assert summary.waypoint_times_s == ()
    assert not summary.mission_finished


def test_the_summary_of_a_plant_without_a_position_has_none():
    """None is null in JSON."""
    summary = summarize(Simulation(Oscillator(), Timeline(1000, log=Periodic(100))).run())
    assert summary.max_altitude_m is summary.max_speed_m_s is summary.final_pos_ned is None


def test_used_charge_is_weighted_by_capacity():
    """Two batteries on a bus: total charge used over total capacity."""
    aircraft = iris(
        batteries=(Battery(capacity_ah=5.0), Battery(capacity_ah=20.0)),
        buses=(PowerBus((0, 1), (0, 1, 2, 3)),),
        pos_ned=(0.0, 0.0, -50.0),
    )
    sim = short_flight(None, 1.0, aircraft=aircraft).run()
    used = 1.0 - sim.plant["soc"]
    assert used[0] > 0.0
    assert used[1] > 0.0
    assert summarize(sim).battery_used == pytest.approx((used[0] * 5.0 + used[1] * 20.0) / 25.0, rel=1e-9)


def test_a_crash_and_a_stop_are_in_the_summary():
    """A crash ends the run early; a stopped run has a warning with the time."""
    falling = flight(scenario=Scenario().arm(at_s=0.1), aircraft=iris(pos_ned=(0.0, 0.0, -5.0)), end_s=10).run()
    summary = summarize(falling)
    assert summary.crashed
    assert summary.duration_s == pytest.approx(np.sqrt(2.0 * 5.0 / 9.8), abs=0.02)
    assert [event.label for event in events_of(Log.of(falling))][-1] == "crashed"
    stopped = summarize(flight(end_s=10).run(until_us=4_000_000))
    assert "the run stopped at 4.000000 s of 10.000000 s" in stopped.warnings


def test_clamped_commands_are_a_warning():
    """With their number, counted by the loop."""
    summary = summarize(short_flight(None, 0.02, command=1.5).run())
    assert "24 commands out of range, clamped" in summary.warnings


def test_events_of_a_motor_failure():
    """A motor of the octa fails; it lands and disarms. Events are in order, with time, and faults are marked."""
    scenario = (
        Scenario().arm(at_s=1.0).start_mission(at_s=2.0).at(4.0).wind_step((3.0, 4.0, 0.0)).at(8.0).disable_motor(3)
    )
    log = Log.of(flight(scenario=scenario, aircraft=octa(), end_s=25).run())
    events = events_of(log)
    labels = [event.label for event in events]
    assert labels[:5] == ["armed", "mode mission", "wind step to 5 m/s", "motor 3 off", "failsafe: motor failure"]
    assert labels[5:] == ["mode land", "landed", "failsafe: cleared", "disarmed", "mode manual"]
    faults = [event.label for event in events if event.is_fault]
    assert faults == ["motor 3 off", "failsafe: motor failure", "mode land"]
    assert [event.time_us for event in events[:4]] == [1_000_000, 2_000_000, 4_000_000, 8_000_000]


def test_faults_are_set_and_cleared():
    """Every kind of fault in a scenario, including one that is set in the first row."""
    scenario = (
        Scenario()
        .at(0.0)
        .stuck_motor(2)
        .at(0.002)
        .thrust_loss(1, 0.3)
        .at(0.004)
        .disconnect_battery()
        .at(0.006)
        .reconnect_battery()
        .at(0.008)
        .sensor_fault("estimate")
        .at(0.010)
        .estimate_bias(pos_ned=(1.0, 0.0, 0.0))
        .at(0.012)
        .restore_motor(2)
    )
    events = events_of(Log.of(short_flight(scenario, 0.02).run()))
    assert [(event.time_us, event.label, event.is_fault) for event in events if "battery crit" not in event.label] == [
        (0, "motor 2 stuck", True),
        (2_000, "motor 1 weak", True),
        (4_000, "battery disconnected", True),
        (6_000, "battery connected", False),
        (8_000, "fault: estimate frozen", True),
        (10_000, "estimate error", True),
        (12_000, "motor 2 free", False),
    ]


def test_waypoints_are_those_of_the_mission():
    """A rectangle of 22 m by 15 m around home; items without a position are skipped but keep their number."""
    places = mission_waypoints(load_mission(MISSIONS["mission"]), *HOME)
    assert list(places) == list(range(8))
    assert places[0] == pytest.approx((0.0, 0.0), abs=0.01)
    assert places[1] == pytest.approx((11.1, 7.5), abs=0.1)
    with_speed = mission_of((22, 0.0, 0.0, 5.0), (178, 0, 0, 0, 1, 3.0), (16, 10.0, -4.0, 5.0), (20,))
    places = mission_waypoints(with_speed, *HOME)
    assert list(places) == [0, 2]
    assert places[2] == pytest.approx((10.0, -4.0), abs=1e-3)


def test_waypoints_have_the_numbers_of_their_items(mission):
    """In the figure as in the log; waypoints at the same position share a marker."""
    figure = plot_flight(Log.of(mission), waypoints={0: (0.0, 0.0), 3: (11.0, 7.0, -5.0), 5: (0.1, 0.0)})
    track = next(axes for axes in figure.axes if title_of(axes) == "Track over ground")
    texts = [text.get_text() for text in track.texts]
    assert "3" in texts
    assert "0, 5" in texts


def test_a_figure_has_its_panels_and_units(mission):
    """The track and 13 panels over the same time, each with its unit and the lines that the log has."""
    figure = plot_flight(
        Log.of(mission), waypoints=mission_waypoints(load_mission(MISSIONS["mission"]), *HOME), title="a flight"
    )
    panels = {title_of(axes): axes for axes in figure.axes}
    assert {name: (axes.get_xlabel(), axes.get_ylabel()) for name, axes in panels.items()} == PANELS
    assert figure.get_suptitle() == "a flight"
    for name, axes in panels.items():
        if name != "Track over ground":
            assert axes.get_xlim() == (0.0, 72.0)
            assert axes.lines
    keys = {name: key_of(axes) for name, axes in panels.items()}
    assert keys["Height"] == ["flown", "setpoint", "waypoint reached"]
    assert keys["Velocity"] == ["north", "east", "down", "setpoints"]
    assert keys["Body rates"] == ["x", "y", "z", "setpoints"]
    assert keys["Tracking error"] == keys["Estimate error"] == ["horizontal", "vertical"]
    assert keys["Wind"] == ["north", "east", "down"]
    assert keys["Track over ground"] == ["setpoint", "waypoint", "start", "end"]
    colours = [
        [line.get_color() for line in panels[name].lines if line.get_label() in ("north", "x", "roll")]
        for name in panels
    ]
    assert len({colour for found in colours for colour in found}) == 1


def test_events_and_faults_are_marked(mission):
    """Those of the log and additional ones; each is listed below with its time."""
    figure = plot_flight(
        Log.of(mission), events=[FlightEvent(30_000_000, "look here", is_fault=True), FlightEvent(10**12, "never")]
    )
    listed = figure.get_supxlabel()
    assert "armed 1.00 s, mode mission 2.00 s" in listed
    assert "look here 30.00 s" in listed
    assert "never" not in listed
    height = next(axes for axes in figure.axes if title_of(axes) == "Height")
    [faults] = [line for line in height.lines if line.get_label() == "_events" and line.get_color() == FAULT]
    assert faults.get_xdata().tolist() == [30.0] * 3
    assert faults.get_ydata()[:2].tolist() == [0.0, 1.0]


def test_a_saved_figure_is_byte_identical(tmp_path):
    """From memory and from a file, regardless of the user's Matplotlib settings."""
    log = Log.of(flight(end_s=6).run())
    write_parquet(log, tmp_path / "log.parquet")
    save_plot(plot_flight(log), tmp_path / "a.png")
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "black", "savefig.dpi": 30}):
        save_plot(plot_flight(read_parquet(tmp_path / "log.parquet")), tmp_path / "b.png")
    picture = (tmp_path / "a.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert picture == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("kind", ["pdf", "svg"])
def test_other_formats_are_byte_identical(kind, tmp_path):
    """They contain no dates."""
    log = Log.of(flight(end_s=0.1).run())
    for name in ("a", "b"):
        save_plot(plot_flight(log), tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_panels_without_data_say_so():
    """A replay has no setpoints, a point mass no attitude; both can be drawn, and so can a single row."""
    recorded = flight(end_s=0.1, record=True).run()
    plot_flight(Log.of(flight(end_s=0.1, replay=recorded.streams).run()))
    figure = plot_flight(Log.of(Simulation(FreeFall(), Timeline(100_000, log=Periodic(100_000))).run()))
    texts = {title_of(axes): [text.get_text() for text in axes.texts] for axes in figure.axes}
    assert "not in this log" in texts["Body rates"]
    assert "not in this log" in texts["State of charge"]
    assert "not in this log" not in texts["Velocity"]
    start = Log.of(flight(end_s=1).run(until_us=10_000))
    assert start.rows == 1
    plot_flight(start)


def test_what_can_not_be_drawn_is_an_input_error(mission, tmp_path):
    """No position, no rows, invalid waypoints, unknown formats, missing folders."""
    with pytest.raises(InputError, match="no column pos_ned"):
        plot_flight(Log.of(Simulation(Oscillator(), Timeline(1000, log=Periodic(100))).run()))
    with pytest.raises(InputError, match="no rows"):
        plot_flight(Log.of(flight(end_s=1)))
    with pytest.raises(InputError, match=r"waypoint 4 = \(1\.0,\) is invalid; it must be north and east"):
        plot_flight(Log.of(mission), waypoints={4: (1.0,)})
    figure = plot_flight(Log.of(flight(end_s=0.1, scenario=TAKE_OFF).run()))
    with pytest.raises(InputError, match=r"picture\.jpg: the file name must end in \.png, \.pdf, \.svg"):
        save_plot(figure, tmp_path / "picture.jpg")
    with pytest.raises(InputError, match="no folder"):
        save_plot(figure, tmp_path / "missing" / "picture.png")
    assert list(tmp_path.iterdir()) == []


def test_a_long_flight_loses_no_peak(monkeypatch):
    """With fewer points than rows, the minimum and maximum are still drawn."""
    monkeypatch.setattr("px4lockstep.plots.panels.lines.POINTS", 50)
    log = Log.of(flight(end_s=20).run())
    figure = plot_flight(log)
    axes = next(axes for axes in figure.axes if title_of(axes) == "Battery current")
    drawn = axes.lines[0].get_ydata()
    assert len(drawn) < 200
    assert drawn.max() == log["battery_current_a"].max()
    assert drawn.min() == log["battery_current_a"].min()


def test_importing_the_package_does_not_import_matplotlib_or_pyarrow(python):
    """They take a second to import, and are needed only for plotting and writing."""
    code = (
        "import sys, px4lockstep.plots.flight, px4lockstep.flights.summary;"
        "import px4lockstep.log.csv, px4lockstep.log.parquet;"
        "assert 'matplotlib' not in sys.modules and 'pyarrow' not in sys.modules"
    )
    python("-c", code)


def test_the_log_has_the_time_of_each_mission_item(mission):
    """One for each of the 8 items; the last is the end of the mission."""
    log = Log.of(mission)
    times_us = mission_times_us(log)
    assert len(times_us) == 8
    assert times_us[-1] == int(log.time_us[np.flatnonzero(log["mission_finished"])[0]])
    assert mission_times_us(log.select(["pos_ned"])) == ()


def test_a_dollar_sign_in_a_name_is_no_formula(tmp_path):
    """Matplotlib would parse it, and fail."""
    with mpl.rc_context(STYLE):
        figure = Figure()
        figure.suptitle(r"a $\nonsense{ name$")
        figure.savefig(tmp_path / "figure.png")


def panels_of(figure):
    return {title_of(axes): axes for axes in figure.axes}


def test_each_motor_has_a_lane(mission):
    """No line reaches the lane of another; a lane goes from 0 to the common maximum in the label."""
    axes = panels_of(plot_flight(Log.of(mission)))["Motor commands"]
    lines = [line.get_ydata() for line in axes.lines if not line.get_label().startswith("_lanes")][:4]
    for i, line in enumerate(lines):
        assert 3 - i <= line.min() <= line.max() <= 4 - i
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2", "3", "4"]


def test_errors_are_distances_from_setpoint_and_estimate():
    """2 m north of the setpoint and 1 m below it; the estimate is 3 m and 4 m off horizontally."""
    rows = 5
    pos = np.zeros((rows, 3))
    columns = {"time_us": np.arange(rows) * 100_000, "pos_ned": pos}
    wanted, estimated = np.add(pos, (-2.0, 0.0, -1.0)), np.add(pos, (3.0, 4.0, 0.0))
    log = Log(columns | {"pos_sp_ned": wanted, "est_pos_ned": estimated})
    panels = panels_of(plot_flight(log))
    for name, wanted in (("Tracking error", (2.0, 1.0)), ("Estimate error", (5.0, 0.0))):
        lines = {line.get_label(): line.get_ydata() for line in panels[name].lines}
        assert [set(lines[label]) for label in ("horizontal", "vertical")] == [{wanted[0]}, {wanted[1]}]
    assert "not in this log" in [text.get_text() for text in panels["Wind"].texts]


def test_headings_are_unwrapped():
    """A turn through 180 degrees is a line without a jump, and its setpoint is next to it."""
    angles = np.radians(np.linspace(170.0, 190.0, 21))
    q = np.stack([np.cos(angles / 2.0), 0.0 * angles, 0.0 * angles, np.sin(angles / 2.0)], axis=1)
    columns = {"time_us": np.arange(21) * 100_000, "pos_ned": np.zeros((21, 3)), "q_sp": -q}
    wrapped = np.stack([0.0 * angles, 0.0 * angles, (angles + np.pi) % (2.0 * np.pi) - np.pi], axis=1)
    axes = panels_of(plot_flight(Log(columns | {"euler_bn": wrapped})))["Heading"]
    flown, wanted = (line.get_ydata() for line in axes.lines if line.get_label() in ("flown", "setpoint"))
    assert np.abs(np.diff(flown)).max() == pytest.approx(1.0)
    assert wanted == pytest.approx(flown)


def test_a_crash_is_drawn_again_in_detail():
    """The last row has the seconds before it, from a fault on; a flight without a crash has no such row."""
    falling = flight(scenario=Scenario().arm(at_s=0.1), aircraft=iris(pos_ned=(0.0, 0.0, -5.0)), end_s=10).run()
    log = Log.of(falling)
    crash_s = float(log.time_s[-1])
    panels = panels_of(plot_flight(log))
    for name in ("Crash: height", "Crash: attitude", "Crash: motor commands"):
        assert panels[name].get_xlim()[1] == crash_s
    long = [FlightEvent(40_000_000, "motor 2 off", is_fault=True), FlightEvent(42_000_000, "crashed", is_fault=True)]
    times = Log({"time_us": np.arange(421) * 100_000, "pos_ned": np.zeros((421, 3))})
    assert crash_window(times, long) == (39.0, 42.0)
    assert crash_window(times, [FlightEvent(1_000_000, "motor 2 off", is_fault=True), long[1]]) == (39.0, 42.0)
    assert crash_window(times, [FlightEvent(33_000_000, "motor 2 off", is_fault=True), long[1]]) == (32.5, 42.0)
    assert crash_window(times, long[:1]) is None
    assert not any(name.startswith("Crash") for name in panels_of(plot_flight(log, to_s=0.5)))


def test_the_end_has_not_the_colour_of_a_fault(mission):
    [end] = [line for line in plot_flight(Log.of(mission)).axes[0].lines if line.get_label() == "end"]
    assert mpl.colors.to_rgb(end.get_color()) != mpl.colors.to_rgb(FAULT)


def test_panels_titles_and_keys_do_not_overlap(mission):
    """Measured by Matplotlib in the finished figure; keys are above their panels, so never over data."""
    waypoints = mission_waypoints(load_mission(MISSIONS["mission"]), *HOME)
    figure = plot_flight(Log.of(mission), waypoints=waypoints, title="iris: flown", facts="seed 1")
    figure.canvas.draw()
    boxes = {}
    for name, axes in panels_of(figure).items():
        boxes[f"panel {name}"] = axes.get_window_extent()
        boxes[f"title {name}"] = axes._left_title.get_window_extent()
        for text in (text for text in axes.texts if text.get_gid() == "key"):
            boxes[f"key {name}: {text.get_text()}"] = text.get_window_extent()
            assert text.get_window_extent().y0 >= axes.get_window_extent().y1
    names = list(boxes)
    crossed = [(a, b) for i, a in enumerate(names) for b in names[:i] if boxes[a].overlaps(boxes[b])]
    assert crossed == []
    width, height = figure.canvas.get_width_height()
    assert all(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height for box in boxes.values())
    assert panel_size_in(figure.axes[0])[0] > 4.0


def test_drawing_pauses_the_garbage_collector_and_starts_it_again(mission):
    assert gc.isenabled()
    plot_flight(Log.of(mission))
    assert gc.isenabled()
    with pytest.raises(InputError):
        plot_flight(Log.of(mission), waypoints={4: (1.0,)})
    assert gc.isenabled()


def test_scales_have_the_ticks_of_matplotlib(mission):
    """The same labels at the same places, drawn in less time; numbers that need a factor keep Matplotlib's own."""
    figure = plot_flight(Log.of(mission))
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    axes = panels["Velocity"]
    low, high = axes.get_ylim()
    locator, formatter = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]), ScalarFormatter()
    formatter.create_dummy_axis()
    formatter.axis.set_view_interval(low, high)
    ticks = [tick for tick in locator.tick_values(low, high) if low <= tick <= high]
    with figure_style():
        assert scale_of(axes) == formatter.format_ticks(ticks)
    assert [text.get_position()[1] for text in axes.texts if text.get_gid() == "scale"] == ticks
    plain = new_figure(4.0, 3.0).add_subplot()
    plain.plot([0.0, 1.0], [1e9, 1e9 + 3.0])
    draw_scale(plain)
    assert scale_of(plain) == []
    assert len(plain.get_yticks()) > 2
