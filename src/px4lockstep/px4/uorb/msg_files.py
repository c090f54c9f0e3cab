"""PX4's message definitions, the `.msg` files in its folder `msg`.

A line is a field (`float32[4] q`) or a constant (`uint8 STATE_ARMED = 2`); `#` starts a comment. The comment
`# TOPICS vehicle_attitude vehicle_attitude_groundtruth` lists the topics of the message; the default is the topic named
after the file. Versioned messages are in the subfolder `versioned`.
"""

import re
from os import PathLike
from pathlib import Path

from px4lockstep.errors import InputError, LayoutError
from px4lockstep.px4.uorb.definitions import Definition, Field, snake_case
from px4lockstep.reading import check_path, read_text, user_path

TOPICS = "# TOPICS "
MAX_BYTES = 1_000_000
MAX_TOTAL_BYTES = 5_000_000
"""Limit for all files in a folder; PX4's total well below one million."""
MAX_FILES = 1_000
_CONSTANT = re.compile(r"(?:px4/)?[A-Za-z]\w*\s+([A-Za-z_]\w*)\s*=\s*(.+)", re.ASCII)


def read_msg_folder(folder: str | PathLike[str]) -> dict[str, Definition]:
    """Read all of PX4's definitions, by message name in alphabetical order."""
    check_path(folder)
    root = user_path(folder)
    if not root.is_dir():
        raise LayoutError(f"{root} is not a folder; use the folder msg of PX4's sources (px4.msg_dir, or --msg)")
    found: dict[str, Path] = {}
    for path in [*sorted(root.glob("*.msg")), *sorted((root / "versioned").glob("*.msg"))]:
        if path.stem in found:
            raise LayoutError(f"{path.stem} is defined twice, in {found[path.stem]} and {path}; remove one of them")
        found[path.stem] = path
    if not found:
        hint = f", {root / 'msg'}" if any((root / "msg").glob("*.msg")) else ""
        raise LayoutError(f"{root} has no .msg files; use the folder msg of PX4's sources{hint}")
    if len(found) > MAX_FILES or sum(path.stat().st_size for path in found.values()) > MAX_TOTAL_BYTES:
        limits = f"{MAX_FILES:,} files and {MAX_TOTAL_BYTES:,} bytes"
        raise LayoutError(f"{root} has {len(found):,} .msg files, which exceeds {limits}; use PX4's folder msg")
    return {name: read_msg_file(found[name]) for name in sorted(found)}


def read_msg_file(path: Path) -> Definition:
    """Read one definition, or raise `LayoutError`."""
    try:
        text = read_text(path, MAX_BYTES, "a message definition")
    except InputError as error:
        raise LayoutError(str(error)) from error
    return parse_msg(path.stem, text, str(path))


def parse_msg(message: str, text: str, source: str = "") -> Definition:
    """Parse the text of a `.msg` file; errors name `source`, or the message."""
    source = source or message
    fields: list[Field] = []
    constants: dict[str, int | float | str] = {}
    topics: list[str] = []
    for number, raw in enumerate(text.splitlines(), 1):
        if raw.startswith(TOPICS):
            topics += [snake_case(word) for word in raw.removeprefix(TOPICS).split()]
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        constant = _CONSTANT.fullmatch(line)
        if constant is not None:
            constants[constant[1]] = _number(constant[2])
            continue
        try:
            fields.append(Field.parse(line))
        except LayoutError as error:
            raise LayoutError(f"{source} line {number}: {error}") from None
    if Field("uint64", "timestamp") not in fields:
        raise LayoutError(f"{source} has no field 'uint64 timestamp', which every PX4 message needs")
    return Definition(message, tuple(fields), tuple(topics) or (snake_case(message),), constants)


def _number(text: str) -> int | float | str:
    """Return the value of a constant; text that is not a number is kept, because no layout depends on it."""
    for kind in (lambda word: int(word, 0), float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
