"""Latitude, longitude and altitude of a flight, and its exports to KML, GPX, MAT and parameter files, read back."""

import math
import re
from datetime import UTC, datetime
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.io import loadmat

from px4lockstep import read_csv, read_log, read_parquet, read_run, simulate
from px4lockstep.cli.folders import utc_time
from px4lockstep.errors import InputError
from px4lockstep.flights.exports import read_source
from px4lockstep.log.events import events_of
from px4lockstep.log.export_source import About, ExportOptions, ExportSource, HomePosition
from px4lockstep.log.exports import FORMATS, check_options
from px4lockstep.log.geographic import event_places, positions_deg, with_home
from px4lockstep.log.log import Log
from px4lockstep.px4.params_files import load_params

KML = "{http://www.opengis.net/kml/2.2}"
GPX = "{http://www.topografix.com/GPX/1/1}"
EARTH_RADIUS_M = 6_371_000.0
GEOGRAPHIC = ("lat_deg", "lon_deg", "alt_msl_m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run folder with a take-off away from home, and a motor fault."""
    changes = {"timeline.t_end_s": 12.0, "aircraft.name": "x & <y>\x07"}
    changes["airframe.x0.pos_ned"] = [30.0, -20.0, -0.2192]
    changes["scenario.events"] = [{"action": "thrust_loss", "motor": 1, "fraction": 0.1, "at_s": 10.0}]
    folder = tmp_path_factory.mktemp("runs") / "run"
    simulate("x500", overrides=changes).save(folder, plots=False)
    return folder


@pytest.fixture(scope="module")
def source(folder):
    return read_source(folder)[0]


def exported(source, name, path, **options):
    """Export a flight and return the bytes of the file; a second export is identical."""
    FORMATS[name].write(source, path, ExportOptions(**options))
    first = path.read_bytes()
    FORMATS[name].write(source, path, ExportOptions(**options))
    assert path.read_bytes() == first
    return first


def distance_m(home, lat_deg, lon_deg):
    """Return the distance on PX4's sphere, by the haversine formula."""
    lat, lon, lat0, lon0 = map(np.radians, (lat_deg, lon_deg, home.lat_deg, home.lon_deg))
    h = np.sin((lat - lat0) / 2) ** 2 + np.cos(lat) * np.cos(lat0) * np.sin((lon - lon0) / 2) ** 2
    return 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(h))


# -- columns -------------------------------------------------------------------------------------------------------


def test_geographic_columns_are_computed_if_asked_for(source):
    """Distance from home by the haversine formula to 1e-6 m (its rounding: 1e-16 of the Earth); altitude exactly."""
    log, home = source.log, source.about.home
    pos = log["pos_ned"]
    assert np.abs(pos[-1, :2]).min() > 1.0  # it is not at home
    found = distance_m(home, log["lat_deg"], log["lon_deg"])
    assert found == pytest.approx(np.hypot(pos[:, 0], pos[:, 1]), abs=1e-6)
    assert np.sign(log["lat_deg"][-1] - home.lat_deg) == np.sign(pos[-1, 0])
    assert np.sign(log["lon_deg"][-1] - home.lon_deg) == np.sign(pos[-1, 1])
    assert np.array_equal(log["alt_msl_m"], home.alt_msl_m - pos[:, 2])
    assert [log.unit(name) for name in GEOGRAPHIC] == ["deg", "deg", "m"]


def test_geographic_columns_are_not_in_a_log_unless_selected(source):
    """So files of runs stay as they are."""
    assert not set(GEOGRAPHIC) & set(source.log)
    assert not set(GEOGRAPHIC) & {column.name for column in source.log.columns}
    chosen = source.log.select(["lat_deg", "armed"])
    assert list(chosen) == ["time_us", "lat_deg", "armed"]
    assert [name for name, _, _ in chosen.flat()] == ["time_us", "lat_deg", "armed"]


def test_a_log_without_home_says_what_to_do(source):
    """A log file on its own has none."""
    plain = Log({"time_us": np.zeros(1, np.uint64), "pos_ned": np.zeros((1, 3))})
    with pytest.raises(InputError, match=r"no column 'lat_deg': it needs the home position"):
        plain["lat_deg"]
    assert with_home(plain, HomePosition(10.0, 20.0, 30.0))["alt_msl_m"].tolist() == [30.0]


