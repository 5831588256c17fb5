"""The one small family of exceptions that softmachine raises.

Every message says what is wrong, where, and what would be right. The command line prints it as it is
and exits with status 2; nothing in the family ever needs a traceback to be understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where in a source something stands: a file (or "<string>"), a line and a column, counted from 1."""

    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join([self.source, *(str(number) for number in (self.line, self.column) if number is not None)])


class Remedy:
    """A hint that can be followed: options of the command, which are also arguments of the function.

    Args:
        text: A sentence; ``{}`` stands for the options.
        options: What to say, in place of what was said about it: names as in Python, and values; None for nothing,
            False for a switch that is left out.
    """

    def __init__(self, text: str = "{}", **options: str | int | None) -> None:
        self.text = text
        self.options = options

    @property
    def arguments(self) -> tuple[str, ...]:
        """What to write on the command line."""
        given = {name: value for name, value in self.options.items() if value is not None and value is not False}
        named = ((f"--{name.replace('_', '-')}", str(value)) for name, value in given.items())
        return tuple(part for option in named for part in (option if option[1] != "True" else option[:1]))

    def __str__(self) -> str:
        return self.text.replace("{}", " ".join(self.arguments))


class SoftmachineError(Exception):
    """Base of the family.

    Args:
        message: What is wrong, in one or two sentences.
        place: Where it is wrong, if it is in a source text.
        hint: What would be right.
    """

    def __init__(self, message: str, *, place: Place | None = None, hint: str | Remedy | None = None) -> None:
        self.message = message
        self.place = place
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        hint = f"\n  {self.hint}" if self.hint else ""
        return f"{where}{self.message}{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        """What a worker of another process sends home: all attributes, whatever the constructor takes."""
        return _empty, (type(self),), {**vars(self), "args": self.args}


def _empty(kind: type[SoftmachineError]) -> SoftmachineError:
    """An error of a kind, before anything is said in it."""
    return kind.__new__(kind)


class SourceError(SoftmachineError):
    """A source cannot be read: no such file, an unknown format, a syntax error."""


class InvalidError(SoftmachineError):
    """A machine, formula or program is well written but breaks the rules of its language.

    Args:
        what: What is invalid, e.g. "Turing machine 'palindrome'".
        problems: Everything that is wrong with it, one sentence each, with what to write instead.
        place: Where it was defined.
    """

    def __init__(self, what: str, problems: Sequence[str], *, place: Place | None = None) -> None:
        self.problems = tuple(problems)
        listing = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(f"{what} is not valid:{listing}", place=place)


class InputError(SoftmachineError):
    """An input word has a symbol that the alphabet lacks, or the wrong shape."""


class UsageError(SoftmachineError):
    """A command or function was called with arguments that do not go together."""


MORE = "make it for more: {}"
"""What is said of a longer context."""


class OutgrownError(InputError, UsageError):
    """Something does not fit into the length that weights are made for.

    Args:
        message: What does not.
        context: The length that would do, if it is known.
        hint: What would be right, if the context does not say it.
        how: What is said of the length that would do.
    """

    def __init__(
        self,
        message: str,
        *,
        context: int | None = None,
        hint: str | Remedy | None = None,
        how: str = MORE,
    ) -> None:
        self.context, self.how = context, how
        super().__init__(message, hint=hint if context is None else Remedy(how, context=context))


class EffortError(SoftmachineError):
    """Work would take very long or very much memory, so it was not begun; whoever wants it all the same says yes."""


class ConstructionError(SoftmachineError):
    """A theorem does not apply to this object, or a gadget's assumption does not hold."""


class BrokenPromiseError(SoftmachineError):
    """A promise of a theorem about its signals does not hold on some input."""


class PrecisionError(SoftmachineError):
    """An arithmetic cannot tell apart two numbers that differ and decide the run; going on would be a guess."""


class AmbiguousTokenError(SoftmachineError):
    """Two next tokens have the same logit: the model does not say which one comes."""


class StuckError(SoftmachineError):
    """A run cannot go on: the program does not say what comes next."""


class PartedError(SoftmachineError):
    """What a model says is not a run of the source that it was made for: the message says where they part."""


class WorkersError(SoftmachineError):
    """Workers of a sweep are lost, or cannot do what they are asked for."""


class MismatchError(WorkersError):
    """A worker has another version, or makes other weights of the same source."""
