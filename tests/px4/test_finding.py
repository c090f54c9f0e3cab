"""The search for PX4's library, and the error if it is not found."""

from pathlib import Path

import pytest

from px4lockstep.errors import InputError
from px4lockstep.px4 import find_library
from px4lockstep.px4.finding import IN_BUILD, IN_SOURCES, NAME, SUFFIXES, VARIABLE


@pytest.fixture(autouse=True)
def _nothing_is_set(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def make(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_error_for_a_missing_library_lists_paths_and_remedies():
    """With no setting, all default paths are listed, one per line."""
    with pytest.raises(InputError) as caught:
        find_library()
    first, *places, last = str(caught.value).splitlines()
    assert first == ("PX4's library was not found (px4.libpath and PX4_LOCKSTEP_LIB are not set); tried")
    wanted = Path("build") / "px4_sitl_lockstep" / "src" / "lib" / "px4_lockstep"
    assert [Path(place.strip()).name for place in places] == ["libpx4_lockstep" + suffix for suffix in SUFFIXES]
    assert all(Path(place.strip()).parent.is_relative_to("/") and str(wanted) in place for place in places)
    for word in ("px4.libpath", "PX4_LOCKSTEP_LIB", "PX4 build folder"):
        assert word in last
    assert last.endswith('autopilot.kind = "builtin" flies without PX4')


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_it_is_found_in_the_default_build_folder(suffix):
    """In PX4's source tree in the home folder."""
    made = make(Path("../home/PX4-Autopilot") / IN_SOURCES / IN_BUILD / (NAME + suffix))
    assert find_library() == made.resolve()


@pytest.mark.parametrize("sources", [".", "PX4-Autopilot", "../PX4-Autopilot", "~/PX4-Autopilot"])
def test_the_working_directory_is_not_searched(monkeypatch, sources):
    """It may not be trusted. Without a home folder, `~` would be a folder in it."""
    make(Path(sources) / IN_SOURCES / IN_BUILD / (NAME + SUFFIXES[0]))
    if sources.startswith("~"):
        monkeypatch.setattr("os.path.expanduser", lambda path: str(path))
    with pytest.raises(InputError, match=r"was not found \(px4.libpath and PX4_LOCKSTEP_LIB are not set\)"):
        find_library()


@pytest.mark.parametrize("way", ["argument", "environment"])
@pytest.mark.parametrize("given", ["lib", "lib/libpx4_lockstep.so", "lib/libpx4_lockstep.dylib", "~/../here/lib"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_path_may_have_the_suffix_of_another_platform(monkeypatch, way, given, suffix):
    """The suffix of this platform is tried, too."""
    made = make(Path("lib") / (NAME + suffix))
    make(IN_SOURCES / IN_BUILD / (NAME + suffix))
    if way == "environment":
        monkeypatch.setenv(VARIABLE, given)
        assert find_library() == made.resolve()
    else:
        monkeypatch.setenv(VARIABLE, "elsewhere")
        assert find_library(given) == made.resolve()


@pytest.mark.parametrize("inside", [Path(), IN_BUILD, IN_SOURCES / IN_BUILD], ids=["lib", "build", "sources"])
def test_a_folder_may_be_that_of_the_library_the_build_or_the_sources(tmp_path, inside):
    made = make(tmp_path / "px4" / inside / (NAME + SUFFIXES[0]))
    assert find_library(tmp_path / "px4") == made.resolve()


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_a_given_path_is_the_only_one_tried(monkeypatch, way):
    """No other PX4 flies by accident; the error names the path and the setting it came from."""
    make(IN_SOURCES / IN_BUILD / (NAME + SUFFIXES[0]))
    monkeypatch.setenv(VARIABLE, "lib.so")
    with pytest.raises(InputError) as caught:
        find_library("other.so" if way == "argument" else None)
    first, *places, _ = str(caught.value).splitlines()
    stem = "other" if way == "argument" else "lib"
    assert ("px4.libpath = other.so" if way == "argument" else "PX4_LOCKSTEP_LIB = lib.so") in first
    assert [Path(place.strip()).name for place in places] == [f"{stem}.so", f"{stem}.dylib"]
