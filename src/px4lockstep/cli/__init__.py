"""The command line. Commands import their dependencies when they run, so that `--help` is fast."""

import atexit
import errno
import gc
import os
import sys
from contextlib import suppress
from typing import Any

from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import write_err
from px4lockstep.errors import InputError, LockstepError, OutputError, close_names

FAILED, BAD_INPUT = 1, 2
PROGRAM, COMPLETE = "px4lockstep", "_PX4LOCKSTEP_COMPLETE"
VARIABLES = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""Variables of this process, unless they are set: what NumPy and pydantic do otherwise takes time in every start.

OpenBLAS starts a thread for each core, which wait actively at first; matrices here are small. Pydantic searches all
installed packages for plugins.
"""


def program() -> None:
    """Run the command line as a program, and end the process at once.

    A normal exit of Python frees hundreds of modules, which takes a tenth of a short command. Nothing relies on it:
    files are closed and output is flushed by then. Functions registered with `atexit` are called. A process with PX4's
    library exits normally.
    """
    try:
        main()
    except SystemExit as end:
        watched = sys.modules.get("px4lockstep.cli.watched")
        if sys.getprofile() is not None or sys.flags.inspect or getattr(watched, "is_child", False):
            raise  # a profiler, a prompt, or the end of the PX4 library follows
        atexit._run_exitfuncs()
        with suppress(OSError, AttributeError):  # closed, or None
            sys.stderr.flush()
        os._exit(int(end.code or 0))


def main() -> None:
    """Run the command line. Bad input produces a message and an exit code, never a traceback."""
    gc.disable()  # imports create many objects and no garbage; `cli.declare` enables it when the command runs
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
    interrupts.take()
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        code = _run(sys.argv[1:])
        sys.stdout.flush()
        if code != interrupts.code:
            interrupts.check()
    except KeyboardInterrupt:
        code = _fail("interrupted", interrupts.code)
    except BrokenPipeError:  # the reader closed the pipe and wants no more output
        _drop_output()
        code = FAILED
    except OSError as error:
        _drop_output()
        where = error.filename or "standard output"
        code = FAILED
        if interrupts.is_noted:  # the terminal was closed, which sent SIGHUP
            code = interrupts.code
        else:
            _fail(f"error: {where} can't be written: {error.strerror or error}", FAILED)
    interrupts.ignore()  # the work is done, but Python takes a while to exit
    exec("")  # after an interrupt inside an exec, Python would die by the signal; another exec clears that state
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    import typer

    from px4lockstep.cli.app import app

    command = typer.main.get_command(app)
    if COMPLETE in os.environ:  # the shell asks for completions, or for the script that does so
        command.main(arguments, PROGRAM)
    try:
        with command.make_context(PROGRAM, arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except typer.TyperException as error:
        return _fail(_usage(error), BAD_INPUT)
    except LockstepError as error:
        is_input = isinstance(error, InputError) and not isinstance(error, OutputError)
        return _fail(f"error: {error}", BAD_INPUT if is_input else FAILED)
    return 0


def _usage(error: Any) -> str:
    """Return Typer's usage error as one line; empty if Typer printed the help because no command was given."""
    if getattr(error, "possibilities", None):  # Typer suggests options that are not close
        close = close_names(error.option_name.lstrip("-"), [name.lstrip("-") for name in error.possibilities])
        error.possibilities = [name for name in error.possibilities if name.lstrip("-") in close]
    text = error.format_message().rstrip(".")
    if not text:
        return ""
    if text.startswith("No such command") and not text.endswith("?") and error.ctx.parent is not None:
        text += f"; commands: {', '.join(error.ctx.command.commands)}"
    command = error.ctx.command_path if error.ctx is not None else "px4lockstep"
    return f"error: {text[0].lower()}{text[1:]}{' See' if text.endswith('?') else '; see'} {command} --help"


def _fail(text: str, code: int) -> int:
    if text:
        with suppress(OSError):
            write_err(f"{text}\n")
    return code


def _drop_output() -> None:
    """Discard the rest of standard output; otherwise Python would try to flush it at exit."""
    if sys.stdout is None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
