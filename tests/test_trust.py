"""Trusted folders: compared by real path, from the user's list and the environment only."""

import json

import pytest
from spec_files import MINIMAL

from px4lockstep.errors import InputError
from px4lockstep.spec.load import load_spec
from px4lockstep.trust import Chosen, distrust_folder, is_trusted, place_of, trust_folder, trusted_folders


@pytest.fixture(autouse=True)
def _trusts_nothing(untrusted):
    """Start without trusted folders."""


def test_a_file_is_trusted_by_its_real_path_and_whole_names(tmp_path):
    """A folder whose name only starts the same is another one; links are resolved before comparing."""
    for name in ("mine", "mine2", "other"):
        (tmp_path / name / "deep").mkdir(parents=True)
    trust_folder(tmp_path / "mine")
    (tmp_path / "mine" / "out").symlink_to(tmp_path / "other")
    (tmp_path / "in").symlink_to(tmp_path / "mine")
    mine = ["mine/a.toml", "mine/deep/a.toml", "in/a.toml"]
    others = ["mine2/a.toml", "mine/out/a.toml", "mine/../a.toml"]
    assert [name for name in (*mine, *others) if is_trusted(tmp_path / name)] == mine
    assert isinstance(place_of(tmp_path / "mine" / "a.toml"), Chosen)
    assert not isinstance(place_of(tmp_path / "other" / "a.toml"), Chosen)
    assert isinstance(place_of(tmp_path / "other" / "a.toml", trust=True), Chosen)


def test_the_list_is_stored_in_the_users_configuration(untrusted, tmp_path):
    """One file without duplicates; a folder that no longer exists can be removed from it."""
    for name in ("b", "a", "b"):
        (tmp_path / name).mkdir(exist_ok=True)
        trust_folder(tmp_path / name)
    assert trusted_folders() == [tmp_path / "a", tmp_path / "b"]
    assert [path.name for path in (untrusted / "px4lockstep").iterdir()] == ["trusted.json"]
    (tmp_path / "b").rmdir()
    assert distrust_folder(tmp_path / "b") == tmp_path / "b"
    assert not is_trusted(tmp_path / "b" / "x")
    with pytest.raises(InputError, match=r"/b is not in the list of trusted folders; listed: /.*/a$"):
        distrust_folder(tmp_path / "b")
    with pytest.raises(InputError, match=r"gone is not a folder; trust the folder that the file is in"):
        trust_folder(tmp_path / "gone")


def test_the_environment_trusts_absolute_folders(tmp_path, monkeypatch):
    """An empty name between colons is not the working directory; a relative one is rejected."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PX4LOCKSTEP_TRUST", f":{tmp_path / 'a'}::{tmp_path / 'b'}:")
    assert is_trusted(tmp_path / "b" / "x")
    assert not is_trusted(tmp_path / "x")
    monkeypatch.setenv("PX4LOCKSTEP_TRUST", ".")
    with pytest.raises(InputError, match=r"^PX4LOCKSTEP_TRUST: '\.' is not an absolute path"):
        is_trusted(tmp_path / "x")


def test_the_working_directory_provides_no_list(tmp_path, monkeypatch):
    """By its specification, a relative XDG_CONFIG_HOME counts as unset; without a home folder there is no list."""
    for folder in (tmp_path / "config", tmp_path / "~" / ".config"):
        (folder / "px4lockstep").mkdir(parents=True)
        (folder / "px4lockstep" / "trusted.json").write_text(json.dumps(["/"]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    monkeypatch.setattr("os.path.expanduser", lambda path: str(path))
    assert not is_trusted(tmp_path / "x")
    with pytest.raises(
        InputError, match=r"no home folder for the list of trusted folders; set XDG_CONFIG_HOME or PX4LOC"
    ):
        trust_folder(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "{}", '["relative"]', "[7]", "\xff", "[" * 100_000])
def test_a_damaged_list_is_an_error_and_trusts_nothing(untrusted, tmp_path, text):
    """The message has its path and the remedy."""
    (untrusted / "px4lockstep").mkdir(parents=True)
    (untrusted / "px4lockstep" / "trusted.json").write_text(text, "latin-1")
    with pytest.raises(InputError, match=r"trusted\.json.*repair or remove it$"):
        is_trusted(tmp_path / "x")


def test_a_link_to_a_trusted_file_elsewhere_is_not_trusted(tmp_path):
    """Its relative paths would start from the untrusted folder."""
    mine, stranger = tmp_path / "mine", tmp_path / "stranger"
    for folder in (mine / "sub", stranger):
        folder.mkdir(parents=True)
    for name in ("a.toml", "sub/a.toml"):
        (mine / name).write_text(f"px4.libpath = '../lib.so'\n{MINIMAL}", "utf-8")
    (stranger / "a.toml").symlink_to(mine / "a.toml")
    (stranger / "sub").symlink_to(mine / "sub")
    trust_folder(mine)
    assert is_trusted(mine / "a.toml")
    assert not is_trusted(stranger / "a.toml")
    assert is_trusted(stranger / "sub" / "a.toml")
    assert load_spec(stranger / "sub" / "a.toml").px4.libpath == str(mine / "lib.so")
