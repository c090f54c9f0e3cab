"""The compile cache: it follows imports, separates versions and CPU targets, and never makes a run fail."""

import ast
import os
import sys
import textwrap

import numba
import pytest
from commands import run_command, start_command

from px4lockstep.jit import cache, sources

CALLER = """
    from px4lockstep.jit import kernel
    from {package}.callee import scale

    @kernel
    def caller(x):
        return scale(x) + 1.0
"""
CALLEE = """
    from px4lockstep.jit import kernel
    from {package}.constants import FACTOR

    @kernel
    def scale(x):
        return x * FACTOR
"""
BYSTANDER = """
    from px4lockstep.jit import kernel

    @kernel
    def bystander(x):
        return x - 1.0
"""
DRIVER = """
    from {package}.bystander import bystander
    from {package}.caller import caller

    def state(function):
        if not hasattr(function, "stats"):
            return "plain"
        return "hit" if function.stats.cache_hits else "miss"

    print(caller(2.0), bystander(2.0), state(caller), state(bystander))
"""


@pytest.fixture(autouse=True)
def _no_bytecode(monkeypatch):
    """Disable bytecode: Python does not notice an edit within the same second that keeps the file size."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


@pytest.fixture
def script(python):
    """Run a script in a new process: a fresh interpreter if Numba's settings differ, otherwise a fork."""

    def run(path, **environment):
        if any(name.startswith("NUMBA_") for name in environment):
            return python(path, **environment)
        variables = {name: str(value) for name, value in environment.items()}
        finished = run_command(script=path, env={**os.environ, **variables})
        assert finished.returncode == 0, finished.stderr
        return finished

    return run


@pytest.fixture
def package(tmp_path, script):
    """Return a small package of kernels that import each other, with a way to run it in a new process."""
    folder = tmp_path / "demo_kernels"
    folder.mkdir()

    def write(name, text):
        (folder / f"{name}.py").write_text(textwrap.dedent(text.format(package="demo_kernels")))

    write("__init__", "")
    write("constants", "FACTOR = 3.0\n")
    write("callee", CALLEE)
    write("caller", CALLER)
    write("bystander", BYSTANDER)
    driver = tmp_path / "driver.py"
    driver.write_text(textwrap.dedent(DRIVER.format(package="demo_kernels")))

    class Package:
        cache_dir = tmp_path / "cache"

        @staticmethod
        def write(name, text):
            write(name, text)

        @classmethod
        def run(cls, **environment):
            variables = {"PX4LOCKSTEP_CACHE_DIR": cls.cache_dir, "PX4LOCKSTEP_QUIET": "0", **environment}
            return script(driver, **variables)

    return Package


def test_a_second_process_loads_what_the_first_compiled(package, python, tmp_path):
    """Nothing is compiled twice; fresh interpreters load what forked processes compiled."""
    assert package.run().stdout.split() == ["7.0", "1.0", "miss", "miss"]
    assert package.run().stdout.split() == ["7.0", "1.0", "hit", "hit"]
    fresh = python(tmp_path / "driver.py", PX4LOCKSTEP_CACHE_DIR=package.cache_dir)
    assert fresh.stdout.split() == ["7.0", "1.0", "hit", "hit"]


def test_an_edited_callee_recompiles_its_callers_and_nothing_else(package):
    """Only the callee's file changed: the caller uses the new value, and the bystander is a cache hit."""
    package.run()
    package.write("callee", CALLEE.replace("x * FACTOR", "x * FACTOR * 10.0"))
    assert package.run().stdout.split() == ["61.0", "1.0", "miss", "hit"]


def test_an_edited_constant_two_imports_away_recompiles_too(package):
    """The stamp follows imports, not only calls."""
    package.run()
    package.write("constants", "FACTOR = 5.0\n")
    assert package.run().stdout.split() == ["11.0", "1.0", "miss", "hit"]


def test_an_edit_elsewhere_recompiles_nothing(package):
    """The edit adds a module that no kernel imports."""
    package.run()
    package.write("unrelated", "X = 1\n")
    assert package.run().stdout.split() == ["7.0", "1.0", "hit", "hit"]


