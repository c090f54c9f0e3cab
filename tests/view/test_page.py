"""Pages without a browser: what they show at a time, campaigns, the live view, the exported page, the server."""

import base64
import re
import socket
import sys

import msgspec
import numpy as np
import pytest
import zstandard
from crashed_flight import save_crash
from viewed import made_flight, served

from px4lockstep import InputError, load_spec, read_run
from px4lockstep.cli.view import view_runs
from px4lockstep.view import LiveView, replay_html
from px4lockstep.view.campaign_page import CampaignPage
from px4lockstep.view.frames import to_scene
from px4lockstep.view.inbox import Inbox
from px4lockstep.view.loop import run_page
from px4lockstep.view.page import FlightPage, slider_marks
from px4lockstep.view.panels import NONE, value_range
from px4lockstep.view.scene import ERROR, RUN
from px4lockstep.view.server import start_server

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A flight that crashes."""
    return read_run(save_crash(tmp_path_factory.mktemp("runs")))


def vehicle(server, number=0):
    return server.scene.get_handle_by_name(f"/world/run{number}")


def drawn_m(lines):
    """Return the length of all lines of a node."""
    return float(np.linalg.norm(lines.points[:, 1] - lines.points[:, 0], axis=1).sum())


def test_the_vehicle_is_at_the_pose_of_the_time():
    """Position, attitude and rotors, through the clock of the page."""
    flight = made_flight(rotor_speed_rad_s=np.full((101, 4), 450.0), motors=np.full((101, 4), 0.5))
    with served() as server:
        inbox = Inbox()
        page = FlightPage(server, inbox, [flight])
        assert vehicle(server).position == pytest.approx(to_scene(np.array((0.0, 0.0, -10.0))))
        inbox.put(page.player.toggle)
        assert inbox.run(0.0)
        page.advance(0.25)
        assert vehicle(server).position == pytest.approx((0.0, 0.25, 10.0), abs=1e-6)
        page.player.seek(987_654)
        page.refresh()
        assert vehicle(server).position == pytest.approx((0.0, 0.987654, 10.0), abs=1e-9)
        assert page._time.value == 0.987654
        arrows = server.scene.get_handle_by_name("/world/run0/model/thrust")
        assert arrows.visible
        assert (arrows.points[:, 1, 2] < arrows.points[:, 0, 2]).all()  # up is negative in body axes


def test_a_camera_that_follows_moves_the_world_instead(run):
    """The vehicle stays in the middle."""
    with served() as server:
        page = FlightPage(server, Inbox(), [made_flight()])
        page.set_camera("follow")
        page.player.seek(500_000)
        page.refresh()
        assert page.scene.world.position == pytest.approx(-vehicle(server).position)
        page.set_camera("free")
        page.refresh()
        assert page.scene.world.position.tolist() == [0.0, 0.0, 0.0]


def test_layers_colours_and_sizes_can_be_chosen():
    """Hidden arrows and ghosts, tracks by error, a vehicle of twice its size."""
    wanted = np.tile((7.0, 0.0, -10.0), (101, 1))
    with served() as server:
        page = FlightPage(server, Inbox(), [made_flight(motors=np.full((101, 4), 0.5), pos_sp_ned=wanted)])
        node = server.scene.get_handle_by_name
        assert node("/world/run0-setpoint").visible
        assert node("/world/run0-setpoint").position == pytest.approx((0.0, 7.0, 10.0))
        before = node("/world/run0-track").colors.copy()
        page.set_colour(ERROR)
        assert (node("/world/run0-track").colors != before).any()
        page.set_scale(2.0)
        assert node("/world/run0/model/body").scale == 2.0
        page.scene.set_layers(thrust=False, target=False, wind=False, marks=False)
        page._shown_us = None
        page.refresh()
        assert not node("/world/run0/model/thrust").visible
        assert not node("/world/run0-setpoint").visible


def test_plots_follow_the_time_and_can_be_chosen_while_it_stands_still():
    """A window of 1 s around the cursor, another column, and none."""
    with served() as server:
        page = FlightPage(server, Inbox(), [made_flight(rows=1_001)])
        page.player.seek(4_000_000)
        page.refresh()
        plots = page._plots
        chart = plots._plots[0]._chart
        assert chart.scales["x"]["range"] == (0.0, 10.0)
        low, high = chart.scales["y"]["range"]
        assert low < min(line.min() for line in chart.data[1:]) < max(line.max() for line in chart.data[1:]) < high
        assert "left:40.000%" in plots._plots[0]._cursor.content
        plots.set_window(1_000_000)
        assert chart.scales["x"]["range"] == (3.5, 4.5)
        assert "left:50.000%" in plots._plots[0]._cursor.content
        page.player.seek(9_000_000)
        page.refresh()
        assert chart.scales["x"]["range"] == (8.5, 9.5)
        plots.choose(0, "armed")
        assert len(chart.data) == 2
        assert plots._plots[0]._cursor.content.endswith(">1</div></div></div>")
        plots.choose(0, NONE)
        assert not chart.visible
        plots.set_window(None)
        plots.choose(0, "vel_ned")
        assert chart.visible
        assert chart.scales["x"]["range"] == (0.0, 10.0)


def test_events_are_marks_and_faults_differ_in_form(run):
    """A fault has a sign in the list, on the slider and on its label."""
    from px4lockstep.view.flown import viewed_flights

    [flight] = viewed_flights([run])
    assert any("!" in text for _, text in slider_marks(flight, 0.0, 9.0))
    with served() as server:
        page = FlightPage(server, Inbox(), [flight])
        labels = [handle.text for handle in server.scene._handle_from_node_name.values() if hasattr(handle, "text")]
        assert "! motor 2 off" in labels
        fault_us = next(event.time_us for event in flight.events if event.is_fault)
        assert fault_us in page.scene.marks.values()


@pytest.mark.parametrize("count", [1, 3])
def test_lines_of_plots_differ_without_colours(count):
    """Components and runs together, in dashes or widths; the label has the dashes, too."""
    flights = [made_flight(f"run {i}", motors=np.full((101, 12 // count), 0.5)) for i in range(count)]
    with served() as server:
        page = FlightPage(server, Inbox(), flights)
        page._plots.choose(0, "motors")
        lines = page._plots._plots[0]._chart.series[1:]
        assert len(lines) == 12
        assert len({(line["dash"], line["width"]) for line in lines}) == 12
        page._plots.choose(1, "armed")
        alone = page._plots._plots[1]._chart.series[1:]
        assert len({line["dash"] for line in alone}) == count


def test_several_runs_have_labels_dashes_and_their_own_vehicles():
    """Not only colours."""
    with served() as server:
        page = FlightPage(server, Inbox(), [made_flight("first"), made_flight("second")])
        assert page.scene.colour_by == RUN
        node = server.scene.get_handle_by_name
        assert [node(f"/world/run{i}/label").text for i in (0, 1)] == ["first", "second"]
        assert drawn_m(node("/world/run0-track")) == pytest.approx(1.0)
        assert drawn_m(node("/world/run1-track")) == pytest.approx(0.74)  # the rest is gaps


def messages_of(page):
    """Return the messages of an exported page, with their times: the container of viser, read here again."""
    text = re.search(r'window.__VISER_EMBED_DATA__="([^"]+)"', page).group(1)
    packed = base64.b64decode(text)
    inner = zstandard.ZstdDecompressor().decompressobj().decompress(packed[8:])
    size = int.from_bytes(inner[:8], "little")
    return msgspec.msgpack.decode(inner[8 : 8 + size])


def test_the_exported_page_has_the_flight_and_no_address(run):
    """Its last pose is the last row of the log, its length the flight's; nothing in it names another server."""
    page = replay_html([run], title="<A title>")
    assert "<title>&lt;A title&gt;</title>" in page
    assert len(page) < 2_000_000
    scene = messages_of(page)
    seconds = int(run.log.time_us[-1]) / 1e6
    assert scene["durationSeconds"] == pytest.approx(seconds)
    moves = [(at, each) for at, each in scene["messages"] if each.get("name") == "/world/run0" and "position" in each]
    assert moves[-1][1]["position"] == pytest.approx(to_scene(run.log["pos_ned"][-1]), abs=1e-6)
    assert len(moves) > 20 * seconds
    assert "track: speed [m/s]" in page
    assert replay_html([run], title="<A title>") == page  # the same bytes again


