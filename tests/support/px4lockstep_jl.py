"""Files like those of PX4Lockstep.jl's tree: the same names, layers, keys and values, without its comments."""

from pathlib import Path

BASES, SPECS, MISSIONS = "src/Workflows/assets/aircraft", "examples/specs", "src/Workflows/assets/missions"
GENERIC = "src/sim/Aircraft/assets/multirotor_default.toml"

PUBLISHED = "BatteryStatus VehicleAttitude VehicleLocalPosition VehicleGlobalPosition VehicleAngularVelocity " + (
    "VehicleLandDetected VehicleStatus VehicleControlMode ActuatorArmed HomePosition GeofenceStatus"
)
READ = {
    "torque_sp": "VehicleTorqueSetpoint",
    "thrust_sp": "VehicleThrustSetpoint",
    "actuator_motors": "ActuatorMotors",
    "actuator_servos": "ActuatorServos",
    "attitude_sp": "VehicleAttitudeSetpoint",
    "rates_sp": "VehicleRatesSetpoint",
    "mission_result": "MissionResult",
    "vehicle_status": "VehicleStatus",
    "battery_status": "BatteryStatus",
    "trajectory_setpoint": "TrajectorySetpoint",
}
HOME = "[home]\nlat_deg = 47.397742\nlon_deg = 8.545594\nalt_msl_m = 488.0\n"
PX4 = """[px4]
edge_trigger = false
derive_ca_params = true
[px4.lockstep]
dataman_use_ram = 1
enable_commander = 0
commander_rate_hz = 100
navigator_rate_hz = 20
mc_pos_control_rate_hz = 100
mc_att_control_rate_hz = 250
mc_rate_control_rate_hz = 250
enable_control_allocator = 1
control_allocator_rate_hz = 250
"""
PLANT = '[plant]\nintegrator = "RK45"\ncontact = "flat_ground"\n'
AIR = """[environment]
wind = "ou"
wind_mean_ned = [0.0, 0.0, 0.0]
wind_sigma_ned = [1.5, 1.5, 0.5]
wind_tau_s = 3.0
atmosphere = "isa1976"
gravity = "uniform"
gravity_mps2 = 9.80665
[estimator]
kind = "noisy_delayed"
pos_sigma_m = [0.02, 0.02, 0.02]
vel_sigma_mps = [0.05, 0.05, 0.05]
yaw_sigma_rad = 0.01
rate_sigma_rad_s = [0.005, 0.005, 0.005]
bias_tau_s = 50.0
rate_bias_sigma_rad_s = [0.001, 0.001, 0.001]
delay_s = 0.008
dt_est_s = 0.004
"""
QUAD = """[airframe]
kind = "multirotor"
mass_kg = 1.5
inertia_diag_kgm2 = [0.029125, 0.029125, 0.055225]
rotor_pos_body_m = [[0.1515, 0.245, 0.0], [-0.1515, -0.1875, 0.0], [0.1515, -0.245, 0.0], [-0.1515, 0.1875, 0.0]]
rotor_axis_body_m = [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
linear_drag = 0.05
angular_damping = [0.02, 0.02, 0.01]
[airframe.x0]
pos_ned = [0.0, 0.0, 0.0]
vel_ned = [0.0, 0.0, 0.0]
q_bn = [1.0, 0.0, 0.0, 0.0]
omega_body = [0.0, 0.0, 0.0]
[airframe.propulsion]
kind = "multirotor_default"
km_m = 0.05
V_nom = 12.0
rho_nom = 1.225
rotor_radius_m = 0.127
inflow_kT = 8.0
inflow_kQ = 8.0
"""
OCTA = """[airframe]
kind = "multirotor"
mass_kg = 2.0
inertia_diag_kgm2 = [0.05, 0.05, 0.10]
linear_drag = 0.05
angular_damping = [0.02, 0.02, 0.01]
rotor_pos_body_m = [
    [0.25, 0.0, 0.0], [0.18, 0.18, 0.0], [0.0, 0.25, 0.0], [-0.18, 0.18, 0.0],
    [-0.25, 0.0, 0.0], [-0.18, -0.18, 0.0], [0.0, -0.25, 0.0], [0.18, -0.18, 0.0],
]
[airframe.propulsion]
kind = "multirotor_default"
km_m = 0.05
"""
TAILSITTER = """[airframe]
kind = "multirotor"
mass_kg = 4.0
inertia_diag_kgm2 = [0.20, 0.25, 0.40]
linear_drag = 0.05
angular_damping = [0.02, 0.02, 0.01]
rotor_pos_body_m = [[0.30, 0.20, 0.0], [0.30, -0.20, 0.0]]
rotor_axis_body_m = [[-1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]
[airframe.x0]
euler_deg = [0.0, 90.0, 0.0]
[airframe.propulsion]
kind = "multirotor_default"
km_m = 0.05
"""
LIVE = '[run]\nmode = "live"\n'
SIMPLE = """QGC WPL 110
0 1 3 22 0 0 0 0 47.397742 8.545594 12 1
1 0 3 16 2 2 0 0 47.397842 8.545694 12 1
2 0 3 16 2 2 0 0 47.397842 8.545494 12 1
3 0 3 16 2 2 0 0 47.397642 8.545494 12 1
4 0 3 16 2 2 0 0 47.397642 8.545694 12 1
5 0 3 16 4 2 0 0 47.397742 8.545594 12 1
6 0 3 16 2 2 0 0 47.397742 8.545594 6 1
7 0 3 21 0 0 0 0 47.397742 8.545594 0 1
"""
LONG = """QGC WPL 110
0 1 3 22 0 0 0 0 47.397742 8.545594 12 1
1 0 3 16 2 2 0 0 47.397842 8.545694 12 1
2 0 3 19 220 20 0 0 47.397842 8.545694 12 1
3 0 3 16 2 2 0 0 47.397742 8.545594 12 1
4 0 3 21 0 0 0 0 47.397742 8.545594 0 1
"""


