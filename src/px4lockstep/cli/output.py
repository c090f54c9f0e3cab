"""Output of the commands: text with control characters escaped, and JSON.

Control characters and undecodable bytes of file names are written as escapes, so that a name in a file can neither
control the terminal nor fail to print.
"""

import re
import sys
from typing import Any

# C0 (except tab and newline), DEL, C1, characters that reverse the direction of text, lone surrogates.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text with escapes for characters that control a terminal or can't be printed."""
    return UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def write_out(text: str) -> None:
    """Write to standard output."""
    sys.stdout.write(printable(text))


def write_err(text: str) -> None:
    """Write to standard error."""
    sys.stderr.write(printable(text))


def print_json(value: Any, **options: Any) -> None:
    """Write a value to standard output as a line of JSON."""
    from px4lockstep.io import to_json  # imports NumPy, which `--help` does not need

    sys.stdout.write(to_json(value, **options) + "\n")
