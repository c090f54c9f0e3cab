"""Renewing golden digests: with a reason, which goes into the changelog, or not at all."""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import pytest

from px4lockstep.spec.shipped import shipped_aircraft

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "renew_digests.py"
REASON = "the drag of the hex was measured again"
CHANGELOG = """# Changelog

## Unreleased

### The core

- A line.

## 0.1.0

### Digests renewed

- iris: an old reason that stays where it is.
"""


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("renew_digests", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fly(name):
    return {"digest": f"{name} flown", "live_digest": f"{name} live"}


@pytest.fixture
def files(tmp_path):
    digests, changelog = tmp_path / "digests.json", tmp_path / "CHANGELOG.md"
    digests.write_text(json.dumps({name: fly(name) for name in shipped_aircraft()}), "utf-8")
    changelog.write_text(CHANGELOG, "utf-8")
    return digests, changelog


def fly_other(*names):
    return lambda name: {**fly(name), "digest": "other"} if name in names else fly(name)


def test_a_reason_and_the_aircraft_are_in_the_changelog(tool, files):
    """In a section of their own below what is not released, one line after the other."""
    digests, changelog = files
    assert tool.renew(f"{REASON}.", *files, fly=fly_other("hex", "octa")) == ["hex", "octa"]
    assert json.loads(digests.read_text("utf-8")) == {
        name: fly_other("hex", "octa")(name) for name in shipped_aircraft()
    }
    section = f"## Unreleased\n\n### Digests renewed\n\n- hex, octa: {REASON}.\n"
    assert changelog.read_text("utf-8") == CHANGELOG.replace("## Unreleased\n", section)

    assert tool.renew("and now it is as it was before", *files, fly=fly_other("octa")) == ["hex"]
    section += "- hex: and now it is as it was before.\n"
    assert changelog.read_text("utf-8") == CHANGELOG.replace("## Unreleased\n", section)


def test_an_aircraft_that_is_new_or_gone_is_a_change(tool, files):
    """And is named."""
    digests = files[0]
    before = json.loads(digests.read_text("utf-8"))
    del before["twin"]
    digests.write_text(json.dumps(before | {"glider": fly("glider")}), "utf-8")
    assert sorted(tool.renew(REASON, *files, fly=fly)) == ["glider", "twin"]
    assert sorted(json.loads(digests.read_text("utf-8"))) == sorted(shipped_aircraft())


@pytest.mark.parametrize(
    ("reason", "flown", "changelog", "message"),
    [
        ("", fly_other("hex"), CHANGELOG, "too short"),
        ("   \n ", fly_other("hex"), CHANGELOG, "too short"),
        ("because", fly_other("hex"), CHANGELOG, "the reason 'because' is too short"),
        (REASON, fly, CHANGELOG, "nothing to update"),
        (REASON, fly_other("hex"), "# Changelog\n", "no section '## Unreleased'"),
    ],
    ids=["none", "spaces", "short", "nothing changed", "no place"],
)
def test_what_is_refused_changes_nothing(tool, files, reason, flown, changelog, message):
    """Neither file."""
    files[1].write_text(changelog, "utf-8")
    before = [file.read_bytes() for file in files]
    with pytest.raises(ValueError, match=message):
        tool.renew(reason, *files, fly=flown)
    assert [file.read_bytes() for file in files] == before


def test_the_command_refuses_to_do_it_without_a_reason(python):
    """As `make digests` calls it, which hands over whatever was written."""
    for arguments in ((), ("--reason", "")):
        finished = python(TOOL, *arguments, check=False)
        assert finished.returncode != 0
        assert "reason" in finished.stderr
        assert "Traceback" not in finished.stderr
    shown = subprocess.run(
        ["make", "--dry-run", "digests", "REASON=a 'b' \"c\" $HOME"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "MAKEFLAGS"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'tools/renew_digests.py --reason "$REASON"' in shown.stdout
