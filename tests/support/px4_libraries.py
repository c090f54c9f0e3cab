"""Doubles of PX4's library that are told to misbehave, and tiny C libraries that are none."""

import subprocess

from px4_double import OPTIONS, build_double

from px4lockstep.px4 import Library


def load_double(folder, monkeypatch, misbehaviour="", **options):
    """Load a double of its own for a test."""
    monkeypatch.setenv(OPTIONS, misbehaviour)
    return Library(build_double(folder, **options))


def compile_library(folder, source):
    """Return the path of a shared library made from C."""
    path = folder / "libpx4_lockstep.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
    return path
