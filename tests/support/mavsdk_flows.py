"""Flows of applications with MAVSDK 3, each in a process of its own: `python mavsdk_flows.py FLOW ADDRESS PORT`.

`PORT` is that of MAVSDK's own server, which this process starts and which outlives it: `served_processes` ends the
process group. A flow asserts what telemetry shows, because a client's exit code alone says little.
"""

import asyncio
import json
import math
import os
import sys
import time
import traceback

import pytest
from mavsdk import System
from mavsdk.action import ActionError, OrbitYawBehavior
from mavsdk.follow_me import Config, TargetLocation
from mavsdk.geofence import Circle, FenceType, GeofenceData, Point, Polygon
from mavsdk.mission import MissionError, MissionItem, MissionPlan
from mavsdk.mission_raw import MissionItem as RawItem
from mavsdk.offboard import OffboardError, PositionNedYaw, VelocityNedYaw
from mavsdk.param import ParamError
from mavsdk.telemetry import FlightMode, LandedState

HOME = (47.397742, 8.545594, 488.0)
M_PER_DEG = 111_195.0
WAIT_S = 60.0
"""Wall-clock time for what must happen, on a busy machine."""
DOWN_S = 4 * WAIT_S
"""A return at real time takes longer than a minute."""


async def first(stream, condition=lambda value: True, wait_s=WAIT_S):
    """Return the first value of a stream that fulfils a condition."""

    async def find():
        async for value in stream:
            if condition(value):
                return value
        raise AssertionError("the stream has ended")

    return await asyncio.wait_for(find(), wait_s)


class Watch:
    """Collects the values of a stream, without repetitions, while a flow goes on."""

    def __init__(self, stream):
        self.values = []
        self._task = asyncio.ensure_future(self._collect(stream))

    async def _collect(self, stream):
        async for value in stream:
            if not self.values or self.values[-1] != value:
                self.values.append(value)

    def end(self):
        self._task.cancel()
        return self.values


async def connected(address, port):
    drone = System(port=port)
    began_s = time.perf_counter()
    await asyncio.wait_for(drone.connect(address), WAIT_S)
    await first(drone.core.connection_state(), lambda state: state.is_connected)
    connected_s = time.perf_counter() - began_s
    await first(drone.telemetry.health_all_ok(), bool)
    return drone, connected_s


async def wait_for_mode(drone, mode):
    await first(drone.telemetry.flight_mode(), lambda value: value == mode)


async def wait_disarmed(drone):
    await first(drone.telemetry.armed(), lambda value: not value, DOWN_S)


async def take_off(drone, height_m=2.5):
    await drone.action.arm()
    await drone.action.takeoff()
    await wait_for_mode(drone, FlightMode.TAKEOFF)
    await wait_for_mode(drone, FlightMode.HOLD)
    place = await first(drone.telemetry.position())
    assert abs(place.relative_altitude_m - height_m) < 0.7, place


def metres_from(place, lat_deg, lon_deg):
    north = (place.latitude_deg - lat_deg) * M_PER_DEG
    return math.hypot(north, (place.longitude_deg - lon_deg) * M_PER_DEG * math.cos(math.radians(lat_deg)))


async def health(drone):
    """Flow 1: what an application looks at first."""
    assert await first(drone.telemetry.flight_mode()) == FlightMode.HOLD
    assert not await first(drone.telemetry.armed())
    assert await first(drone.telemetry.landed_state()) == LandedState.ON_GROUND
    home = await first(drone.telemetry.home())
    assert metres_from(home, *HOME[:2]) < 0.5
    assert abs(home.absolute_altitude_m - HOME[2]) < 0.5
    version = await drone.info.get_version()
    assert (version.flight_sw_major, version.flight_sw_minor) == (1, 18)


async def takeoff_and_land(drone):
    """Flow 2."""
    modes = Watch(drone.telemetry.flight_mode())
    await take_off(drone)
    await drone.action.land()
    await wait_for_mode(drone, FlightMode.LAND)
    await first(drone.telemetry.in_air(), lambda value: not value)
    await wait_disarmed(drone)
    await wait_for_mode(drone, FlightMode.HOLD)
    seen = modes.end()
    order = [FlightMode.TAKEOFF, FlightMode.HOLD, FlightMode.LAND, FlightMode.HOLD]
    assert seen[-4:] == order, seen


def waypoint(north_m, east_m, height_m=10.0, speed_m_s=10.0):
    lat = HOME[0] + north_m / M_PER_DEG
    lon = HOME[1] + east_m / (M_PER_DEG * math.cos(math.radians(HOME[0])))
    nan = math.nan
    camera = MissionItem.CameraAction.NONE
    vehicle = MissionItem.VehicleAction.NONE
    return MissionItem(lat, lon, height_m, speed_m_s, True, nan, nan, camera, nan, nan, nan, nan, nan, vehicle)


