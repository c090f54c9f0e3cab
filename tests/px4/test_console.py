"""What PX4 prints goes where it is told to."""


def test_what_c_prints_goes_into_the_file_and_then_where_it_did(python, tmp_path):
    """Also what C holds back until its buffer is full; Python's own output is not touched."""
    script = tmp_path / "prints.py"
    script.write_text(
        "import ctypes, pathlib, sys\n"
        "from px4lockstep.px4.console import console_into\n"
        "c = ctypes.CDLL(None)\n"
        "c.printf(b'before\\n')\n"
        f"with open({str(tmp_path / 'log')!r}, 'wb') as file, console_into(file.fileno()):\n"
        "    c.printf(b'inside\\n')\n"
        "c.printf(b'after\\n')\n"
        "c.fflush(None)\n"
        "print('python')\n"
    )
    assert python(script, PYTHONUNBUFFERED="").stdout == "before\nafter\npython\n"
    assert (tmp_path / "log").read_text() == "inside\n"
