"""The console for tables and progress bars, which escapes control characters in text from files."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from px4lockstep.cli.output import printable


class Console(RichConsole):
    """A Rich console that escapes terminal control characters in text; its own styles are added afterwards.

    `:fire:` in a text stays as it is. Rich would replace it, and imports its list of emoji for that.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as Rich does, with control characters in the text escaped."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)
