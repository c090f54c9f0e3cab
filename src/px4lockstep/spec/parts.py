"""From the tables of the flight to its parts; the aircraft is in `build_aircraft`.

Each function is given what it may read and nothing else: see `engine.builder`.
"""

from px4lockstep.autopilots.builtin.autopilot import Builtin, Rates
from px4lockstep.autopilots.px4_library.autopilot import Px4Library
from px4lockstep.autopilots.px4_sitl.autopilot import Px4Sitl
from px4lockstep.autopilots.px4_sitl.options import SitlOptions
from px4lockstep.engine.timeline import Timeline
from px4lockstep.environment.gust import Gust, gust_edges_us
from px4lockstep.part import at
from px4lockstep.px4 import Config
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.presets import interface_of
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.flight_checks import RATES, us
from px4lockstep.spec.flight_tables import AutopilotTable, Home
from px4lockstep.spec.px4_tables import Px4Table


def build_timeline(axes: Timeline, scenario: Scenario, gusts: tuple[Gust, ...]) -> Timeline:
    """Return the timeline, with boundaries at the times of events and gusts."""
    end_us = axes.end_us
    edges_us = [edge_us for edge_us in gust_edges_us(gusts) if edge_us <= end_us]
    times_us = tuple(sorted({*scenario.times_us(end_us), *edges_us}))
    with at(("timeline",)):
        return axes.with_events(times_us) if times_us else axes


def build_autopilot(
    own: AutopilotTable, px4: Px4Table, home: Home, mission: Mission | None
) -> Builtin | Px4Library | Px4Sitl | None:
    """Return the autopilot, or None if nobody flies."""
    if own.kind == "none":
        return None
    if own.kind == "px4":
        return _build_px4(own, px4, home, mission)
    if own.kind == "px4-sitl":
        return _build_sitl(own, px4, home, mission)
    rates = px4.lockstep
    with at(("px4", "mission_path")):  # loading has checked the rest
        return Builtin(
            mission,
            own.params,
            home_lat_deg=home.lat_deg,
            home_lon_deg=home.lon_deg,
            rates=Rates(**{name: max(0, getattr(rates, key)) for name, key in RATES.items()}),
            strict_rates=px4.strict_lockstep_rates,
            motor_failure_detection=own.motor_failure_detection,
            hover_thrust_estimate=own.hover_thrust_estimate,
            land_detector=own.land_detector,
            angular_acceleration=own.angular_acceleration,
        )


def _build_px4(own: AutopilotTable, px4: Px4Table, home: Home, mission: Mission | None) -> Px4Library:
    with at(("px4", "uorb")):
        interface = interface_of(px4.uorb.pubs, px4.uorb.subs, px4.uorb.preset)
    with at(("px4", "mission_path")):
        return Px4Library(
            mission,
            {**own.params, **{param.name: param.value for param in px4.params}},
            library=px4.libpath,
            config=Config(**px4.lockstep.model_dump()),
            home_lat_deg=home.lat_deg,
            home_lon_deg=home.lon_deg,
            interface=interface,
            derive_ca_params=px4.derive_ca_params,
            strict_rates=px4.strict_lockstep_rates,
            angular_acceleration=own.angular_acceleration,
            msg_dir=px4.msg_dir,
        )


def _build_sitl(own: AutopilotTable, px4: Px4Table, home: Home, mission: Mission | None) -> Px4Sitl:
    sitl = px4.sitl
    return Px4Sitl(
        mission,
        {**own.params, **{param.name: param.value for param in px4.params}},
        SitlOptions(
            build_dir=sitl.build_dir,
            instance=sitl.instance,
            wait_for_user=sitl.wait_for_user,
            airframe=sitl.airframe,
            connect_timeout_s=sitl.connect_timeout_s,
            answer_timeout_s=sitl.answer_timeout_s,
            boot_us=us(sitl.boot_s),
            ground_truth=sitl.ground_truth,
            battery=sitl.battery,
            derive_ca_params=px4.derive_ca_params,
        ),
        home_lat_deg=home.lat_deg,
        home_lon_deg=home.lon_deg,
        sensors=sitl.sensors,
    )
