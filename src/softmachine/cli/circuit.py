"""``softmachine circuit``: a transformer in fixed point as an explicit threshold circuit."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.models import Wanted, open_model, spelled
from softmachine.cli.options import Status
from softmachine.cli.output import Output
from softmachine.errors import UsageError

if TYPE_CHECKING:
    from softmachine.languages.circuit import Circuit

NAME = "circuit"
EXAMPLES = """[dim]Examples:[/]
  softmachine circuit "Q_a since Q_b" --inputs 6 --arithmetic fixed:6
  softmachine circuit "Q_a since Q_b" --inputs 6 --arithmetic fixed:6 -o since.bench"""
FORMATS = (".bench", ".blif", ".aag", ".bristol")
GATES = ("AC", "TC")


def command(
    source: options.Source,
    *,
    inputs: Annotated[int, typer.Option("--inputs", metavar="N", min=1, help="The length of the words.")],
    arithmetic: Annotated[
        str, typer.Option("--arithmetic", metavar="NAME", help="The fixed point that the model computes in: fixed:B.")
    ] = "fixed:8",
    file: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help=f"Write the circuit; the name ends in {', '.join(FORMATS)}.",
        ),
    ] = None,
    gates: Annotated[
        str | None,
        typer.Option(
            "--gates", metavar="NAME", show_default=False, help="Write it with AC gates (AND, OR, NOT) or TC (and THR)."
        ),
    ] = None,
    construction: options.ConstructionName = None,
    attention: options.AttentionName = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    _debug: options.Debug = False,
) -> int:
    """Turn a transformer in fixed point into a threshold circuit, and compare the two on every word (Lemma 4.2).

    Exit status 0: they say the same on every word; 1: they do not.
    """
    from softmachine.cli.progress import bar, counted, working
    from softmachine.lowering import to_circuit

    output = Output(as_json, quiet)
    if gates not in (None, *GATES):
        raise UsageError(f"there are no {gates!r} gates", hint=f"choose {' or '.join(GATES)}")
    if file is not None:
        _check(file)
    model = open_model(source, Wanted(format_name, construction, attention, alphabet), output)
    with working("making gates", output) as tell:
        made = to_circuit(model, inputs, arithmetic, tell=tell)
    words = len(made.codec.alphabet) ** inputs
    with bar("comparing", words, output) as advance:
        every = counted(product(made.codec.alphabet, repeat=inputs), advance)
        wrong = [spelled(made.codec, word) for word in made.disagreements(every)]
    if file is not None:
        _write(made.circuit, gates, file)
    if as_json:
        figures = {"gates": made.size, "wires": made.wires, "depth": made.depth, "words": words}
        output.answer(figures | {"disagreements": wrong[:10], "path": None if file is None else str(file)})
    else:
        output.say(str(made))
        agreement = f"it disagrees on {len(wrong):,}, {wrong[0]!r} first" if wrong else "no disagreement"
        output.say(f"  compared on all {words:,} words: {agreement}", style="red" if wrong else "green")
        if file is not None:
            output.say(f"  written to {file}")
    return Status.FAILS if wrong else Status.DONE


def _check(file: Path) -> None:
    """Complain before the work, not after it."""
    if file.suffix not in FORMATS:
        raise UsageError(f"no format is known for {file.name!r}", hint=f"let the name end in {', '.join(FORMATS)}")
    if file.exists():
        raise UsageError(f"{file} exists already", hint="choose another name")


def _write(circuit: Circuit, gates: str | None, file: Path) -> None:
    from softmachine.languages import formats
    from softmachine.languages.circuit import Basis, simplified

    chosen = next(entry for entry in formats.FORMATS.values() if file.suffix in entry.extensions)
    text = chosen.to_text(circuit if gates is None else simplified(circuit, Basis(gates)))
    scratch = file.with_name(f".{file.name}.part")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    finally:
        scratch.unlink(missing_ok=True)
