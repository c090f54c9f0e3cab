"""Recordings with flipped bits, truncated, or edited with HDF5 and resealed; read, and some replayed and branched."""

import io
import tomllib

import h5py
import numpy as np
from recording_files import put, reseal, tiny_bytes, write_tiny

from fuzz import expect
from fuzz.mutations import ODD_NUMBERS, mutated_bytes, mutated_tree, toml_of
from px4lockstep.flights.branch import branch
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.replay import replay

FLOWN = "flown"
FILE = "recording.h5"


def names_in(file):
    """Return the names of the datasets in a file."""
    names = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return sorted(names)


def leaves(array, path=""):
    """Yield views of the number arrays in an array of records, with their names."""
    if array.dtype.names is None:
        yield path, array
        return
    for name in array.dtype.names:
        yield from leaves(array[name], f"{path}.{name}")


def edit_numbers(array, rng, times=None):
    """Change some numbers of an array in place: odd values, flipped bits, values of other elements."""
    fields = [(name, leaf) for name, leaf in leaves(array) if leaf.size]
    for _ in range(times or rng.choice((1, 1, 2, 5))):
        _, leaf = rng.choice(fields)
        at = np.unravel_index(rng.randrange(leaf.size), leaf.shape)
        if rng.random() < 0.5:
            raw = bytearray(leaf[at].tobytes())
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
            leaf[at] = np.frombuffer(bytes(raw), leaf.dtype)[0]
        elif rng.random() < 0.6 and leaf.dtype.kind in "fiu":
            value = rng.choice(ODD_NUMBERS)
            if leaf.dtype.kind == "f":
                leaf[at] = float(value) if leaf.dtype.itemsize == 8 else np.float32(min(max(value, -3e38), 3e38))
            elif value == value and abs(value) < 2**70:
                leaf[at] = np.array([int(value) & (2 ** (8 * leaf.dtype.itemsize) - 1)], "u8").astype(leaf.dtype)[0]
        else:
            leaf[at] = leaf.reshape(-1)[rng.randrange(leaf.size)]


def _edit(file, rng):
    """Make one edit in an open file."""
    name, way = rng.choice(names_in(file)), rng.random()
    item = file[name]
    if item.dtype.kind in "SO":
        text = bytes(item[()])
        if name == "spec" and way < 0.7:
            put(file, name, toml_of(mutated_tree(tomllib.loads(text.decode()), rng)).encode())
        else:
            put(file, name, mutated_bytes(text, rng))
        return
    array = item[()]
    if way < 0.45 and array.size:
        edit_numbers(array, rng)
        put(file, name, array)
    elif way < 0.55:
        put(file, name, array[: rng.randrange(len(array) + 1)] if array.shape else array)
    elif way < 0.62:
        put(file, name, np.concatenate([array, array[:1]]) if array.shape and len(array) else array)
    elif way < 0.68:
        put(file, name, array.view(np.uint8))
    elif way < 0.73:
        del file[name]
    elif way < 0.78:
        put(file, rng.choice(("log/more", "mine", "streams/x", "a/b/c")), array)
    elif way < 0.84:
        choices = (h5py.SoftLink("/log"), h5py.ExternalLink("/etc/passwd", "/"), h5py.SoftLink("/"), h5py.HardLink())
        link = rng.choice(choices)
        file[f"link{len(file)}"] = file["log"] if isinstance(link, h5py.HardLink) else link
    elif way < 0.94:
        key = rng.choice(sorted(file.attrs))
        del file.attrs[key]
        if rng.random() < 0.8:
            file.attrs[key] = rng.choice(
                (np.int64(rng.randrange(9)), np.bytes_(b"x"), np.arange(3), np.float64("nan"), 2**63)
            )
    else:
        item.attrs[rng.choice(("sha256", "optional", "description", "more"))] = rng.choice((1, b"x", np.zeros(3)))


def write(folder, rng):
    """Write a recording."""
    path, flown = write_tiny(folder, FILE), rng is None or rng.random() < 0.3
    if rng is not None and rng.random() < 0.35:
        path.write_bytes(tiny_bytes()[:512] + mutated_bytes(tiny_bytes()[512:], rng, tokens=(b"\0", b"\xff" * 8)))
        if rng.random() < 0.9:
            reseal(path)
    elif rng is not None:
        buffer = io.BytesIO(tiny_bytes())
        with h5py.File(buffer, "r+") as file:
            for _ in range(rng.choice((1, 1, 2))):
                _edit(file, rng)
        path.write_bytes(buffer.getvalue())
        reseal(path)
    if flown:
        (folder / FLOWN).touch()


def use(folder):
    """Read it; replay it and branch from it if requested."""
    recording = read_recording(folder / FILE)
    if (folder / FLOWN).exists():
        replayed = replay(recording)
        expect(replayed.matches or replayed.first_difference is not None, "a replay differs, and nobody knows where")
        branch(recording, at_s=0.15)
