"""``softmachine circuit``: convert a transformer in fixed point to a threshold circuit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.compile_options import load_model, notes_json, print_notes
from softmachine.cli.options import Status, file_option, value_option
from softmachine.cli.output import Output
from softmachine.compiler.model import CompileOptions
from softmachine.support.errors import UsageError
from softmachine.support.files import require_creatable, write_file
from softmachine.support.text import did_you_mean

if TYPE_CHECKING:
    from softmachine.languages.circuit import Circuit
    from softmachine.studies.circuits import TransformerCircuit

EXAMPLES = """[dim]Examples:[/]
  softmachine circuit "Q_a since Q_b" --length 6 --arithmetic fixed:6
  softmachine circuit "Q_a since Q_b" --length 6 --arithmetic fixed:6 -o s.bench"""
FORMATS = (".bench", ".blif", ".aag", ".bristol")
GATES = {"AC": "AC0", "TC": "TC"}
MAX_WORDS, RANDOM_WORDS = 1 << 20, 1 << 12
"""Maximum number of inputs that are all compared; number of random inputs if there are more."""


Length = Annotated[int, value_option("N", "Length of the inputs.", "--length", minimum=1)]
FixedPoint = Annotated[
    str, typer.Option("--arithmetic", metavar="NAME", help="Fixed-point format of the model: fixed:B.")
]
CircuitFile = Annotated[Path | None, file_option(f"Write the circuit to FILE: {', '.join(FORMATS)}.", "--output", "-o")]
Gates = Annotated[
    str | None,
    value_option("NAME", "AC (AND, OR, NOT; small counts in constant depth) or TC (also THR).", "--gates"),
]


def command(
    source: options.Source,
    *,
    length: Length,
    arithmetic: FixedPoint = "fixed:8",
    path: CircuitFile = None,
    gates: Gates = None,
    theorem: options.TheoremName = None,
    attention: options.AttentionName = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    output: Output,
) -> int:
    """Convert a fixed-point transformer to a threshold circuit.

    The construction is Lemma 4.2 of Svete et al. 2026. Circuit and transformer are compared on every input, or on
    random ones if there are more than a million.

    Exit status: 0 the outputs agree; 1 they do not.
    """
    from softmachine.cli.output import spinner
    from softmachine.languages.circuit import Basis
    from softmachine.studies.circuits import to_circuit

    if gates is not None and gates not in GATES:
        raise UsageError(f"unknown gates {gates!r}", hint=did_you_mean(gates, GATES))
    if path is not None:
        _require_file(path)
    model = load_model(source, CompileOptions(theorem, attention, alphabet=alphabet, format=format_name), output)
    with spinner("building gates", output) as progress:
        made = to_circuit(model, length, arithmetic, progress=progress)
        made = made if gates is None else made.with_basis(Basis[GATES[gates]])
    words, wrong = _compare(made, output)
    if path is not None:
        _write(made.circuit, path)
    if output.as_json:
        figures = {"gates": made.size, "wires": made.wires, "depth": made.depth, "words": words}
        found = {"disagreements": wrong[:10], "path": None if path is None else str(path)}
        output.print_json(figures | found | notes_json(model.notes))
    else:
        agreement = f"{len(wrong):,} disagreements, the first on {wrong[0]!r}" if wrong else "no disagreement"
        which = "all" if words == made.codec.word_count(length) else "random"
        output.print(str(made))
        output.print(f"  compared on {which} {words:,} inputs: {agreement}", style="red" if wrong else "green")
        if path is not None:
            output.print(f"  written to {path}")
        print_notes(model.notes, output)
    return Status.DOES_NOT_HOLD if wrong else Status.OK


def _compare(made: TransformerCircuit, output: Output) -> tuple[int, list[str]]:
    """Compare all inputs, or random ones; return their number, and those with different outputs."""
    from softmachine.cli.output import advance_after_each, bar
    from softmachine.engines.inputs import sample_words
    from softmachine.support.resources import with_cost_forecast

    codec, length = made.codec, made.length
    total = codec.word_count(length)
    words = codec.words(length) if total <= MAX_WORDS else sample_words(codec, RANDOM_WORDS, length)
    total = total if total <= MAX_WORDS else RANDOM_WORDS
    words = with_cost_forecast(words, total, f"comparing {total:,} inputs", hint="choose a smaller length")
    with bar("comparing", total, output) as advance:
        return total, [codec.format_input(word) for word in made.find_disagreements(advance_after_each(words, advance))]


def _require_file(path: Path) -> None:
    """Validate the file before the work."""
    if path.suffix not in FORMATS:
        raise UsageError(f"unknown format of {path.name!r}", hint=f"the extension is one of {', '.join(FORMATS)}")
    require_creatable(path)


def _write(circuit: Circuit, path: Path) -> None:
    from softmachine.languages import formats

    chosen = formats.format_by_extension(path.suffix)
    assert chosen is not None  # its extension was validated
    write_file(path, chosen.to_text(circuit))
