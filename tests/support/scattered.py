"""Campaigns for tests of the viewer: many rows that were not flown, and where a run is on the screen."""

import numpy as np
from campaign_files import FILE, write_campaign

from px4lockstep import load_campaign
from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.result_rows import Row
from px4lockstep.campaigns.results import ResultsWriter, read_results, results_of, schema_of
from px4lockstep.view.scatter import Scatter, axis_of, numbers_of


def write_many_rows(folder, runs):
    """Write a campaign folder with made rows; return its path."""
    file = write_campaign(folder)
    made = CampaignFolder.create(folder / "many", load_campaign(file, trust=True), FILE)
    random = np.random.default_rng(1)
    writer = ResultsWriter(made.results, schema_of(made.campaign))
    for index in range(runs):
        wind = float(random.uniform(-3.0, 3.0))
        inputs = {"environment.wind_mean_ned[0]": wind, "aircraft.name": "sound"}
        metrics = dict.fromkeys(metric.name for metric in made.campaign.metrics)
        metrics |= {"energy_wh": 1.0 + 0.1 * wind * wind, "height_m": float(random.normal())}
        row = Row(index, "flown", bool(random.uniform() < 0.9), None, None, "0" * 64, index, inputs, metrics)
        writer.add(row)
    writer.flush()
    return made.path


class _Camera:
    """A camera that keeps what it is given."""


def pixel_of_run(folder, index, box, columns):
    """Return where the scatter of these columns shows a run, in a canvas with this bounding box."""
    opened = CampaignFolder.open(folder, trust=True)
    results = results_of(opened.campaign, read_results(opened.results))
    row = int(np.flatnonzero(results.columns["index"] == index)[0])
    across, up = (float(axis_of("", values).place(values)[row]) for values in map(_numbers(results), columns))
    camera = _Camera()
    Scatter.aim_camera(None, camera)
    eye, forward = np.array(camera.position), np.array(camera.look_at) - np.array(camera.position)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    ray = np.array((across, 0.0, up)) - eye
    scale = 0.5 * box["height"] / np.tan(0.5 * camera.fov) / (ray @ forward)
    x, y = scale * (ray @ right), scale * (ray @ np.cross(right, forward))
    return box["x"] + 0.5 * box["width"] + x, box["y"] + 0.5 * box["height"] - y


def _numbers(results):
    return lambda name: numbers_of(results.columns[name])
