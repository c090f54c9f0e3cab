"""Messages of pymavlink's dialect."""

from px4lockstep.autopilots.mavlink import dialect


def test_messages_round_trip_with_increasing_sequence_numbers():
    speaker = dialect.Dialect(255, 190)
    frames = [speaker.encode("command_long", 1, 1, 400, 0, 1.0, 0, 0, 0, 0, 0, 0) for _ in range(2)]
    assert [raw[4] for raw in frames] == [0, 1]
    decoded = dialect.Dialect(1, 1).decode(frames[0])
    assert (decoded.get_type(), decoded.command, decoded.param1) == ("COMMAND_LONG", 400, 1.0)
    assert decoded.get_srcSystem() == 255
