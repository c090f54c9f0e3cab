"""The campaign file that `px4lockstep campaign init` writes: wind, charge and a fault, with metrics and criteria.

Lines that begin with `#` and a key are examples with valid values; remove the `#` to use them.
"""

from px4lockstep.spec.toml_text import value_text

TEXT = """\
# A campaign: many flights of {base} with varying inputs.
#
#   px4lockstep campaign run {file}            fly it
#   px4lockstep campaign show latest           print the results again
#   px4lockstep campaign rerun latest 0        fly run 0 again, with log and figure
#
# Lines such as "#sampling = ..." are examples; remove the # to use them. See docs/howto/campaigns.md.

[campaign]
name = {name}
base = {path}
runs = 100
seed = 1
#sampling = "sobol"                  # or latin_hypercube; random by default

# Overrides for all runs, by dotted key.
[set]
#"airframe.payload_kg" = 0.2

# Inputs: uniform, normal, lognormal, choice, grid or list.
[[vary]]
key = "environment.wind_mean_ned[0]"
distribution = "uniform"
low = -8.0
high = 8.0

[[vary]]
key = "power.batteries[0].soc0"
distribution = "uniform"
low = 0.6
high = 1.0

#[[vary]]
#key = "autopilot.params.MPC_XY_VEL_MAX"
#distribution = "choice"
#values = [6.0, 8.0, 10.0]

# What to measure in each flight, in addition to outcome and duration: docs/reference/metrics.md.
[[metric]]
name = "tracking_max_m"
kind = "tracking_max"

[[metric]]
name = "energy_wh"
kind = "energy_wh"

#[[metric]]
#name = "touchdown_speed_m_s"
#kind = "touchdown_speed"

# A run passes if all of these hold.
[[pass]]
metric = "mission_finished"
equals = true

[[pass]]
metric = "tracking_max_m"
at_most = 3.0
"""


def starting_campaign(base: str, file: str, name: str) -> str:
    """Return the text of a new campaign file.

    Args:
        base: Built-in aircraft, or path of a spec file as seen from the folder of the file.
        file: Path of the file, for the commands in the comments.
        name: Name of the campaign.
    """
    return TEXT.format(base=base, file=file, name=value_text(name), path=value_text(base))