def test_a_long_flight_has_fewer_poses_per_second():
    """At most 2,000 frames."""
    from px4lockstep.view.replay import frame_times_us

    assert len(frame_times_us(0, 1_200_000_000, 25.0)) == 2_000
    assert np.diff(frame_times_us(0, 8_000_000, 25.0)).tolist() == [40_000] * 200


@pytest.mark.process
def test_a_campaign_shows_its_runs_and_flies_one_again(tmp_path):
    """The flight is the one of the campaign, to the bit; and back again."""
    from campaign_files import write_campaign

    from px4lockstep import run_campaign
    from px4lockstep.campaigns.folder import CampaignFolder

    run_campaign(write_campaign(tmp_path), out=tmp_path / "flown", workers=1)
    folder = CampaignFolder.open(tmp_path / "flown", trust=True)
    with served() as server:
        page = CampaignPage(server, Inbox(), folder)
        points = [server.scene.get_handle_by_name(f"/scatter/{name}") for name in ("passed", "failed")]
        count = sum(len(each.batched_positions) for each in points if each is not None)
        assert count + page._scatter.hidden == folder.campaign.runs
        assert not page.is_playing
        page.fly(1)
        assert page.flown is not None
        assert "identical to the run of the campaign" in page.flown._note
        assert server.scene.get_handle_by_name("/scatter") is None
        page.show_runs()
        assert page.flown is None
        assert vehicle(server) is None


