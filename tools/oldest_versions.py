"""Print constraints that pin the run-time dependencies of pyproject.toml to the oldest versions allowed."""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def oldest_versions(dependencies: list[str]) -> list[str]:
    """Return `name==version` for each `name>=version`; all others must not have a lower bound."""
    found = [re.match(r"([\w-]+)>=([\w.]+)", dependency) for dependency in dependencies]
    return [f"{match[1]}=={match[2]}" for match in found if match]


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    sys.stdout.write("\n".join(oldest_versions(project["dependencies"])) + "\n")