def test_edited_comments_and_texts_recompile_nothing(package):
    """Comments, docstrings and error messages do not change compiled code, and neither do shifted line numbers."""
    package.run()
    package.write("callee", '"""A new docstring."""\n\n# And a comment.\n' + textwrap.dedent(CALLEE))
    assert package.run().stdout.split() == ["7.0", "1.0", "hit", "hit"]


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ('x = entry(1.0, "Mass.", "kg", gt=0.0)', 'x = entry(1.0, "Total mass.", "kg", gt=0.0)', True),
        ('x = entry(1.0, "Mass.", "kg", gt=0.0)', 'x = entry(2.0, "Mass.", "kg", gt=0.0)', False),
        ('x = entry(1.0, "Mass.", "kg", gt=0.0)', 'x = entry(1.0, "Mass.", "g", gt=0.0)', False),
        ('raise ValueError("no")', 'raise ValueError("not allowed")', True),
        ('def f():\n    """Do."""\n    return 1', "def f():\n    return 1  # one", True),
        ('FIELDS = "x y"', 'FIELDS = "y x"', False),
    ],
)
def test_the_stamp_covers_code_but_not_texts(before, after, is_same):
    """Strings that code may read are part of the stamp."""
    stamps = [sources._parse("demo", False, source.encode())[0] for source in (before, after)]
    assert (stamps[0] == stamps[1]) is is_same


def test_functions_with_one_name_are_distinguished_by_constants():
    """Lambdas, for example, all have the same name."""
    functions = (lambda x: 2.0 * x, lambda x: 3.0 * x, lambda x: x["a"], lambda x: x["b"])
    assert len({cache._code_hash(function.__code__) for function in functions}) == len(functions)


def test_a_source_edited_during_the_run_is_not_cached(package, tmp_path, script):
    """The process runs the old code; cached under the stamp of the new code, it would stay wrong."""
    edits = tmp_path / "edits.py"
    edits.write_text(
        "import pathlib, demo_kernels.callee as callee\n"
        "path = pathlib.Path(callee.__file__)\n"
        "path.write_text(path.read_text().replace('x * FACTOR', 'x * FACTOR * 2.0'))\n"
        "print(callee.scale(2.0))\n"
    )
    assert script(edits, PX4LOCKSTEP_CACHE_DIR=package.cache_dir).stdout == "6.0\n"
    assert package.run().stdout.split() == ["13.0", "1.0", "miss", "miss"]


def test_two_checkouts_can_share_a_cache(package):
    """Sources that alternate are compiled once each, and code is never loaded for the other version."""
    package.run()
    package.write("constants", "FACTOR = 4.0\n")
    assert package.run().stdout.split() == ["9.0", "1.0", "miss", "hit"]
    package.write("constants", "FACTOR = 3.0\n")
    assert package.run().stdout.split() == ["7.0", "1.0", "hit", "hit"]
    package.write("constants", "FACTOR = 4.0\n")
    assert package.run().stdout.split() == ["9.0", "1.0", "hit", "hit"]


@pytest.mark.slow
def test_code_of_old_sources_is_removed(package):
    """Only the most recent versions are kept."""
    for factor in range(1, 8):
        package.write("constants", f"FACTOR = {factor}.0\n")
        package.run()
    indices = list(package.cache_dir.rglob("caller.caller*.nbi"))
    assert len(indices) == cache.KEPT_STAMPS
    data = list(package.cache_dir.rglob("caller.caller*.nbc"))
    assert len(data) == cache.KEPT_STAMPS


def test_each_cpu_target_has_separate_entries(package):
    """Code for one CPU is never loaded on another."""
    package.run()
    assert package.run(NUMBA_CPU_NAME="generic").stdout.split() == ["7.0", "1.0", "miss", "miss"]
    assert package.run(NUMBA_CPU_NAME="generic").stdout.split() == ["7.0", "1.0", "hit", "hit"]
    assert package.run().stdout.split() == ["7.0", "1.0", "hit", "hit"]


