"""``softmachine run --sample``: a run whose tokens are drawn, each with its probability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softmachine.cli.options import Status
from softmachine.cli.output import Output, printable
from softmachine.cli.progress import working
from softmachine.support.errors import UsageError
from softmachine.support.text import many

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.engines.sampling import Sample

ARITHMETICS = ("float64", "exact")
MOST_LINES = 60
"""So many tokens are printed."""


DECIDED = ("verify", "unchecked", "audit", "checkpoint", "resume", "trace", "tokens", "table", "explain", "svg", "html")
"""Options about runs which are decided, not drawn."""


def require_alone(options: Mapping[str, object]) -> None:
    """See that no option is given that is about runs which are decided, not drawn.

    Raises:
        UsageError: If one is.
    """
    given = [name for name in DECIDED if options[name]] + ["engine"] * (options["engine"] == "fast")
    if given:
        raise UsageError(f"--sample cannot be combined with --{given[0]}", hint="a drawn run is only printed")


def draw(model: Model, text: str, arithmetic: str, seed: int, max_steps: int | None, output: Output) -> Status:
    """Draw a run and say it."""
    from softmachine.engines.sampling import MAX_STEPS, sample

    if arithmetic not in ARITHMETICS:
        raise UsageError(f"tokens are not drawn in {arithmetic}", hint=f"choose {' or '.join(ARITHMETICS)}")
    with working("drawing tokens", output):
        found = sample(model, text, seed=seed, arithmetic=arithmetic, max_steps=max_steps)
    if output.as_json:
        output.answer({"name": model.name, "input": text, **_answer(found)})
    else:
        _say(found, output)
    if found.ended:
        return Status.DONE
    output.warn_of_limit(MAX_STEPS if max_steps is None else max_steps)
    return Status.STEP_LIMIT


def _answer(found: Sample) -> dict[str, object]:
    parts, drawn = found.parts, found.drawn
    had = drawn[parts.position].distribution if parts else {}
    return {
        "seed": found.seed,
        "ended": found.ended,
        "tokens": [{"token": each.token, "probability": each.probability} for each in drawn],
        "parts": parts and {
            "position": parts.position,
            "said": parts.said,
            "should_be": parts.expected,
            "probability": had.get(parts.expected or ""),
        },
    }  # fmt: skip


def _say(found: Sample, output: Output) -> None:
    shown = found.drawn[:MOST_LINES]
    width = max((len(printable(each.token)) for each in shown), default=0)
    for number, each in enumerate(shown) if not output.quiet else ():
        better = "" if each.token == each.likeliest else _rather(each.likeliest, each.distribution[each.likeliest])
        output.say(f"{number:>4}  {printable(each.token):<{width}}  {each.probability:.3g}{better}")
    if len(found.drawn) > MOST_LINES and not output.quiet:
        output.say(f"… {many(len(found.drawn) - MOST_LINES, 'more token')}")
    how = f"{many(len(found.drawn), 'token')}, drawn by seed {found.seed}"
    if found.parts is None:
        output.say(f"{how}: all are those of the interpreter")
    else:
        output.say(f"{how}; it parts from the interpreter: {found.parts}")


def _rather(token: str, probability: float) -> str:
    return f"   most likely: {printable(token)}  {probability:.3g}"
