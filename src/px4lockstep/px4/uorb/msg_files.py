"""PX4's message definitions, the `.msg` files of its folder `msg`.

A line is a field (`float32[4] q`), a constant (`uint8 STATE_ARMED = 2`), or a comment from `#` on. The comment
`# TOPICS vehicle_attitude vehicle_attitude_groundtruth` names the topics that have the message; without one it is the
topic that the file is called after. Versioned messages are in the folder `versioned` below.
"""

import re
from os import PathLike
from pathlib import Path

from px4lockstep.errors import LayoutError
from px4lockstep.px4.uorb.definitions import Definition, Field, snake_case

TOPICS = "# TOPICS "
MAX_BYTES = 1_000_000
_CONSTANT = re.compile(r"(?:px4/)?[A-Za-z]\w*\s+([A-Za-z_]\w*)\s*=\s*(.+)", re.ASCII)


def read_msg_folder(folder: str | PathLike[str]) -> dict[str, Definition]:
    """Read all definitions of a PX4, by the name of the message, in the order of their names."""
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise LayoutError(f"{root} is no folder; give the folder msg of PX4's sources (px4.msg_dir, or --msg)")
    found: dict[str, Path] = {}
    for path in [*sorted(root.glob("*.msg")), *sorted((root / "versioned").glob("*.msg"))]:
        if path.stem in found:
            raise LayoutError(f"{path.stem} is defined twice, in {found[path.stem]} and {path}; remove one of them")
        found[path.stem] = path
    if not found:
        hint = f"; {root / 'msg'} is the folder to give" if any((root / "msg").glob("*.msg")) else ""
        raise LayoutError(f"{root} has no .msg files; give the folder msg of PX4's sources{hint}")
    return {name: read_msg_file(found[name]) for name in sorted(found)}


def read_msg_file(path: Path) -> Definition:
    """Read one definition, or raise `LayoutError`."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = content.decode("utf-8")
    except OSError as error:
        raise LayoutError(f"{path} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise LayoutError(f"{path} is not text in UTF-8: byte {error.start}") from error
    if len(content) > MAX_BYTES:
        raise LayoutError(f"{path} is longer than {MAX_BYTES} bytes; that is no message definition")
    return parse_msg(path.stem, text, str(path))


def parse_msg(message: str, text: str, source: str = "") -> Definition:
    """Understand the text of a `.msg` file; errors call it `source`, or by its message."""
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
        raise LayoutError(f"{source} has no field 'uint64 timestamp', which every message of PX4 has")
    return Definition(message, tuple(fields), tuple(topics) or (snake_case(message),), constants)


def _number(text: str) -> int | float | str:
    """Return the value of a constant; no layout depends on one, so what is no number stays as it is."""
    for kind in (lambda word: int(word, 0), float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