def test_positions_that_do_not_exist_are_nan():
    """After a failure a position may be infinite."""
    pos = np.array([[0.0, 0.0, 0.0], [math.nan, 0.0, 0.0], [math.inf, 0.0, 0.0], [1e8, 0.0, 0.0]])
    found = positions_deg(pos, HomePosition(10.0, 20.0, 30.0))
    assert found[0] == pytest.approx([10.0, 20.0], abs=1e-13)
    assert np.isnan(found[1:]).all()


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_tables_have_geographic_columns_on_request(source, tmp_path, name):
    """Exactly the values of the log."""
    path = tmp_path / f"log.{name}"
    exported(source, name, path, columns=GEOGRAPHIC)
    log = {"csv": read_csv, "parquet": read_parquet}[name](path)
    assert set(log) == {"time_us", *GEOGRAPHIC}
    for column in GEOGRAPHIC:
        assert np.array_equal(log[column], source.log[column])


def test_a_spec_can_log_geographic_columns(tmp_path):
    """In the log of its run folder; they are known before the flight."""
    run = simulate("iris", overrides={"timeline.t_end_s": 0.1, "run.log_columns": ["lat_deg", "alt_msl_m"]})
    log = read_log(run.save(tmp_path / "run", plots=False))
    assert list(log) == ["time_us", "lat_deg", "alt_msl_m"]
    assert np.array_equal(log["lat_deg"], run.log["lat_deg"])
    assert np.array_equal(read_run(tmp_path / "run").log["alt_msl_m"], run.log["alt_msl_m"])


# -- maps ----------------------------------------------------------------------------------------------------------


