"""Speed of checking formulas: transformer and comparison, against evaluating the formula in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from softmachine import api
from softmachine.cli.benchmarks.result import Result, alternately
from softmachine.compiler.model import Model
from softmachine.engines.check import check_words
from softmachine.languages.temporal import Specification, truth
from softmachine.support.errors import SoftmachineError

FORMULAS = ("Q_a since Q_b", "#<[Q_a] >= 2*#>[Q_b]", "odd(#<[Q_a]) and always (Q_a -> once Q_b)")
LENGTH, WORDS = 16, 4096


def checking() -> Iterator[Result]:
    """Measure the words of 16 symbols per second."""
    for text in FORMULAS:
        source = api.extended(api.load(text), "ab")
        assert isinstance(source, Specification)
        model = api.compile(source)
        words = list(islice(product("ab", repeat=LENGTH), WORDS))

        def checked(model: Model = model, words: list[tuple[str, ...]] = words) -> None:
            if not check_words(model, words).holds:
                raise SoftmachineError(f"the transformer of {model.name!r} is wrong")

        def evaluated(source: Specification = source, words: list[tuple[str, ...]] = words) -> None:
            for word in words:
                truth(source, word)

        plain, ours = alternately(evaluated, checked)
        yield Result("checking", text, WORDS / ours, "words", {"plain Python": plain / ours})