def test_interpreted_gives_the_same_and_writes_nothing(package):
    """With the JIT off, nothing is cached."""
    assert package.run(NUMBA_DISABLE_JIT="1").stdout.split() == ["7.0", "1.0", "plain", "plain"]
    assert not package.cache_dir.exists()


def test_a_damaged_entry_is_compiled_again(package):
    """For example, a file that was only partly written."""
    package.run()
    for file in package.cache_dir.rglob("*caller*.nb?"):
        file.write_bytes(file.read_bytes()[:20])
    assert package.run().stdout.split() == ["7.0", "1.0", "miss", "hit"]
    assert package.run().stdout.split() == ["7.0", "1.0", "hit", "hit"]


def test_a_read_only_cache_is_reported_once_and_is_not_an_error(package, tmp_path):
    """A file blocks the folder's path, which works like a read-only disk even for root."""
    blocked = tmp_path / "blocked"
    blocked.write_text("in the way")
    finished = package.run(PX4LOCKSTEP_CACHE_DIR=blocked)
    assert finished.stdout.split() == ["7.0", "1.0", "miss", "miss"]
    assert finished.stderr.count("cannot write to the compile cache") == 1
    assert "PX4LOCKSTEP_CACHE_DIR" in finished.stderr


def test_a_full_disk_is_reported_once_and_is_not_an_error(package, script, tmp_path):
    """Every write fails with "no space left on device"; the results are still correct."""
    full = tmp_path / "full.py"
    full.write_text(
        textwrap.dedent(
            """
            import contextlib, errno, runpy
            from numba.core.caching import IndexDataCacheFile

            @contextlib.contextmanager
            def full(self, path):
                raise OSError(errno.ENOSPC, "No space left on device")
                yield

            IndexDataCacheFile._open_for_write = full
            runpy.run_path("driver.py")
            """
        ).replace('"driver.py"', repr(str(tmp_path / "driver.py")))
    )
    finished = script(full, PX4LOCKSTEP_CACHE_DIR=package.cache_dir, PX4LOCKSTEP_QUIET="0")
    assert finished.stdout.split() == ["7.0", "1.0", "miss", "miss"]
    assert finished.stderr.count("No space left on device") == 1


def test_the_folder_names_the_versions(monkeypatch, tmp_path):
    """It contains those of Numba and Python; the default is the user's cache directory."""
    monkeypatch.setenv("PX4LOCKSTEP_CACHE_DIR", str(tmp_path))
    assert cache.cache_root().parent == tmp_path
    assert numba.__version__ in cache.cache_root().name
    assert sys.implementation.cache_tag in cache.cache_root().name
    monkeypatch.delenv("PX4LOCKSTEP_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform.startswith("linux"):
        assert cache.cache_root().parent == tmp_path / "xdg" / "px4lockstep"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os\nimport px4lockstep.jit as j", ["os", "px4lockstep.jit"]),
        ("from a.b import (\n    c,  # why :)\n    d as e,\n)", ["a.b", "a.b.c", "a.b.d"]),
        ("x = 1; import y", ["y"]),
        ("from a \\\n  import b", ["a", "a.b"]),
        ("if x: import y", ["y"]),
        ("from.x import y", ["demo.sub.x", "demo.sub.x.y"]),
        ("from .. import y", ["demo", "demo.y"]),
        ("def f():\n    from demo.late import z", ["demo.late", "demo.late.z"]),
        (
            "try:\n    import a\nexcept E:\n    import b\nelse:\n    import c\nfinally:\n    import d",
            ["a", "c", "d", "b"],
        ),
        ("match x:\n    case 1:\n        import y", ["y"]),
        ("class A:\n    def f(self):\n        with x:\n            import y", ["y"]),
        ("'import y'", []),
    ],
)
def test_imports_are_found_in_the_source(source, expected):
    """All forms of Python imports are recognized."""
    assert list(sources.direct_imports("demo.sub.module", False, ast.parse(source))) == expected


