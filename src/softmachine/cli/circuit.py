"""``softmachine circuit``: a transformer in fixed point as an explicit threshold circuit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.models import Wanted, noted, open_model, say_notes
from softmachine.cli.options import Status, file, value
from softmachine.cli.output import Output
from softmachine.support.errors import UsageError
from softmachine.support.files import require_new, write
from softmachine.support.text import did_you_mean

if TYPE_CHECKING:
    from softmachine.languages.circuit import Circuit
    from softmachine.studies.circuits import TransformerCircuit

EXAMPLES = """[dim]Examples:[/]
  softmachine circuit "Q_a since Q_b" --length 6 --arithmetic fixed:6
  softmachine circuit "Q_a since Q_b" --length 6 --arithmetic fixed:6 -o since.bench"""
FORMATS = (".bench", ".blif", ".aag", ".bristol")
GATES = {"AC": "AC0", "TC": "TC"}
MOST_WORDS, SOME = 1 << 20, 1 << 12
"""Up to so many words are all compared; if there are more, so many random ones."""


Length = Annotated[int, value("N", "Length of the inputs.", "--length", least=1)]
FixedPoint = Annotated[
    str, typer.Option("--arithmetic", metavar="NAME", help="The fixed point that the model computes in: fixed:B.")
]
Written = Annotated[Path | None, file(f"Write the circuit; the name ends in {', '.join(FORMATS)}.", "--output", "-o")]
Gates = Annotated[
    str | None,
    value(
        "NAME", "Only AC gates (AND, OR, NOT), which count small numbers in constant depth, or TC (+ THR).", "--gates"
    ),
]


def command(
    source: options.Source,
    *,
    length: Length,
    arithmetic: FixedPoint = "fixed:8",
    path: Written = None,
    gates: Gates = None,
    theorem: options.TheoremName = None,
    attention: options.AttentionName = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    output: Output,
) -> int:
    """Turn a transformer in fixed point into a threshold circuit, and compare the two on every word (Lemma 4.2).

    If there are more than a million words, on random ones. Exit status 0: they say the same; 1: they do not.
    """
    from softmachine.cli.progress import working
    from softmachine.languages.circuit import Basis
    from softmachine.studies.circuits import to_circuit

    if gates is not None and gates not in GATES:
        raise UsageError(f"unknown gates {gates!r}", hint=did_you_mean(gates, GATES))
    if path is not None:
        _check(path)
    model = open_model(source, Wanted(theorem, attention, alphabet=alphabet, format=format_name), output)
    with working("making gates", output) as tell:
        made = to_circuit(model, length, arithmetic, tell=tell)
        made = made if gates is None else made.with_gates(Basis[GATES[gates]])
    words, wrong = _compared(made, output)
    if path is not None:
        _write(made.circuit, path)
    if output.as_json:
        figures = {"gates": made.size, "wires": made.wires, "depth": made.depth, "words": words}
        found = {"disagreements": wrong[:10], "path": None if path is None else str(path)}
        output.answer(figures | found | noted(model.notes))
    else:
        agreement = f"it disagrees on {len(wrong):,}, {wrong[0]!r} first" if wrong else "no disagreement"
        which = "all" if words == made.codec.word_count(length) else "random"
        output.say(str(made))
        output.say(f"  compared on {which} {words:,} words: {agreement}", style="red" if wrong else "green")
        if path is not None:
            output.say(f"  written to {path}")
        say_notes(model.notes, output)
    return Status.FAILS if wrong else Status.DONE


def _compared(made: TransformerCircuit, output: Output) -> tuple[int, list[str]]:
    """How many words were tried, all if that is possible, and those on which the circuit says something else."""
    from softmachine.cli.progress import bar, counted
    from softmachine.engines.inputs import random_words
    from softmachine.support.estimates import foreseen

    codec, length = made.codec, made.length
    total = codec.word_count(length)
    words = codec.words(length) if total <= MOST_WORDS else random_words(codec, SOME, length)
    total = total if total <= MOST_WORDS else SOME
    words = foreseen(words, total, f"comparing {total:,} words", hint="choose fewer inputs")
    with bar("comparing", total, output) as advance:
        return total, [codec.text_of(word) for word in made.disagreements(counted(words, advance))]


def _check(path: Path) -> None:
    """Complain before the work, not after it."""
    if path.suffix not in FORMATS:
        raise UsageError(f"no format is known for {path.name!r}", hint=f"let the name end in {', '.join(FORMATS)}")
    require_new(path)


def _write(circuit: Circuit, path: Path) -> None:
    from softmachine.languages import formats

    chosen = formats.format_of(path.suffix)
    assert chosen is not None  # or else the name was refused
    write(path, chosen.to_text(circuit))
