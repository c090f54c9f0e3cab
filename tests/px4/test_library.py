"""Loading PX4's library: the handshake, invalid libraries, and one PX4 per process."""

import ctypes

import pytest
from px4_double import build_double
from px4_libraries import compile_library, load_double

from px4lockstep.errors import InputError, Px4Error
from px4lockstep.px4 import Config, Library
from px4lockstep.px4.abi import FUNCTIONS

pytestmark = pytest.mark.process


def test_it_loads_and_provides_function_addresses(tmp_path, monkeypatch):
    """An address is that of the loaded symbol."""
    library = load_double(tmp_path, monkeypatch)
    assert library.path == tmp_path / "libpx4_lockstep.so"
    assert list(library.addresses) == list(FUNCTIONS)
    loaded = ctypes.CDLL(str(library.path))
    for name in ("step_uorb", "orb_queue_publish", "orb_check", "orb_copy"):
        assert library.addresses[name] == ctypes.cast(loaded["px4_lockstep_" + name], ctypes.c_void_p).value
    assert ctypes.CFUNCTYPE(ctypes.c_uint32)(library.addresses["abi_version"])() == 3


def test_it_is_found_by_the_environment_variable(tmp_path, monkeypatch):
    """As with the argument."""
    monkeypatch.setenv("PX4_LOCKSTEP_LIB", str(build_double(tmp_path)))
    assert Library.load().path == tmp_path / "libpx4_lockstep.so"


@pytest.mark.parametrize("version", [0, 2, 4])
def test_another_interface_version_is_rejected(tmp_path, monkeypatch, version):
    """The error has both versions."""
    with pytest.raises(InputError) as caught:
        load_double(tmp_path, monkeypatch, f"abi_version={version}")
    assert f"has interface version {version}, but px4lockstep needs 3; build the library from a PX4" in str(
        caught.value
    )


def test_records_of_other_sizes_are_rejected(tmp_path, monkeypatch):
    """The error has all six sizes."""
    with pytest.raises(InputError) as caught:
        load_double(tmp_path, monkeypatch, "sizes=0/8/40")
    assert "has records of (0, 8, 40) bytes (input, output, configuration), but px4lockstep needs (0, 0, 36)" in str(
        caught.value
    )


def test_an_unrelated_library_is_rejected(tmp_path):
    """It lacks the first function."""
    with pytest.raises(InputError, match="is not a PX4 library of version 3: it lacks px4_lockstep_abi_version; build"):
        Library(compile_library(tmp_path, "int other(void) { return 0; }"))


def test_all_missing_functions_are_listed(tmp_path):
    """If version and sizes are correct."""
    source = (
        "unsigned px4_lockstep_abi_version(void) { return 3; }\n"
        "void px4_lockstep_sizes(unsigned *a, unsigned *b, unsigned *c) { *a = *b = 0; *c = 36; }\n"
    )
    with pytest.raises(InputError) as caught:
        Library(compile_library(tmp_path, source))
    assert "it lacks px4_lockstep_create, px4_lockstep_destroy, px4_lockstep_load_mission_qgc_wpl" in str(caught.value)
    assert str(caught.value).count("px4_lockstep_") == len(FUNCTIONS) - 2


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n" + b" " * 30, b"!<arch>\n" + b" " * 30])
def test_a_file_that_is_not_a_shared_library_is_rejected(tmp_path, content):
    """An empty file, a truncated one, a script, a static library."""
    path = tmp_path / "libpx4_lockstep.so"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a shared library; use the libpx4_lockstep from a PX4 build"):
        Library(path)


def test_a_library_for_another_platform_is_rejected(tmp_path):
    """By its header, which gives a clearer error than the loader."""
    path = build_double(tmp_path)
    content = bytearray(path.read_bytes())
    content[18:20] = (0xF3).to_bytes(2, "little")  # e_machine: RISC-V
    path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"is built for Linux on riscv64, but this is .* on .*; build PX4 for this platform"
    ):
        Library(path)
    path.write_bytes(b"\xcf\xfa\xed\xfe" + (0x0100000C).to_bytes(4, "little") + bytes(12))
    with pytest.raises(InputError, match="is built for Darwin on aarch64"):
        Library(path)


