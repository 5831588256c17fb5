"""Exceptions that softmachine raises, with source locations and fix-it hints.

Every message gives the cause, the place and a remedy. The command line prints it without a traceback and exits with
status 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SourceLocation:
    """Location in a source: a file (or "<string>"), a line and a column, counted from 1."""

    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join([self.source, *(str(number) for number in (self.line, self.column) if number is not None)])


class FixHint:
    """A fix-it hint: options of the command, which are also keyword arguments of the function.

    Args:
        text: A sentence; ``{}`` is replaced by the options.
        options: Options to set or replace: names as in Python, and values; None removes an option, and False a switch.
    """

    def __init__(self, text: str = "{}", **options: str | int | None) -> None:
        self.text = text
        self.options = options

    @property
    def arguments(self) -> tuple[str, ...]:
        """The options as command-line arguments."""
        given = {name: value for name, value in self.options.items() if value is not None and value is not False}
        named = ((f"--{name.replace('_', '-')}", str(value)) for name, value in given.items())
        return tuple(part for option in named for part in (option if option[1] != "True" else option[:1]))

    def __str__(self) -> str:
        return self.text.replace("{}", " ".join(self.arguments))


class SoftmachineError(Exception):
    """Base class of all exceptions of softmachine.

    Args:
        message: The problem, in one or two sentences.
        place: Its location, if it is in a source text.
        hint: A remedy.
    """

    def __init__(self, message: str, *, place: SourceLocation | None = None, hint: str | FixHint | None = None) -> None:
        self.message = message
        self.place = place
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        hint = f"\n  {self.hint}" if self.hint else ""
        return f"{where}{self.message}{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle all attributes, independent of the constructor's signature, for errors raised in worker processes."""
        return _create_uninitialised, (type(self),), {**vars(self), "args": self.args}


def _create_uninitialised(kind: type[SoftmachineError]) -> SoftmachineError:
    """Create an error without calling its constructor, for unpickling."""
    return kind.__new__(kind)


class SourceError(SoftmachineError):
    """A source cannot be parsed: missing file, unknown format, or syntax error."""


class InvalidError(SoftmachineError):
    """A machine, formula or program is syntactically correct but violates the rules of its language.

    Args:
        what: The invalid object, e.g. "Turing machine 'palindrome'".
        problems: All problems, one sentence each, with a remedy.
        place: Location in the source.
    """

    def __init__(self, what: str, problems: Sequence[str], *, place: SourceLocation | None = None) -> None:
        self.problems = tuple(problems)
        listing = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(f"{what} is not valid:{listing}", place=place)


class InputError(SoftmachineError):
    """An input has a symbol that is not in the alphabet, or the wrong shape."""


class UsageError(SoftmachineError):
    """A command or function was called with invalid or incompatible arguments."""


INCREASE_CONTEXT_HINT = "increase the context: {}"
"""Default hint of `ContextTooShortError`."""


class ContextTooShortError(InputError, UsageError):
    """An input or output does not fit into the context that the weights are built for.

    Args:
        message: The problem.
        context: A context that suffices, if known.
        hint: The hint if ``context`` is None.
        hint_format: The hint if ``context`` is given; ``{}`` is replaced by the option.
    """

    def __init__(
        self,
        message: str,
        *,
        context: int | None = None,
        hint: str | FixHint | None = None,
        hint_format: str = INCREASE_CONTEXT_HINT,
    ) -> None:
        self.context, self.hint_format = context, hint_format
        super().__init__(message, hint=hint if context is None else FixHint(hint_format, context=context))


class TooExpensiveError(SoftmachineError):
    """The estimated time or memory exceeds the limit, so the work was not started; ``yes=True`` overrides it."""


class ConstructionError(SoftmachineError):
    """A theorem does not apply to this object, or a gadget's assumption does not hold."""


class BrokenPromiseError(SoftmachineError):
    """An assertion of a theorem about its signals is violated on some input."""


class PrecisionError(SoftmachineError):
    """The precision of an arithmetic does not suffice to compare two numbers on which the output depends."""


class AmbiguousTokenError(SoftmachineError):
    """Two next tokens have the same maximal logit, so the output is undefined."""


class NoNextTokenError(SoftmachineError):
    """A run cannot continue: the program does not define the next token."""


class DivergedError(SoftmachineError):
    """The model's output differs from the reference interpreter's; the message gives the position."""


class WorkersError(SoftmachineError):
    """Workers of a sweep were lost, or cannot do their task."""


class WorkerMismatchError(WorkersError):
    """A worker has another version of softmachine, or compiles the same source to different weights."""
