"""`px4lockstep.px4` can be used without the simulator."""

import px4lockstep.px4


def test_neither_numba_nor_the_simulator_is_imported(python):
    """Import all modules of the package in a fresh process."""
    code = (
        "import importlib, pkgutil, sys, px4lockstep.px4 as px4\n"
        "names = [each.name for each in pkgutil.walk_packages(px4.__path__, 'px4lockstep.px4.')]\n"
        "assert len(names) > 15, names\n"
        "for name in names: importlib.import_module(name)\n"
        "others = [name for name in sys.modules if name.startswith('px4lockstep.')]\n"
        "allowed = ('px4lockstep.px4', 'px4lockstep.errors', 'px4lockstep.reading')\n"
        "print(*[name for name in others if not name.startswith(allowed)])\n"
        "print(*[name for name in ('numba', 'pydantic', 'typer', 'h5py', 'pyarrow') if name in sys.modules])\n"
    )
    assert python("-c", code).stdout.split() == []


def test_every_public_name_is_available_and_documented():
    """Although names are imported only on first use."""
    for name in px4lockstep.px4.__all__:
        assert name in dir(px4lockstep.px4)
        assert len(getattr(px4lockstep.px4, name).__doc__) > 20, name