def track_rows(source, rate_hz=10.0):
    """Return the rows of a track: the first of each period, and the last."""
    period_us = round(1e6 / rate_hz)
    turns = [int(time_us) // period_us for time_us in source.log.time_us]
    rows = [i for i in range(len(turns)) if i == 0 or turns[i] > turns[i - 1]]
    return rows if rows[-1] == len(turns) - 1 else [*rows, len(turns) - 1]


def check_track(source, points, rate_hz=10.0):
    """Check latitude, longitude (to 1e-9 of a degree, as written) and altitude (to 1 mm) of each point."""
    rows = track_rows(source, rate_hz)
    expected = np.stack([source.log[name][rows] for name in GEOGRAPHIC], axis=1)
    assert np.shape(points) == expected.shape
    assert np.abs(np.array(points) - expected).max(axis=0) == pytest.approx([0, 0, 0], abs=6e-4)
    assert np.abs(np.array(points) - expected)[:, :2].max() < 6e-10


def check_places(source, waypoints, events):
    """Check name, position and altitude of each waypoint and event."""
    home = source.about.home
    wanted = [
        (f"{i} {item.command.name}", item.lat_deg, item.lon_deg, item.alt_m + home.alt_msl_m * item.is_relative_alt)
        for i, item in enumerate(source.about.mission.items)
        if item.command.has_position
    ]
    assert [name for name, *_ in waypoints] == [name for name, *_ in wanted]
    assert [values for _, *values in waypoints] == [pytest.approx(values, abs=6e-4) for _, *values in wanted]
    found = events_of(source.log)
    assert [name for name, *_ in events] == [event.label for event in found]
    assert any(event.is_fault for event in found)
    for (_, lat_deg, lon_deg, alt_m), event in zip(events, found, strict=True):
        row = list(source.log.time_us).index(event.time_us)
        expected = [source.log[name][row] for name in GEOGRAPHIC]
        assert [lat_deg, lon_deg] == pytest.approx(expected[:2], abs=6e-10)
        assert alt_m == pytest.approx(expected[2], abs=6e-4)


def test_kml_has_track_waypoints_and_events(source, tmp_path):
    """Longitude first, and absolute altitudes; a control character in a name is replaced."""
    root = ElementTree.fromstring(exported(source, "kml", tmp_path / "a.kml"))
    assert root.tag == f"{KML}kml"
    document = root.find(f"{KML}Document")
    assert document.findtext(f"{KML}name") == "x & <y>\N{REPLACEMENT CHARACTER}"
    assert {each.text for each in root.iter(f"{KML}altitudeMode")} == {"absolute"}
    text = document.findtext(f"{KML}Placemark/{KML}LineString/{KML}coordinates")
    points = [[float(number) for number in point.split(",")] for point in text.split()]
    check_track(source, [(lat, lon, alt) for lon, lat, alt in points])
    folders = {each.findtext(f"{KML}name"): each for each in document.findall(f"{KML}Folder")}
    places = {}
    for title, each in folders.items():
        places[title] = []
        for mark in each.findall(f"{KML}Placemark"):
            lon, lat, alt = map(float, mark.findtext(f"{KML}Point/{KML}coordinates").split(","))
            places[title].append((mark.findtext(f"{KML}name"), lat, lon, alt))
    check_places(source, places["Waypoints"], places["Events"])


@pytest.mark.parametrize("start", [None, datetime(2026, 5, 1, 12, 0, tzinfo=UTC)])
def test_gpx_has_track_waypoints_and_events(source, tmp_path, start):
    """With times from a fixed epoch, or from a given start; elements are in the order of the schema."""
    root = ElementTree.fromstring(exported(source, "gpx", tmp_path / "a.gpx", rate_hz=5.0, start=start))
    assert (root.tag, root.get("version")) == (f"{GPX}gpx", "1.1")
    tags = [each.tag.removeprefix(GPX) for each in root]
    assert re.fullmatch(r"metadata (wpt )*trk ", "".join(f"{tag} " for tag in tags))
    points = root.findall(f"{GPX}trk/{GPX}trkseg/{GPX}trkpt")
    check_track(
        source, [(float(p.get("lat")), float(p.get("lon")), float(p.findtext(f"{GPX}ele"))) for p in points], 5.0
    )
    zero = start or datetime(2000, 1, 1, tzinfo=UTC)
    times = [datetime.fromisoformat(point.findtext(f"{GPX}time")) for point in points]
    assert [round((time - zero).total_seconds() * 1e6) for time in times] == [
        int(source.log.time_us[row]) for row in track_rows(source, 5.0)
    ]
    places = {"waypoint": [], "event": []}
    for each in root.findall(f"{GPX}wpt"):
        where = float(each.get("lat")), float(each.get("lon")), float(each.findtext(f"{GPX}ele"))
        places[each.findtext(f"{GPX}type")].append((each.findtext(f"{GPX}name"), *where))
    check_places(source, places["waypoint"], places["event"])


@pytest.mark.parametrize("name", ["kml", "gpx"])
def test_a_map_needs_home(source, tmp_path, name):
    """A log file on its own has none."""
    with pytest.raises(InputError, match="needs the home position"):
        FORMATS[name].write(ExportSource(source.log), tmp_path / "a", ExportOptions())


@pytest.mark.parametrize(
    "events",
    [
        *(3, [3], [{}], [{"time_s": 1.0, "label": 3, "is_fault": False}]),
        *([{"time_s": time_s, "label": "a", "is_fault": False}] for time_s in ("x", math.inf, -1.0)),
    ],
)
@pytest.mark.parametrize("name", ["kml", "gpx", "ulog"])
def test_a_summary_with_invalid_events_is_refused(tmp_path, name, events):
    """Somebody edited it."""
    log = Log({"time_us": np.arange(2, dtype=np.uint64), "pos_ned": np.zeros((2, 3))})
    source = ExportSource(log, About(home=HomePosition(10.0, 20.0, 30.0)), {"events": events})
    with pytest.raises(InputError, match=r"'events' of the summary is not a list|has an invalid event"):
        FORMATS[name].write(source, tmp_path / "a", ExportOptions())


def test_an_event_after_the_last_row_is_where_the_log_ends(tmp_path):
    """As one of a log that was cut."""
    log = Log({"time_us": np.arange(2, dtype=np.uint64), "pos_ned": np.zeros((2, 3))})
    summary = {"events": [{"time_s": 5.0, "label": "landed", "is_fault": False}]}
    source = ExportSource(log, About(home=HomePosition(10.0, 20.0, 30.0)), summary)
    assert [(place.name, place.alt_msl_m) for place in event_places(source, source.about.home)] == [("landed", 30.0)]


def test_a_start_is_a_time_in_utc():
    """With or without an offset."""
    noon = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
    for text in ("2026-05-01T12:00:00Z", "2026-05-01 12:00", "2026-05-01T14:00+02:00"):
        assert utc_time(text) == noon
    with pytest.raises(InputError, match=r"--start 'noon' is not a time; it must be like 2026-05-01T12:00:00Z"):
        utc_time("noon")
    with pytest.raises(InputError, match="its year must be 1970 to 2999"):
        utc_time("9999-12-31")


def test_options_of_other_formats_are_refused():
    """Only GPX has times."""
    check_options(FORMATS["gpx"], ExportOptions(start=datetime(2026, 5, 1, tzinfo=UTC)))
    for name in ("kml", "mat", "params"):
        with pytest.raises(InputError, match="--start is not an option of"):
            check_options(FORMATS[name], ExportOptions(start=datetime(2026, 5, 1, tzinfo=UTC)))


@pytest.mark.parametrize("name", ["kml", "gpx"])
def test_an_empty_log_is_an_empty_track(tmp_path, name):
    """A run that was killed at once has no rows."""
    log = Log({"time_us": np.zeros(0, np.uint64), "pos_ned": np.zeros((0, 3))})
    source = ExportSource(log, About(home=HomePosition(10.0, 20.0, 30.0)))
    FORMATS[name].write(source, tmp_path / "a", ExportOptions())
    root = ElementTree.parse(tmp_path / "a").getroot()
    assert not [each for each in root.iter() if each.tag.endswith("trkpt") or (each.text or "").strip().count(",")]


# -- MAT and parameters --------------------------------------------------------------------------------------------


def test_a_mat_file_has_a_struct_with_every_column(source, tmp_path):
    """Names, units, shapes and exact values; geographic columns are included."""
    data = exported(source, "mat", tmp_path / "a.mat", all_columns=True)
    assert data.startswith(b"MATLAB 5.0 MAT-file, created by px4lockstep   ")
    assert data[124:128] == b"\x00\x01IM"
    flight = loadmat(tmp_path / "a.mat", simplify_cells=True)["flight"]
    names = [*source.log.names, *GEOGRAPHIC]
    assert set(flight) == {*names, "units", "about"}
    for name in names:
        array = source.log[name]
        assert np.array_equal(flight[name], array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array), name
        assert flight["units"][name] == source.log.unit(name)
    home = source.about.home
    assert flight["about"]["home"] == {
        "lat_deg": home.lat_deg,
        "lon_deg": home.lon_deg,
        "alt_msl_m": home.alt_msl_m,
    }
    assert flight["about"]["digest"] == source.summary["digest"]
    assert flight["about"]["name"] == source.about.name


def test_a_mat_file_has_one_value_of_each_constant_column(source, tmp_path):
    """By default; none is lost."""
    exported(source, "mat", tmp_path / "a.mat")
    flight = loadmat(tmp_path / "a.mat", simplify_cells=True)["flight"]
    constants = flight["constants"]
    assert {"failsafe", "crashed", "mission_count"} <= set(constants)
    assert {*flight, *constants} == {*source.log.names, *GEOGRAPHIC, "constants", "units", "about"}
    assert not set(flight) & set(constants)
    for name, value in constants.items():
        assert np.array_equal(value, np.squeeze(source.log[name][-1]), equal_nan=True), name
        assert flight["units"][name] == source.log.unit(name)


def test_a_mat_file_can_have_some_columns(source, tmp_path):
    """And the time, as other formats."""
    exported(source, "mat", tmp_path / "a.mat", columns=("motors", "lat_deg"))
    flight = loadmat(tmp_path / "a.mat", simplify_cells=True)["flight"]
    assert set(flight) == {"time_us", "motors", "lat_deg", "units", "about"}


def test_exported_parameters_are_those_that_were_flown(source, tmp_path):
    """Flying with them gives the same flight."""
    exported(source, "params", tmp_path / "a.params")
    found = load_params(tmp_path / "a.params").values
    assert found["MPC_THR_HOVER"] == 0.75
    assert found["CA_ROTOR_COUNT"] == 4
    assert not {"IMU_GYRO_CUTOFF", "CA_ROTOR4_PX"} & set(found)  # they would replace those of a vehicle
    flown = simulate("x500", overrides={"timeline.t_end_s": 3.0})
    again = simulate("x500", overrides={"timeline.t_end_s": 3.0, "autopilot.params_file": str(tmp_path / "a.params")})
    assert flown.digest == again.digest
