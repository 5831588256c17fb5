"""Assertions: a model against the reference interpreter, weights against signals, engines against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from softmachine.api import compile as compile_source
from softmachine.api import run, soften
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.engines.check import Report, check_inputs
from softmachine.engines.dense.engine import DenseEngine
from softmachine.engines.inputs import iterate_words, lengths_up_to
from softmachine.ir import Program, evaluate
from softmachine.languages.formats import deserialise_source, serialise_source
from softmachine.languages.source import Source
from softmachine.support.errors import UsageError
from softmachine.theorems import Theorem, find_theorem

MAX_STEPS = 1_000
"""Default step limit of a compared run."""
SHOWN = 5
"""Number of disagreements in a message."""


def assert_agrees(
    source: str | Source | Model,
    words: Iterable[str | Sequence[str]] | None = None,
    *,
    up_to: int | None = None,
    theorem: str | Theorem | None = None,
    attention: str | None = None,
    context: int | None = None,
    arithmetic: str = "float64",
    max_steps: int = MAX_STEPS,
) -> Report:
    """Assert that a model emits the reference interpreter's tokens.

    Each token is compared, given the interpreter's tokens before it. This holds for all tokens if and only if the model
    generates the same run.

    Args:
        source: A model, or a source, which is compiled.
        words: The inputs. Default: all inputs up to length ``up_to``.
        up_to: The maximal length of inputs; sources whose inputs all have one length, such as circuits, need none.
        theorem: The theorem to compile a source with. Default: the first that applies.
        attention: ``"hard"`` or ``"soft"``, if a source is compiled. Default: the theorem's preference.
        context: Number of positions that the weights are built for, if they depend on it.
        arithmetic: The arithmetic that the model runs in.
        max_steps: Longer runs are compared up to this step.

    Returns:
        The report: the number of inputs and tokens.

    Raises:
        AssertionError: If some token differs; the message has the first inputs on which this is the case.
        UsageError: If there is no input, since such a test would never fail.
    """
    model = (
        source if isinstance(source, Model) else compile_source(source, theorem, attention=attention, context=context)
    )
    report = check_inputs(model, _inputs(model, words, up_to), arithmetic=arithmetic, max_steps=max_steps)
    if not report.inputs:
        raise UsageError("there is no input to compare", hint="pass words, or a larger up_to")
    if not report.holds:
        shown = [str(problem) for problem in report.disagreements[:SHOWN]]
        raise AssertionError(
            f"{model.name} by {model.theorem.name}, {model.attention} attention, {arithmetic}: wrong on "
            + "\n  ".join([f"{len(report.disagreements)} of {report.inputs} inputs", *shown])
        )
    return report


def assert_theorem_holds(
    theorem: str | Theorem,
    source: Source,
    words: Iterable[str | Sequence[str]] | None = None,
    *,
    up_to: int | None = None,
    context: int | None = None,
    arithmetics: Sequence[str] | None = None,
    certified: int | None = None,
    max_steps: int = MAX_STEPS,
) -> None:
    """Assert that a theorem compiles a source to right models, for every kind of attention that the theorem defines.

    Args:
        theorem: The theorem or its name.
        source: The source.
        words: The inputs. Default: all inputs up to length ``up_to``.
        up_to: The maximal length of inputs.
        context: Number of positions that the weights are built for, if they depend on it.
        arithmetics: The arithmetics that each model runs in. Default: those of :func:`arithmetics_for`.
        certified: If given and the theorem defines only hard attention: the softmax model that is certified for inputs
            up to this length is tested, too.
        max_steps: Longer runs are compared up to this step.

    Raises:
        AssertionError: If a model emits a wrong token.
    """
    chosen = find_theorem(source, theorem)
    tried = None if words is None else list(words)
    for model in _models(chosen, source, context, certified):
        for arithmetic in arithmetics_for(model) if arithmetics is None else arithmetics:
            assert_agrees(model, tried, up_to=up_to, arithmetic=arithmetic, max_steps=max_steps)


def arithmetics_for(model: Model) -> tuple[str, ...]:
    """Return the arithmetics in which a right model must be right: float64, and an exact or rigorous one.

    Models with hard attention run in rationals; softmax is not rational, so that its models run in balls.
    """
    soft = any(not head.weighting.is_hard for head in model.weights.heads)
    return ("float64", "ball") if soft else ("float64", "exact")


def _models(theorem: Theorem, source: Source, context: int | None, certified: int | None) -> Iterator[Model]:
    for attention in theorem.attentions:
        model = compile_source(source, theorem, attention=attention, context=context)
        yield model
        if certified is not None and "soft" not in theorem.attentions:
            yield soften(model, length=certified)[0]


def _inputs(model: Model, words: Iterable[str | Sequence[str]] | None, up_to: int | None) -> Iterable[tuple[str, ...]]:
    if words is None:
        return iterate_words(model.codec, lengths_up_to(model.codec, up_to))
    return [model.source.word(word) for word in words]


def assert_engines_agree(model: Model, words: Iterable[str | Sequence[str]], *, max_steps: int = MAX_STEPS) -> None:
    """Assert that the dense and the fast engine emit the same tokens.

    Args:
        model: A model that generates token by token.
        words: The inputs.
        max_steps: The step limit.

    Raises:
        AssertionError: If the tokens of a run differ.
    """
    for word in words:
        dense, fast = (run(model, word, engine=engine, max_steps=max_steps).tokens for engine in ("dense", "fast"))
        if dense != fast:
            at = next((k for k, pair in enumerate(zip(dense, fast, strict=False)) if pair[0] != pair[1]), None)
            place = f"token {at}" if at is not None else f"the length ({len(dense)} and {len(fast)} tokens)"
            raise AssertionError(f"{model.name} on {word!r}: the dense and the fast engine differ at {place}")


@lru_cache(maxsize=16)
def engine_of(program: Program, arithmetic: str = "exact") -> DenseEngine:
    """Return an engine with the weights of a program of signals; the last few programs are not compiled again."""
    return DenseEngine(compile_program(program), arithmetic)


def logits(
    program: Program, tokens: Sequence[str], length: int | None = None, arithmetic: str = "exact"
) -> list[list[Fraction]]:
    """Compute the logits at every position by the weights of a program of signals.

    Args:
        program: The signals.
        tokens: The tokens.
        length: The length n that position features refer to. Default: the number of tokens.
        arithmetic: The arithmetic; only in ``"exact"`` the numbers are not rounded.
    """
    engine = engine_of(program, arithmetic)
    numbers = engine.unembedding(engine.residual_stream([tokens], length)).value[0]
    exact = arithmetic == "exact"
    return [[Fraction(str(number)) if exact else Fraction(float(number)) for number in row] for row in numbers]


def assert_computes_signals(
    program: Program, tokens: Sequence[str], length: int | None = None
) -> list[tuple[Fraction, ...]]:
    """Assert that the weights of a program give exactly the logits that its signals define.

    This tests a program without a codec or an interpreter: a compiled model is wrong either because the signals are
    (see :func:`assert_agrees`), or because the compiler is.

    Args:
        program: The signals.
        tokens: The tokens.
        length: The length n that position features refer to. Default: the number of tokens.

    Returns:
        The logits at every position.
    """
    expected = evaluate(program.logits, tokens, length)
    found = logits(program, tokens, length)
    if found != [list(row) for row in expected]:
        at = next(k for k, row in enumerate(expected) if found[k] != list(row))
        raise AssertionError(f"logits at position {at}: the weights give {found[at]}, the signals {list(expected[at])}")
    return expected


def assert_kept_as_text(source: Source) -> None:
    """Assert that a source is the same after it is written as text and parsed, as in a saved model.

    Name, alphabet and default input are compared, too.

    Raises:
        AssertionError: If it differs.
    """
    again = deserialise_source(source.language, source.name, serialise_source(source))
    found, expected = ((type(each), each, each.name, each.alphabet, each.default_input) for each in (again, source))
    if found != expected:
        raise AssertionError(f"{source!r} comes back from its text as {again!r}")
