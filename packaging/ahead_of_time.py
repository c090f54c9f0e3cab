"""Build backend: setuptools, plus wheels with code that is compiled ahead of time for the generic CPU target.

    python -m build --wheel .                                    # pure Python, for any version: py3-none-any
    python -m build --wheel . --config-setting compile=generic   # for the Python that builds it, e.g. cp311

The second command installs the newest allowed dependencies into its build environment, compiles every entry point there
(`px4lockstep.entry_points`), and adds the code to the package. It takes about a minute. pip prefers this wheel where it
fits, and takes the pure one elsewhere.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import setuptools.build_meta as backend
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

SETTING, GENERIC = "compile", "generic"
VARIABLE = "PX4LOCKSTEP_BUILD_COMPILE"
"""Tells the commands below, which setuptools runs, what was requested."""
CODE = Path("px4lockstep/jit/ahead_of_time")
LINUX_TAG = "manylinux_2_17"
"""The code needs nothing of the C library; Numba's own wheels need a newer one."""

Settings = Mapping[str, Any] | None

build_editable = backend.build_editable
build_sdist = backend.build_sdist
get_requires_for_build_editable = backend.get_requires_for_build_editable
get_requires_for_build_sdist = backend.get_requires_for_build_sdist
prepare_metadata_for_build_editable = backend.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = backend.prepare_metadata_for_build_wheel


def _compiles(settings: Settings) -> bool:
    """Return whether a wheel with compiled code is requested."""
    value = (settings or {}).get(SETTING)
    if value not in (None, GENERIC):
        raise SystemExit(f"error: config setting {SETTING}={value} is not allowed; use {SETTING}={GENERIC}, or none")
    return value == GENERIC


def get_requires_for_build_wheel(settings: Settings = None) -> list[str]:
    """Return what the build needs: to compile, everything that a flight needs."""
    required: list[str] = backend.get_requires_for_build_wheel(settings)
    if _compiles(settings):
        required += tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    return required


def build_wheel(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Build a wheel and return its name."""
    os.environ[VARIABLE] = GENERIC if _compiles(settings) else ""
    name: str = backend.build_wheel(folder, settings, metadata)
    return name


class BuildPackage(build_py):
    """Copies the package, and compiles the copy."""

    def run(self) -> None:
        """Run the command."""
        super().run()
        code = Path(self.build_lib, CODE).resolve()
        shutil.rmtree(code, ignore_errors=True)  # of an earlier build in the same folder
        if os.environ.get(VARIABLE) != GENERIC or self.editable_mode:
            return
        with tempfile.TemporaryDirectory() as cache:
            chosen = {"NUMBA_CPU_NAME": GENERIC, "PX4LOCKSTEP_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": "1"}
            kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
            subprocess.run(
                [sys.executable, "-P", "-m", "px4lockstep.entry_points", str(code)],
                env={**kept, **chosen, "PYTHONPATH": str(Path(self.build_lib).resolve())},
                check=True,
            )


class TaggedWheel(bdist_wheel):
    """Marks a wheel with compiled code as one for this Python and this platform."""

    def finalize_options(self) -> None:
        """Finalize the options: a package with extension modules is installed for one platform, as this one must be."""
        if os.environ.get(VARIABLE) == GENERIC:
            self.distribution.has_ext_modules = lambda: True
        super().finalize_options()

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tags of Python, ABI and platform."""
        python, abi, tag = super().get_tag()
        if not self.root_is_pure and sys.platform == "linux":
            tag = f"{LINUX_TAG}_{platform.machine()}"
        return python, abi, tag
