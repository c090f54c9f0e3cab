"""Screenshots for the documentation, by Chromium: what the tools of the viewer and of reports share."""

import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
CAMPAIGN = ROOT / "examples" / "motor_loss" / "campaign.toml"


def save_screenshot(page, problems, name, *, wait_ms, colours):
    """Wait until the last frame is drawn, take a screenshot with few colours, close the page; exit at a problem."""
    page.wait_for_timeout(wait_ms)
    path = PICTURES / name
    page.screenshot(path=path)
    page.context.close()
    if problems:
        raise SystemExit(f"{name}: {problems}")
    picture = Image.open(path).convert("RGB")
    picture.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)
    sys.stdout.write(f"{path.name}: {path.stat().st_size // 1000} kB\n")
