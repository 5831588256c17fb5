"""How long a program's chain of thought is, against the length of its input: measured on samples, and fitted."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product

from softmachine.languages.crasp.incremental import generate
from softmachine.languages.crasp.program import Program
from softmachine.studies.measure.fitting import Fit, fit
from softmachine.support.errors import StuckError, UsageError

SAMPLES = 64
MAX_TOKENS = 100_000


@dataclass(frozen=True)
class Thoughts:
    """The chains of thought on inputs of one length.

    Args:
        length: The length of the inputs.
        inputs: How many were tried.
        all_inputs: Whether these are all that there are.
        fewest: The tokens of the shortest chain of thought that ended, with the verdict; None if none did.
        most: The tokens of the longest chain of thought that ended.
        mean: Their mean.
        endless: How many chains of thought did not end within the limit.
        stuck: How many got stuck.
    """

    length: int
    inputs: int
    all_inputs: bool
    fewest: int | None
    most: int | None
    mean: float | None
    endless: int
    stuck: int


def thoughts(
    program: Program,
    lengths: Iterable[int],
    *,
    samples: int = SAMPLES,
    max_tokens: int = MAX_TOKENS,
    seed: int = 0,
) -> Iterator[Thoughts]:
    """The lengths of a program's chains of thought on inputs of some lengths.

    All inputs of a length are tried if there are no more than ``samples``. Otherwise these are the words of one letter
    only, and random words, every other one with its letters in the order of the alphabet, since some programs read only
    such words.

    Raises:
        UsageError: If the program writes no chain of thought, or there are no samples.
    """
    if not program.rules:
        raise UsageError(f"{program.name!r} has no rules, so it writes no chain of thought")
    if samples < 1:
        raise UsageError("at least one sample is needed")
    for length in lengths:
        every = len(program.alphabet) ** length <= samples
        words = list(_every(program, length) if every else _sample(program, length, samples, seed))
        written: list[int] = []
        endless = stuck = 0
        for word in words:
            try:
                tokens = sum(1 for _ in islice(generate(program, word), max_tokens + 1))
            except StuckError:
                stuck += 1
                continue
            if tokens > max_tokens:
                endless += 1
            else:
                written.append(tokens)
        yield Thoughts(
            length=length,
            inputs=len(words),
            all_inputs=every,
            fewest=min(written, default=None),
            most=max(written, default=None),
            mean=sum(written) / len(written) if written else None,
            endless=endless,
            stuck=stuck,
        )


def growth(found: Iterable[Thoughts]) -> Fit | None:
    """How the longest chain of thought grows with the length of the input; None if there are too few lengths."""
    return fit({each.length: each.most for each in found if each.most is not None})


def _every(program: Program, length: int) -> Iterator[tuple[str, ...]]:
    return product(program.alphabet, repeat=length)


def _sample(program: Program, length: int, samples: int, seed: int) -> Iterator[tuple[str, ...]]:
    rng = random.Random(f"{seed} {length}")
    order = {letter: index for index, letter in enumerate(program.alphabet)}
    yield from islice(((letter,) * length for letter in program.alphabet), samples)
    for number in range(samples - len(program.alphabet)):
        # With all letters equally often, long runs on words with few of one letter would be missed.
        weights = [rng.random() for _ in program.alphabet]
        word = rng.choices(program.alphabet, weights, k=length)
        yield tuple(sorted(word, key=order.__getitem__) if number % 2 else word)
