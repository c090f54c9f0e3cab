"""Redirection of PX4's console output."""


def test_c_output_is_redirected_and_then_restored(python, tmp_path):
    """Including output that C and Python still buffer."""
    script = tmp_path / "prints.py"
    script.write_text(
        "import ctypes, pathlib, sys\n"
        "from px4lockstep.px4.console import console_into\n"
        "c = ctypes.CDLL(None)\n"
        "print('held back')\n"
        "c.printf(b'before\\n')\n"
        f"with open({str(tmp_path / 'log')!r}, 'wb') as file, console_into(file.fileno()):\n"
        "    c.printf(b'inside\\n')\n"
        "c.printf(b'after\\n')\n"
        "c.fflush(None)\n"
        "print('python')\n"
    )
    assert python(script, PYTHONUNBUFFERED="").stdout == "held back\nbefore\nafter\npython\n"
    assert (tmp_path / "log").read_text() == "inside\n"


def test_no_line_is_lost_if_the_process_is_killed(python, tmp_path):
    """C's output is line buffered."""
    script = tmp_path / "dies.py"
    script.write_text(
        "import ctypes, os, signal\n"
        "from px4lockstep.px4.console import console_into\n"
        "c = ctypes.CDLL(None)\n"
        f"with open({str(tmp_path / 'log')!r}, 'wb') as file, console_into(file.fileno()):\n"
        "    c.printf(b'last words\\n')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert python(script, check=False).returncode == -9
    assert (tmp_path / "log").read_text() == "last words\n"
