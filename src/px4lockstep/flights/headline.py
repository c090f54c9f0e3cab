"""The title of the figure of a flight, and the line of facts below it: seed, wind, autopilot, digest."""

import math
from collections.abc import Mapping
from typing import Any

from px4lockstep.environment.wind import Wind
from px4lockstep.spec.spec import Spec

MAX_REASON, MAX_WORD = 80, 40
DIGEST = 12
"""Characters of a digest that are shown."""
SEPARATOR = "   ·   "


def title_of(name: str, summary: Mapping[str, Any] | None) -> str:
    """Return the name of a flight with its outcome, and the reason if it is not `flown`."""
    if summary is None:
        return f"{one_line(name)}: incomplete"
    outcome, reason = one_line(str(summary.get("outcome")), MAX_WORD), summary.get("reason")
    return f"{one_line(name)}: {outcome}" + (f" ({one_line(str(reason).split(';')[0])})" if reason else "")


def facts_of(spec: Spec, digest: str | None) -> str:
    """Return seed, wind, autopilot and digest of a flight, in one line."""
    facts = [f"seed {spec.aircraft.seed}", wind_words(spec.environment), f"autopilot {spec.autopilot.kind}"]
    if digest:
        facts.append(f"digest {one_line(str(digest))[:DIGEST]}")
    return SEPARATOR.join(one_line(fact) for fact in facts)


def wind_words(wind: Wind) -> str:
    """Describe the wind of a spec: model and mean speed, with the direction that it comes from."""
    if wind.wind == "none":
        return "no wind"
    north, east, _ = wind.wind_mean_ned
    speed_m_s = math.hypot(north, east)
    kind = {"constant": "constant wind", "ou": "turbulent wind (ou)", "dryden": "turbulent wind (Dryden)"}.get(
        wind.wind
    )
    words = kind or f"wind {wind.wind}"
    if speed_m_s == 0.0:
        return f"{words}, mean 0 m/s"
    from_deg = round(math.degrees(math.atan2(-east, -north))) % 360
    return f"{words}, mean {speed_m_s:.1f} m/s from {from_deg:03d}°"


def one_line(text: str, length: int = MAX_REASON) -> str:
    """Return text that can be drawn in one line: without control characters, and not too long."""
    clean = " ".join(text.encode(errors="replace").decode().split())
    clean = "".join(char if char.isprintable() else "?" for char in clean)
    return clean if len(clean) <= length else clean[: length - 1] + "…"
