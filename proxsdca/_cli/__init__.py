"""The command `proxsdca`: a file for each subcommand, with its arguments and what it does."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from typing import Any

from .._checkpoint import CheckpointWarning
from .._result import ConvergenceWarning, NumericalError
from ._arguments import Parser
from ._signals import code as ended_by
from ._signals import handled, ignore

COMMANDS = ("train", "predict", "certify", "path", "convert", "info", "demo", "completion")
EPILOG = """
exit codes: 0 fine, 1 not converged (the model is saved, with what is proven of it),
2 bad input, 130 interrupted and 143 terminated (with the best certified model saved).
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit code: 0 fine, 1 not converged, 2 bad input, 130 interrupted, 143 terminated.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        arguments = _parser().parse_args(argv)
        with handled(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the exit code says it
            warnings.simplefilter("always", CheckpointWarning)
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            try:
                code: int = arguments.run(arguments)
                sys.stdout.flush()
            except KeyboardInterrupt as stop:
                return _say(str(stop) or "interrupted", ended_by(130))
        return code
    except SystemExit as end:  # argparse has said why
        return end.code if isinstance(end.code, int) else 2
    except BrokenPipeError:  # as in `proxsdca demo | head`; nothing is left to flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (OSError, ValueError, TypeError, MemoryError, NumericalError, ImportError) as error:
        return _say(_in_one_line(error), 2)


def command() -> int:
    """What the script `proxsdca` runs: the outcome is what it was, whatever comes after it."""
    code = main()
    ignore()
    return code


def _say(problem: str, code: int) -> int:
    with suppress(OSError):
        print(f"proxsdca: {problem}", file=sys.stderr)
    return code


def _in_one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return " ".join(f"{os.fsdecode(error.filename)}: {error.strerror}".split())
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    return " ".join(str(error).split())


def _show_warning(message: Any, *others: Any) -> None:
    print(f"proxsdca: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(
        prog="proxsdca",
        description="Linear models, solved fast and proven solved.",
        epilog=EPILOG,
        formatter_class=raw,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"proxsdca {version('proxsdca')}")
    commands = parser.add_subparsers(title="commands", metavar="command", required=True)
    for name in COMMANDS:
        module: Any = import_module(f"{__name__}._{name}")
        run = getattr(module, name)
        command = commands.add_parser(
            name, help=run.__doc__, description=run.__doc__, allow_abbrev=False,
            epilog=getattr(module, "EXAMPLES", None), formatter_class=raw,
        )  # fmt: skip
        module.add_arguments(command)
        command.set_defaults(run=run, commands=commands.choices)
    return parser
