"""The documents: their examples run, their links lead somewhere, and the table of proofs names tests that exist."""

import importlib
import os
import re
import shutil
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from commands import px4lockstep_on_path, run_command
from PIL import Image

from px4lockstep import load_aircraft, simulate

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in page.parts]
PAGES = [README, *sorted({*ROOT.glob("*.md")} - {README}), *DOCS]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(python|sh|toml(?=\n# \S+\.toml\n))\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""What is run of a page: Python, commands, and the files that TOML blocks name in their first line."""
OUTPUT = re.compile(r"^```output\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.process
@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))], ids=str)
def test_examples_run(page, tmp_path, monkeypatch):
    """All commands and all Python of a page, in order, in one process and an empty folder.

    Blocks that need what a test does not have, such as PX4 or a cluster, are marked `console` or `py`. Every line of a
    block marked `output` must be among the printed lines. Of the README only Python is run, not the `make` targets.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    script = tmp_path / "example.py"
    blocks = [block for block in BLOCK.findall(page.read_text("utf-8")) if page != README or block[0] == "python"]
    script.write_text("\n".join(_step(*block) for block in blocks), "utf-8")
    px4lockstep_on_path(tmp_path / "bin", monkeypatch)
    finished = run_command(script=script)
    assert finished.returncode == 0, finished.stderr
    printed = finished.stdout.splitlines()
    shown = [line for block in OUTPUT.findall(page.read_text("utf-8")) for line in block.splitlines()]
    assert [line for line in shown if line not in printed] == []


def _step(language, text):
    """Return Python that does what a block shows."""
    if language == "python":
        return text
    if language == "sh":
        return f"__import__('subprocess').run(['bash', '-eu', '-c', {_checked(text)!r}], check=True)\n"
    return f"open({text.split()[1]!r}, 'w', encoding='utf-8').write({text!r})\n"


def _checked(commands):
    """Return commands that fail unless each exits with 0, or with the code that its comment says."""
    commands = commands.replace("\\\n", " ")
    return re.sub(
        r"^(.*?) +# exit code (\d+)$", r"code=0; \1 || code=$?; test $code -eq \2", commands, flags=re.MULTILINE
    )


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_examples_import_from_the_public_front(page):
    """What a page shows comes from `px4lockstep`, `px4lockstep.px4` for PX4 alone, or `px4lockstep.view`."""
    for block in PYTHON_BLOCK.findall(page.read_text("utf-8")):
        modules = re.findall(r"^\s*(?:from|import) (px4lockstep[\w.]*)", block, re.MULTILINE)
        assert set(modules) <= {"px4lockstep", "px4lockstep.px4", "px4lockstep.view"}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page):
    """Files that a page links to exist."""
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


def test_the_table_of_proofs_names_tests_that_exist():
    """Every file and every test in docs/reference/verification.md."""
    text = (ROOT / "docs" / "reference" / "verification.md").read_text("utf-8")
    sources = {path: path.read_text("utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    files = re.findall(r"`([\w/]+\.py)", text)
    assert len(files) > 20
    for name in files:
        assert (ROOT / "tests" / name).exists(), name
    for name in re.findall(r"\b(test_\w+)(?!\w*\.py)\b", text):
        if (name + ".py") not in text:
            assert any(f"def {name}(" in source for source in sources.values()), name


def test_every_requirement_has_a_test():
    """All 190 requirements of the design documents are numbered rows; the tests are in the files that they name."""
    text = (ROOT / "docs" / "reference" / "verification.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d)\.(\d+) \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    counts = {"1": 109, "2": 42, "3": 9, "4": 6, "5": 24}
    assert [(document, int(number)) for document, number, _ in rows] == [
        (document, number) for document, count in counts.items() for number in range(1, count + 1)
    ]
    for document, number, tests in rows:
        named = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", tests)
        assert len(named) == tests.count("`") // 2 > 0, (document, number)
        for file, name in named:
            source = (ROOT / "tests" / file).read_text("utf-8")
            assert f"def {name or 'test'}" in source, (document, number, file, name)
    for file, name in re.findall(r"`([\w/]+\.py)::(\w+)`", text):
        assert f"def {name}(" in (ROOT / "tests" / file).read_text("utf-8"), (file, name)


@pytest.mark.parametrize("package", ["px4lockstep", "px4lockstep.px4", "px4lockstep.view"])
def test_the_api_reference_has_every_public_name(package):
    """Each name of the public front, once, under its package."""
    text = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    listed = [
        name
        for module, block in re.findall(r"currentmodule:: (\S+)\n(.*?)```", text, re.DOTALL)
        if module == package
        for name in re.findall(r"^\.\. auto\w+:: (\w+)$", block, re.MULTILINE)
    ]
    assert sorted(listed) == sorted(set(importlib.import_module(package).__all__) - {"__version__"})


def test_every_page_is_in_a_table_of_contents():
    """Every page of the documentation is reached from the front page."""
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in DOCS}
    assert pages - {"index"} == set(
        re.findall(r"^((?:tutorials|howto|reference|explanation)/\w+)$", index, re.MULTILINE)
    )


@pytest.mark.parametrize("page", [README, ROOT / "CONTRIBUTING.md", *DOCS], ids=str)
def test_lines_are_short(page):
    """At most 120 characters, except for rows of tables."""
    lines = page.read_text("utf-8").splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


@pytest.mark.parametrize("page", DOCS, ids=str)
def test_a_page_says_whom_it_is_for(page):
    """The first sentence below the title."""
    text = page.read_text("utf-8")
    assert "{include}" in text or re.match(r"# .+\n\nFor ", text)


def test_the_table_of_aircraft_is_that_of_their_files():
    """The rows that need no flight; `tools/aircraft_table.py` prints all of them."""
    text = (ROOT / "docs" / "reference" / "aircraft.md").read_text("utf-8")
    rows = {cells[0]: cells[1:] for line in text.splitlines() if len(cells := line.strip("| ").split(" | ")) == 6}
    names = re.findall(r"^\| \| `(x500)` \| `(\w+)` \| `(\w+)` \| `(\w+)` \| `(\w+)` \|$", text, re.MULTILINE)[0]
    for column, aircraft in enumerate(load_aircraft(name) for name in names):
        battery = aircraft.power.batteries[0]
        assert rows["mass [kg]"][column] == f"{aircraft.airframe.mass_kg:.2f}"
        assert rows["rotors"][column] == str(len(aircraft.rotors))
        assert rows["battery"][column] == f"{battery.cells}S, {battery.capacity_ah:g} Ah"
        assert rows["thrust over weight at duty 1 and V_nom"][column] == f"{aircraft.thrust_to_weight:.2f}"


@pytest.mark.long
@pytest.mark.skipif(matplotlib.__version_info__ < (3, 11), reason="Matplotlib before 3.11 lays it out differently")
def test_the_figure_of_the_readme_is_that_of_make_fly(tmp_path):
    """The same pixels, but for what another Matplotlib may draw otherwise; `make pictures` draws it again."""
    simulate("x500").save(tmp_path / "x500")
    drawn = np.asarray(Image.open(tmp_path / "x500" / "plots.png").convert("RGB"))
    shown = np.asarray(Image.open(ROOT / "docs" / "pictures" / "flight.png").convert("RGB"))
    assert "docs/pictures/flight.png" in README.read_text("utf-8")
    assert drawn.shape == shown.shape
    assert np.mean((drawn != shown).any(axis=2)) < 0.01
