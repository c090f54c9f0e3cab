"""The check of distributions: which Python each needs, and which installations are wrong."""

import json
import sys

import check_dist
import pytest

PURE, COMPILED = "px4lockstep-1.0-py3-none-any.whl", "px4lockstep-1.0-cp313-cp313-manylinux_2_17_x86_64.whl"
SOURCE = "px4lockstep-1.0.tar.gz"
DIGEST = json.loads(check_dist.GOLDEN.read_text("utf-8"))["x500"]["digest"]
USED = {"python": "3.13.0", "ahead_of_time": "OK", "loop": "compiled ahead of time; the next flight"}
NONE = {"python": "3.13.0", "ahead_of_time": "none: a checkout", "loop": "will be compiled at the first flight"}


def test_a_compiled_wheel_is_installed_for_its_python():
    """All others for the Python that checks them."""
    assert check_dist.interpreter(COMPILED) == "python3.13"
    assert check_dist.interpreter(PURE) == check_dist.interpreter(SOURCE) == sys.executable


@pytest.mark.parametrize(("name", "doctor"), [(PURE, NONE), (SOURCE, NONE), (COMPILED, USED)])
def test_a_correct_installation_has_no_problems(name, doctor):
    """A wheel with compiled code uses it, others compile."""
    assert check_dist.problems(name, doctor, DIGEST) == []


@pytest.mark.parametrize(
    ("name", "doctor", "digest", "found"),
    [
        (PURE, NONE, "1234", [f"digest 1234, not {DIGEST}"]),
        (SOURCE, USED, DIGEST, ["ahead_of_time: OK", "loop: compiled ahead of time; the next flight"]),
        (COMPILED, USED | {"ahead_of_time": "ignored: built for"}, DIGEST, ["ahead_of_time: ignored: built for"]),
        (COMPILED, USED | {"loop": "will be compiled"}, DIGEST, ["loop: will be compiled"]),
    ],
)
def test_each_problem_is_named(name, doctor, digest, found):
    """Another digest, or code that is not used."""
    assert check_dist.problems(name, doctor, digest) == found


def test_a_wrong_distribution_fails_the_check(tmp_path, monkeypatch, capsys):
    """As does a folder without any."""
    answers = {"doctor": json.dumps(NONE), "run": json.dumps({"digest": "1234"})}
    monkeypatch.setattr(check_dist, "run", lambda *command, folder: answers.get(command[1], ""))
    assert check_dist.main(str(tmp_path)) == 1
    (tmp_path / PURE).touch()
    assert check_dist.main(str(tmp_path)) == 1
    assert capsys.readouterr().out.startswith(f"{PURE}, Python 3.13.0: digest 1234, not {DIGEST}; first flight took ")
    answers["run"] = json.dumps({"digest": DIGEST})
    assert check_dist.main(str(tmp_path)) == 0


@pytest.mark.process
def test_a_missing_python_is_named(tmp_path):
    """Without a traceback."""
    (tmp_path / "px4lockstep-1.0-cp299-cp299-manylinux_2_17_x86_64.whl").touch()
    with pytest.raises(SystemExit, match=r"^error: python2\.99 is not installed; python2\.99 -m venv"):
        check_dist.main(str(tmp_path))