POINTS = ((20.0, 0.0), (20.0, 25.0), (0.0, 25.0))


async def mission(drone):
    """Flow 3: upload and flight with progress, return, disarmed near home."""
    await drone.mission.set_return_to_launch_after_mission(True)
    await drone.mission.upload_mission(MissionPlan([waypoint(*point) for point in POINTS]))
    progress, modes = Watch(drone.mission.mission_progress()), Watch(drone.telemetry.flight_mode())
    await drone.action.arm()
    await drone.mission.start_mission()
    await wait_for_mode(drone, FlightMode.MISSION)
    await wait_for_mode(drone, FlightMode.RETURN_TO_LAUNCH)
    await wait_disarmed(drone)
    await wait_for_mode(drone, FlightMode.HOLD)
    seen = [(value.current, value.total) for value in progress.end()]
    assert [pair for pair in ((0, 3), (1, 3), (2, 3), (3, 3)) if pair in seen] == [(0, 3), (1, 3), (2, 3), (3, 3)], seen
    assert seen == sorted(seen), seen
    assert modes.end()[-3:] == [FlightMode.MISSION, FlightMode.RETURN_TO_LAUNCH, FlightMode.HOLD]
    assert metres_from(await first(drone.telemetry.position()), *HOME[:2]) < 2.0


async def mission_control(drone):
    """Flow 4: download equals upload, pause, jump to an item, finish."""
    await drone.mission.set_return_to_launch_after_mission(False)
    plan = MissionPlan([waypoint(*point) for point in POINTS])
    await drone.mission.upload_mission(plan)
    found = await drone.mission.download_mission()
    assert [(round(item.latitude_deg, 6), round(item.longitude_deg, 6)) for item in found.mission_items] == [
        (round(item.latitude_deg, 6), round(item.longitude_deg, 6)) for item in plan.mission_items
    ]
    raw = await drone.mission_raw.download_mission()
    await drone.mission_raw.upload_mission(raw)
    again = await drone.mission_raw.download_mission()
    assert [str(item) for item in again] == [str(item) for item in raw], (again, raw)
    await drone.action.arm()
    await drone.mission.start_mission()
    await first(drone.mission.mission_progress(), lambda value: value.current >= 1)
    await drone.mission.pause_mission()
    await wait_for_mode(drone, FlightMode.HOLD)
    await drone.mission.set_current_mission_item(2)
    await drone.mission.start_mission()
    await wait_for_mode(drone, FlightMode.MISSION)
    await first(drone.mission.mission_progress(), lambda value: value.current == 3)
    assert await drone.mission.is_mission_finished()
    await drone.action.return_to_launch()
    await wait_disarmed(drone)


async def guided(drone):
    """Flow 5: go-to, orbit, hold, return."""
    await take_off(drone)
    goal = waypoint(15.0, 10.0)
    await drone.action.goto_location(goal.latitude_deg, goal.longitude_deg, HOME[2] + 8.0, 90.0)

    def is_there(place):
        distance_m = metres_from(place, goal.latitude_deg, goal.longitude_deg)
        return distance_m < 1.0 and abs(place.relative_altitude_m - 8.0) < 1.0

    await first(drone.telemetry.position(), is_there)
    assert await first(drone.telemetry.flight_mode()) == FlightMode.HOLD
    await drone.action.do_orbit(
        10.0, 2.0, OrbitYawBehavior.HOLD_FRONT_TO_CIRCLE_CENTER, HOME[0], HOME[1], HOME[2] + 8.0
    )
    await wait_for_mode(drone, FlightMode.POSCTL)  # as which MAVSDK shows Orbit
    await drone.action.hold()
    await wait_for_mode(drone, FlightMode.HOLD)
    await drone.action.return_to_launch()
    await wait_for_mode(drone, FlightMode.RETURN_TO_LAUNCH)
    await wait_disarmed(drone)
    assert metres_from(await first(drone.telemetry.position()), *HOME[:2]) < 2.0


async def follow(drone):
    """MAVSDK's follow_me: the vehicle keeps 10 m behind a target that stands 25 m north of home, at 12 m."""
    await take_off(drone)
    await drone.follow_me.set_config(Config(12.0, 10.0, 0.1, Config.FollowAltitudeMode.CONSTANT, 5.0, 180.0))
    assert (await drone.follow_me.get_config()).follow_distance_m == 10.0
    await drone.follow_me.start()
    await wait_for_mode(drone, FlightMode.FOLLOW_ME)
    place = waypoint(25.0, 0.0)
    target = TargetLocation(place.latitude_deg, place.longitude_deg, HOME[2], 0.0, 0.0, 0.0)
    await drone.follow_me.set_target_location(target)  # sent every second from now on
    goal = waypoint(15.0, 0.0)

    def is_there(place):
        distance_m = metres_from(place, goal.latitude_deg, goal.longitude_deg)
        return distance_m < 1.5 and abs(place.relative_altitude_m - 12.0) < 1.0

    await first(drone.telemetry.position(), is_there)
    await drone.follow_me.stop()
    await wait_for_mode(drone, FlightMode.HOLD)
    await drone.action.land()
    await wait_disarmed(drone)


