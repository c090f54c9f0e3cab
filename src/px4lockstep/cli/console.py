"""The console for tables and progress bars, which escapes control characters in text from files."""

from collections.abc import Iterable

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from px4lockstep.cli.output import printable


class Console(RichConsole):
    """A Rich console that escapes terminal control characters in text; its own styles are added afterwards."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as Rich does, with control characters in the text escaped."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)
