"""``softmachine dataset``: write words with traces, outputs and verdicts to a file, for training and probing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from softmachine.cli import options
from softmachine.cli.compile_options import format_alphabet, notes_json, print_notes
from softmachine.cli.options import OptionGroup, file_option, switch_option, value_option
from softmachine.cli.output import Output

EXAMPLES = """[dim]Examples:[/]
  softmachine dataset palindrome --up-to 6 -o palindrome.jsonl
  softmachine dataset parity --sample 50 --length 1-20 --balance -o parity.csv
  softmachine dataset division-counter --sample 500 --length 1-50,51-100 \\
    --near-misses --split train=0-50,longer=51-100 -o division.parquet"""

File = Annotated[Path, file_option("File to write: .jsonl, .csv or .parquet.", "--output", "-o")]
Force = Annotated[bool, switch_option("Replace an existing file.", "--force")]


@dataclass(frozen=True)
class DatasetOptions(OptionGroup):
    """The options of :func:`softmachine.dataset`."""

    up_to: Annotated[
        int | None,
        value_option(
            "N", "Every word up to length N. Default for circuits and graphs: all inputs, if they are few.", minimum=0
        ),
    ] = None
    sample: Annotated[
        int | None, value_option("K", "K distinct random words for each range of --length.", minimum=1)
    ] = None
    length: Annotated[
        str | None, value_option("N", "Length of the random words, or ranges such as 1-50 or 1-50,51-100.", "--length")
    ] = None
    seed: Annotated[
        int, typer.Option(metavar="S", help="Seed of the random words; the same seed gives the same bytes.")
    ] = 0
    balance: Annotated[bool, switch_option("Sample as many accepted as rejected words.", "--balance")] = False
    near_misses: Annotated[
        bool,
        switch_option("Sample words in pairs at edit distance 1, one accepted and one rejected.", "--near-misses"),
    ] = False
    long_traces: Annotated[
        float,
        typer.Option("--long-traces", metavar="F", help="Minimum share of traces with more than 10 tokens."),
    ] = 0.0
    split: Annotated[
        str,
        typer.Option(
            "--split",
            metavar="RULE",
            help="Assignment of words to parts: by fraction, by length as in train=0-50,longer=51-100, or both: "
            "fractions then divide the words of all other lengths.",
        ),
    ] = "train=0.8,validation=0.1,test=0.1"
    max_steps: Annotated[int, value_option("N", "Maximum number of steps of a run.", minimum=0, default=True)] = 100_000
    skip_unfinished: Annotated[
        bool, switch_option("Omit words whose runs take more steps, instead of failing.", "--skip-unfinished")
    ] = False
    theorem: Annotated[
        str | None,
        value_option("NAME", "Theorem whose tokens are used; [b]softmachine theorems[/] lists them.", "--theorem"),
    ] = None
    context: options.Context = None
    alphabet: options.Alphabet = None
    format: options.Format = None


def command(
    source: options.Source, *, path: File, requested: DatasetOptions, force: Force = False, output: Output
) -> None:
    """Write words with traces, outputs, verdicts and splits to a file.

    The traces are those of the reference interpreter, in the tokens of a theorem; no weights are compiled.
    """
    from softmachine import api
    from softmachine.cli.output import bar

    rows = api.dataset(source, **asdict(requested))
    with bar("rows", rows.total, output) as advance:
        written = rows.save(path, force=force, advance=lambda: advance(1))
    if output.as_json:
        output.print_json(written.to_json() | notes_json(rows.notes))
    else:
        output.print(str(path) if output.quiet else str(written))
        if not output.quiet and (letters := format_alphabet(rows.codec.source)):
            output.print(f"  {letters}")
        print_notes(rows.notes, output)
