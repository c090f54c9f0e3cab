"""Spec files: trees and texts, loaded, written again, and some flown."""

import functools
import tomllib
from importlib import resources

from fuzz import expect
from fuzz.flights import fly_briefly
from fuzz.mutations import TOKENS, mutated_bytes, mutated_tree, toml_of
from px4lockstep.spec.load import load_spec, parse_spec
from px4lockstep.spec.toml_text import to_toml

NAMES = ("iris", "hex", "octa", "twin")
FLOWN = "flown"
"""A file beside the input that says to fly it."""
WORDS = (
    *TOKENS,
    b'extends = ["iris"]\n',
    b"[[scenario.events]]\n",
    b'"a"."b"',
    b"[a.b.c]\n",
    b"{a=1}",
    b"1979-05-27T07:32:00Z",
)


@functools.cache
def texts():
    """Return the built-in specs unchanged and with all defaults."""
    folder = resources.files("px4lockstep.spec") / "aircraft"
    plain = [(folder / f"{name}.toml").read_bytes() for name in NAMES]
    return plain + [to_toml(load_spec(name)).encode() for name in NAMES]


def write(folder, rng):
    """Write a spec."""
    text = texts()[0] if rng is None else rng.choice(texts())
    if rng is not None:
        if rng.random() < 0.65:
            text = toml_of(mutated_tree(tomllib.loads(text.decode()), rng)).encode()
        else:
            text = mutated_bytes(text, rng, tokens=WORDS)
    (folder / "spec.toml").write_bytes(text)
    if rng is None or rng.random() < 0.15:
        (folder / FLOWN).touch()


def use(folder):
    """Load it; an accepted spec must round-trip, and may be flown."""
    spec = load_spec(folder / "spec.toml")
    text = to_toml(spec)
    expect(to_toml(parse_spec(text)) == text, "the spec is another when it is written and read")
    if (folder / FLOWN).exists():
        fly_briefly(spec, 0.4)
