"""Mutations of trees (the contents of TOML and JSON) and of bytes; and trees as TOML."""

import json
import math

ODD_NUMBERS = (
    *(0, -1, 1, 2, 3, 255, 65_536, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, -0.0, 0.5, 1e-320),
    *(1e-9, 1e9, 1e16, 1.7e308, -1.7e308, math.inf, -math.inf, math.nan, 0.1 + 0.2, 1e-7, 3.3e-3),
)
ODD_TEXTS = (
    *("", " ", "a", "NaN", "nan", "true", "none", "iris", "simple", "RK4", "ou", "../x", "/", "/dev/zero", "/dev/null"),
    *(
        "~nosuch/x",
        "a\0b",
        "\x1b[31mred",
        "µ",
        "ä" * 40,
        "x" * 5_000,
        "a.b",
        "a[0]",
        "{}",
        "%s%n",
        "\u202e",
        "\r\n",
        "0x1",
    ),
)
ODD_TREES = ([], {}, [[]], [{}], {"": 1}, [0] * 300, {"kind": "px4"}, [None], ["a", 1, True], {"a": {"b": {"c": [1]}}})
TOKENS = (
    *(
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\n",
        b"\r",
        b"[",
        b"]]",
        b"{",
        b"}",
        b'"',
        b"'''",
        b"=",
        b".",
        b",",
        b"#",
        b"-",
    ),
    *(
        b"1e999",
        b"nan",
        b"inf",
        b"-1",
        b"99999999999999999999",
        b"true",
        b"null",
        b"\t",
        b"  ",
        b"\xed\xa0\x80",
        b"\x1b[2J",
    ),
)


def odd_value(rng):
    """Return a value that is rarely valid."""
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(ODD_NUMBERS)
    if kind < 0.75:
        return rng.choice(ODD_TEXTS)
    return copied(rng.choice((True, False, *ODD_TREES)))


def nested(rng, value):
    """Return a value deep inside arrays or tables, often deeper than a parser supports."""
    for _ in range(rng.choice((1, 2, 40, 150))):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def paths_of(tree, path=()):
    """Yield the path of each value in a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from paths_of(value, (*path, key))


def copied(tree):
    """Return a deep copy of a tree."""
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    return [copied(value) for value in tree] if isinstance(tree, list) else tree


def mutated_tree(tree, rng, times=None, deep=True):
    """Return a copy of a tree (a dict or a list) with some changes."""
    tree = copied(tree)
    for i in range(times or rng.choice((1, 1, 1, 2, 3, 6))):
        paths = list(paths_of(tree))
        if not paths:
            break
        path = rng.choice(paths)
        owner = tree
        for key in path[:-1]:
            owner = owner[key]
        _mutate(owner, path[-1], tree, paths, rng, deep and i == 0)
    return tree


def _mutate(owner, key, tree, paths, rng, deep):
    """Change one value in its table or array."""
    value, way = owner[key], rng.random()
    if way < 0.35 and isinstance(value, int | float) and not isinstance(value, bool):
        factors = (0.0, -1.0, 0.5, 2.0, 1.0 + 1e-9, 1e3, 1e-3, 1e12)
        owner[key] = rng.choice(
            (value * rng.choice(factors), rng.choice(ODD_NUMBERS), int(value) if math.isfinite(value) else 0)
        )
    elif way < 0.55:
        owner[key] = odd_value(rng)
    elif way < 0.65:
        del owner[key]
    elif way < 0.73:  # another's value
        other = tree
        for part in rng.choice(paths):
            other = other[part]
        owner[key] = copied(other)
    elif way < 0.80:
        owner[key] = [value] if rng.random() < 0.5 else {"kind": value}
    elif way < 0.88 and isinstance(owner, dict):
        text = str(key)
        owner[
            rng.choice(
                (text + "s", text[:-1], text.upper(), "", "x" * 300, text + "\0", text.replace("_", "-"), "kind")
            )
        ] = value
        if rng.random() < 0.7:
            owner.pop(key, None)
    elif way < 0.94 and isinstance(owner, list):
        owner[key:key] = [copied(value)] * rng.choice((1, 2, 40, 300))
    elif deep:
        owner[key] = nested(rng, value)


def mutated_bytes(data, rng, times=None, tokens=TOKENS):
    """Return bytes with some changes: flipped, removed, repeated, moved, truncated, or with tokens inserted."""
    data = bytearray(data)
    for _ in range(times or rng.choice((1, 1, 2, 3, 8))):
        at, length = rng.randrange(len(data) + 1), rng.choice((1, 1, 4, 16, 80))
        match rng.randrange(7):
            case 0 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = data[at : at + length] * rng.choice((1, 3, 50))
            case 3:
                data[at:at] = rng.choice(tokens)
            case 4:
                data[at : at + length] = rng.choice(tokens)
            case 5:
                piece = data[at : at + length]
                del data[at : at + length]
                other = rng.randrange(len(data) + 1)
                data[other:other] = piece
            case _:
                if rng.random() < 0.3:
                    del data[at:]
                elif at < len(data):
                    data[at] = rng.randrange(256)
    return bytes(data)


def toml_of(tree):
    """Return a tree as TOML, with one line per key of the outermost table."""
    return "".join(f"{json.dumps(key)} = {_toml_value(value)}\n" for key, value in tree.items())


def _toml_value(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, bool) or value is None:
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    return repr(value) if isinstance(value, int | float) else str(value)
