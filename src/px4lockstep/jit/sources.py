"""Stamps of sources: hashes over everything that a compiled function depends on.

The stamp covers the function's module and every module that it imports, directly or indirectly, except the standard
library and installed packages other than px4lockstep. Comments, docstrings, error messages and the descriptions of keys
are not part of it.

Parsing all files takes a second, so what was found in each of them is stored in the cache folder, by the hash of its
content.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import json
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write
from px4lockstep.jit import ahead

OWN_PACKAGE = "px4lockstep"
SOURCES = "sources.json"
ENTRY_DESCRIPTION = 1
"""Index of a key's description among the arguments of `entry`."""

INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@functools.cache
def find_source(module_name: str) -> Path | None:
    """Return the source file of a module without importing it; None if the stamp does not cover the module."""
    module = sys.modules.get(module_name)
    origin = getattr(module, "__file__", None)
    if origin is None:
        parent = sys.modules.get(module_name.rpartition(".")[0])
        if parent is not None and not hasattr(parent, "__path__"):
            return None  # a name in a module that is not a package
        try:
            spec = importlib.util.find_spec(module_name)
        except (ImportError, ValueError, AttributeError):
            return None
        origin = spec.origin if spec else None
    if not origin or not origin.endswith(".py"):
        return None
    if module_name.partition(".")[0] == OWN_PACKAGE:
        return Path(origin)
    path = Path(origin).resolve()
    return None if any(path.is_relative_to(folder) for folder in INSTALLED) else path


def direct_imports(module_name: str, is_package: bool, tree: ast.AST) -> tuple[str, ...]:
    """Return the dotted names that a module may import.

    `from package import name` yields both `package` and `package.name`, since either may be the module.
    """
    found: dict[str, None] = {}
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module_name.split(".")
                parents = parents[: len(parents) - node.level + is_package]
                base = ".".join([*parents, *filter(None, [base])])
            found |= dict.fromkeys([base, *(f"{base}.{alias.name}" for alias in node.names)])
    return tuple(name for name in found if name)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements, including nested ones. Expressions make up most of a tree and import nothing."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        children = getattr(node, field, ())
        for child in children if isinstance(children, list) else ():
            yield child
            yield from _statements(child)


class _WithoutProse(ast.NodeTransformer):
    """Drops strings that do not affect compiled code: docstrings, error messages, descriptions of keys."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_Raise(self, _: ast.Raise) -> ast.AST:
        return ast.Raise()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "entry":
            node.args = [arg for i, arg in enumerate(node.args) if i != ENTRY_DESCRIPTION]
        return self.generic_visit(node)


class _KnownSources:
    """Imports and code hash of each source file, stored on disk by source hash; parsing all files takes a second."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_new = False
        self._known: dict[str, tuple[str, list[str]]] = {}
        for file in (path, *([] if ahead.problem(ahead.FOLDER) else [ahead.FOLDER / path.name])):
            with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):  # missing or damaged
                self._known |= {
                    key: (str(code), list(names)) for key, (code, names) in json.loads(file.read_bytes()).items()
                }

    def of(self, module_name: str, is_package: bool, source: bytes) -> tuple[str, list[str]]:
        key = hashlib.sha256(f"{module_name} {is_package}\0".encode() + source).hexdigest()
        if key not in self._known:
            self._known[key] = _parse(module_name, is_package, source)
            self._is_new = True
        return self._known[key]

    def save(self) -> None:
        if self._is_new:
            self._is_new = False
            with contextlib.suppress(OSError, InputError):  # `save_overload` reports a read-only folder
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(self._path) as file:
                    file.write(json.dumps(self._known).encode())


_known_sources = functools.cache(_KnownSources)


def _parse(module_name: str, is_package: bool, source: bytes) -> tuple[str, list[str]]:
    """Return the hash of a module's code without comments and texts, and the names that it may import."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return hashlib.sha256(source).hexdigest(), []
    imports = direct_imports(module_name, is_package, tree)
    return hashlib.sha256(ast.dump(_WithoutProse().visit(tree)).encode()).hexdigest(), list(imports)


def source_stamp(module_name: str, path: Path, folder: Path) -> str:
    """Return a hash over the code of a module and of all the imports that the stamp covers."""
    digest = hashlib.sha256()
    for name, (_, code) in sorted(_walk(module_name, path, folder).items()):
        digest.update(f"{name}\0{code}\0".encode())
    return digest.hexdigest()


def sources(module_name: str, path: Path, folder: Path) -> list[Path]:
    """Return the source files of a module and of all the imports that the stamp covers."""
    return [file for file, _ in _walk(module_name, path, folder).values()]


@functools.cache
def _walk(module_name: str, path: Path, folder: Path) -> dict[str, tuple[Path, str]]:
    """Read a module and all its imports, once per process; return files and code hashes by module name."""
    is_own = module_name.partition(".")[0] == OWN_PACKAGE  # then the stamp depends on no other installed file
    found: dict[str, tuple[Path, str]] = {}
    todo = [(module_name, path)]
    while todo:
        name, file = todo.pop()
        if name not in found:
            code, imports = _read(name, file, folder)
            found[name] = file, code
            for imported in imports:
                is_covered = imported not in found and (not is_own or imported.partition(".")[0] == OWN_PACKAGE)
                source_file = find_source(imported) if is_covered else None
                if source_file is not None:
                    todo.append((imported, source_file))
    _known_sources(folder / SOURCES).save()
    return found


@functools.cache
def _read(module_name: str, file: Path, folder: Path) -> tuple[str, list[str]]:
    """Read a module, once per process; return its code hash and the names that it may import."""
    return _known_sources(folder / SOURCES).of(module_name, file.name == "__init__.py", file.read_bytes())
