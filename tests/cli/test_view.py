"""`px4lockstep view`: errors before a server starts, and the page that it writes."""

import socket

import pytest
from campaign_files import write_campaign
from commands import run_command
from scattered import write_many_rows

from px4lockstep import simulate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run, a campaign whose rows are made, and a file that is no run."""
    folder = tmp_path_factory.mktemp("view")
    simulate("x500", overrides={"timeline.t_end_s": 2.0}).save(folder / "run", plots=False)
    write_campaign(folder)
    write_many_rows(folder, 3)
    (folder / "real.ulg").write_bytes(b"ULog")
    (folder / "empty").mkdir()
    return folder


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nowhere"], "run folder not found: nowhere"),
        (["empty"], "empty is not a run folder: it has no log.parquet"),
        (["latest"], "there is no latest run"),
        (["real.ulg"], "real.ulg is a ULog file; import it first: px4lockstep import real.ulg"),
        (["run", "many"], "many is a campaign; view it alone, or give run folders only"),
        (["many", "--html", "many.html"], "--html is for runs; many is a campaign"),
        (["run"] * 13, "13 runs can't be viewed at once; give 1 to 12"),
        (["run", "--port", "65536"], "port 65536 is out of range"),
        (["run", "--html", "real.ulg"], "real.ulg exists"),
        (["run", "--spread", "nan"], "must be a number of metres, not nan"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_bad_input_is_an_error_with_exit_code_2_and_no_server(folder, words, error):
    """The message says what is wrong and what to do."""
    ended = run_command("view", *words, "--no-browser", cwd=folder)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert error in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_a_port_in_use_is_an_error(folder):
    """viser would take the next one instead."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run_command("view", "run", "--no-browser", "--port", str(port), cwd=folder)
    assert ended.returncode == 2
    assert f"port {port} of 127.0.0.1 is in use" in ended.stderr


def test_without_viser_the_error_says_what_to_install(folder, tmp_path):
    """It is an optional dependency."""
    script = tmp_path / "bare.py"
    script.write_text(
        "import sys\nsys.modules['viser'] = None\nfrom px4lockstep.cli import main\nmain()\n", encoding="utf-8"
    )
    ended = run_command("view", "run", "--no-browser", cwd=folder, script=script)
    assert ended.returncode == 2, ended.stderr
    assert "the viewer needs viser, which is not installed; install it: pip install 'px4lockstep[view]'" in ended.stderr


def test_the_page_is_written_once_and_again_with_force(folder):
    """Its name is printed, and nothing else."""
    written = run_command("view", "run", "--html", "run.html", cwd=folder)
    assert (written.returncode, written.stdout, written.stderr) == (0, "run.html\n", "")
    assert "__VISER_EMBED_DATA__" in (folder / "run.html").read_text("utf-8")
    assert run_command("view", "run", "--html", "run.html", cwd=folder).returncode == 2
    assert run_command("view", "run", "--html", "run.html", "--force", cwd=folder).returncode == 0


def test_importing_the_package_does_not_import_viser(python):
    """Nor does the command line, until the command needs it."""
    code = "import sys, px4lockstep, px4lockstep.view, px4lockstep.cli.app, px4lockstep.cli.view; "
    printed = python("-c", code + "print(sorted({'viser', 'websockets'} & set(sys.modules)))")
    assert printed.stdout == "[]\n"
