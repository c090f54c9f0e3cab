"""The file of a recording: HDF5, preceded by the hash of all its bytes.

The first 512 bytes are a user block, which every HDF5 reader skips: one line identifies the file, the next has the
SHA-256 of everything that follows. So damage is found before the file is parsed, which could crash the HDF5 library.
Inside, every array and text has its own SHA-256, for other readers and after an edit. Nothing in the file depends on
when or where it was written.
"""

import hashlib
import io
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.recording import contents as parts
from px4lockstep.flights.recording.contents import FORMAT, VERSION, Contents, contents_of, recording_of
from px4lockstep.flights.recording.migrations import migrated
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.io import atomic_write, blocks
from px4lockstep.reading import check_path

if TYPE_CHECKING:
    import h5py

NAME = "recording.h5"
IN_EVERY_RUN = "spec.toml"
BLOCK_BYTES = 512
TITLE = b"px4lockstep recording\n"
CHUNK_BYTES = 2**18
MAX_BYTES = 16 * 2**30
HEAD_BYTES = 36
LENGTH_AT = slice(28, 36)  # the end-of-file address in the HDF5 superblock (version 3)
MAX_RATIO = 1_100  # deflate compresses by at most 1,032
MAX_PARTS = 200
MAX_DEPTH = 4
SELF_DESCRIBING = 5
"""The first version whose files mark optional arrays."""
REMEDY = "Use a backup, or fly a new run"
FILTERS = (1, 2)  # deflate and shuffle, which are built into HDF5
LEVEL = 1  # compression level: higher ones cost more time than they save space


def write_recording(recording: Recording, path: str | Path) -> None:
    """Write a recording atomically."""
    with atomic_write(path) as file:
        with NotingFile(file.fileno(), "r+", closefd=False) as raw:
            _write(contents_of(recording), raw)
            raw.raise_if_any()
        _seal(file.fileno())


