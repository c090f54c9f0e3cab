"""Spec files for tests."""

from px4lockstep.spec.load import load_spec

MINIMAL = """
[airframe]
mass_kg = 1.5
inertia_diag_kgm2 = [0.03, 0.03, 0.06]
rotor_pos_body_m = [[0.15, 0.25, 0.0], [-0.15, -0.19, 0.0], [0.15, -0.25, 0.0], [-0.15, 0.19, 0.0]]
"""
"""What must be given, and nothing else."""


def write(folder, text, name="field.toml"):
    """Write a file and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def load_text(folder, text, overrides=None):
    """Load a spec file with this text."""
    return load_spec(write(folder, text), overrides)
