"""Options that several commands share, each defined once, and the functions that define options and groups of them.

A command takes a group of options as one dataclass, whose fields are the options.

Completion candidates are read from files, because importing the modules that define them would be slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from enum import IntEnum
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from softmachine.support.argument_validation import SHARED_ARGUMENTS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance as Dataclass
else:
    Dataclass = object

_PACKAGE = Path(__file__).parents[1]


def complete_zoo_name(incomplete: str) -> Iterator[str]:
    """Complete names of the zoo; if there are none, shells complete file names."""
    index = (_PACKAGE / "languages" / "zoo" / "index.yaml").read_text(encoding="utf-8")
    return with_prefix(re.findall(r"^- name: (\S+)", index, re.MULTILINE), incomplete)


def complete_theorem_name(incomplete: str) -> Iterator[str]:
    """Complete names of bundled theorems; those of plug-ins would have to be imported."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(_PACKAGE.glob("theorems/**/*.py")))
    listed = (text.partition("\nTHEOREMS = (")[2] for text in texts)
    return with_prefix((name for text in listed for name in _FIRST.findall(text)), incomplete)


_FIRST = re.compile(r'^    \w+\(\s*"([^"]+)"', re.MULTILINE)
"""The first argument of each call that defines a theorem: its name."""


def complete_from(*names: str) -> Callable[[str], Iterator[str]]:
    """Return a function that completes these names."""
    return lambda incomplete: with_prefix(names, incomplete)


def with_prefix(names: Iterable[str], incomplete: str) -> Iterator[str]:
    """Select the names that start with a prefix."""
    return (name for name in names if name.startswith(incomplete))


class Status(IntEnum):
    """Exit statuses."""

    OK = 0
    DOES_NOT_HOLD = 1
    USAGE_ERROR = 2
    STEP_LIMIT = 3
    INTERRUPTED = 130
    BROKEN_PIPE = 141


OUTPUT = "Output"
"""The panel of the options that every command has."""


def value_option(
    metavar: str,
    help_text: str,
    *names: str,
    minimum: float | None = None,
    completion: Callable[[str], Iterable[str]] | None = None,
    default: bool = False,
) -> object:
    """Define an option with a value.

    Args:
        metavar: The name of the value in the help.
        help_text: The help.
        names: The names of the option; by default, that of the parameter.
        minimum: The smallest value.
        completion: Shell completion of the value.
        default: Whether the help shows the default value; otherwise its text describes it.
    """

    def require(given: float | None) -> float | None:
        if given is not None and minimum is not None and given < minimum:
            raise typer.BadParameter(f"{given} is less than {minimum}")
        return given

    bounded = None if minimum is None else require
    return typer.Option(
        *names, metavar=metavar, show_default=default, help=help_text, callback=bounded, autocompletion=completion
    )


def file_option(help_text: str, *names: str) -> object:
    """Define an option with the name of a file."""
    return typer.Option(*names, metavar="FILE", show_default=False, help=help_text, dir_okay=False)


def switch_option(help_text: str, *names: str, panel: str | None = None) -> object:
    """Define an option without a value."""
    return typer.Option(*names, metavar="", rich_help_panel=panel, help=help_text)


def describe(argument: str, *more: str) -> str:
    """Return the description of an argument of the Python functions as help, with further sentences."""
    text = re.sub(r"``(.*?)``", r"[b]\1[/]", SHARED_ARGUMENTS[argument])
    return " ".join([text, *more])


class OptionGroup(Dataclass):
    """A dataclass whose fields are options, in the order of the help."""


def _kind(parameter: Parameter) -> type[OptionGroup] | None:
    kind = parameter.annotation
    return kind if isinstance(kind, type) and issubclass(kind, OptionGroup) else None


def expand_group(parameter: Parameter) -> list[Parameter]:
    """Return the options of a group, or the parameter itself if it is an option."""
    kind = _kind(parameter)
    if kind is None:
        return [parameter]
    annotations = get_type_hints(kind, include_extras=True)
    return [
        Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=annotations[field.name])
        for field in fields(kind)
    ]