def read_recording(path: str | Path) -> Recording:
    """Read a recording strictly: any deviation from what was written is an error.

    Args:
        path: The file, its run folder, or `latest` for the newest run folder in `runs/`.

    Raises:
        InputError: If the file does not exist, is not a recording, is damaged, has an unsupported version, or is
            inconsistent; the message says what is wrong.
    """
    check_path(path)
    file = path = run_path(path)
    if file.is_dir():
        file = file / NAME
        if not file.exists():
            if not (path / IN_EVERY_RUN).exists():
                if (path / "log.parquet").exists():
                    raise InputError(f"{path} has a log, but no {NAME}: an imported flight can't be replayed")
                raise InputError(f"{path} is not a run folder: it has neither {NAME} nor {IN_EVERY_RUN}")
            raise InputError(
                f"{path} has no {NAME}: the flight was not recorded (run.mode = 'live') or did not reach its end"
            )
    try:
        if file.exists() and not file.is_file():  # reading a pipe would block
            raise InputError(f"{file} can't be read: it is not a regular file")
        _check_seal(file)
    except (OSError, ValueError) as error:  # ValueError for a name that no file can have
        raise InputError(f"{file} can't be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        return replace(recording_of(migrated(_read(file))), name=str(file))
    except InputError as error:
        raise InputError(f"{file} can't be used: {error}") from error
    except Exception as error:  # h5py raises errors of many kinds
        raise InputError(f"{file} can't be used: HDF5 can't read it: {_first_line(error)}. {REMEDY}") from error


# -- writing -------------------------------------------------------------------------------------------------------


class NotingFile(io.FileIO):
    """A file that notes the first write error and continues, because the HDF5 library can't handle a full disk."""

    _error: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write all data, unless there was an error."""
        rest = memoryview(data)
        while rest and self._error is None:
            try:
                rest = rest[super().write(rest) :]
            except OSError as error:
                self._error = error
        return len(data)

    def truncate(self, size: int | None = None, /) -> int:
        """Set the length of the file, unless there was an error."""
        if self._error is None:
            try:
                return super().truncate(size)
            except OSError as error:
                self._error = error
        return size or 0

    def raise_if_any(self) -> None:
        """Raise the noted error, if any."""
        if self._error is not None:
            raise self._error


def _write(contents: Contents, raw: NotingFile) -> None:
    """Write everything after the user block."""
    import h5py

    with h5py.File(raw, "w", libver=("v110", "v110"), userblock_size=BLOCK_BYTES) as file:
        about: dict[str, Any] = {"format": FORMAT, "version": contents.version}
        versions = {f"version_of_{name}": version for name, version in contents.versions.items()}
        _write_attributes(file, about | contents.attributes | versions)
        for name, text in contents.texts.items():
            encoded = text.encode()
            described = {
                "description": parts.TEXTS.get(name, parts.MISSION),
                "sha256": hashlib.sha256(encoded).hexdigest(),
            }
            _write_attributes(file.create_dataset(name, data=_fixed(encoded)), described)
        for name, array in contents.arrays.items():
            written = _write_array(file, name, array)
            entry = (parts.ENTRIES | parts.OPTIONAL)[name]
            _write_attributes(written, {"description": entry.description, "sha256": _hash_of(array)})
            if entry.optional:
                _write_attributes(written, {"optional": 1})


def _write_array(file: "h5py.File", name: str, array: npt.NDArray[Any]) -> "h5py.Dataset":
    if not array.size:
        return file.create_dataset(name, data=array, track_times=False)
    rows = min(len(array), max(1, CHUNK_BYTES // (array.nbytes // len(array))))
    how = {"chunks": (rows, *array.shape[1:]), "compression": LEVEL, "shuffle": True}
    written = file.create_dataset(name, array.shape, array.dtype, track_times=False, **how)
    for block in blocks(array, rows):
        written.id.write_direct_chunk((block.start, *[0] * (array.ndim - 1)), _chunk(array[block], rows))
    return written


def _chunk(array: npt.NDArray[Any], rows: int) -> bytes:
    """Return a chunk as HDF5's filters would: shuffled by bytes, then deflated; the last one is filled with zeros.

    HDF5 itself takes twice as long, because it deflates with an exhaustive search for repetitions. In shuffled numbers
    most repetitions are runs of one byte, so only those are searched for, which makes files 5 % larger.
    """
    size = array.dtype.itemsize
    numbers = np.ascontiguousarray(array).view(np.uint8).reshape(-1, size)
    shuffled = np.zeros((size, rows * len(numbers) // len(array)), np.uint8)
    shuffled[:, : len(numbers)] = numbers.T
    deflate = zlib.compressobj(LEVEL, memLevel=zlib.DEF_MEM_LEVEL + 1, strategy=zlib.Z_RLE)
    return deflate.compress(shuffled.data) + deflate.flush()


def _write_attributes(item: Any, values: Mapping[str, str | int]) -> None:
    """Write numbers, and fixed-length strings, which MATLAB and Julia read directly."""
    for name, value in values.items():
        if isinstance(value, int):
            item.attrs.create(name, np.int64(value) if value < 2**63 else np.uint64(value))
        else:
            item.attrs.create(name, _fixed(value.encode()))


def _fixed(text: bytes) -> npt.NDArray[Any]:
    import h5py

    return np.array(text, h5py.string_dtype("utf-8", max(1, len(text))))


def _hash_of(array: npt.NDArray[Any]) -> str:
    digest, rows = hashlib.sha256(), np.atleast_1d(array)
    for block in blocks(rows):
        digest.update(np.ascontiguousarray(rows[block]).view(np.uint8).data)
    return digest.hexdigest()


# -- the hash in front ---------------------------------------------------------------------------------------------


def _seal(place: Path | int) -> None:
    """Write the hash of the rest of a file, given by path or descriptor, into its user block."""
    with io.FileIO(place, "r+", closefd=isinstance(place, Path)) as file:
        block = _block(_hash_after_block(file))
        file.seek(0)
        file.write(block)


def _block(digest: str) -> bytes:
    return (TITLE + f"sha256 {digest}\n".encode()).ljust(BLOCK_BYTES, b"\0")


def _hash_after_block(file: io.FileIO | io.BufferedReader) -> str:
    file.seek(BLOCK_BYTES)
    return hashlib.file_digest(file, "sha256").hexdigest()


def _check_seal(path: Path) -> None:
    """Check that a file is a complete and unmodified recording."""
    with path.open("rb") as file:
        block, head = file.read(BLOCK_BYTES), file.read(HEAD_BYTES)
        if not block.startswith(TITLE):
            raise InputError(f"{path} is not a px4lockstep recording: its first line is not {TITLE.decode().strip()!r}")
        if block == _block(_hash_after_block(file)):
            return
    size, wanted = path.stat().st_size, int.from_bytes(head[LENGTH_AT], "little")
    if len(head) < HEAD_BYTES or size < wanted:
        whole = f" of {wanted}" if len(head) == HEAD_BYTES else ""
        raise InputError(f"{path} is truncated: it has {size}{whole} bytes. {REMEDY}")
    raise InputError(f"{path} is damaged or was modified: its SHA-256 differs from the one in its header. {REMEDY}")


# -- reading -------------------------------------------------------------------------------------------------------


def _read(path: Path) -> Contents:
    """Read the contents of a file, and check the hash of each part."""
    import h5py

    with h5py.File(path, "r", locking=False) as file:
        attributes = {name: _plain(f"its attribute {name}", value) for name, value in file.attrs.items()}
        if attributes.pop("format", None) != FORMAT:
            raise InputError(f"its format is not {FORMAT!r}")
        version = _checked_version(attributes.pop("version", None))
        texts: dict[str, str] = {}
        arrays: dict[str, npt.NDArray[Any]] = {}
        for name, item in _checked_items(file, version).items():
            if h5py.check_string_dtype(item.dtype) is not None:
                data = bytes(item[()])
                _check_hash(name, item, hashlib.sha256(data).hexdigest())
                texts[name] = _decoded(name, data)
            else:
                arrays[name] = np.asarray(item[()])
                _check_hash(name, item, _hash_of(arrays[name]))
    prefix = "version_of_"
    names = [name for name in attributes if name.startswith(prefix)]
    versions = {name.removeprefix(prefix): str(attributes.pop(name)) for name in names}
    return Contents(version, attributes, versions, texts, arrays)


def _checked_version(version: Any) -> int:
    if type(version) is not int or not 1 <= version <= VERSION:
        update = ". Update px4lockstep" if type(version) is int and version > VERSION else ""
        raise InputError(f"its version is {version!r}; this px4lockstep reads 1 to {VERSION}{update}")
    return version


def _checked_items(file: "h5py.File", version: int) -> "dict[str, h5py.Dataset]":
    """Return the arrays and texts to read, after checking their names, types and shapes."""
    import h5py

    groups: list[str] = []
    items: dict[str, h5py.Dataset] = {}
    _find_items(file, "", {h5py.h5o.get_info(file.id).addr}, groups, items)
    for name, item in items.items():
        _check_item(name, item)
    texts = [name for name, item in items.items() if h5py.check_string_dtype(item.dtype) is not None]
    arrays = {name: parts.Shape(item.dtype, item.shape) for name, item in items.items() if name not in texts}
    optional = {name for name in arrays if version >= SELF_DESCRIBING and items[name].attrs.get("optional", 0) == 1}
    parts.check_members(version, texts, arrays, optional)
    named = (*items, *parts.KNOWN)
    empty = [group for group in groups if not any(name.startswith(f"{group}/") for name in named)]
    if empty:
        raise InputError(f"its group {empty[0]!r} is empty")
    return {name: item for name, item in items.items() if name in texts or name in parts.KNOWN}


def _find_items(
    group: "h5py.Group", path: str, seen: set[int], groups: list[str], items: "dict[str, h5py.Dataset]"
) -> None:
    """Find all datasets and groups without following links: each must exist once, in this file."""
    import h5py

    for name in group:
        place = f"{path}{name}"
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise InputError(f"{place!r} is a link; recordings have no links")
        address = h5py.h5o.get_info(group.id, name.encode()).addr
        if address in seen:
            raise InputError(f"{place!r} is a second name of another part; recordings have one name per part")
        seen.add(address)
        if len(seen) > MAX_PARTS or place.count("/") >= MAX_DEPTH:
            raise InputError(f"it has more than {MAX_PARTS} parts, or groups nested deeper than {MAX_DEPTH}")
        item = group[name]
        if isinstance(item, h5py.Dataset):
            items[place] = item
        elif isinstance(item, h5py.Group):
            groups.append(place)
            _find_items(item, f"{place}/", seen, groups, items)
        else:
            raise InputError(f"{place!r} is neither a dataset nor a group")


def _check_item(name: str, item: "h5py.Dataset") -> None:
    """Check that a dataset has its values in this file, and a plausible size, before memory is allocated for it."""
    import h5py

    if item.shape is None:
        raise InputError(f"{name} has no values")
    if item.is_virtual or item.external:
        raise InputError(f"{name} stores its values in other files")
    is_text = h5py.check_string_dtype(item.dtype) is not None
    if (is_text and (item.shape != () or item.dtype.kind != "S")) or item.dtype.hasobject:
        raise InputError(f"{name} has a type that recordings don't use: {item.dtype} with the shape {item.shape}")
    how = item.id.get_create_plist()
    if any(how.get_filter(i)[0] not in FILTERS for i in range(how.get_nfilters())):
        raise InputError(f"{name} uses a compression that recordings don't use")  # HDF5 would load a plugin
    claimed, stored = item.size * item.dtype.itemsize, item.id.get_storage_size()
    if claimed > MAX_BYTES or claimed > MAX_RATIO * stored:
        raise InputError(f"{name} claims {claimed} bytes, which is impossible for the {stored} bytes in the file")


def _check_hash(name: str, item: "h5py.Dataset", sha256: str) -> None:
    if "sha256" not in item.attrs:
        raise InputError(f"{name} lacks the attribute 'sha256'")
    if _plain(f"{name}'s sha256", item.attrs["sha256"]) != sha256:
        raise InputError(f"{name} is damaged: its SHA-256 differs from the stored one")


def _plain(name: str, value: Any) -> Any:
    """Return an attribute as a built-in Python type."""
    if isinstance(value, np.ndarray):
        raise InputError(f"{name} is an array, not one value")
    if isinstance(value, bytes | np.bytes_):
        return _decoded(name, bytes(value))
    return value.item() if isinstance(value, np.generic) else value


def _decoded(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text: {error}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
