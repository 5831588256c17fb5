"""``softmachine rewrite``: rewrite a transformer to one head per layer, one loop, other masks or softmax."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.compile_options import load_model
from softmachine.cli.options import Status, complete_from, value_option
from softmachine.cli.output import Output
from softmachine.compiler.model import CompileOptions, Model
from softmachine.support.errors import UsageError
from softmachine.support.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from softmachine.engines.check import InputSelection
    from softmachine.studies.measure.rewrite_cost import RewriteComparison
    from softmachine.theorems.codec import Word

EXAMPLES = """[dim]Examples:[/]
  softmachine rewrite one-way-streets --as one-loop
  softmachine rewrite "Q_a since Q_b" --as unmasked --up-to 3
  softmachine rewrite one-street --as causal
  softmachine rewrite "Q_a since Q_b" --as softmax-fixed-point --up-to 5"""

FORMS = ("one-head", "one-loop", "unmasked", "causal", "softmax-fixed-point")
As = Annotated[
    str,
    typer.Option(
        "--as", metavar="FORM", help=f"Target form: {', '.join(FORMS)}.", autocompletion=complete_from(*FORMS)
    ),
]
UpTo = Annotated[
    int | None,
    value_option(
        "N", "Compare every input up to length N. Default for circuits and graphs: all, if they are few.", minimum=0
    ),
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
    """Rewrite a transformer to a normal form, and compare all logits.

    One head per layer, one loop, no masks, or only causal masks are no restriction. The command demonstrates it, and
    prints the costs. With an inexact arithmetic, only outputs are compared. softmax-fixed-point replaces average-hard
    attention by softmax, and compares residual streams in fixed point.

    Exit status: 0 both are equal; 1 they differ.
    """
    from softmachine.engines.check import InputSelection
    from softmachine.studies.measure.rewrite_cost import RewriteComparison, RewriteForm, choose_fixed_point

    if form not in set(RewriteForm):
        raise UsageError(f"unknown form {form!r}", hint=did_you_mean(form, FORMS))
    model = load_model(source, CompileOptions(theorem, "hard", context, format=format_name), output, two_letters=True)
    sweep = InputSelection.all_up_to(model, up_to)
    if form == RewriteForm.SOFTMAX:
        arithmetic = choose_fixed_point(model.weights, _positions(sweep), arithmetic)
    rewriting = RewriteComparison(model.weights, RewriteForm(form), arithmetic or "exact")
    found = next(_differences(sweep, rewriting, output), None)
    if output.as_json:
        output.print_json(_answer(model, rewriting, found))
    else:
        _print_comparison(model, rewriting, found, output)
    return Status.OK if found is None else Status.DOES_NOT_HOLD


def _differences(sweep: InputSelection, rewriting: RewriteComparison, output: Output) -> Iterator[tuple[Word, int]]:
    """Yield the inputs on which the two differ, and the position."""
    from softmachine.cli.output import bar

    with bar("inputs", sweep.total, output) as advance:
        for word in _affordable_words(sweep):
            tokens, length = _sequence(sweep.model, word)
            place = rewriting.find_difference(tokens, length)
            advance(1)
            if place is not None:
                yield word, place


def _affordable_words(sweep: InputSelection) -> Iterator[Word]:
    """Yield the words of a sweep; the estimate of the remaining time is updated at each length.

    Raises:
        TooExpensiveError: If the estimate is too high, and not accepted by --yes.
    """
    from itertools import groupby

    from softmachine.support.resources import with_cost_forecast

    done = 0
    for _, words in groupby(sweep.iterate_from(0), len):
        for word in with_cost_forecast(
            words, sweep.total - done, f"comparing {sweep.count_text}", hint="compare shorter inputs"
        ):
            done += 1
            yield word


def _sequence(model: Model, word: Word) -> tuple[list[str], int | None]:
    """Return the tokens that the model reads: the prompt, and the run of a decoder."""
    from itertools import islice

    from softmachine.theorems.codec import DecoderCodec

    prompt = model.codec.prompt(word)
    output = model.codec.expected(word, MAX_OUTPUT) if isinstance(model.codec, DecoderCodec) else ()
    return [*prompt.tokens, *(token for token in islice(output, MAX_OUTPUT) if token is not None)], prompt.length


def _positions(sweep: InputSelection) -> int:
    """Bound the number of positions of an input of a sweep."""
    from softmachine.theorems.codec import DecoderCodec

    codec = sweep.model.codec
    longest = next((word for length in range(sweep.max_length, -1, -1) for word in codec.words(length)), ())
    return len(codec.prompt(longest).tokens) + (MAX_OUTPUT if isinstance(codec, DecoderCodec) else 0)


MAX_OUTPUT = 40
"""Maximum number of tokens of a decoder that are compared."""


def _print_comparison(
    model: Model, rewriting: RewriteComparison, found: tuple[Word, int] | None, output: Output
) -> None:
    from softmachine.support.text import pluralize

    costs = rewriting.costs
    if costs is not None and not output.quiet:
        output.print(f"{model.name}: {rewriting.form.statement}\n")
        titles = ["", "positions", "blocks", "iterations", "layers", "passed", "heads per layer", "width", "masks"]
        rows = [titles]
        for name, cost in zip(("before", "after"), costs, strict=True):
            *numbers, masks = asdict(cost).values()
            rows.append([name, *(f"{number:,}" for number in numbers), ", ".join(masks)])
        output.print_columns(rows)
        output.print("")
    if found is None:
        tried = pluralize(rewriting.inputs, "input")
        scale = f", softmax scale {rewriting.inverse_temperature:,}" if rewriting.inverse_temperature else ""
        output.print(
            f"{tried}: equal {rewriting.compared_values} at every position ({rewriting.arithmetic}{scale})",
            style="green",
        )
    else:
        word, place = found
        output.print(f"different at position {place} of input {''.join(word)!r}", style="red")


def _answer(model: Model, rewriting: RewriteComparison, found: tuple[Word, int] | None) -> dict[str, object]:
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
        **({"scale": rewriting.inverse_temperature} if rewriting.inverse_temperature else {}),
    }
