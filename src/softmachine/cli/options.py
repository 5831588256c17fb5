"""Options that several commands share, each defined once."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

import typer


class Status(IntEnum):
    """Exit statuses."""

    DONE = 0
    FAILS = 1
    MISTAKE = 2
    STEP_LIMIT = 3
    INTERRUPTED = 130
    BROKEN_PIPE = 141


Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        show_default=False,
        help="A zoo name, a file, [b]-[/] for standard input, a bbchallenge code, a formula, or a folder that "
        "[b]softmachine compile[/] wrote.",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        show_default=False,
        help="The format of SOURCE: turingmachine.io, jflap, bbchallenge, temporal, srasp, crasp, counter, bench, "
        "blif, aiger, bristol or edges. By default it is recognised.",
    ),
]
ConstructionName = Annotated[
    str | None,
    typer.Option(
        "--construction",
        metavar="NAME",
        show_default=False,
        help="The theorem to compile by; [b]softmachine show[/] names it.",
    ),
]
AttentionName = Annotated[
    str | None,
    typer.Option(
        "--attention",
        metavar="NAME",
        show_default=False,
        help="The kind of attention, hard or soft; by default what the construction prefers.",
    ),
]
Alphabet = Annotated[
    str | None,
    typer.Option(
        "--alphabet",
        metavar="SYMBOLS",
        show_default=False,
        help="For a formula: more symbols that words may have, separated by blanks if longer than a character.",
    ),
]
CertifiedLength = Annotated[
    int | None,
    typer.Option(
        "--certified",
        metavar="N",
        min=0,
        show_default=False,
        help="With soft attention: at a temperature that is certified for every input (with its run) up to length N.",
    ),
]
_BOUND_HELP = "For a construction whose weights depend on a length: the length to make them for."
Length = Annotated[int | None, typer.Option("--length", metavar="N", min=0, show_default=False, help=_BOUND_HELP)]
Bound = Annotated[int | None, typer.Option("--bound", metavar="N", min=0, show_default=False, help=_BOUND_HELP)]
"""The same, where --length is the length of inputs."""
ArithmeticName = Annotated[
    str,
    typer.Option(
        "--arithmetic",
        metavar="NAME",
        help="What numbers to compute with: exact (rationals), float64, float32, bfloat16, float16, float8_e4m3fn, "
        "float8_e5m2, int8, ball (enclosures of real numbers, which prove what softmax decides; ball:256 for 256 "
        "bits), or fixed:B (fixed point with B integer and B "
        "fractional bits; fixed:B:C with C inside attention).",
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="What runs the weights: dense (every score, any arithmetic), fast (exact, millions of tokens a second), "
        "or auto: dense to begin with, fast when the run turns out to be long.",
    ),
]

SHARED = "Output"
Json = Annotated[
    bool, typer.Option("--json", metavar="", rich_help_panel=SHARED, help="Print one JSON object and nothing else.")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", metavar="", rich_help_panel=SHARED, help="Print only the answer; no progress.")
]
Debug = Annotated[bool, typer.Option("--debug", metavar="", rich_help_panel=SHARED, help="Show tracebacks of errors.")]
"""Only declared by the commands: whoever reports an error looks for it on the command line."""