async def offboard(drone):
    """Flow 6: positions within 0.5 m, then velocities; without a setpoint MAVSDK refuses to start."""
    await drone.action.arm()
    await drone.offboard.set_position_ned(PositionNedYaw(0.0, 0.0, 0.0, 0.0))
    await drone.offboard.start()
    await wait_for_mode(drone, FlightMode.OFFBOARD)
    for corner in ((0.0, 0.0, -5.0), (5.0, 0.0, -5.0), (5.0, 5.0, -5.0)):
        await drone.offboard.set_position_ned(PositionNedYaw(*corner, 90.0))

        def is_there(value, corner=corner):
            at = value.position
            return math.dist((at.north_m, at.east_m, at.down_m), corner) < 0.5

        await first(drone.telemetry.position_velocity_ned(), is_there)
    await drone.offboard.set_velocity_ned(VelocityNedYaw(-2.0, 0.0, 0.0, 90.0))
    await first(drone.telemetry.position_velocity_ned(), lambda value: abs(value.velocity.north_m_s + 2.0) < 0.3)
    await drone.offboard.stop()
    await wait_for_mode(drone, FlightMode.HOLD)
    await drone.action.land()
    await wait_disarmed(drone)


async def parameters(drone):
    """Flow 8: float and int read and written, unknown, wrong type, all."""
    await drone.param.set_param_float("MPC_XY_CRUISE", 7.5)
    assert await drone.param.get_param_float("MPC_XY_CRUISE") == 7.5
    await drone.param.set_param_int("COM_LOW_BAT_ACT", 1)
    assert await drone.param.get_param_int("COM_LOW_BAT_ACT") == 1
    for name in ("NO_SUCH_PARAM", "COM_LOW_BAT_ACT"):  # the second one is an integer
        with pytest.raises(ParamError):
            await drone.param.get_param_float(name)
    everything = await drone.param.get_all_params()
    assert len(everything.float_params) + len(everything.int_params) > 250
    assert 7.5 in [each.value for each in everything.float_params if each.name == "MPC_XY_CRUISE"]


async def fence(drone):
    """Flow 9: geofence and rally points; a mission outside is not started."""
    half = 60.0 / M_PER_DEG
    corners = [Point(HOME[0] + half * x, HOME[1] + half * y) for x, y in ((-1, -1), (-1, 1), (1, 1), (1, -1))]
    circle = Circle(Point(*HOME[:2]), 500.0, FenceType.INCLUSION)
    await drone.geofence.upload_geofence(GeofenceData([Polygon(corners, FenceType.INCLUSION)], [circle]))
    rally = RawItem(0, 6, 5100, 0, 1, 0.0, 0.0, 0.0, 0.0, round(1e7 * HOME[0]), round(1e7 * HOME[1]), 20.0, 2)
    await drone.mission_raw.upload_rally_points([rally])
    assert len(await drone.mission_raw.download_geofence()) == 5
    assert len(await drone.mission_raw.download_rallypoints()) == 1
    await drone.mission.upload_mission(MissionPlan([waypoint(0.0, 20.0), waypoint(300.0, 0.0)]))
    texts = Watch(drone.telemetry.status_text())
    await drone.action.arm()
    with pytest.raises(MissionError, match="DENIED"):
        await drone.mission.start_mission()
    await asyncio.sleep(1.0)
    assert [text for text in texts.end() if "Mission" in text.text or "eofence" in text.text]
    await drone.geofence.clear_geofence()
    assert await drone.mission_raw.download_geofence() == []
    await drone.action.disarm()


async def refusals(drone):
    """Disarming in the air is refused; a rejected offboard start, too."""
    await take_off(drone)
    with pytest.raises(ActionError, match="DENIED"):
        await drone.action.disarm()
    with pytest.raises(OffboardError, match="NO_SETPOINT_SET"):
        await drone.offboard.start()
    await drone.action.land()
    await wait_disarmed(drone)


FLOWS = (health, takeoff_and_land, mission, mission_control, guided, follow, offboard, parameters, fence, refusals)


async def main(names, address, port):
    """Run flows with one connection; print how long it took to connect."""
    drone, connected_s = await connected(address, port)
    for name in names:
        await {flow.__name__: flow for flow in FLOWS}[name](drone)
    sys.stdout.write(json.dumps({"flows": names, "connected_s": connected_s}) + "\n")


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1].split(","), sys.argv[2], int(sys.argv[3])))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # MAVSDK's threads would keep the process
