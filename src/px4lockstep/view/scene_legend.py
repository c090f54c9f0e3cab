"""The legend of a scene as HTML: colour scale, marks, and how large the vehicle is drawn."""

import html

from px4lockstep.autopilots.area import zones_of
from px4lockstep.plots.looks import dashes_px
from px4lockstep.view import colours
from px4lockstep.view.scene import RUN, SPEED, FlightScene

BOX = (
    "position:fixed;right:12px;top:12px;z-index:5;max-width:19em;padding:10px 14px;border-radius:8px;color:#1c2733;"
    "background:rgba(255,255,255,0.9);box-shadow:0 1px 8px rgba(0,0,0,0.15);font:13px/1.5 system-ui,sans-serif;"
    "pointer-events:none"
)


def legend_of(scene: FlightScene, title: str) -> str:
    """Return the legend as a box in the corner of a page."""
    head = f'<div style="font-weight:600;font-size:14px">{html.escape(title)}</div>'
    keys = '<div style="color:#5b6775">space: play or pause</div>'
    return f'<div id="px4lockstep-legend" style="{BOX}">{head}{legend_rows(scene)}{keys}</div>'


def legend_rows(scene: FlightScene) -> str:
    """Return the rows of the legend."""
    rows = [scale_row(scene)]
    if len(scene.flights) > 1:
        for i, flight in enumerate(scene.flights):
            red, green, blue = colours.RUNS[i % len(colours.RUNS)]
            look = f'stroke="rgb({red},{green},{blue})" stroke-width="3" stroke-dasharray="{dash_list(i)}"'
            line = f'<svg width="42" height="8" style="margin-right:.5em"><path d="M0 4H42" {look}/></svg>'
            rows.append(f"<div>{line}{html.escape(flight.name)}</div>")
    rows.append("<div>outline: setpoint; orange: nose and thrust</div>")
    if scene.marks:
        rows.append("<div>octahedra: events; cubes with !: faults</div>")
    areas = [flight.area for flight in scene.flights]
    if any(zones_of(area) for area in areas):
        rows.append("<div>walls: stay inside; dashed and hatched: stay outside</div>")
    if any(area.height_m > 0.0 and not zones_of(area) for area in areas):
        rows.append("<div>grid in the air: stay below it</div>")
    if any(area.rally_points for area in areas):
        rows.append("<div>cubes with R in a square: rally points</div>")
    if scene.scale > 1.005:
        rows.append(f"<div>vehicle drawn {scene.scale:.1f} times larger</div>")
    return "".join(rows)


def dash_list(number: int) -> str:
    """Return the dashes of a line with a width of 3 pixels as an attribute of SVG."""
    return " ".join(f"{length:g}" for length in dashes_px(number, 3.0)) or "none"


def scale_row(scene: FlightScene) -> str:
    """Return the colour scale with its ends; empty if the track is coloured by run."""
    if scene.colour_by == RUN:
        return ""
    low, high = scene.limits
    what, unit = ("speed", "m/s") if scene.colour_by == SPEED else ("distance from setpoint", "m")
    bar = f"height:9px;border-radius:4px;background:{colours.css_gradient()}"
    ends = "display:flex;justify-content:space-between"
    return (
        f'<div style="margin:4px 0">track: {what} [{unit}]<div style="{bar}"></div>'
        f'<div style="{ends}"><span>{low:g}</span><span>{high:g}</span></div></div>'
    )