@pytest.mark.parametrize(
    "damage", ["{", *(pytest.param(text, marks=pytest.mark.slow) for text in ("", "[1, 2]", "\0"))]
)
def test_a_damaged_list_of_imports_is_rebuilt(package, damage):
    """A damaged file neither makes a run fail nor hides an edit."""
    package.run()
    [sources] = package.cache_dir.rglob("sources.json")
    sources.write_text(damage)
    assert package.run().stdout.split() == ["7.0", "1.0", "hit", "hit"]
    package.write("constants", "FACTOR = 4.0\n")
    assert package.run().stdout.split() == ["9.0", "1.0", "miss", "hit"]


SCRIPT = """
    import os
    import sys

    from px4lockstep.jit import callback, kernel

    import neighbour

    LIMIT = float(os.environ["LIMIT"])

    @kernel
    def limited(x):
        return min(neighbour.drag(x), LIMIT)

    print(limited(3.0), "hit" if limited.stats.cache_hits else "miss")
"""
NEIGHBOUR = "from px4lockstep.jit import kernel\n@kernel\ndef drag(x):\n    return x * 2.0\n"


def test_a_script_next_to_its_modules_is_never_stale(script, tmp_path):
    """It notices an edited module next to the script and a changed global that comes from the environment."""
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR)

    def run(limit):
        variables = {"PX4LOCKSTEP_CACHE_DIR": tmp_path / "cache", "LIMIT": limit}
        return script(tmp_path / "script.py", **variables).stdout.split()

    assert run(100) == ["6.0", "miss"]
    assert run(100) == ["6.0", "hit"]
    assert run(5) == ["5.0", "miss"]
    assert run(100) == ["6.0", "hit"]
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR.replace("2.0", "7.0"))
    assert run(100) == ["21.0", "miss"]


RACE = """
    import sys
    import time

    from numba.core.caching import IndexDataCacheFile

    from px4lockstep.jit import kernel

    save_index = IndexDataCacheFile._save_index
    IndexDataCacheFile._save_index = lambda self, index: (time.sleep(1.0), save_index(self, index))

    @kernel
    def double(x):
        return x * 2

    print(double(int(sys.argv[1]) if sys.argv[2] == "int" else float(sys.argv[1])))
"""


@pytest.mark.process
def test_two_processes_that_compile_at_once_do_not_mix_up_code(tmp_path):
    """One compiles for integers, one for floats, both write at the same time; later processes load the right one."""
    script = tmp_path / "race.py"
    script.write_text(textwrap.dedent(RACE))
    environment = {**os.environ, "PX4LOCKSTEP_CACHE_DIR": str(tmp_path / "cache")}

    def start(*arguments):
        return start_command(*arguments, script=script, env=environment)

    both = [start("3", "int"), start("3.5", "float")]
    assert [process.communicate()[0].strip() for process in both] == ["6", "7.0"]
    for arguments, expected in ((("3", "int"), "6"), (("3.5", "float"), "7.0")):
        assert start(*arguments).communicate()[0].strip() == expected


def test_a_user_without_a_home_directory_compiles_in_memory(script, tmp_path):
    """It is reported once, like any other folder that cannot be written."""
    homeless = tmp_path / "homeless.py"
    homeless.write_text(
        "import pathlib\n"
        "def no_home():\n    raise RuntimeError('no home directory')\n"
        "pathlib.Path.home = no_home\n"
        "import runpy\n"
        f"runpy.run_path({str(tmp_path / 'race.py')!r})\n"
    )
    (tmp_path / "race.py").write_text(
        textwrap.dedent(RACE).replace("sys.argv[1]", "'3'").replace("sys.argv[2]", "'int'")
    )
    finished = script(homeless, PX4LOCKSTEP_CACHE_DIR="", XDG_CACHE_HOME="", PX4LOCKSTEP_QUIET="0")
    assert finished.stdout.strip() == "6"
    assert finished.stderr.count("no home directory") == 1


def test_a_kernel_typed_at_a_prompt_works(python):
    """It is not defined in a file and cannot be cached."""
    code = "from px4lockstep.jit import kernel\nexec('@kernel\\ndef f(x):\\n    return x + 1.0')\nprint(f(1.0))"
    assert python("-c", code).stdout.strip() == "2.0"
