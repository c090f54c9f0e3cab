"""The HTML page of a report: everything inside one file, nothing loaded from elsewhere.

All text that comes from files is escaped: text of a stranger's run can't become a script. In addition, the page has a
Content-Security-Policy without any network, and allows only its own scripts, by their hashes. With the replay, which is
a page of its own in a sandbox but inherits the policy, all scripts inside the file are allowed: it unpacks its own.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from px4lockstep import __version__
from px4lockstep.errors import InputError

HERE = Path(__file__).parent
BUNDLE = "package_data/plotly.min.js"
GOOD, BAD, NONE = "good", "bad", "none"
MARKS = {GOOD: "✓", BAD: "✗", NONE: "•"}
"""The verdicts differ in their sign and their border, not in colour alone."""
TOOLS = (("in", "zoom in"), ("out", "zoom out"), ("left", "earlier"), ("right", "later"), ("all", "all"))


@dataclass(frozen=True)
class PageTable:
    """A table of text; without heads, the first cell of a row is its name."""

    rows: Sequence[Sequence[str]]
    heads: Sequence[str] = ()
    faults: Sequence[bool] = ()  # rows that are highlighted
    caption: str = ""
    is_long: bool = False  # whether it scrolls

    def html(self) -> str:
        """Return the table as HTML."""
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.heads)
        body = []
        for i, row in enumerate(self.rows):
            look = ' class="fault"' if i < len(self.faults) and self.faults[i] else ""
            first = f"<td>{escape(row[0])}</td>" if self.heads else f'<th scope="row">{escape(row[0])}</th>'
            body.append(f"<tr{look}>{first}{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>")
        thead = f"<thead><tr>{head}</tr></thead>" if head else ""
        text = f"<table>{caption}{thead}<tbody>{''.join(body)}</tbody></table>"
        return f'<div class="scroll" tabindex="0">{text}</div>' if self.is_long else text


@dataclass(frozen=True)
class Chart:
    """A chart of Plotly, and the words that replace it for readers who can't see it."""

    words: str
    data: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    controls: bool = False  # whether it can be zoomed and moved along its x axis by buttons and keys
    focus: tuple[float, float] | None = None  # part of the x axis to which a button zooms: a crash


@dataclass
class ReportPage:
    """A report that is being written, section by section."""

    title: str
    verdict: str  # a word, such as `flown`
    kind: str  # GOOD, BAD or NONE
    reason: str = ""
    facts: Sequence[str] = ()
    _sections: list[tuple[str, str]] = field(default_factory=list)
    _charts: list[dict[str, Any]] = field(default_factory=list)
    _has_frame: bool = False

    def add(self, heading: str, *parts: str | PageTable) -> None:
        """Add a section of tables, or of HTML that is already escaped."""
        inside = "".join(part.html() if isinstance(part, PageTable) else part for part in parts)
        if inside:
            self._sections.append((heading, inside))

    def chart(self, chart: Chart) -> str:
        """Return a chart as HTML; its data is written at the end of the page."""
        name = f"chart-{len(self._charts) + 1}"
        self._charts.append(
            {"id": name, "data": chart.data, "layout": chart.layout, "controls": chart.controls, "focus": chart.focus}
        )
        tools = (*TOOLS, ("focus", "crash")) if chart.focus is not None else TOOLS
        buttons = "".join(f'<button type="button" data-act="{act}">{words}</button>' for act, words in tools)
        keys = "keys on the focused chart: + - ← → 0"
        bar = f'<div class="tools">{buttons}<span>{keys}</span></div>' if chart.controls else ""
        stop = ' tabindex="0"' if chart.controls else ""
        words = escape(chart.words, quote=True)
        plot = f'<div class="plot" role="img" aria-label="{words}"{stop}></div>'
        return f'<figure class="chart" id="{name}">{bar}{plot}</figure>'

    def frame(self, html: str, title: str) -> str:
        """Return another complete page, which stays apart from this one: it can't read it."""
        self._has_frame = True
        inside = escape(html, quote=True)
        return f'<iframe title="{escape(title, quote=True)}" sandbox="allow-scripts" srcdoc="{inside}"></iframe>'

    def html(self) -> str:
        """Return the whole page."""
        scripts = [plotly_script(), (HERE / "page.js").read_text("utf-8")] if self._charts else []
        links = "".join(f'<li><a href="#{_anchor(name)}">{escape(name)}</a></li>' for name, _ in self._sections)
        sections = "".join(
            f'<section id="{_anchor(name)}"><h2>{escape(name)}</h2>{text}</section>' for name, text in self._sections
        )
        reason = f"<span>{escape(self.reason)}</span>" if self.reason else ""
        facts = f'<p class="facts">{escape("   ·   ".join(self.facts))}</p>' if self.facts else ""
        policy = _policy(scripts, self._has_frame)
        data = f'<script type="application/json" id="chart-data">{safe_json(self._charts)}</script>' if scripts else ""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}: {escape(self.verdict)}</title>"
            f"<style>{(HERE / 'page.css').read_text('utf-8')}</style></head>\n<body>"
            '<a class="skip" href="#content">Skip to the content</a>'
            f"<header><h1>{escape(self.title)}</h1>"
            f'<p><span class="verdict {self.kind}">{MARKS[self.kind]} {escape(self.verdict)}</span>{reason}</p>{facts}'
            f'</header>\n<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main id="content">{sections}</main>\n'
            f"<footer>px4lockstep {escape(__version__)}. This file is complete: it needs no network.</footer>\n"
            f"{data}{''.join(f'<script>{script}</script>' for script in scripts)}</body></html>\n"
        )


def details(summary: str, text: str) -> str:
    """Return text that is shown on request, such as a file."""
    return f'<details><summary>{escape(summary)}</summary><pre tabindex="0">{escape(text)}</pre></details>'


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def side_by_side(charts: Iterable[str]) -> str:
    """Return small charts next to each other."""
    return f'<div class="charts">{"".join(charts)}</div>'


def beside(left: str, right: str) -> str:
    """Return two parts next to each other, or below each other in a narrow window."""
    return f'<div class="beside"><div>{left}</div><div>{right}</div></div>'


def safe_json(value: Any) -> str:
    """Return JSON that can stand inside a script element: no text can end it."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def plotly_script() -> str:
    """Return Plotly for browsers, from the Python package of the same name, which is not imported.

    Raises:
        InputError: If it is not installed.
    """
    found = find_spec("plotly")
    folder = None if found is None or found.origin is None else Path(found.origin).parent
    if folder is None or not (folder / BUNDLE).is_file():
        raise InputError("a report needs plotly, which is not installed; install it: pip install 'px4lockstep[view]'")
    return (folder / BUNDLE).read_text("utf-8")


def _anchor(heading: str) -> str:
    return "section-" + re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def _policy(scripts: Iterable[str], has_frame: bool) -> str:
    """Return the policy: which scripts may run, images and fonts inside the file, no network."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    inside = "data: blob:"
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(f"'sha256-{each}'" for each in hashes) or "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": inside,
        "font-src": inside,
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    if has_frame:
        rules |= {"script-src": "'unsafe-inline' 'unsafe-eval' blob:", "connect-src": inside, "worker-src": inside}
    return "; ".join(f"{name} {value}" for name, value in rules.items())