def group_values(signature: Signature, given: Mapping[str, object]) -> dict[str, Any]:
    """Convert values of options to the arguments of a command."""
    found = dict(given)
    for name, parameter in signature.parameters.items():
        if kind := _kind(parameter):
            found[name] = kind(**{field.name: found.pop(field.name) for field in fields(kind)})
    return found


Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        show_default=False,
        autocompletion=complete_zoo_name,
        help="A zoo name, a file, [b]-[/] for standard input, a formula, a bbchallenge code, or a folder written by "
        "[b]softmachine compile[/].",
    ),
]
_FORMATS = (
    *("turingmachine.io", "jflap", "bbchallenge", "logspace", "temporal", "rasp", "srasp", "crasp", "counter"),
    *("bench", "blif", "aiger", "bristol", "family", "edges"),
)
Format = Annotated[
    str | None,
    value_option(
        "NAME",
        describe("format", f"Formats: {', '.join(_FORMATS)}."),
        "--format",
        completion=complete_from(*_FORMATS),
    ),
]
TheoremName = Annotated[
    str | None,
    value_option(
        "NAME",
        describe("theorem", "[b]softmachine theorems[/] lists them."),
        "--theorem",
        completion=complete_theorem_name,
    ),
]
AttentionName = Annotated[
    str | None,
    value_option(
        "NAME",
        describe("attention"),
        "--attention",
        completion=complete_from("hard", "soft"),
    ),
]
Alphabet = Annotated[
    str | None,
    value_option(
        "SYMBOLS",
        describe("alphabet"),
        "--alphabet",
    ),
]
CertifiedLength = Annotated[
    int | None,
    value_option(
        "N",
        describe("length").replace("[b]context[/]", "[b]--context[/]").replace("[b]length[/]", "[b]--length[/]"),
        "--length",
        minimum=0,
    ),
]
_CONTEXT = describe("context")
Context = Annotated[int | None, value_option("N", _CONTEXT, "--context", minimum=0)]
RunContext = Annotated[
    int | None, value_option("N", f"{_CONTEXT} Default: enough for the run.", "--context", minimum=0)
]
CheckContext = Annotated[
    int | None,
    value_option(
        "N",
        f"{_CONTEXT} Soft attention is certified for this length. Default: the longest run tried.",
        "--context",
        minimum=0,
    ),
]
_ARITHMETIC = partial(
    typer.Option,
    "--arithmetic",
    metavar="NAME",
    help="Number format: exact (rationals), float64, float32, bfloat16, float16, float8_e4m3fn, float8_e5m2, int8, "
    "ball (intervals, which prove each decision of softmax; ball:256 for 256 bits) or fixed:B (fixed point with B "
    "integer and B fractional bits; fixed:B:C with C inside attention).",
)
ArithmeticName = Annotated[str, _ARITHMETIC()]
RewritingArithmetic = Annotated[
    str | None, _ARITHMETIC(show_default="exact; for softmax-fixed-point, the least fixed:B that has all weights")
]
Workers = Annotated[
    int | None,
    value_option(
        "N",
        "Number of processes; the result does not depend on it. Default: all cores for long work.",
        "--workers",
        minimum=1,
    ),
]
Cluster = Annotated[
    str | None,
    value_option("ADDRESS", "Use the workers of a Dask scheduler, such as tcp://10.0.0.1:8786.", "--cluster"),
]
JournalFile = Annotated[
    Path | None, file_option("Record finished parts in FILE; an interrupted sweep resumes from it.", "--journal")
]
Folder = Annotated[Path, value_option("DIR", "Folder to write.", "--output", "-o")]
Force = Annotated[bool, switch_option(describe("force"), "--force")]
Yes = Annotated[bool, switch_option(describe("yes"), "--yes")]

Causal = Annotated[
    bool,
    switch_option(
        "RASP: selectors see only keys up to the query, as in a decoder (the theorem rasp-causal).", "--causal"
    ),
]
Generate = Annotated[
    bool,
    switch_option(
        "RASP: append the program's output until it emits its stop symbol (the theorem rasp-generate).",
        "--generate",
    ),
]

Json = Annotated[bool, switch_option("Print one JSON object and nothing else.", "--json", panel=OUTPUT)]
Quiet = Annotated[bool, switch_option("Print only the answer; no progress.", "--quiet", "-q", panel=OUTPUT)]
Debug = Annotated[bool, switch_option("Show tracebacks of errors.", "--debug", panel=OUTPUT)]
"""Only declared by the commands; the error reporter looks for it on the command line."""
