"""``softmachine run --sample``: a run with sampled tokens and their probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softmachine.cli.options import Status
from softmachine.cli.output import Output, escape_unprintable, spinner
from softmachine.support.errors import UsageError
from softmachine.support.text import pluralize

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.engines.sampling import SampledRun

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


def require_compatible(options: Mapping[str, object]) -> None:
    """Require that no incompatible option is given.

    Raises:
        UsageError: If one is.
    """
    given = [name for name in INCOMPATIBLE if options[name]] + ["engine"] * (options["engine"] == "fast")
    if given:
        raise UsageError(f"--sample cannot be combined with --{given[0]}", hint="a sampled run is only printed")


def sample_run(model: Model, text: str, arithmetic: str, seed: int, max_steps: int | None, output: Output) -> Status:
    """Sample a run and print it."""
    from softmachine.engines.sampling import MAX_STEPS, sample

    if arithmetic not in ARITHMETICS:
        raise UsageError(f"tokens cannot be sampled in {arithmetic}", hint=f"choose {' or '.join(ARITHMETICS)}")
    with spinner("sampling tokens", output):
        found = sample(model, text, seed=seed, arithmetic=arithmetic, max_steps=max_steps)
    if output.as_json:
        output.print_json({"name": model.name, "input": text, **_sample_json(found)})
    else:
        _print_sample(found, output)
    if found.ended:
        return Status.OK
    output.warn_of_limit(MAX_STEPS if max_steps is None else max_steps)
    return Status.STEP_LIMIT


def _sample_json(found: SampledRun) -> dict[str, object]:
    parts, drawn = found.difference, found.sampled
    had = drawn[parts.position].distribution if parts else {}
    return {
        "seed": found.seed,
        "ended": found.ended,
        "tokens": [{"token": each.token, "probability": each.probability} for each in drawn],
        "difference": parts and {
            "position": parts.position,
            "emitted": parts.emitted,
            "expected": parts.expected,
            "probability": had.get(parts.expected or ""),
        },
    }  # fmt: skip


def _print_sample(found: SampledRun, output: Output) -> None:
    shown = found.sampled[:MAX_LINES]
    width = max((len(escape_unprintable(each.token)) for each in shown), default=0)
    for number, each in enumerate(shown) if not output.quiet else ():
        better = (
            ""
            if each.token == each.argmax_token
            else _format_likeliest(each.argmax_token, each.distribution[each.argmax_token])
        )
        output.print(f"{number:>4}  {escape_unprintable(each.token):<{width}}  {each.probability:.3g}{better}")
    if len(found.sampled) > MAX_LINES and not output.quiet:
        output.print(f"… {pluralize(len(found.sampled) - MAX_LINES, 'more token')}")
    how = f"{pluralize(len(found.sampled), 'token')}, sampled with seed {found.seed}"
    if found.difference is None:
        output.print(f"{how}: all equal those of the interpreter")
    else:
        output.print(f"{how}; first difference from the interpreter: {found.difference}")


def _format_likeliest(token: str, probability: float) -> str:
    return f"   most likely: {escape_unprintable(token)}  {probability:.3g}"
