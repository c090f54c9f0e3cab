"""Stages of keys, which determine what a replay, a branch and a fork may change, for every key."""

import pytest

from px4lockstep.part import all_tables, keys_of, stage_of, table_of
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.stages import FILES, STAGES, stage_at

KEYS = {
    key: field
    for name, model, _ in all_tables(Spec)
    for own, field in keys_of(model).items()
    if table_of(field)[0] is None
    for key in [(*name.split("."), own) if name else (own,)]
}
"""All keys that hold a value."""

# Version 0.1 had a list of prefixes in each of these modules. A key that matched none of them was free.
RECORDED = ("aircraft.", "px4.", "autopilot.", "airframe.px4_params", "scenario.", "estimator.", "sensors.",
            "environment.wind", "environment.dryden", "environment.gusts", "timeline.t_", "timeline.dt_")  # fmt: skip
NOT_RECORDED = ("timeline.dt_phys_s", "aircraft.name")
FIXED = ("home.", "px4.mission", "autopilot.kind", "timeline.dt_", "airframe.x0",
         "autopilot.options", "environment.wind_options", "estimator.options")  # fmt: skip
STARTED_WITH = ("px4.lockstep", "px4.uorb", "px4.defaults", "px4.derive_ca_params", "px4.strict_lockstep_rates",
                "autopilot.angular_acceleration")  # fmt: skip
NOT_OF_THE_FLIGHT = ("run.", "px4.libpath", "px4.msg_dir", "px4.sitl.build_dir", "px4.sitl.instance",
                     "autopilot.params_file", "autopilot.python_dir", "environment.wind_python_dir",
                     "estimator.python_dir")  # fmt: skip
"""With the folder and number of stock PX4, which a recording leaves out like the others. The values of a parameter file
are in `autopilot.file_params`. Folders and arguments of classes are newer than 0.1."""


def test_every_key_has_a_stage():
    """A new key is never allowed to change by default."""
    assert len(KEYS) > 200
    assert [key for key in KEYS if stage_of(key, Spec) not in STAGES] == []


def test_every_stage_has_a_key():
    """A stage without keys would be useless."""
    assert {stage_of(key, Spec) for key in KEYS} == set(STAGES)


@pytest.mark.parametrize("key", KEYS, ids=".".join)
def test_changeable_keys_are_those_of_version_0_1(key):
    """For all keys of version 0.1; newer keys have a stage and are not in this list."""
    name, stage = ".".join(key), stage_at(key)
    assert stage.is_of_the_flight == (not name.startswith(NOT_OF_THE_FLIGHT))
    if stage.is_of_the_flight:
        assert stage.is_recorded == (name.startswith(RECORDED) and not name.startswith(NOT_RECORDED))
    assert stage.is_fixed == name.startswith(FIXED)
    assert stage.is_started_with == name.startswith(STARTED_WITH)


def test_a_path_is_a_file_of_this_machine_or_the_mission():
    """A recording contains no path of the machine that it was flown on."""
    paths = {key for key, field in KEYS.items() if (field.json_schema_extra or {}).get("path")}
    assert {stage_of(key, Spec) for key in paths} == {FILES, "mission"}
    for key, field in KEYS.items():
        if stage_of(key, Spec) == FILES:
            assert field.default is None, key
