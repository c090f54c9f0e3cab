"""A line on the terminal while a command works, so that waiting for seconds is not silent."""

from collections.abc import Iterator
from contextlib import contextmanager

from px4lockstep.cli.console import Console


@contextmanager
def working(text: str, *, quiet: bool = False, flies: bool = False) -> Iterator[None]:
    """Show what is being done on standard error, if that is a terminal; the line disappears at the end.

    If it `flies`, kernels are compiled before, because compiling has a progress line of its own.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    if flies:
        from px4lockstep.engine.compilation import compiled_loop

        compiled_loop()
    with console.status(text):
        yield
