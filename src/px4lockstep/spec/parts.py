"""From the tables of the flight to its parts; the aircraft is in `build_aircraft`.

Each function is given what it may read and nothing else: see `engine.prepared`.
"""

import functools
from typing import Any

from px4lockstep.autopilots.builtin.autopilot import Builtin, Rates
from px4lockstep.autopilots.px4_library.autopilot import Px4Library
from px4lockstep.autopilots.px4_sitl.autopilot import Px4Sitl
from px4lockstep.autopilots.px4_sitl.options import SitlOptions
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.environment.gust import Gust, gust_edges_us
from px4lockstep.environment.wind import Wind
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.px4 import Config
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.presets import interface_of
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.build_aircraft import at
from px4lockstep.spec.flight_checks import RATES, first_step, us
from px4lockstep.spec.flight_tables import Autopilot, Environment, EstimatorTable, Home
from px4lockstep.spec.flight_tables import Integrator as IntegratorTable
from px4lockstep.spec.flight_tables import Timeline as TimelineTable
from px4lockstep.spec.px4_tables import Px4

TOLERANCES = ("pos", "vel", "omega", "act", "actdot", "rotor", "soc", "v1")


def build_axes(own: TimelineTable) -> Timeline:
    """Return the timeline as it is without events and gusts."""
    with at(("timeline",)):
        return Timeline(
            us(own.t_end_s),
            autopilot=Periodic(us(own.dt_autopilot_s)),
            wind=Periodic(us(own.dt_wind_s)),
            log=Periodic(us(own.dt_log_s)),
            physics=Periodic(us(own.dt_phys_s)) if own.dt_phys_s is not None else None,
        )


def build_timeline(axes: Timeline, scenario: Scenario, gusts: tuple[Gust, ...]) -> Timeline:
    """Return the timeline, with boundaries at the times of events and gusts."""
    end_us = axes.end_us
    edges_us = [edge_us for edge_us in gust_edges_us(gusts) if edge_us <= end_us]
    times_us = tuple(sorted({*scenario.times_us(end_us), *edges_us}))
    with at(("timeline",)):
        return axes.with_events(times_us) if times_us else axes


def build_wind(own: Environment) -> Wind:
    """Return the wind, without its gusts."""
    with at(("environment",)):
        return Wind(
            own.wind,
            own.wind_mean_ned,
            own.wind_sigma_ned,
            own.wind_tau_s,
            own.dryden_wind_20ft_mps,
            own.dryden_height_m,
        )


def build_gusts(own: Environment) -> tuple[Gust, ...]:
    """Return the gusts."""
    return tuple(Gust(us(gust.start_s), us(gust.end_s), gust.vel_ned) for gust in own.gusts)


def build_estimator(own: EstimatorTable) -> Estimator:
    """Return the estimator."""
    if own.kind == "none":
        return Estimator()
    with at(("estimator",)):
        return Estimator(
            own.kind,
            pos_sigma_m=own.pos_sigma_m[0],  # the same on all axes, which loading checks
            vel_sigma_m_s=own.vel_sigma_mps[0],
            yaw_sigma_rad=own.yaw_sigma_rad,
            rate_sigma_rad_s=own.rate_sigma_rad_s[0],
            pos_bias_sigma_m=own.pos_bias_sigma_m[0],
            vel_bias_sigma_m_s=own.vel_bias_sigma_mps[0],
            yaw_bias_sigma_rad=own.yaw_bias_sigma_rad,
            rate_bias_sigma_rad_s=own.rate_bias_sigma_rad_s[0],
            bias_tau_s=own.bias_tau_s,
            delay_us=us(own.delay_s),
        )


def build_autopilot(
    own: Autopilot, px4: Px4, home: Home, mission: Mission | None
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


def _build_px4(own: Autopilot, px4: Px4, home: Home, mission: Mission | None) -> Px4Library:
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


def _build_sitl(own: Autopilot, px4: Px4, home: Home, mission: Mission | None) -> Px4Sitl:
    from px4lockstep.sensors import SensorSuite  # no other flight needs them
    from px4lockstep.sensors.table import config_of

    sitl = px4.sitl
    with at(("px4", "sitl", "sensors")):
        sensors = config_of(sitl.sensors, "px4.sitl.sensors")
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
        make_suite=functools.partial(SensorSuite, sensors),
    )


def build_integrator(own: IntegratorTable) -> Integrator:
    """Return the integrator."""
    values: dict[str, Any] = own.model_dump()
    with at(("plant", "integrator")):
        return Integrator(
            own.kind,
            rtol={group: values[f"rtol_{group}"] for group in TOLERANCES},
            atol={group: values[f"atol_{group}"] for group in TOLERANCES} | {"att": own.atol_att_rad},
            plant_error_control=own.plant_error_control,
            h_min_s=own.h_min,
            h_max_s=own.h_max,
            h_init_s=own.h_init or first_step(own),
            max_substeps=own.max_substeps,
            safety=own.safety,
            min_factor=own.min_factor,
            max_factor=own.max_factor,
            kink_tolerance=own.kink_tolerance,
            quantize_us=own.quantize_us,
        )
