"""The console for tables and progress bars; what is written in them comes from files, and is printable."""

from collections.abc import Iterable

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from px4lockstep.cli.output import printable


class Console(RichConsole):
    """A console that escapes what would control a terminal; its own colors are added later."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, with escapes in the text."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)
