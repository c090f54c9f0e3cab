"""Campaigns with stock PX4's test double: refused options, errors that are not failed flights, cleanup."""

import pytest
from processes import is_gone, wait_until

from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.local import Worker
from px4lockstep.campaigns.run import run_campaign
from px4lockstep.errors import InputError, LockstepError


@pytest.fixture
def campaign(sitl_build, tmp_path):
    """Return a function that writes a campaign file with settings."""

    def make(**settings):
        lines = [f'"{name.replace("__", ".")}" = {value}' for name, value in settings.items()]
        (tmp_path / "campaign.toml").write_text(
            "\n".join(
                [
                    '[campaign]\nname = "sitl"\nbase = "iris"\nruns = 2',
                    f'[set]\n"autopilot.kind" = "px4-sitl"\n"px4.sitl.build_dir" = "{sitl_build}"',
                    *lines,
                    '[[vary]]\nkey = "airframe.mass_kg"\ndistribution = "uniform"\nlow = 1.4\nhigh = 1.6',
                ]
            )
        )
        return tmp_path / "campaign.toml"

    return make


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"px4__sitl__wait_for_user": "true"}, r"px4\.sitl\.wait_for_user = true is not supported in campaigns"),
        (
            {"px4__sitl__instance": "3"},
            r"px4\.sitl\.instance = 3 allows only one PX4, but there are 2 workers; remove it",
        ),
    ],
)
def test_settings_that_no_worker_can_fly_are_refused_before_the_first_flight(campaign, settings, said):
    with pytest.raises(InputError, match=said):
        run_campaign(campaign(**settings), workers=2)


def test_an_unknown_parameter_fails_the_rehearsal(campaign, tmp_path):
    """It is an error, not a failed flight."""
    file = campaign(timeline__t_end_s="1.0", px4__params='[{ name = "NO_SUCH_PARAM", value = 1.0 }]')
    with pytest.raises(LockstepError, match="this PX4 has no parameter NO_SUCH_PARAM"):
        run_campaign(file, workers=1, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_stopped_worker_stops_its_px4_and_removes_its_folder(campaign, tmp_path, monkeypatch):
    """In the middle of an hour-long flight."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    loaded = load_campaign(campaign(timeline__t_end_s="3600.0"))
    worker = Worker.start(loaded.sent)
    worker.give((0, {"airframe.mass_kg": 1.5}))
    wait_until(lambda: list(tmp_path.glob("px4lockstep-sitl-*/px4/pid")))
    [pid] = tmp_path.glob("px4lockstep-sitl-*/px4/pid")
    px4 = int(pid.read_text())
    worker.end()
    assert worker.interpreter.process.returncode == 128 + 15
    assert is_gone(px4)
    assert not list(tmp_path.glob("px4lockstep-sitl-*"))
