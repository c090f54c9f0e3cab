"""Misbehaving doubles of PX4's library, and small C libraries that are not PX4."""

import subprocess

from px4_double import OPTIONS, build_double

from px4lockstep.px4 import Library


def load_double(folder, monkeypatch, misbehaviour="", **options):
    """Load a separate double for a test."""
    monkeypatch.setenv(OPTIONS, misbehaviour)
    return Library(build_double(folder, **options))


def compile_library(folder, source):
    """Return the path of a shared library compiled from C."""
    path = folder / "libpx4_lockstep.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
    return path
