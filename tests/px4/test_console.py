"""What PX4 prints goes where it is told to."""


def test_what_c_prints_goes_into_the_file_and_then_where_it_did(python, tmp_path):
    """Also what C and Python hold back until their buffers are full."""
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


def test_a_process_that_is_killed_has_left_every_line(python, tmp_path):
    """C writes line by line, not when its buffer is full."""
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
