"""Checkpoints in a file are data, never code; an edit is refused, reported, or without effect."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from recording_files import edited, put, values, write_tiny

import px4lockstep.flights.recording.migrations as migrations
from px4lockstep.engine.checkpoints import CHECKPOINT
from px4lockstep.engine.core import SIM
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights.branch import branch
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.replay import replay
from px4lockstep.jit.records import NO_LIMIT, STATE, limits_of

DATA = Path(__file__).parent / "data"
WIND_OF_BRANCH = {"environment.wind_mean_ned": [5.0, 0.0, 0.0]}
LANDS = [{"at_s": 11.0, "action": "land"}]
FLIGHTS = {  # the digests of the flight, of its recorded branch, and of another branch as of version 0.1
    4: (
        "7ca550773932d0f2df0a4721d87dee98b545a88dbc27cf9450244c927ae82e40",
        "a8973b13eb96a939df7fa0caaf9b86e91d6b3c388de7b73187bd1a905b5a9d38",
        "b60e8cbed05ae4b57c56b5680fc689cb9d28bacda49dfaf9d93a6661e53e400e",
    ),
    5: (
        "7bb547f44b5443733e136d30a68786fd53b48c308190b58d90f3464d3d65bdac",
        "a98ceab174221fa9960685944baf590da665b425c4eeecc98c424f77650cf9ed",
        "1fd18f757e25d606aaf493aa019c8af648e47755b4830f1d9345c1f867dd3613",
    ),
}


def numbers(dtype, offset=0, name=""):
    """Yield name, offset and kind of each number of a record."""
    if dtype.subdtype is not None:
        for i in range(dtype.itemsize // dtype.base.itemsize):
            yield from numbers(dtype.base, offset + i * dtype.base.itemsize, f"{name}[{i}]")
    elif dtype.names is not None:
        for field, (inner, at, *_) in dtype.fields.items():
            yield from numbers(inner, offset + at, f"{name}.{field}")
    else:
        yield name, offset, dtype.kind


def copies(version, folder, edit):
    """Copy the files of a version and edit the copies."""
    paths = [folder / f"version_{version}.h5", folder / f"version_{version}_branch.h5"]
    for path in paths:
        shutil.copy(DATA / path.name, path)
        edited(path, edit)
    return paths


def assert_flown(version, paths):
    """Check that flight and branch replay to their digests, and that a branch of the flight gives its digest.

    The recorded branch has a return, which the built-in autopilot has flown differently since version 0.2: it can't be
    branched again, and the error says where it differs.
    """
    first, second, third = FLIGHTS[version]
    assert [replay(path).digest for path in paths] == [first, second]
    (one,) = branch(paths[0], 10.5, overrides=WIND_OF_BRANCH, events=LANDS)
    assert one.run.digest == third
    with pytest.raises(SimulationError, match=r"the flight first differs from the recording at t = 11\.05"):
        branch(paths[1], 11.5, overrides={"environment.wind": "none"})


def state_bytes(dtype):
    """Return which bytes of a record in the layout of version 4 are state."""
    is_state = np.zeros(dtype.itemsize, np.bool_)
    for _, offset, kind in numbers(dtype):
        is_state[offset : offset + (8 if kind in "iuf" else 0)] = True
    return is_state


def overwritten(file):
    """Overwrite everything that is not state, including every address."""
    layout = json.loads((Path(migrations.__file__).parent / "version_4.json").read_text())
    rows = file["moments/core"][()]
    rows[:, ~state_bytes(migrations._dtype_of(layout["state"]))] = 0x42
    put(file, "moments/core", rows)


def with_addresses(array):
    """Return checkpoints with fields for the records that version 5 omits."""
    user = [("kind", "i8"), ("user", [("rhs_address", "i8"), ("outputs_address", "i8"), ("values", "f8", 8)])]
    px4 = [(name, "i8") for name in ("handle", "step_uorb", "orb_publish", "orb_copy")]
    more = [("plant", user), ("px4", px4), ("work", [("trial", "f8", 79)]), ("modes", [("autopilot", "i8")])]
    other = np.zeros(array.shape, [*((name, array.dtype[name]) for name in array.dtype.names), *more])
    other.view(np.uint8)[:] = 0x42
    for name in array.dtype.names:
        other[name] = array[name]
    other["plant"]["kind"], other["px4"]["handle"] = 100, 1
    return other


ATTACKS = {4: overwritten, 5: values("checkpoints/state", with_addresses)}


@pytest.mark.parametrize("version", ATTACKS)
def test_addresses_in_a_file_are_never_used(version, tmp_path):
    """Kinds, modes, addresses and handles come from the simulation that is built: flights match their recordings."""
    assert_flown(version, copies(version, tmp_path, ATTACKS[version]))


def test_an_early_version_5_is_read():
    """A flight and its branch, written before integers had limits."""
    assert_flown(5, [DATA / "version_5.h5", DATA / "version_5_branch.h5"])


def test_a_checkpoint_has_no_address_kind_or_mode():
    """By the names of all its numbers."""
    names = [name for name, _, _ in numbers(CHECKPOINT)]
    assert not [name for name in names if "address" in name or "handle" in name or "key" in name]
    assert not [name for name in names if name.startswith((".modes", ".plant", ".px4", ".work", ".solver.tableau"))]


INDICES = (
    "current",
    "tick",
    "ticks",
    ".asked",
    "warning",
    "last_group",
    "code",
    "work",
    "n_watched",
    "_mask",
)


def test_every_index_and_count_has_limits():
    """By the names of such numbers."""
    limits = limits_of(SIM, STATE)
    found = [i for i, name in enumerate(limits.names) if name.split("[")[0].endswith(INDICES)]
    assert len(found) > 20
    open_ended = {limits.names[i] for i in found if (limits.low[i], limits.high[i]) == NO_LIMIT}
    assert open_ended <= {"builtin.commander.battery_warning"}


@pytest.mark.parametrize(
    ("place", "value", "allowed"),
    [
        ("builtin.navigator.current", 1024, "0 to 1023"),
        ("builtin.navigator.current", -1, "0 to 1023"),
        ("builtin.motor_failure.failed_mask", 4_096, "0 to 4095"),
        ("wind.tick", -7, f"0 to {2**53}"),
        ("solver.last_group", 9, "0 to 8"),
        ("scenario.asked", 64, "0 to 63"),
        ("validator.code", 3, "0 to 0"),
        ("inputs.faults.motor_disabled_mask", 4_096, "0 to 4095"),
    ],
)
def test_an_integer_out_of_range_is_refused_before_use(place, value, allowed, tmp_path):
    """With its place, value and range; nothing is flown."""
    path = write_tiny(tmp_path)

    def change(array):
        target = array
        for part in place.split("."):
            target = target[part]
        target[0] = value
        return array

    edited(path, values("checkpoints/state", change))
    told = f"{path} can't be reproduced: checkpoint.{place} is {value}; it must be {allowed}"
    with pytest.raises(InputError) as caught:
        branch(path, 0.2)
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("name", ["autopilot_ticks", "wind_ticks", "log_rows", "scenario_rows", "stage"])
def test_a_checkpoint_must_match_its_boundary(name, tmp_path):
    """Its positions in the streams follow from the boundary."""
    path = write_tiny(tmp_path)

    def change(array):
        array["cursor"][name] += 1
        return array

    edited(path, values("checkpoints/state", change))
    with pytest.raises(InputError, match=f"checkpoints/state is at {name} = 1 in row 0; at boundary 0 it must be 0"):
        read_recording(path)


def test_an_edit_that_shows_only_later_is_an_error(tmp_path):
    """The number of mission requests is not in the log, but in the next checkpoint."""
    path = tmp_path / "edited.h5"
    shutil.copy(DATA / "version_5.h5", path)

    def change(array):
        array["builtin"]["commander"]["missions"][0] = 5
        return array

    edited(path, values("checkpoints/state", change))
    with pytest.raises(SimulationError, match=r"edited\.h5 can't be reproduced: .*missions differs"):
        branch(path, 5.0)


def test_a_state_that_the_loop_can_not_handle_is_an_error(tmp_path):
    """A charge beyond the battery's table is an index out of range in compiled code."""
    path = write_tiny(tmp_path)

    def change(array):
        array["state"]["x"][0, 17] = 1e9
        return array

    edited(path, values("checkpoints/state", change))
    with pytest.raises(SimulationError, match=r"recording\.h5 can't be reproduced: "):
        branch(path, 0.2)


@pytest.mark.parametrize("value", [1e-300, -0.0])
def test_a_command_to_a_servo_that_the_aircraft_lacks_is_refused(tmp_path, value):
    """Rows of the log do not have it, but the digest covers it."""

    def edit(file):
        array = file["checkpoints/state"][()]
        array["bus"]["command"]["servos"][:, 3] = value
        put(file, "checkpoints/state", array)

    path = write_tiny(tmp_path)
    edited(path, edit)
    with pytest.raises(SimulationError, match=r"differs from the recording: command\.servos has more values than the"):
        branch(path, 0.15)
