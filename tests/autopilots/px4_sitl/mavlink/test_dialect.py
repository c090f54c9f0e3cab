"""Messages by pymavlink's dialect."""

import builtins

import pytest

from px4lockstep.autopilots.px4_sitl.mavlink import dialect
from px4lockstep.errors import InputError


def test_messages_go_there_and_back():
    """With a number that rises."""
    speaker = dialect.Dialect(255, 190)
    frames = [speaker.encode("command_long", 1, 1, 400, 0, 1.0, 0, 0, 0, 0, 0, 0) for _ in range(2)]
    assert [raw[4] for raw in frames] == [0, 1]
    told = dialect.Dialect(1, 1).decode(frames[0])
    assert (told.get_type(), told.command, told.param1) == ("COMMAND_LONG", 400, 1.0)
    assert told.get_srcSystem() == 255


def test_without_pymavlink_the_error_says_how_to_get_it(monkeypatch):
    """It is needed for stock PX4 only, so it is an extra."""
    load = builtins.__import__

    def missing(name, *arguments):
        if name.startswith("pymavlink"):
            raise ImportError(name)
        return load(name, *arguments)

    dialect.common.cache_clear()
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match=r"pip install 'px4lockstep\[sitl\]'"):
        dialect.common()
