"""Phrases that the project no longer uses must not come back: `tools/retired_words.txt` lists them."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[2]
PHRASES = [
    line
    for line in (ROOT / "tools" / "retired_words.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
FOLDERS = ("src", "tests", "tools", "benchmarks", "docs", "examples", ".github", "packaging")
SUFFIXES = (".py", ".md", ".toml", ".c", ".h", ".yml", ".sh", ".cff")
TEXTS = sorted(
    path
    for path in (*ROOT.glob("*.*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")))
    if path.suffix in SUFFIXES and path != Path(__file__) and not {"_build", "__pycache__"} & set(path.parts)
)


def found_in(text):
    """Return the retired phrases in a text, also those that continue on the next line or in the next string."""
    joined = re.sub(r"\s+", " ", re.sub(r"[\"']?\s*\n\s*(?:#:?|//|\*|f?[\"'](?![\"']))?", " ", text)).lower()
    return [
        phrase
        for phrase in PHRASES
        if phrase.lower() in joined and re.search(rf"(?<![\w/]){re.escape(phrase.lower())}(?!\w)", joined)
    ]


def test_no_retired_phrase_is_used():
    """In messages, docstrings, comments, tests and documentation."""
    found = {path.relative_to(ROOT).as_posix(): found_in(path.read_text("utf-8")) for path in TEXTS}
    assert len(found) > 500
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


@pytest.mark.parametrize(
    "text",
    [
        "X of all randomness.",
        "Of all\n    # randomness",
        'raise InputError("the aircraft"\n    f" that ships {name}")',
        "> aircraft that\n> ships",
    ],
)
def test_a_retired_phrase_is_found(text):
    """Wherever its lines break."""
    assert found_in(text.replace("\n>", "\n")) != []


def test_the_list_is_sorted_and_has_no_duplicates():
    """So that it stays easy to read."""
    assert sorted(set(PHRASES)) == PHRASES
