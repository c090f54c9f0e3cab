"""Changes with `--set`: strings from keys of the spec and odd values, and mutated texts."""

import functools
import json

from fuzz import expect
from fuzz.mutations import ODD_NUMBERS, ODD_TEXTS, TOKENS, mutated_bytes, nested, odd_value, paths_of
from px4lockstep.spec.load import load_spec, parse_spec
from px4lockstep.spec.toml_text import to_toml

FILE = "settings.json"


@functools.cache
def keys():
    """Return the dotted keys of a spec."""
    import tomllib

    found = []
    for path in paths_of(tomllib.loads(to_toml(load_spec("iris")))):
        text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
        found.append(text.removeprefix("."))
    return tuple(found)


def one(rng):
    """Return a setting."""
    key, way = rng.choice(keys()), rng.random()
    if way < 0.35:
        value = str(rng.choice(ODD_NUMBERS))
    elif way < 0.55:
        value = rng.choice(ODD_TEXTS)
    elif way < 0.75:
        value = json.dumps(odd_value(rng))
    elif way < 0.85:
        value = json.dumps(nested(rng, 1))
    else:
        value = rng.choice(
            ("1\nb=2", '"a', "[1,", "0x10", "1_000", "1979-05-27", "'''a'''", "{a=1}", "true ", "= 1", "1 # x")
        )
    text = f"{key}={value}"
    if rng.random() < 0.3:
        words = (*TOKENS, b"[0]", b"[999999999]", b"[-1]", b"..", b"extends=", b"[" * 2_000)
        text = mutated_bytes(text.encode(), rng, tokens=words).decode(errors="surrogateescape")
    return text


def write(folder, rng):
    """Write settings, one or some."""
    made = ["airframe.mass_kg=1.6"] if rng is None else [one(rng) for _ in range(rng.choice((1, 1, 1, 2, 4)))]
    (folder / FILE).write_text(json.dumps(made), "utf-8")


def use(folder):
    """Load a spec with them; an accepted one must round-trip."""
    spec = load_spec("iris", settings=json.loads((folder / FILE).read_text("utf-8")))
    text = to_toml(spec)
    expect(to_toml(parse_spec(text)) == text, "the spec is another when it is written and read")
