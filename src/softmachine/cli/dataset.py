"""``softmachine dataset``: words with their traces, outputs and verdicts in a file, to train and probe models on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from softmachine.cli import options
from softmachine.cli.groups import Group
from softmachine.cli.models import alphabet_line, noted, say_notes
from softmachine.cli.options import file, switch, value
from softmachine.cli.output import Output

EXAMPLES = """[dim]Examples:[/]
  softmachine dataset palindrome --up-to 6 -o palindrome.jsonl
  softmachine dataset palindrome --sample 1000 --length 1-20 --balance -o balanced.csv
  softmachine dataset division-counter --sample 500 --length 1-50,51-100 --near-misses \\
    --split train=0.9,validation=0.1,longer=51-100 -o division.parquet"""

File = Annotated[Path, file("The file to write: .jsonl, .csv or .parquet.", "--output", "-o")]
Force = Annotated[bool, switch("Replace a file that is there.", "--force")]


@dataclass(frozen=True)
class Asked(Group):
    """Which words and what of them, in the words of :func:`softmachine.dataset`."""

    up_to: Annotated[
        int | None,
        value("N", "Every word up to length N; by default all inputs of a circuit or graph, if they are few.", least=0),
    ] = None
    sample: Annotated[int | None, value("K", "K different random words ...", least=1)] = None
    length: Annotated[
        str | None, value("N", "... of length N, or of each of these ranges: 1-50 or 1-50,51-100.", "--length")
    ] = None
    seed: Annotated[int, typer.Option(metavar="S", help="Which random words; the same seed gives the same bytes.")] = 0
    balance: Annotated[bool, switch("Half of the words are accepted, half rejected.", "--balance")] = False
    near_misses: Annotated[
        bool,
        switch("Words come in pairs, one edit apart, of which one is accepted and one rejected.", "--near-misses"),
    ] = False
    long_traces: Annotated[
        float,
        typer.Option(
            "--long-traces", metavar="F", help="At least this share of a sample has traces of over 10 tokens."
        ),
    ] = 0.0
    split: Annotated[
        str,
        typer.Option(
            "--split",
            metavar="RULE",
            help="Which words belong to which part: by fractions, or by length as in train=0-50,longer=51-100, or "
            "both: fractions are of the words whose length is not named.",
        ),
    ] = "train=0.8,validation=0.1,test=0.1"
    max_steps: Annotated[int, typer.Option(metavar="N", min=0, help="How many steps a run may take.")] = 100_000
    skip_unfinished: Annotated[
        bool, switch("Leave out words whose runs take more; else they are refused.", "--skip-unfinished")
    ] = False
    theorem: Annotated[
        str | None,
        value("NAME", "The theorem whose tokens are used; [b]softmachine theorems[/] lists them.", "--theorem"),
    ] = None
    context: options.Context = None
    alphabet: options.Alphabet = None
    format: options.Format = None


def command(source: options.Source, *, path: File, asked: Asked, force: Force = False, output: Output) -> None:
    """Write words with their traces (tokens), outputs, verdicts and split to a file.

    What a model should say is what the reference interpreter says, in the tokens of a theorem; no weights are made.
    """
    from softmachine import api
    from softmachine.cli.progress import bar

    rows = api.dataset(source, **asdict(asked))
    with bar("rows", rows.total, output) as advance:
        written = rows.save(path, force=force, advance=lambda: advance(1))
    if output.as_json:
        output.answer(written.to_json() | noted(rows.notes))
    else:
        output.say(str(path) if output.quiet else str(written))
        if not output.quiet and (letters := alphabet_line(rows.codec.source)):
            output.say(f"  {letters}")
        say_notes(rows.notes, output)
