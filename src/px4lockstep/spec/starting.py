"""The spec file that `px4lockstep spec new` writes: an aircraft to change, with the keys that are changed first.

Lines that begin with `#` and a key are examples with valid values; remove the `#` to use them.
"""

from px4lockstep.spec.spec import Spec
from px4lockstep.spec.toml_text import value_text

TEXT = """\
# An aircraft of your own, based on {base}. Keys that are not here have the values of {base}:
#
#   px4lockstep spec show {file}     print all keys with their values
#   px4lockstep spec check {file}    check the file without flying
#   px4lockstep run {file}           fly
#
# Lines such as "#mass_kg = ..." are examples; remove the # to use them. All keys: docs/reference/spec.md.
schema_version = 1
extends = [{extends}]

[aircraft]
name = {name}
seed = {seed}                        # random seed of wind and sensor noise

[home]
#lat_deg = {lat_deg}
#lon_deg = {lon_deg}
#alt_msl_m = {alt_msl_m}

[px4]
#mission_path = {mission}            # built-in mission, or a .plan or .waypoints file next to this one

[timeline]
#t_end_s = "auto"                    # end 3 s after the landing; or a time in seconds
#dt_log_s = {dt_log_s}               # period of the log

[environment]
#wind = {wind}                       # none, constant, ou or dryden
#wind_mean_ned = {wind_mean_ned}     # mean wind in m/s: north, east, down; it blows to where it points

[airframe]
#mass_kg = {mass_kg}
#payload_kg = 0.3                    # mass at the centre of mass, in addition
#inertia_diag_kgm2 = {inertia}
# One line for each rotor: forward, right, down of the centre of mass. The order is PX4's.
#rotor_pos_body_m = [
{rotors}
#]

# The built-in autopilot has PX4's parameters: px4lockstep params MPC_* lists them.
[autopilot.params]
#MPC_XY_VEL_MAX = 8.0
#MC_ROLLRATE_P = 0.15

# Things that happen during the flight: see docs/howto/scenarios.md.
#[[scenario.events]]
#at_s = 20.0
#action = "thrust_loss"
#motor = 1
#fraction = 0.2
"""


def starting_spec(spec: Spec, base: str, file: str, name: str) -> str:
    """Return the text of a new spec file.

    Args:
        spec: The aircraft that the file changes, whose values are the examples.
        base: Its name, or its path as seen from the folder of the file.
        file: Path of the file, for the commands in the comments.
        name: Name of the aircraft.
    """
    rotors = [f"#    {value_text(list(place))}," for place in spec.airframe.rotor_pos_body_m]
    filled = TEXT.format(
        base=base,
        file=file,
        extends=value_text(base),
        name=value_text(name),
        seed=spec.aircraft.seed,
        lat_deg=value_text(spec.home.lat_deg),
        lon_deg=value_text(spec.home.lon_deg),
        alt_msl_m=value_text(spec.home.alt_msl_m),
        mission=value_text(spec.px4.mission_path or "simple"),
        dt_log_s=value_text(spec.timeline.dt_log_s),
        wind=value_text(spec.environment.wind),
        wind_mean_ned=value_text(list(spec.environment.wind_mean_ned)),
        mass_kg=value_text(spec.airframe.mass_kg),
        inertia=value_text(list(spec.airframe.inertia_diag_kgm2 or ())),
        rotors="\n".join(rotors),
    )
    return "\n".join(_aligned(line) for line in filled.splitlines()) + "\n"


def _aligned(line: str) -> str:
    """Return a line with its comment, if it has one after a value, in a column of its own."""
    value, mark, comment = line.rpartition("   # ")
    return f"{value.rstrip():<38} # {comment}" if mark else line
