"""A small campaign for tests: flights of a few seconds in wind, one of which has a failing metric."""

from px4lockstep.campaigns.results import read_results

RUNS = 12
BROKEN = 5
"""Index of the run whose metric raises an exception."""

FILE = f"""
[campaign]
name = "small"
base = "iris"
runs = {RUNS}
seed = 3
sampling = "sobol"
accept = ["mission not finished"]

[set]
"timeline.t_end_s" = 4.0
"scenario.arm_time_s" = 0.2
"scenario.mission_time_s" = 0.4
"plant.integrator" = "RK4"
"environment.wind" = "ou"

[[vary]]
key = "environment.wind_mean_ned[0]"
distribution = "uniform"
low = -3.0
high = 3.0

[[vary]]
key = "aircraft.name"
distribution = "list"
values = [{", ".join(f'"{"broken" if i == BROKEN else "sound"}"' for i in range(RUNS))}]

[[metric]]
name = "energy_wh"
kind = "energy_wh"

[[metric]]
name = "height_m"
function = "heights.py:height"
unit = "m"

[[pass]]
metric = "crashed"
equals = false
"""
METRICS = """
def height(run):
    \"\"\"Height at the end.\"\"\"
    if run.spec.aircraft.name == "broken":
        raise ValueError("no height today")
    return -run.log["pos_ned"][-1, 2]
"""


def write_campaign(folder, text=FILE):
    """Write the campaign file and its metric; return the path of the file."""
    (folder / "heights.py").write_text(METRICS, "utf-8")
    path = folder / "small.toml"
    path.write_text(text, "utf-8")
    return path


def rows(folder):
    """Return the rows of the dataset."""
    return read_results(folder / "results").to_pylist()
