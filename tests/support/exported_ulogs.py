"""Exported ULog files: read them with pyulog, and compare them with the log of their run folder."""

import numpy as np
from pyulog import ULog

from px4lockstep.flights.folder import read_log

TRUTH = {
    "vehicle_attitude_groundtruth": ("q_bn", ("q[0]", "q[1]", "q[2]", "q[3]")),
    "vehicle_angular_velocity_groundtruth": ("omega_body", ("xyz[0]", "xyz[1]", "xyz[2]")),
    "vehicle_local_position_groundtruth": ("pos_ned", ("x", "y", "z")),
    "actuator_motors": ("motors", ("control[0]", "control[1]", "control[2]", "control[3]")),
}


def read_ulog(path):
    """Return what pyulog reads; nothing may be corrupt."""
    found = ULog(str(path))
    assert not found.file_corruption
    assert found.dropouts == []
    return found


def assert_float32(found, wanted):
    """Check that numbers are those of the log, rounded to float32; NaN stays NaN."""
    assert np.array_equal(found, np.asarray(wanted).astype(np.float32), equal_nan=True)


def check_ulog(folder, path=None, without=()):
    """Check truth, motors and status of an export against the log of its run folder; return what pyulog reads."""
    log, found = read_log(folder), read_ulog(path or folder / "export.ulg")
    for topic, (column, fields) in TRUTH.items():
        if topic not in without:
            data = found.get_dataset(topic).data
            assert np.array_equal(data["timestamp"], log.time_us), topic
            for i, field in enumerate(fields):
                assert_float32(data[field], log[column][:, i])
    status = found.get_dataset("vehicle_status").data
    rows = np.searchsorted(status["timestamp"], log.time_us, "right") - 1
    assert np.array_equal(status["nav_state"][rows], log["nav_state"])
    assert np.array_equal(status["arming_state"][rows], log["armed"] + 1)
    assert found.logged_messages[-1].message.startswith("outcome: ")
    return found
