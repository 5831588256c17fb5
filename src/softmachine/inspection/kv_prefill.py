"""KV prefill for long contexts: keys and values of earlier positions from the fast engine, in exact numbers.

The dense engine would compute n² scores for n positions; the fast engine computes the same numbers as integers in about
n steps. The inspected position is still computed by the dense engine, with all scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from flint import fmpq

from softmachine.engines.dense.engine import Pass
from softmachine.engines.fast.analysis.flow import FlowHead, Position
from softmachine.engines.fast.analysis.forms import Form
from softmachine.engines.fast.analysis.grids import Declined
from softmachine.engines.fast.audit import read_again
from softmachine.engines.fast.engine import FastEngine
from softmachine.engines.fast.exact_attention import Block, of_atom
from softmachine.engines.fast.tokens import Tokens
from softmachine.engines.numerics import Tensor
from softmachine.engines.numerics.base import Array
from softmachine.support.errors import PrecisionError, UsageError
from softmachine.support.resources import Estimate, allow
from softmachine.support.text import many

SIZE = 1 << 14
"""Positions per block."""
PLAIN = 20_000
"""Contexts with fewer tokens run the generated code in plain Python, which saves compiling it."""
SECONDS, BYTES = 2e-6, 32
"""Upper bounds of time and memory per number of a key or a value; most numbers are shared."""


def adopt_prefix(reading: Pass, tokens: Sequence[str]) -> bool:
    """Fill the KV cache of an empty pass as if it had read these tokens; returns False if that is not possible.

    Raises:
        EffortError: If it takes too long or too much memory, and ``yes`` is not given.
    """
    transformer = reading.engine.transformer
    try:
        fast = FastEngine(transformer, plain=len(tokens) < PLAIN)
    except (Declined, UsageError):
        return False
    heads = fast.flow.heads
    forms = [form for head in heads for form in (*head.every_key, *head.value)]
    atoms = sorted({number for form in forms for number in form.terms})
    written = [number for number in atoms if not isinstance(fast.flow.atoms[number], Position)]
    if not set(written) <= {item for item in fast.flow.order if isinstance(item, int)}:
        return False  # a number that the fast engine does not compute
    count = len(tokens) * len(forms)
    allow(Estimate(f"reading {many(len(tokens), 'token')} again", count * SECONDS, count * BYTES))
    codes = [transformer.token_index[token] for token in tokens]
    known = Tokens(transformer.vocabulary, codes, fast.code.kinds)
    try:
        for block in read_again(fast, known, len(tokens), written, SIZE):
            columns = _Columns(fast, block)
            for where, parts in _groups(reading, heads):
                reading.adopt(where, [columns.tensor(part) for part in parts])
    except PrecisionError:  # a number is out of the range of the fast engine
        reading.rewind(0)
        return False
    reading.read = len(tokens)
    return True


def _groups(
    reading: Pass, heads: Sequence[FlowHead]
) -> Iterator[tuple[tuple[int, int, int, int], list[Sequence[Form]]]]:
    """The KV cache slots of the dense engine: for each group of heads, its keys and the values of each head."""
    engine, following = reading.engine, iter(heads)
    for b, block in enumerate(engine.transformer.blocks):
        for turn in range(block.count(reading.length)):
            for depth, dense in enumerate(engine.blocks[b]):
                own = [next(following) for _ in block.layers[depth].heads]
                placed = dict(zip(dense.order, own, strict=True))
                start = 0
                for index, group in enumerate(dense.groups):
                    members = [placed[start + k] for k in range(len(group))]
                    yield (b, turn, depth, index), [members[0].every_key, *(head.value for head in members)]
                    start += len(group)


class _Columns:
    """The numbers of a block as rationals; equal ones share one object."""

    def __init__(self, fast: FastEngine, block: Block) -> None:
        self.fast, self.block = fast, block
        self._atoms: dict[int, Array] = {}

    def tensor(self, forms: Sequence[Form]) -> Tensor:
        """Some forms at every position: (1, position, form)."""
        value = np.empty((1, len(self.block.tokens), len(forms)), dtype=object)
        for k, form in enumerate(forms):
            value[0, :, k] = self._form(form)
        return Tensor(value)

    def _form(self, form: Form) -> Array:
        table = np.array([form.at_token(token) for token in range(self.fast.flow.vocabulary)], dtype=object)
        exact = np.array([fmpq(entry.numerator, entry.denominator) for entry in table], dtype=object)
        total: Array = exact[self.block.tokens]
        for number, weight in form.terms.items():
            total = total + self._atom(number) * fmpq(weight.numerator, weight.denominator)
        return total

    def _atom(self, number: int) -> Array:
        if number not in self._atoms:
            column = self.block.column(of_atom(number, self.fast.flow.atoms[number]))
            below = np.broadcast_to(column.d, column.n.shape).tolist()
            known: dict[tuple[int, int], fmpq] = {}
            self._atoms[number] = np.array(
                [known.setdefault(pair, fmpq(*pair)) for pair in zip(column.n.tolist(), below, strict=True)],
                dtype=object,
            )
        return self._atoms[number]
