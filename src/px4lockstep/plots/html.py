"""Results as HTML for notebooks: tables, and a figure below them."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from px4lockstep.errors import LockstepError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = 'style="text-align: left; vertical-align: top; white-space: pre-wrap"'


@dataclass(frozen=True)
class HtmlTable:
    """A table of text.

    Args:
        rows: The cells, as text.
        heads: Names of the columns; none for a table of names and values.
        title: Title above the table.
    """

    rows: Sequence[Sequence[str]]
    heads: Sequence[str] = ()
    title: str = ""

    def text(self) -> str:
        """Return the table as HTML."""
        head = f"<thead>{_row('th', self.heads)}</thead>" if self.heads else ""
        caption = f"<p><b>{escape(self.title)}</b></p>" if self.title else ""
        return f"{caption}<table>{head}<tbody>{''.join(_row('td', row) for row in self.rows)}</tbody></table>"


class ShownInNotebook:
    """A result that a notebook shows as tables with a figure; without them, if they can't be made, as text."""

    @abstractmethod
    def _tables(self) -> Iterable[HtmlTable]:
        """Return the tables."""

    @abstractmethod
    def _figure(self) -> "Figure | None":
        """Return the figure, or None if there is nothing to draw."""

    def _repr_html_(self) -> str | None:
        try:
            text = "".join(table.text() for table in self._tables())
        except LockstepError:  # a folder without its files, for example
            return None
        try:
            figure = self._figure()
        except LockstepError:  # a log without positions or rows
            figure = None
        if figure is None:
            return text
        from px4lockstep.plots.shown import image_tag

        return text + image_tag(figure)


def _row(kind: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{kind} {CELL}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"
