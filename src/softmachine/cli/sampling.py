"""``softmachine run --sample``: a run with sampled tokens and their probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softmachine.cli.options import Status
from softmachine.cli.output import Output, printable, working
from softmachine.support.errors import UsageError
from softmachine.support.text import many

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.engines.sampling import Sample

ARITHMETICS = ("float64", "exact")
MAX_LINES = 60
"""Maximum number of tokens that are printed."""


INCOMPATIBLE = (
    "verify",
    "unchecked",
    "audit",
    "checkpoint",
    "resume",
    "trace",
    "tokens",
    "table",
    "explain",
    "svg",
    "html",
)
"""Options that do not apply to sampled runs."""


def require_alone(options: Mapping[str, object]) -> None:
    """Require that no incompatible option is given.

    Raises:
        UsageError: If one is.
    """
    given = [name for name in INCOMPATIBLE if options[name]] + ["engine"] * (options["engine"] == "fast")
    if given:
        raise UsageError(f"--sample cannot be combined with --{given[0]}", hint="a sampled run is only printed")


def draw(model: Model, text: str, arithmetic: str, seed: int, max_steps: int | None, output: Output) -> Status:
    """Sample a run and print it."""
    from softmachine.engines.sampling import MAX_STEPS, sample

    if arithmetic not in ARITHMETICS:
        raise UsageError(f"tokens cannot be sampled in {arithmetic}", hint=f"choose {' or '.join(ARITHMETICS)}")
    with working("sampling tokens", output):
        found = sample(model, text, seed=seed, arithmetic=arithmetic, max_steps=max_steps)
    if output.as_json:
        output.answer({"name": model.name, "input": text, **_sample_json(found)})
    else:
        _print_sample(found, output)
    if found.ended:
        return Status.DONE
    output.warn_of_limit(MAX_STEPS if max_steps is None else max_steps)
    return Status.STEP_LIMIT


def _sample_json(found: Sample) -> dict[str, object]:
    parts, drawn = found.parts, found.drawn
    had = drawn[parts.position].distribution if parts else {}
    return {
        "seed": found.seed,
        "ended": found.ended,
        "tokens": [{"token": each.token, "probability": each.probability} for each in drawn],
        "difference": parts and {
            "position": parts.position,
            "emitted": parts.said,
            "expected": parts.expected,
            "probability": had.get(parts.expected or ""),
        },
    }  # fmt: skip


def _print_sample(found: Sample, output: Output) -> None:
    shown = found.drawn[:MAX_LINES]
    width = max((len(printable(each.token)) for each in shown), default=0)
    for number, each in enumerate(shown) if not output.quiet else ():
        better = (
            "" if each.token == each.likeliest else _format_likeliest(each.likeliest, each.distribution[each.likeliest])
        )
        output.say(f"{number:>4}  {printable(each.token):<{width}}  {each.probability:.3g}{better}")
    if len(found.drawn) > MAX_LINES and not output.quiet:
        output.say(f"… {many(len(found.drawn) - MAX_LINES, 'more token')}")
    how = f"{many(len(found.drawn), 'token')}, sampled with seed {found.seed}"
    if found.parts is None:
        output.say(f"{how}: all equal those of the interpreter")
    else:
        output.say(f"{how}; first difference from the interpreter: {found.parts}")


def _format_likeliest(token: str, probability: float) -> str:
    return f"   most likely: {printable(token)}  {probability:.3g}"