def head(name, seed, base=None):
    """Return the beginning of a file."""
    extends = f'extends = ["{base}"]\n' if base else ""
    return f'schema_version = 1\n{extends}[aircraft]\nname = "{name}"\nseed = {seed}\n{HOME}'


def timeline(end_s):
    """Return the table of the timeline."""
    return f"[timeline]\nt_end_s = {end_s}\ndt_autopilot_s = 0.004\ndt_wind_s = 0.001\ndt_log_s = 0.01\n"


def uorb(pubs, subs):
    """Return the lists of topics, by key and message."""
    text = "schema_version = 1\n[px4.uorb]\n"
    for table, entries in (("pubs", pubs), ("subs", subs)):
        text += "".join(f'[[px4.uorb.{table}]]\nkey = "{key}"\ntype = "{name}Msg"\n' for key, name in entries.items())
    return text


def wired(motors, capacity_ah=5.0, ocv_v="[10.8, 12.6]", servos=(), load_w=0.0):
    """Return actuators, one battery and one bus."""
    text = "[actuation]\n"
    for table, names in (("motors", motors), ("servos", servos)):
        text += "".join(f'[[actuation.{table}]]\nid = "{name}"\nchannel = {i}\n' for i, name in enumerate(names, 1))
    text += (
        '[actuation.motor_actuators]\nkind = "direct"\n[power]\n[[power.batteries]]\nid = "bat1"\nmodel = "thevenin"\n'
    )
    text += f"capacity_ah = {capacity_ah}\nsoc0 = 1.0\nocv_soc = [0.0, 1.0]\nocv_v = {ocv_v}\nr0 = 0.020\nr1 = 0.010\n"
    text += 'c1 = 2000.0\nv1_0 = 0.0\nmin_voltage_v = 9.9\n[[power.buses]]\nid = "main"\nbattery_ids = ["bat1"]\n'
    return f"{text}motor_ids = {list(motors)}\nservo_ids = {list(servos)}\navionics_load_w = {load_w}\n"


