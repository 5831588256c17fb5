"""Options that several commands share, each defined once, and what all of them are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from softmachine.cli.names import one_of, theorem_names, zoo_names


class Status(IntEnum):
    """Exit statuses."""

    DONE = 0
    FAILS = 1
    MISTAKE = 2
    STEP_LIMIT = 3
    INTERRUPTED = 130
    BROKEN_PIPE = 141


OUTPUT = "Output"
"""The panel of the options that every command has."""


def value(
    metavar: str,
    about: str,
    *names: str,
    least: int | None = None,
    completed: Callable[[str], Iterable[str]] | None = None,
) -> object:
    """An option with a value; by default there is none, or the text says what it is. The Tab key may complete it."""
    return typer.Option(*names, metavar=metavar, show_default=False, help=about, min=least, autocompletion=completed)


def file(about: str, *names: str) -> object:
    """An option with the name of a file."""
    return typer.Option(*names, metavar="FILE", show_default=False, help=about, dir_okay=False)


def switch(about: str, *names: str, panel: str | None = None) -> object:
    """An option without a value."""
    return typer.Option(*names, metavar="", rich_help_panel=panel, help=about)


Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        show_default=False,
        autocompletion=zoo_names,
        help="A zoo name, a file, [b]-[/] for standard input, a bbchallenge code, a formula, or a folder that "
        "[b]softmachine compile[/] wrote.",
    ),
]
_FORMATS = (
    *("turingmachine.io", "jflap", "bbchallenge", "logspace", "temporal", "rasp", "srasp", "crasp", "counter"),
    *("bench", "blif", "aiger", "bristol", "family", "edges"),
)
Format = Annotated[
    str | None,
    value(
        "NAME",
        f"The format of SOURCE: {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}. By default it is recognised.",
        "--format",
        completed=one_of(*_FORMATS),
    ),
]
TheoremName = Annotated[
    str | None,
    value(
        "NAME",
        "The theorem to compile by; [b]softmachine theorems[/] lists them.",
        "--theorem",
        "--construction",
        completed=theorem_names,
    ),
]
AttentionName = Annotated[
    str | None,
    value(
        "NAME",
        "The kind of attention, hard or soft; by default what the theorem prefers.",
        "--attention",
        completed=one_of("hard", "soft"),
    ),
]
Alphabet = Annotated[
    str | None,
    value(
        "SYMBOLS",
        "For a formula: more symbols that words may have, separated by blanks if longer than a character.",
        "--alphabet",
    ),
]
_CERTIFIED = "With soft attention: at a temperature that is certified for every input (with its run) up to length N."
CertifiedLength = Annotated[int | None, value("N", _CERTIFIED, "--length", "--certified", least=0)]
Certified = Annotated[int | None, value("N", _CERTIFIED, "--certified", least=0)]
"""The same, where --length is the length of the inputs that are tried."""
_CONTEXT = "For a theorem whose weights depend on a length: the length to make them for"
_FITS = f"{_CONTEXT}; by default that of the input, doubled until the run fits."
Context = Annotated[int | None, value("N", f"{_CONTEXT}.", "--context", "--bound", least=0)]
RunContext = Annotated[int | None, value("N", _FITS, "--context", "--bound", least=0)]
_ARITHMETIC = partial(
    typer.Option,
    "--arithmetic",
    metavar="NAME",
    help="What numbers to compute with: exact (rationals), float64, float32, bfloat16, float16, float8_e4m3fn, "
    "float8_e5m2, int8, ball (enclosures of real numbers, which prove what softmax decides; ball:256 for 256 "
    "bits), or fixed:B (fixed point with B integer and B "
    "fractional bits; fixed:B:C with C inside attention).",
)
ArithmeticName = Annotated[str, _ARITHMETIC()]
RewritingArithmetic = Annotated[
    str | None, _ARITHMETIC(show_default="exact; for softmax-fixed-point, the least fixed:B that has all weights")
]
Workers = Annotated[
    int | None,
    value(
        "N",
        "How many processes work on it, with the same answer; by default all cores, if it takes a while.",
        "--workers",
        least=1,
    ),
]
Cluster = Annotated[
    str | None,
    value("ADDRESS", "The workers of a Dask scheduler do it, such as tcp://10.0.0.1:8786.", "--cluster"),
]
JournalFile = Annotated[
    Path | None, file("Keep what is done in a file; what was interrupted goes on from there.", "--journal")
]
Folder = Annotated[Path, value("DIR", "The folder to write.", "--output", "-o")]
Force = Annotated[bool, switch("Replace a model that was written there before; other files stay.", "--force")]
Yes = Annotated[bool, switch("Go on, even if it takes more than ten minutes or half of the free memory.", "--yes")]

Causal = Annotated[
    bool,
    switch("For RASP: selectors see only keys up to the query, as in a decoder (the theorem rasp-causal).", "--causal"),
]
Generate = Annotated[
    bool,
    switch(
        "For RASP: append what the program says, until it says its stop symbol (the theorem rasp-generate).",
        "--generate",
    ),
]

Json = Annotated[bool, switch("Print one JSON object and nothing else.", "--json", panel=OUTPUT)]
Quiet = Annotated[bool, switch("Print only the answer; no progress.", "--quiet", "-q", panel=OUTPUT)]
Debug = Annotated[bool, switch("Show tracebacks of errors.", "--debug", panel=OUTPUT)]
"""Only declared by the commands: whoever reports an error looks for it on the command line."""
