"""Errors: one clear message, the exit status, and a traceback only with --debug."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import typer

from softmachine.cli.options import Status
from softmachine.cli.output import Output, escape_unprintable, print_json
from softmachine.support.argument_validation import FORMER_NAMES
from softmachine.support.errors import FixHint, InvalidError, SoftmachineError
from softmachine.support.text import did_you_mean, shorten_middle

# click's base class of usage errors, which has no public name in all versions of typer.
ClickError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[2])

MAX_LINE = 2000
"""Maximum characters of a line that are shown."""
LESS_MEMORY = "a shorter input, fewer steps or a smaller model takes less"
REPORT_AT = "run again with --debug and report it"


def run_guarded(action: Callable[[], int], arguments: Sequence[str]) -> int:
    """Execute an action and return its exit status; report exceptions as the arguments request."""
    try:
        _open_missing_streams()
        _escape_unencodable()
        status = action()
        sys.stdout.flush()
    except typer.Exit as exit_:
        return exit_.exit_code
    except (BrokenPipeError, SystemExit) as left:
        if isinstance(left, SystemExit) and not left.code:  # raised by typer after it installed shell completion
            return Status.OK
        _discard_output()  # rich raises SystemExit too, on a broken pipe
        return Status.BROKEN_PIPE
    except (KeyboardInterrupt, typer.Abort):
        return _report({"message": "interrupted", "place": None, "hint": None}, arguments, Status.INTERRUPTED)
    except Exception as error:
        if _has_option("--debug", arguments):
            traceback.print_exception(error)
        problem = describe_error(error)
        if isinstance(error, SoftmachineError) and isinstance(error.hint, FixHint):
            problem["try"] = shlex.join(["softmachine", *apply_hint(error.hint, arguments)])
        return _report(problem, arguments, Status.USAGE_ERROR)
    return status


def describe_error(error: Exception) -> dict[str, object]:
    """Describe an error as JSON data: kind, message, place and hint."""
    if isinstance(error, SoftmachineError):
        place = error.place and {"source": error.place.source, "line": error.place.line, "column": error.place.column}
        hint = None if error.hint is None else str(error.hint)
        more = {"problems": list(error.problems)} if isinstance(error, InvalidError) else {}
        return {"kind": type(error).__name__, "message": error.message, "place": place, "hint": hint, **more}
    if isinstance(error, ClickError):
        return {"kind": "UsageError", "message": _usage_message(error), "place": None, "hint": _usage_hint(error)}
    if isinstance(error, MemoryError):
        return {"kind": "MemoryError", "message": _memory_message(error), "place": None, "hint": LESS_MEMORY}
    if isinstance(error, OSError):
        place = {"source": error.filename} if isinstance(error.filename, str) else None
        return {
            "kind": "OSError",
            "message": f"input or output failed: {error.strerror or error}",
            "place": place,
            "hint": None,
        }
    message = f"internal error: {type(error).__name__}: {error}"
    return {"kind": "InternalError", "message": message, "place": None, "hint": REPORT_AT}


def apply_hint(remedy: FixHint, arguments: Sequence[str]) -> list[str]:
    """Apply a fix-it hint to the arguments: set or remove its options."""
    named = tuple(f"--{name.replace('_', '-')}" for name in remedy.options)
    switches = {name for name, given in zip(named, remedy.options.values(), strict=True) if isinstance(given, bool)}
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept, value = [], False
    for argument in arguments[:end]:
        if not value and argument.split("=")[0] not in named:
            kept.append(argument)
        value = argument in named and argument not in switches
    return [*kept, *remedy.arguments, *arguments[end:]]


def _memory_message(error: MemoryError) -> str:
    """Describe the work during which memory ran out, and the requested size, if known."""
    doing = "".join(f" while {note}" for note in getattr(error, "__notes__", ())[:1])
    return f"there is not enough memory{doing}" + (f": {error}" if str(error) else "")


def _report(problem: dict[str, object], arguments: Sequence[str], status: Status) -> int:
    try:
        _answer(problem, arguments)
        place = problem["place"]
        parts = place.values() if isinstance(place, dict) else ()
        where = "".join(f"{part}:" for part in parts if part is not None)
        hint = f"\n  {problem['hint']}" if problem["hint"] else ""
        console = Output().err
        if status is Status.USAGE_ERROR:
            console.print("error: ", style="bold red", end="")
        text = f"{where and f'{where} '}{problem['message']}{hint}"
        lines = [shorten_middle(line, MAX_LINE) for line in text.split("\n")]  # names in a source can be of any length
        console.print(escape_unprintable("\n".join(lines)), soft_wrap=True)
    except OSError:
        _discard_output()
    return status


def _answer(problem: dict[str, object], arguments: Sequence[str]) -> None:
    """Print the error as JSON, if requested; standard output may be full or closed."""
    try:
        if _has_option("--json", arguments):
            print_json({"error": problem})
        sys.stdout.flush()
    except OSError:
        _discard_output()


def _usage_message(error: typer.BadParameter) -> str:
    """The message of click, in the form of ours; without its suggestions of options, which the hint replaces."""
    if hasattr(error, "possibilities"):
        return error.message[:1].lower() + error.message[1:]
    message = str(error.format_message()).strip().rstrip(".")
    message = message.replace(error.message.rstrip("."), _number_problem(error.__cause__) or error.message.rstrip("."))
    return message[:1].lower() + message[1:]


def _number_problem(cause: object) -> str:
    """Describe a number that pydantic, which typer parses with, does not accept; "" if the cause is another."""
    found = cause.errors()[0] if hasattr(cause, "errors") else {}
    if found.get("type") == "less_than_equal":
        return f"{found['input']} is more than {found['ctx']['le']}"
    return f"{found['input']!r} is not a whole number" if str(found.get("type")).startswith("int_") else ""


def _usage_hint(error: typer.BadParameter) -> str:
    context: typer.Context | None = getattr(error, "ctx", None)
    hint = f"`{context.command_path if context else 'softmachine'} --help` shows the usage"
    if context is None or not hasattr(error, "possibilities"):
        return hint
    option: str = getattr(error, "option_name", "")
    if not option.startswith("--"):
        return f"{hint}; an input that begins with - goes after --"
    known = [name for parameter in context.command.params for name in parameter.opts]
    former = {f"--{old}": f"--{new}" for old, new in FORMER_NAMES.items()}
    return f"{did_you_mean(option, known, '', former)} {hint}".lstrip()


def _has_option(option: str, arguments: Sequence[str]) -> bool:
    """Whether an option is given; the other arguments may be invalid."""
    return option in arguments[: arguments.index("--")] if "--" in arguments else option in arguments


def _open_missing_streams() -> None:
    """Open missing standard streams of the process on the null device."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - never closed


def _escape_unencodable() -> None:
    """Print characters that a stream cannot encode as escape sequences instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Redirect standard output to the null device, so that flushing it at exit raises no error."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