def snake(name):
    """Return the name of a topic: `VehicleStatus` becomes `vehicle_status`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def write_tree(root):
    """Write all files below a folder, and return it."""
    four, eight = [f"motor{i}" for i in range(1, 5)], [f"motor{i}" for i in range(1, 9)]
    library = "libpath = '../../../../build/libpx4_lockstep.dylib'\n"
    mission = "mission_path = '../../src/Workflows/assets/missions/simple_mission.waypoints'\n"
    iris = timeline(20.0) + PLANT + AIR + "[scenario]\narm_time_s = 1.0\nmission_time_s = 2.0\n" + QUAD + wired(four)
    octa = PLANT + OCTA + wired(eight, 7.0, load_w=15.0)
    extends_iris = 'schema_version = 1\nextends = ["../../src/Workflows/assets/aircraft/iris_default.toml"]\n[px4]\n'
    alt = {f"{alt:04d}": 488.0 + alt for alt in (0, 1000, 2000, 3000)}
    minimal = "../../src/Workflows/assets/aircraft/minimal_uorb.toml"
    tail = wired(["motor_left", "motor_right"], 12.0, "[21.6, 25.2]", ["elevon_left", "elevon_right"], 25.0)
    files = {
        f"{MISSIONS}/simple_mission.waypoints": SIMPLE,
        f"{MISSIONS}/long_mission_20min.waypoints": LONG,
        f"{BASES}/iris_uorb.toml": uorb({snake(name): name for name in PUBLISHED.split()}, READ),
        f"{BASES}/minimal_uorb.toml": uorb({}, {key: READ[key] for key in ("actuator_motors", "actuator_servos")}),
        f"{BASES}/iris_default.toml": head("iris", 1, "iris_uorb.toml")
        + PX4.replace("[px4]\n", "[px4]\nmission_path = '../missions/simple_mission.waypoints'\n")
        + iris,
        f"{BASES}/octa_default.toml": head("octa", 2, "minimal_uorb.toml") + PX4 + timeline(20.0) + octa,
        GENERIC: head("multirotor_default", 1) + PX4 + timeline(20.0) + PLANT + QUAD + wired(four),
        f"{SPECS}/iris.toml": head("iris", 1, "../../src/Workflows/assets/aircraft/iris_uorb.toml")
        + PX4.replace("[px4]\n", f"[px4]\n{mission}{library}")
        + iris
        + LIVE,
        f"{SPECS}/iris_lockstep.toml": f"{extends_iris}{library}{mission}[timeline]\nt_end_s = 68.0\n"
        f'[plant]\ncontact = "flat_ground"\n{AIR}[run]\nlog_csv = "../../../sim_log.csv"\n',
        f"{SPECS}/iris_compare.toml": f"{extends_iris}{library}{mission}[timeline]\nt_end_s = 60\n{AIR}",
        **{
            f"{SPECS}/iris_alt_{name}m.toml": f"{extends_iris}{library}{mission}[timeline]\nt_end_s = 70.0\n"
            f"{HOME.replace('488.0', str(alt_m))}[run]\nlog_csv = '../../../sim_log_alt_{name}m.csv'\n"
            for name, alt_m in alt.items()
        },
        f"{SPECS}/octa.toml": head("octa", 2, minimal) + PX4 + timeline(10.0) + octa + LIVE,
        f"{SPECS}/wingtra_ray_tailsitter.toml": head("wingtra_ray", 3, minimal)
        + PX4
        + timeline(10.0)
        + PLANT
        + TAILSITTER
        + tail
        + LIVE,
    }
    for name, text in files.items():
        path = Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return Path(root)
