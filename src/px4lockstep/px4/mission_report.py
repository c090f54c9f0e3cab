"""What is found in a mission file: errors, what is not flown as written, and remarks."""

from px4lockstep.errors import ErrorLines


class MissionReport:
    """Errors in the order of the file, and findings with the same text on one line each."""

    def __init__(self) -> None:
        self.errors = ErrorLines()
        self._not_flown: dict[str, list[str]] = {}
        self._remarks: dict[str, list[str]] = {}

    def error(self, where: str, text: str) -> None:
        """Add an error: the mission is rejected."""
        self.errors.append(f"{where}: {text}")

    def add_not_flown(self, where: str, text: str) -> None:
        """Add an item that is skipped, or a parameter that is ignored."""
        self._not_flown.setdefault(text, []).append(where)

    def remark(self, where: str, text: str) -> None:
        """Add something that the user should know, although the mission is flown as written."""
        self._remarks.setdefault(text, []).append(where)

    @property
    def not_flown(self) -> tuple[str, ...]:
        """A line for each text of `add_not_flown`: the first place, and how many others there are."""
        return _lines(self._not_flown)

    @property
    def remarks(self) -> tuple[str, ...]:
        """A line for each text of `remark`: the first place, and how many others there are."""
        return _lines(self._remarks)


def _lines(found: dict[str, list[str]]) -> tuple[str, ...]:
    lines = ErrorLines()
    for text, places in found.items():
        others = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
        lines.append(f"{places[0]}{others}: {text}")
    return tuple(lines.shown())
