"""Build the conformance double (`tests/doubles/px4_library/`), and read its report.

The C sources need one generated header with the messages as structs and the tables of topics and parameters. It is
generated from `topics.json`, the layouts measured on a real library, and not from the package's layouts, so that the
double detects wrong layouts in the package. The parameters are those of the package.
"""

import ctypes
import functools
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from px4lockstep.px4.parameters import known_parameters, resolve

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "doubles" / "px4_library"
BUILT = ROOT / ".cache" / "px4_double"
FLAGS = ("-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-ffp-contract=off")
OPTIONS = "PX4_DOUBLE_MISBEHAVE"
"""The environment variable with what the double is told to do wrong; the keys are listed in `misbehave.c`."""

C_TYPES = {
    "bool": "uint8_t",
    "uint8": "uint8_t",
    "int8": "int8_t",
    "uint16": "uint16_t",
    "int16": "int16_t",
    "uint32": "uint32_t",
    "int32": "int32_t",
    "uint64": "uint64_t",
    "int64": "int64_t",
    "float32": "float",
    "float64": "double",
}
SIZES = {"uint8": 1, "int8": 1, "bool": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "float32": 4}
SIZES |= {"uint64": 8, "int64": 8, "float64": 8}


def build_double(folder=None, defines=()):
    """Return the path of the compiled double, built once for its sources and `defines`.

    Args:
        folder: Where to put a copy. A process that loads the copy gets a double with a separate state.
        defines: Compile options: `NO_AUTOSAVE` omits `param_control_autosave`.
    """
    compiler = shutil.which("cc")
    assert compiler is not None, "no C compiler (cc); the conformance double needs one: apt-get install gcc libc6-dev"
    header = _tables()
    sources = sorted(SOURCES.glob("*.c"))
    key = hashlib.sha256(repr((compiler, FLAGS, defines, header)).encode())
    for file in (*sources, *sorted(SOURCES.glob("*.h"))):
        key.update(file.read_bytes())
    library = BUILT / f"libpx4_lockstep_double_{key.hexdigest()[:16]}.so"
    if not library.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILT) as work:
            (Path(work) / "tables.h").write_text(header)
            built = Path(work) / library.name
            command = [compiler, *FLAGS, *(f"-D{define}" for define in defines), "-shared", "-fPIC", f"-I{work}"]
            command += ["-o", str(built), *map(str, sources), "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"the conformance double does not compile:\n{done.stderr[:4000]}"
            os.replace(built, library)  # atomically: other processes may be building it, too
    if folder is None:
        return library
    copy = Path(folder) / "libpx4_lockstep.so"
    if copy.exists() and copy.read_bytes() == library.read_bytes():
        return copy
    # Overwriting a file that a process has loaded would change its code, so always create a new one.
    copy.unlink(missing_ok=True)
    shutil.copy(library, copy)
    return copy


def report(library):
    """Return the first violations that a double has found; `library` is its path, or the loaded `ctypes.CDLL`.

    Several doubles may be loaded: the path must be the one that was flown.
    """
    loaded = library if isinstance(library, ctypes.CDLL) else ctypes.CDLL(str(library))
    loaded.px4_double_report.restype = ctypes.c_long
    loaded.px4_double_report.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    buffer = ctypes.create_string_buffer(16384)
    loaded.px4_double_report(buffer, len(buffer))
    return buffer.value.decode().splitlines()


def violations(library):
    """Return the number of violations."""
    loaded = library if isinstance(library, ctypes.CDLL) else ctypes.CDLL(str(library))
    loaded.px4_double_violations.restype = ctypes.c_long
    return int(loaded.px4_double_violations())


@functools.cache
def topics():
    """Return the real library's topics by name: size, hash, queue length, memory layout."""
    return json.loads((SOURCES / "topics.json").read_text("utf-8"))


@functools.cache
def all_topics():
    """Return the double's topics: those of the package, and some that the package does not describe."""
    return topics() | json.loads((SOURCES / "more_topics.json").read_text("utf-8"))


@functools.cache
def message_dtype(topic):
    """Return the dtype of a message with its measured layout."""
    known = topics()
    fields = list(_fields(known[topic]))
    formats = []
    for kind, _, count, _ in fields:
        each = np.dtype(kind) if kind in C_TYPES else message_dtype(kind.removesuffix("_s"))
        formats.append((each, (count,)) if count > 1 else each)
    names, offsets = [name for _, name, _, _ in fields], [offset for *_, offset in fields]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": known[topic]["size"]})


def _fields(topic):
    """Yield (type, name, count, offset) of a message's fields, in memory order."""
    for text in topic["layout"]:
        kind, name, *count, at = text.split()
        yield kind, name, int(count[0]) if count else 1, int(at.removeprefix("@"))


def _tables():
    """Return the generated header."""
    known = all_topics()
    names = list(known)
    lines = ["#pragma once", "#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>"]
    lines += ["typedef struct { const char *name; char kind; int count; uint32_t offset; } Field;"]
    lines += ["typedef struct { const char *name; uint32_t size, size_no_padding, hash; uint8_t queue;"]
    lines += ["    const char *field_string; const Field *fields; int n_fields; } Topic;"]
    lines += ["typedef struct { const char *name; bool is_int; int32_t as_int; float as_float; } Parameter;"]
    rows = []
    for name in names:
        lines += _struct(name, known[name])
        rows.append(_row(name, known))
    lines += ["enum {", *(f"    TOPIC_{name}," for name in names), "    N_TOPICS };"]
    lines += [f"enum {{ MAX_MESSAGE = {max(known[name]['size'] for name in names)} }};"]
    values = resolve({})
    kinds = {name: parameter.kind == "int32" for name, parameter in known_parameters().items()}
    lines += ["enum {", *(f"    PARAM_{name}," for name in values), "    N_PARAMS };"]
    lines += ["extern const Topic TOPICS[N_TOPICS];", "extern Parameter PARAMS[N_PARAMS];", "#ifdef DEFINE_TABLES"]
    lines += [line for name in names for line in _field_table(name, known[name])]
    lines += ["const Topic TOPICS[N_TOPICS] = {", *rows, "};", "Parameter PARAMS[N_PARAMS] = {"]
    for name, value in values.items():
        numbers = f"true, {value}, 0.0F" if kinds[name] else f"false, 0, {float(value)!r}F"
        lines.append(f'    {{"{name}", {numbers}}},')
    return "\n".join([*lines, "};", "#endif", ""])


def _struct(name, topic):
    """Return a message as a C struct with compile-time checks."""
    lines = ["typedef struct {"]
    for kind, field, count, _ in _fields(topic):
        lines.append(f"    {C_TYPES.get(kind, kind)} {field}{f'[{count}]' if count > 1 else ''};")
    lines.append(f"}} __attribute__((aligned(8))) {name}_s;")
    lines.append(f'_Static_assert(sizeof({name}_s) == {topic["size"]}, "{name}");')
    for _, field, _, offset in _fields(topic):
        lines.append(f'_Static_assert(offsetof({name}_s, {field}) == {offset}, "{name}.{field}");')
    return lines


def _field_table(name, topic):
    """Return the table of a message's fields: d float64, f float32, b bool, i integer, m message."""
    lines = [f"static const Field FIELDS_{name}[] = {{"]
    for kind, field, count, offset in _fields(topic):
        letter = {"float64": "d", "float32": "f", "bool": "b"}.get(kind, "i" if kind in C_TYPES else "m")
        lines.append(f"    {{\"{field}\", '{letter}', {count}, {offset}}},")
    return [*lines, "};"]


def _row(name, known):
    topic = known[name]
    numbers = f"{topic['size']}, {_end(topic, known)}, {topic['hash']}u, {topic['queue']}"
    return f'    {{"{name}", {numbers}, "{_field_string(topic, known)}", FIELDS_{name}, {len(topic["layout"])}}},'


def _size(kind, known):
    return SIZES[kind] if kind in SIZES else known[kind.removesuffix("_s")]["size"]


def _end(topic, known):
    """Return the end of the last field."""
    kind, _, count, offset = list(_fields(topic))[-1]
    return offset + count * _size(kind, known)


def _field_string(topic, known):
    """Return the fields in the format of PX4's field strings: ULog's types, in memory order, with padding."""
    spelled, at, gaps = [], 0, 0
    for kind, field, count, offset in [*_fields(topic), ("", "", 0, topic["size"])]:
        if offset > at:
            spelled.append(f"uint8_t[{offset - at}] _padding{gaps};")
            gaps += 1
        if kind:
            word = {"float32": "float", "float64": "double", "bool": "bool"}.get(kind)
            word = word or (f"{kind}_t" if kind in SIZES else kind.removesuffix("_s"))
            spelled.append(f"{word}{f'[{count}]' if count > 1 else ''} {field};")
            at = offset + count * _size(kind, known)
    return "".join(spelled)
