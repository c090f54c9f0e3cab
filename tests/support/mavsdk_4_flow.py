"""The flow of an application with MAVSDK 4, which needs an environment of its own: `python mavsdk_4_flow.py ADDRESS`.

Find the autopilot, read and write parameters, take off, fly offboard, fly a mission, return; with MAVSDK alone.
"""

import math
import sys
import time

from mavsdk import ComponentType, Configuration, ConnectionResult, Mavsdk
from mavsdk.plugins.action import Action
from mavsdk.plugins.mission import Mission, MissionItem, MissionPlan
from mavsdk.plugins.offboard import Offboard, PositionNedYaw, VelocityNedYaw
from mavsdk.plugins.param import Param
from mavsdk.plugins.telemetry import FlightMode, Telemetry

HOME = (47.397742, 8.545594)
M_PER_DEG = 111_195.0
WAIT_S = 60.0


def wait_for(condition, what):
    """Wait until a condition holds."""
    end_s = time.perf_counter() + WAIT_S
    while not condition():
        assert time.perf_counter() < end_s, f"not within {WAIT_S} s: {what}"
        time.sleep(0.02)


def main(address):
    """Fly."""
    mavsdk = Mavsdk(Configuration.create_with_component_type(ComponentType.GROUND_STATION))
    assert mavsdk.add_any_connection(address) == ConnectionResult.SUCCESS
    system = mavsdk.first_autopilot(WAIT_S)
    assert system is not None
    action, telemetry, param = Action(system), Telemetry(system), Param(system)
    offboard, mission = Offboard(system), Mission(system)
    wait_for(telemetry.health_all_ok, "health")
    assert telemetry.flight_mode() == FlightMode.HOLD

    param.set_param_float("MPC_XY_CRUISE", 6.5)
    assert param.get_param_float("MPC_XY_CRUISE") == 6.5
    param.set_param_int("COM_LOW_BAT_ACT", 1)
    assert param.get_param_int("COM_LOW_BAT_ACT") == 1
    everything = param.get_all_params()
    assert len(everything.float_params) + len(everything.int_params) > 250

    action.arm()
    action.takeoff()
    wait_for(lambda: telemetry.flight_mode() == FlightMode.TAKEOFF, "take-off")
    wait_for(lambda: telemetry.flight_mode() == FlightMode.HOLD, "hold after the take-off")
    assert abs(telemetry.position().relative_altitude_m - 2.5) < 0.7

    corner = (5.0, 3.0, -5.0)
    offboard.set_position_ned(PositionNedYaw(*corner, 0.0))
    offboard.start()
    wait_for(lambda: telemetry.flight_mode() == FlightMode.OFFBOARD, "offboard")

    def distance_m():
        at = telemetry.position_velocity_ned().position
        return math.dist((at.north_m, at.east_m, at.down_m), corner)

    wait_for(lambda: distance_m() < 0.5, "the corner")
    offboard.set_velocity_ned(VelocityNedYaw(0.0, -1.5, 0.0, 0.0))
    wait_for(lambda: abs(telemetry.position_velocity_ned().velocity.east_m_s + 1.5) < 0.3, "the velocity")
    offboard.stop()
    wait_for(lambda: telemetry.flight_mode() == FlightMode.HOLD, "hold after offboard")

    items = [MissionItem(HOME[0] + north / M_PER_DEG, HOME[1], 8.0, 8.0, True) for north in (15.0, 25.0)]
    mission.set_return_to_launch_after_mission(True)
    mission.upload_mission(MissionPlan(items))
    mission.start_mission()
    wait_for(lambda: telemetry.flight_mode() == FlightMode.MISSION, "mission")
    wait_for(lambda: mission.mission_progress().current == 2, "the end of the mission")
    wait_for(lambda: telemetry.flight_mode() == FlightMode.RETURN_TO_LAUNCH, "return")
    wait_for(lambda: not telemetry.armed(), "disarmed")
    sys.stdout.write("flown\n")


if __name__ == "__main__":
    main(sys.argv[1])
