"""Colours and typography of figures, chosen to be distinguishable in greyscale and readable on a projector."""

from typing import Any

AXIS_COLOURS = ("#17407f", "#d24a12", "#8cc63f")
"""Colours of north, x, roll; east, y, pitch; down, z, yaw. Their lightness is 28, 50 and 74 of 100."""
SETPOINT_COLOURS = ("#06142b", "#6d2104", "#2f4a0c")
MOTOR_COLOURS = ("#17407f", "#d24a12", "#8cc63f", "#8a5fbf", "#1e9aa8", "#c9a227")
MOTOR_STYLES = ("-", "--", "-.", (0, (1, 1.2)))
MODE_TINTS = ("#f3f5f8", "#fdf1e3", "#eaf6e2", "#f1eaf8", "#e3f4f6", "#f9f3d8")
"""Backgrounds of modes, light enough for all lines."""
GREY = "0.45"
FAULT = "#b3001b"
EVENT = "0.55"

STYLE: dict[str, Any] = {
    "text.parse_math": False,  # a $ in a user's name must not start a formula
    "font.size": 11.0,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 15.0,
    "axes.labelsize": 11.0,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.edgecolor": "0.35",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 10.0,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.1,
    "legend.borderaxespad": 0.2,
    "legend.borderpad": 0.25,
    "legend.labelspacing": 0.25,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "path.simplify": True,
    "svg.hashsalt": "px4lockstep",
}
