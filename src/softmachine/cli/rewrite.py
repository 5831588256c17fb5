"""``softmachine rewrite``: the same transformer with one head a layer, one loop, other masks or softmax; its cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.models import Wanted, open_model
from softmachine.cli.names import one_of
from softmachine.cli.options import Status, value
from softmachine.cli.output import Output
from softmachine.support.errors import UsageError
from softmachine.support.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from softmachine.compiler.model import Model
    from softmachine.engines.sweep import Sweep
    from softmachine.studies.measure.rewriting import Rewriting
    from softmachine.theorems.codec import Word

EXAMPLES = """[dim]Examples:[/]
  softmachine rewrite one-way-streets --as one-loop
  softmachine rewrite "Q_a since Q_b" --as unmasked --up-to 3
  softmachine rewrite one-street --as causal
  softmachine rewrite "Q_a since Q_b" --as softmax-fixed-point --up-to 5"""

FORMS = ("one-head", "one-loop", "unmasked", "causal", "softmax-fixed-point")
As = Annotated[
    str,
    typer.Option("--as", metavar="FORM", help=f"What it becomes: {', '.join(FORMS)}.", autocompletion=one_of(*FORMS)),
]
UpTo = Annotated[
    int | None,
    value("N", "Compare every input up to length N; by default all of a circuit or graph, if they are few.", least=0),
]


def command(
    source: options.Source,
    *,
    form: As,
    up_to: UpTo = None,
    arithmetic: options.RewritingArithmetic = None,
    theorem: options.TheoremName = None,
    context: options.Context = None,
    format_name: options.Format = None,
    output: Output,
) -> int:
    """Rewrite the weights of a transformer, and compare: the same logits at every position.

    Papers say that it loses nothing to have one head a layer, one loop instead of several, no masks, or causal masks
    only. This shows it, and what it costs. In an arithmetic that is not exact, answers are compared. Exit status 0: the
    two say the same; 1: they do not.

    softmax-fixed-point has softmax for average-hard attention, and compares residual streams in fixed point.
    """
    from softmachine.engines.sweep import Sweep
    from softmachine.studies.measure.rewriting import Form, Rewriting, choose_fixed_point

    if form not in set(Form):
        raise UsageError(f"unknown form {form!r}", hint=did_you_mean(form, FORMS))
    model = open_model(source, Wanted(theorem, "hard", context, format=format_name), output, two_letters=True)
    sweep = Sweep.every(model, up_to)
    if form == Form.SOFTMAX:
        arithmetic = choose_fixed_point(model.weights, _positions(sweep), arithmetic)
    rewriting = Rewriting(model.weights, Form(form), arithmetic or "exact")
    found = next(_differences(sweep, rewriting, output), None)
    if output.as_json:
        output.answer(_answer(model, rewriting, found))
    else:
        _tell(model, rewriting, found, output)
    return Status.DONE if found is None else Status.FAILS


def _differences(sweep: Sweep, rewriting: Rewriting, output: Output) -> Iterator[tuple[Word, int]]:
    """The inputs on which the two differ, and where."""
    from softmachine.cli.progress import bar

    with bar("inputs", sweep.total, output) as advance:
        for word in _allowed(sweep):
            tokens, length = _sequence(sweep.model, word)
            place = rewriting.difference(tokens, length)
            advance(1)
            if place is not None:
                yield word, place


def _allowed(sweep: Sweep) -> Iterator[Word]:
    """The words of a sweep; those of each length tell anew how long the rest takes, since longer ones take longer.

    Raises:
        EffortError: If that is too long and nobody said yes.
    """
    from itertools import groupby

    from softmachine.support.estimates import foreseen

    done = 0
    for _, words in groupby(sweep.words_from(0), len):
        for word in foreseen(words, sweep.total - done, f"comparing {sweep.number}", hint="compare shorter inputs"):
            done += 1
            yield word


def _sequence(model: Model, word: Word) -> tuple[list[str], int | None]:
    """What the model sees: the prompt, and for a decoder what it says."""
    from itertools import islice

    from softmachine.theorems.codec import DecoderCodec

    prompt = model.codec.prompt(word)
    said = model.codec.expected(word, LONGEST) if isinstance(model.codec, DecoderCodec) else ()
    return [*prompt.tokens, *(token for token in islice(said, LONGEST) if token is not None)], prompt.length


def _positions(sweep: Sweep) -> int:
    """An upper bound of the number of positions that an input of a sweep has."""
    from softmachine.theorems.codec import DecoderCodec

    codec = sweep.model.codec
    longest = next((word for length in range(sweep.longest, -1, -1) for word in codec.words(length)), ())
    return len(codec.prompt(longest).tokens) + (LONGEST if isinstance(codec, DecoderCodec) else 0)


LONGEST = 40
"""So many tokens of a decoder are compared."""


def _tell(model: Model, rewriting: Rewriting, found: tuple[Word, int] | None, output: Output) -> None:
    from softmachine.support.text import many

    costs = rewriting.costs
    if costs is not None and not output.quiet:
        output.say(f"{model.name}: {rewriting.form.statement}\n")
        titles = ["", "positions", "blocks", "turns", "layers", "passed", "heads a layer", "width", "masks"]
        rows = [titles]
        for name, cost in zip(("before", "after"), costs, strict=True):
            *numbers, masks = asdict(cost).values()
            rows.append([name, *(f"{number:,}" for number in numbers), ", ".join(masks)])
        output.columns(rows)
        output.say("")
    if found is None:
        tried = many(rewriting.inputs, "input")
        scale = f", softmax scale {rewriting.scale:,}" if rewriting.scale else ""
        output.say(
            f"{tried}: the same {rewriting.compared} at every position ({rewriting.arithmetic}{scale})", style="green"
        )
    else:
        word, place = found
        output.say(f"on input {''.join(word)!r} they differ at position {place}", style="red")


def _answer(model: Model, rewriting: Rewriting, found: tuple[Word, int] | None) -> dict[str, object]:
    before, after = (asdict(cost) for cost in rewriting.costs) if rewriting.costs else (None, None)
    return {
        "source": model.name,
        "theorem": model.theorem.name,
        "form": str(rewriting.form),
        "arithmetic": rewriting.arithmetic,
        "inputs": rewriting.inputs,
        "same": found is None,
        "difference": None if found is None else {"input": list(found[0]), "position": found[1]},
        "before": before,
        "after": after,
        **({"scale": rewriting.scale} if rewriting.scale else {}),
    }
