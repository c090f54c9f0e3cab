"""Configuration of the documentation site: `make docs` builds it, `make linkcheck` follows its outside links."""

from typing import Any

from px4lockstep import __version__
from px4lockstep.part import Part

INTERNAL = ("aliases", "check", "forms", "model_config", "name_key", "only", "stage", "used_up", "where", "write")

project = "px4lockstep"
author = "the authors of px4lockstep"
copyright = author  # noqa: A001 - Sphinx's name
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]

# Markdown: headings are link targets, and a link without a target is a warning, which `make docs` makes an error.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]

# API reference: Google-style docstrings, in the order of the source, under the public names.
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
default_role = "code"

# Types of other packages, and of modules below the public front, have no page here.
nitpick_ignore_regex = [
    ("py:.*", r"(collections|matplotlib|numpy|os|pathlib|pandas|pydantic|typing)\..*|BaseModel|Figure|pd\.DataFrame"),
    ("py:.*", r"px4lockstep(\.[a-z]\w*){2,}\.\w+"),
    ("py:exc", r"LayoutError|MetricError|Px4Error|SearchStoppedError|TimeError"),
    ("py:class", r"tuple\[str"),  # part of a signature with a default factory, which Sphinx can't parse
]

html_theme = "furo"
html_title = f"px4lockstep {release}"
html_show_sphinx = False
html_show_copyright = False
copybutton_exclude = ".linenos, .gp, .go"


def _adapt(_app: Any, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """Adapt a docstring for Sphinx: indented examples become code, and the keys of a part are listed."""
    text: list[str] = []
    before = ""
    for line in lines:
        is_indented = line.startswith("    ") and before and not before.startswith("    ")
        if is_indented and not text[-1] and before not in ("Args:", "Attributes:", "Raises:", "Returns:", "Yields:"):
            text += ["::", ""]
        if before in ("Returns:", "Yields:") or (what in ("attribute", "property") and not text):
            line = f"    : {line.strip()}" if before else f": {line}"  # no type precedes the text
        text.append(line)
        before = line if line.strip() else before
    if what == "class" and _is_part(obj):
        text += ["", "Args:"]
        text += [f"    {key}: {field.description}" for key, field in obj.model_fields.items() if field.description]
    lines[:] = text


def _sign(
    _app: Any, what: str, _name: str, obj: Any, _options: Any, _signature: str, _returns: str
) -> tuple[str, None] | None:
    """Return the signature of a part: its keys, whose types and limits are in the spec reference."""
    return (f"({', '.join(obj.model_fields)})", None) if what == "class" and _is_part(obj) else None


def _skip(_app: Any, what: str, name: str, _obj: Any, _skipped: bool, _options: Any) -> bool | None:
    """Skip the members of parts that only the package itself uses."""
    return True if what == "class" and name in INTERNAL else None


def _is_part(obj: Any) -> bool:
    return isinstance(obj, type) and issubclass(obj, Part)


def setup(app: Any) -> None:
    """Let `_adapt` see docstrings before Napoleon does."""
    app.connect("autodoc-process-docstring", _adapt, priority=400)
    app.connect("autodoc-process-signature", _sign)
    app.connect("autodoc-skip-member", _skip)
