"""Flights on a map: KML for Google Earth, and GPX for everything that reads tracks of a GPS receiver.

Both have the true track, the waypoints and the events of the flight, with altitudes above mean sea level.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

from px4lockstep.io import atomic_write
from px4lockstep.log.export_source import ExportOptions, ExportSource
from px4lockstep.log.geographic import Place, event_places, home_of, track, waypoints

KML_SCHEMA = "http://www.opengis.net/kml/2.2"
GPX_SCHEMA = "http://www.topografix.com/GPX/1/1"
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Start of a flight whose start is not given. Any fixed time would do: the same flight gives the same file."""
DEGREES, METRES = ".9f", ".3f"
"""Formats: 9 decimals of a degree are 0.1 mm."""
TRACK_STYLE = {"color": "ff0055ff", "width": "3"}
# XML 1.0 has no characters for these, not even as escapes.
NOT_XML = re.compile("[^\\t\\n\\r\\u0020-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")

Element = ElementTree.Element


def export_kml(source: ExportSource, path: Path, options: ExportOptions) -> None:
    """Write a flight as KML 2.2, with absolute altitudes."""
    home = home_of(source, "KML")
    kml = Element("kml", xmlns=KML_SCHEMA)
    document = _add(kml, "Document")
    _add(document, "name", source.about.name)
    style = _add(_add(document, "Style", id="track"), "LineStyle")
    for name, value in TRACK_STYLE.items():
        _add(style, name, value)
    line = _add(document, "Placemark")
    _add(line, "name", "Track")
    _add(line, "styleUrl", "#track")
    shape = _add(line, "LineString")
    _add(shape, "altitudeMode", "absolute")
    points = track(source, home, options.rate_hz)
    _add(shape, "coordinates", " ".join(_coordinates(lat, lon, alt) for _, lat, lon, alt in points))
    for title, places in (("Waypoints", waypoints(source, home)), ("Events", event_places(source, home))):
        _add_places(_add(document, "Folder"), title, places)
    _write(kml, path)


def _add_places(folder: Element, title: str, places: Iterable[Place]) -> None:
    _add(folder, "name", title)
    for place in places:
        mark = _add(folder, "Placemark")
        _add(mark, "name", place.name)
        if place.time_us is not None:
            _add(mark, "description", f"{place.time_us / 1e6:.2f} s")
        point = _add(mark, "Point")
        _add(point, "altitudeMode", "absolute")
        _add(point, "coordinates", _coordinates(place.lat_deg, place.lon_deg, place.alt_msl_m))


def _coordinates(lat_deg: float, lon_deg: float, alt_msl_m: float) -> str:
    return f"{lon_deg:{DEGREES}},{lat_deg:{DEGREES}},{alt_msl_m:{METRES}}"


def export_gpx(source: ExportSource, path: Path, options: ExportOptions) -> None:
    """Write a flight as GPX 1.1. Without a start in the options, simulated time 0 is 2000-01-01 00:00 UTC."""
    home = home_of(source, "GPX")
    start = options.start or EPOCH
    gpx = Element("gpx", version="1.1", creator="px4lockstep", xmlns=GPX_SCHEMA)
    about = _add(gpx, "metadata")
    _add(about, "name", source.about.name)
    _add(about, "time", _time(start, 0))
    for kind, places in (("waypoint", waypoints(source, home)), ("event", event_places(source, home))):
        for place in places:
            point = _add(gpx, "wpt", **_degrees(place.lat_deg, place.lon_deg))
            _add(point, "ele", f"{place.alt_msl_m:{METRES}}")
            if place.time_us is not None:
                _add(point, "time", _time(start, place.time_us))
            _add(point, "name", place.name)
            _add(point, "type", kind)
    line = _add(gpx, "trk")
    _add(line, "name", source.about.name)
    segment = _add(line, "trkseg")
    for time_us, lat_deg, lon_deg, alt_msl_m in track(source, home, options.rate_hz):
        point = _add(segment, "trkpt", **_degrees(lat_deg, lon_deg))
        _add(point, "ele", f"{alt_msl_m:{METRES}}")
        _add(point, "time", _time(start, time_us))
    _write(gpx, path)


def _degrees(lat_deg: float, lon_deg: float) -> dict[str, str]:
    return {"lat": f"{lat_deg:{DEGREES}}", "lon": f"{lon_deg:{DEGREES}}"}


def _time(start: datetime, time_us: int) -> str:
    return (start + timedelta(microseconds=time_us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _add(parent: Element, tag: str, text: str | None = None, **attributes: str) -> Element:
    """Append an element; characters that XML does not have are replaced."""
    element = ElementTree.SubElement(parent, tag, attributes)
    element.text = None if text is None else NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
    return element


def _write(root: Element, path: Path) -> None:
    ElementTree.indent(root, " ")
    with atomic_write(path) as file:
        file.write(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")