def test_the_loop_ends_when_it_is_over_and_runs_what_the_user_did():
    """In the thread of the caller."""
    with served() as server:
        inbox = Inbox()
        page = FlightPage(server, inbox, [made_flight()])
        rounds = []
        inbox.put(page.player.toggle)
        run_page(page, inbox, lambda: rounds.append(1) or len(rounds) > 5)
        assert page.player.time_us > 0


def test_a_live_view_moves_and_its_track_grows():
    """Poses are pushed; a closed view refuses them."""
    view = LiveView(load_spec("x500"), port=0)
    try:
        assert view.url.startswith("http://127.0.0.1:")
        for i in range(450):
            pose = ((0.1 * i, 0.0, -5.0), (1.0, 0.0, 0.0, 0.0))
            view.update(40_000 * i, *pose, motors=(0.5,) * 4, wind_ned=(3.0, 0.0, 0.0), text="<b>mission")
        node = view._server.scene.get_handle_by_name
        assert node("/world/vehicle").position == pytest.approx((0.0, 44.9, 5.0))
        assert [len(node(f"/world/track{i}").points) for i in range(3)] == [1, 1, 51]  # full pieces are straight
        assert sum(drawn_m(node(f"/world/track{i}")) for i in range(3)) == pytest.approx(44.9, abs=1e-4)
        assert node("/world/wind").visible
        assert "&lt;b&gt;mission" in view._status.content
        with pytest.raises(InputError, match="a pose must have 3 and 4 finite numbers"):
            view.update(0, (0.0, float("nan"), 0.0), (1.0, 0.0, 0.0, 0.0))
    finally:
        view.close()
    with pytest.raises(InputError, match="the live view is closed"):
        view.update(0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))


def test_a_wrong_folder_is_an_error_before_a_browser_opens(tmp_path, monkeypatch):
    """A folder without a log, and a file."""
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail(f"opened {url}"))
    with pytest.raises(InputError, match="is not a run folder"):
        view_runs([str(tmp_path)], port=0)
    with pytest.raises(InputError, match="run folder not found"):
        view_runs([str(tmp_path / "missing")], port=0)
    (tmp_path / "log.ulg").touch()
    with pytest.raises(InputError, match="import it first"):
        view_runs([str(tmp_path / "log.ulg")], port=0)


def test_the_server_listens_on_this_machine_only_and_names_a_port_in_use(capsys):
    """It prints nothing; another address of this machine finds nothing."""
    with served() as server:
        port = server.get_port()
        with pytest.raises(
            InputError, match=f"port {port} of 127.0.0.1 is in use; stop what uses it, or choose another"
        ):
            start_server(port)
        with socket.socket() as other:
            other.settimeout(2.0)
            assert other.connect_ex(("127.0.0.2", port)) != 0
    with pytest.raises(InputError, match="port 70000 is out of range"):
        start_server(70_000)
    assert capsys.readouterr() == ("", "")


def test_without_viser_the_error_says_what_to_install(monkeypatch, run):
    """Also for the function, which needs no server of its own."""
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(InputError, match=re.escape("pip install 'px4lockstep[view]'")):
        start_server()
    with pytest.raises(InputError, match="needs viser"):
        replay_html([run])


@pytest.mark.process
def test_a_campaign_has_labels_instead_of_keys(tmp_path):
    """On axes, in choices and in the table of a run; flags and missing values are words."""
    from campaign_files import write_campaign

    from px4lockstep import run_campaign
    from px4lockstep.campaigns.folder import CampaignFolder

    file = write_campaign(tmp_path)
    key = 'key = "environment.wind_mean_ned[0]"'
    assert key in file.read_text("utf-8")
    file.write_text(file.read_text("utf-8").replace(key, f'{key}\nlabel = "wind north [m/s]"'), "utf-8")
    run_campaign(file, out=tmp_path / "flown", workers=1)
    with served() as server:
        page = CampaignPage(server, Inbox(), CampaignFolder.open(tmp_path / "flown", trust=True))
        assert server.scene.get_handle_by_name("/scatter/axis-x").text == "wind north [m/s]"
        assert server.scene.get_handle_by_name("/scatter/axis-z").text == "energy_wh [Wh]"
        assert "wind north [m/s]" in page._details.content
        assert "environment.wind_mean_ned" not in page._details.content
        assert "<td>crashed</td><td><b>no</b>" in page._details.content
        page._choose_title(1, "wind north [m/s]")
        assert server.scene.get_handle_by_name("/scatter/axis-z").text == "wind north [m/s]"


def test_the_vertical_axis_has_ends_whatever_the_values():
    """Before the start of a flight there are none, and a constant line has room around it."""
    gap = np.array([np.nan, 1.0, 3.0, np.inf])
    assert value_range((gap,)) == pytest.approx((0.88, 3.12))
    assert value_range((np.zeros(3),)) == (-0.1, 0.1)
    assert value_range((np.full(3, 50.0),)) == (45.0, 55.0)
    assert value_range((np.full(3, np.nan),)) == (-0.1, 0.1)