def test_the_loaders_error_is_passed_on(tmp_path):
    """An undefined symbol; a library truncated after its header."""
    path = compile_library(tmp_path, "int nowhere(void); int px4_lockstep_abi_version(void) { return nowhere(); }")
    with pytest.raises(InputError, match=r"can't be loaded: .*undefined symbol: nowhere; build PX4 on this machine"):
        Library(path)
    path.write_bytes(path.read_bytes()[:64])
    with pytest.raises(InputError, match=r"can't be loaded: .*cannot read file data"):
        Library(path)


def test_an_unreadable_file_is_an_error(tmp_path, monkeypatch):
    """Not a traceback."""
    path = build_double(tmp_path)

    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(InputError, match="can't be read: Permission denied"):
        Library(path)


def test_a_process_runs_only_one_px4(tmp_path, monkeypatch):
    """A second one, from the same or another library, is rejected while the first runs."""
    library = load_double(tmp_path, monkeypatch)
    (tmp_path / "other").mkdir()
    other = load_double(tmp_path / "other", monkeypatch)
    with library.create() as px4:
        for each in (library, other):
            with pytest.raises(
                Px4Error, match=r"PX4 is already running in this process .*; close it first, or use another process"
            ):
                each.create(allow_second_life=True)
        px4.step(4000)
    with other.create() as px4:
        px4.step(4000)


def test_a_second_life_must_be_requested(tmp_path, monkeypatch):
    """Because parameters persist, in the double as well."""
    library = load_double(tmp_path, monkeypatch)
    with library.create() as px4:
        px4.param_set("MPC_XY_CRUISE", 7.0)
    for again in (library, Library(library.path)):
        with pytest.raises(
            Px4Error, match="PX4 has already run in this process, and its parameters and topics persist"
        ):
            again.create()
    with library.create(allow_second_life=True) as px4:
        assert px4.param_get("MPC_XY_CRUISE") == 7.0


def test_a_failed_create_does_not_count_as_a_life(tmp_path, monkeypatch):
    """The error has the configuration; the next attempt counts as the first."""
    library = load_double(tmp_path, monkeypatch, "null_handle")
    with pytest.raises(Px4Error, match=r"px4_lockstep_create\(Config\(dataman_use_ram=1, .*\) returned NULL"):
        library.create()
    ctypes.CDLL(str(library.path)).px4_double_misbehave(b"")
    library.create().close()


def test_a_closed_px4_rejects_all_calls_and_can_be_closed_twice(tmp_path, monkeypatch):
    """Including calls to its publishers and subscribers."""
    px4 = load_double(tmp_path, monkeypatch).create()
    motors = px4.subscriber("actuator_motors")
    px4.close()
    px4.close()
    for use in (px4.param_notify, motors.updated, lambda: px4.step(1), lambda: px4.handle):
        with pytest.raises(Px4Error, match="this PX4 is closed"):
            use()


def test_the_configuration_reaches_px4(tmp_path, monkeypatch):
    """Without the allocator, there are no allocator parameters to update."""
    with (
        load_double(tmp_path, monkeypatch).create(Config(enable_control_allocator=0)) as px4,
        pytest.raises(
            Px4Error, match=r"returned -2: the control allocator is disabled; set px4\.lockstep\.enable_control_alloc"
        ),
    ):
        px4.control_alloc_update_params()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"enable_commander": 1}, "px4.lockstep.enable_commander = 1 must be 0: the library has no commander"),
        ({"navigator_rate_hz": 2**31}, "px4.lockstep.navigator_rate_hz = 2147483648 must be a 32-bit integer"),
        ({"navigator_rate_hz": 20.0}, "navigator_rate_hz = 20.0 must be a 32-bit integer"),
        ({"dataman_use_ram": True}, "dataman_use_ram = True must be a 32-bit integer"),
    ],
)
def test_an_invalid_configuration_is_rejected(values, message):
    """Before it reaches PX4."""
    with pytest.raises(InputError) as caught:
        Config(**values)
    assert message in str(caught.value)


def test_a_px4_that_is_never_closed_does_no_harm(tmp_path, python):
    """No finalizer calls into the library (`rules/test_rules.py`); the process exits normally."""
    script = tmp_path / "forget.py"
    script.write_text(f"from px4lockstep.px4 import Library\npx4 = Library({str(build_double(tmp_path))!r}).create()\n")
    assert python(script).returncode == 0
