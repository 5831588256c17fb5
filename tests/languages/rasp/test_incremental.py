"""A causal program gives the same output letter by letter as on the whole input."""

from __future__ import annotations

import random

import pytest

from softmachine.languages import rasp
from softmachine.support.errors import NoNextTokenError
from softmachine.testing.rasp import random_program


@pytest.mark.parametrize("block", range(4))
def test_random_programs_agree_letter_by_letter(block: int) -> None:
    for seed in range(30 * block, 30 * block + 30):
        rng = random.Random(seed)
        program = random_program(rng, causal=seed % 5 > 0, loop=seed % 10 == 0)
        word = rng.choices(program.alphabet, k=7)
        reading = rasp.StreamingEvaluator(program)
        outputs = [reading.append(word[:3]), *(reading.append((letter,)) for letter in word[3:])]
        # A program that looks ahead gives at the last position its output on the prefix.
        assert outputs == [rasp.run(program, word[:length])[-1] for length in range(3, 8)], seed


def test_the_empty_input_has_no_output() -> None:
    program = rasp.parse("# alphabet: a\n# causal\nx = indices;")
    with pytest.raises(NoNextTokenError, match="no output on the empty input"):
        rasp.StreamingEvaluator(program).append(())
