"""Length of the chain of thought of a C-RASP program as a function of the input length: measured and fitted."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product

from softmachine.languages.crasp.program import CraspProgram
from softmachine.languages.crasp.streaming_interpreter import generate
from softmachine.studies.measure.growth_laws import GrowthFit, fit_growth
from softmachine.support.errors import NoNextTokenError, UsageError

DEFAULT_SAMPLES = 64
DEFAULT_MAX_TOKENS = 100_000


@dataclass(frozen=True)
class CotLengths:
    """The chains of thought on inputs of one length.

    Args:
        length: The length of the inputs.
        inputs: Number of inputs measured.
        all_inputs: Whether these are all inputs of the length.
        shortest: Tokens of the shortest chain of thought that terminated, including the verdict; None if none did.
        longest: Tokens of the longest chain of thought that terminated.
        mean: Their mean.
        nonterminating: Number of chains of thought that did not terminate within the limit.
        stuck: Number of runs without a next token.
    """

    length: int
    inputs: int
    all_inputs: bool
    shortest: int | None
    longest: int | None
    mean: float | None
    nonterminating: int
    stuck: int


def measure_cot_lengths(
    program: CraspProgram,
    lengths: Iterable[int],
    *,
    samples: int = DEFAULT_SAMPLES,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    seed: int = 0,
) -> Iterator[CotLengths]:
    """Measure the chains of thought of a program on inputs of some lengths.

    All inputs of a length are used if there are at most ``samples``. Otherwise the sample consists of the words of a
    single letter and of random words, every other one sorted in the order of the alphabet, since some programs read
    only such words.

    Raises:
        UsageError: If the program has no chain of thought, or ``samples`` is less than 1.
    """
    if not program.rules:
        raise UsageError(f"{program.name!r} has no rules, so it has no chain of thought")
    if samples < 1:
        raise UsageError("at least one sample is needed")
    for length in lengths:
        every = len(program.alphabet) ** length <= samples
        words = list(
            product(program.alphabet, repeat=length) if every else _sample_inputs(program, length, samples, seed)
        )
        written: list[int] = []
        endless = stuck = 0
        for word in words:
            try:
                tokens = sum(1 for _ in islice(generate(program, word), max_tokens + 1))
            except NoNextTokenError:
                stuck += 1
                continue
            if tokens > max_tokens:
                endless += 1
            else:
                written.append(tokens)
        yield CotLengths(
            length=length,
            inputs=len(words),
            all_inputs=every,
            shortest=min(written, default=None),
            longest=max(written, default=None),
            mean=sum(written) / len(written) if written else None,
            nonterminating=endless,
            stuck=stuck,
        )


def fit_cot_growth(found: Iterable[CotLengths]) -> GrowthFit | None:
    """Fit the growth of the longest chain of thought; None if there are too few lengths."""
    return fit_growth({each.length: each.longest for each in found if each.longest is not None})


def _sample_inputs(program: CraspProgram, length: int, samples: int, seed: int) -> Iterator[tuple[str, ...]]:
    rng = random.Random(f"{seed} {length}")
    order = {letter: index for index, letter in enumerate(program.alphabet)}
    yield from islice(((letter,) * length for letter in program.alphabet), samples)
    for number in range(samples - len(program.alphabet)):
        # With equal letter frequencies, long runs on words with few occurrences of a letter would be missed.
        weights = [rng.random() for _ in program.alphabet]
        word = rng.choices(program.alphabet, weights, k=length)
        yield tuple(sorted(word, key=order.__getitem__) if number % 2 else word)
