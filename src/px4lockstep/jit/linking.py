"""Compile the callees of a kernel for linking only, so that LLVM works on each of them once.

Numba compiles every function as if Python called it: with two wrappers, optimized, as machine code. Its caller links
the result and optimizes it again, and so does the caller of the caller. With kernels that are nested ten deep, this is
half of the time that compilation takes.

Here, a kernel that is compiled because another kernel calls it ends as LLVM's intermediate representation. The kernel
that Python calls, the entry point, links the representations of everything below it, and LLVM optimizes them together.
The results are bit-identical, and the code is as fast. LLVM also vectorizes code without loops (SLP), which Numba turns
off by default: a closed loop takes 2 % less time. A kernel that has only been linked is compiled again when
Python calls it. Only entry points are cached.

This module builds on Numba's internals, and `tests/jit/test_linking.py` fails if those change.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
from numba.core import cgutils, compiler, config, sigutils
from numba.core import event as events
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher

from px4lockstep.jit.payload import LoadedLibrary

OBJECTS = "_ZN08NumbaEnv"
"""Start of the names of pointers to the Python objects of functions."""
RARE_COLLECTIONS = (50_000, 20, 100)
"""Thresholds of the garbage collector, which otherwise takes a tenth of the time; memory hardly grows."""

_entry_points: list[str] = []  # those that are being compiled; guarded by Numba's lock


@contextlib.contextmanager
def entry_point(name: str) -> Iterator[None]:
    """Compile an entry point in this block: kernels that it calls are linked."""
    with global_compiler_lock:
        thresholds, slp_vectorize = gc.get_threshold(), config.SLP_VECTORIZE
        gc.set_threshold(*RARE_COLLECTIONS)
        config.SLP_VECTORIZE = 1
        _entry_points.append(name)
        try:
            yield
        finally:
            _entry_points.pop()
            config.SLP_VECTORIZE = slp_vectorize
            gc.set_threshold(*thresholds)


def provide_objects(library: Any) -> None:
    """Give the callees in an entry point's library their Python objects, such as a text to print."""
    if isinstance(library, LoadedLibrary):
        return  # it has them
    for variable in library._final_module.global_variables:
        environment = lookup_environment(variable.name) if variable.name.startswith(OBJECTS) else None
        if environment is not None:
            library.codegen.set_env(variable.name, environment)


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba ships no types
    """The intermediate representation of one kernel, and the libraries of the functions that it calls."""

    _shared_module: Any

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module, without the pointer to Python objects that Numba declares for every function, if it is unused.

        Loading a kernel takes longer with hundreds of these.
        """
        pointers = {name: ir_module.globals.pop(name) for name in list(ir_module.globals) if name.startswith(OBJECTS)}
        text = str(ir_module)
        text += "".join(f"{pointer}\n" for name, pointer in pointers.items() if name in text)
        module = llvm.parse_assembly(cgutils.normalize_ir_text(text))
        module.name = ir_module.name
        module.verify()
        self.add_llvm_module(module)

    def finalize(self) -> None:
        """Leave optimization and machine code to the entry point."""
        for library in self._linking_libraries:
            if hasattr(library, "_reload_init"):  # not in the oldest versions
                self._reload_init.update(library._reload_init)
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = llvm.Linkage.linkonce_odr  # an entry point may get it from several of its callees
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the kernel and everything that it calls, directly or indirectly, as one module."""
        if self._shared_module is None:
            needed: dict[Any, None] = {}  # in order of insertion
            self._collect(needed)
            self._shared_module = self._final_module.clone()
            for library in needed:
                if library is not self:
                    is_linked = isinstance(library, LinkedLibrary)
                    module = library._final_module if is_linked else library._get_module_for_linking()
                    self._shared_module.link_in(module, preserve=True)
        return self._shared_module

    def _collect(self, needed: dict[Any, None]) -> None:
        """Add this library and those below it, each once."""
        needed[self] = None
        for library in self._linking_libraries:
            if library not in needed:
                if isinstance(library, LinkedLibrary):
                    library._collect(needed)
                else:
                    needed[library] = None


class _LinkedCompiler(_FunctionCompiler):  # type: ignore[misc]  # Numba ships no types
    """Compiles a function without wrappers, into a library for linking."""

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        context = self.targetdescr.target_context
        return compiler.compile_extra(
            self.targetdescr.typing_context,
            context,
            self.py_func,
            args,
            return_type,
            flags,
            self.locals,
            library=LinkedLibrary(context.codegen(), self.py_func.__qualname__),
            pipeline_class=self.pipeline_class,
        )


class KernelDispatcher(CPUDispatcher):  # type: ignore[misc]  # Numba ships no types
    """Compiles a kernel as an entry point or, while an entry point is being compiled, for linking only."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._linked: dict[Any, Any] = {}

    def compile(self, sig: Any) -> Any:
        """Compile the kernel for a signature, if it has not been; return what stands for the compiled function."""
        with global_compiler_lock:
            args, return_type = sigutils.normalize_signature(sig)
            if not _entry_points:
                if self._linked.pop(tuple(args), None) is not None:
                    del self.overloads[tuple(args)]
                with entry_point(self.__name__):
                    compiled = super().compile(sig)
                provide_objects(self.overloads[tuple(args)].library)
                return compiled
            existing = self.overloads.get(tuple(args))
            if existing is not None:
                return existing.entry_point
            if self._cache.holds(sig, self.targetctx):
                return super().compile(sig)
            return self._link(args, return_type)

    def _link(self, args: Any, return_type: Any) -> Any:
        """Compile the kernel for linking. It has no address, so a new object stands for it."""
        own = self._compiler
        linked = _LinkedCompiler(own.py_func, own.targetdescr, own.targetoptions, own.locals, own.pipeline_class)
        details = {"dispatcher": self, "args": args, "return_type": return_type}
        with self._compiling_counter, events.trigger_event("numba:compile", data=details):
            compiled = linked.compile(args, return_type)._replace(entry_point=object())
        self.targetctx.insert_user_function(compiled.entry_point, compiled.fndesc, [compiled.library])
        self.overloads[tuple(args)] = self._linked[tuple(args)] = compiled
        return compiled.entry_point
