"""KV prefill for long contexts: keys and values of earlier positions from the fast engine, in exact numbers.

The dense engine would compute n² scores for n positions; the fast engine computes the same numbers as integers in about
n steps. The inspected position is still computed by the dense engine, with all scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from flint import fmpq

from softmachine.engines.dense.forward_pass import Pass
from softmachine.engines.fast.analysis.grids import UnsupportedModel
from softmachine.engines.fast.analysis.unrolled_program import UnrolledHead
from softmachine.engines.fast.audit import replay
from softmachine.engines.fast.engine import FastEngine
from softmachine.engines.fast.exact_attention import PositionBlock, column_of_atom
from softmachine.engines.fast.tokens import Tokens
from softmachine.engines.numerics import Tensor
from softmachine.engines.numerics.base import Array
from softmachine.ir.primitives import Position
from softmachine.ir.signal import Affine, Atom
from softmachine.support.errors import PrecisionError, UsageError
from softmachine.support.resources import Estimate, require_affordable
from softmachine.support.text import pluralize

BLOCK_SIZE = 1 << 14
"""Positions per block."""
MAX_PLAIN_PYTHON_TOKENS = 20_000
"""Contexts with fewer tokens run the generated code in plain Python, which saves compiling it."""
SECONDS_PER_NUMBER, BYTES_PER_NUMBER = 2e-6, 32
"""Upper bounds of time and memory per number of a key or a value; most numbers are shared."""


def prefill_kv_cache(target: Pass, tokens: Sequence[str]) -> bool:
    """Fill the KV cache of an empty pass as if it had read these tokens; returns False if that is not possible.

    Raises:
        TooExpensiveError: If it takes too long or too much memory, and ``yes`` is not given.
    """
    transformer = target.engine.transformer
    try:
        fast = FastEngine(transformer, plain=len(tokens) < MAX_PLAIN_PYTHON_TOKENS)
    except (UnsupportedModel, UsageError):
        return False
    heads = fast.program.heads
    forms = [form for head in heads for form in (*head.full_key, *head.value)]
    atoms = {atom for form in forms for atom in form.other_terms if not isinstance(atom[0], Position)}
    if not atoms <= fast.program.computed:
        return False  # a number that the fast engine does not compute
    count = len(tokens) * len(forms)
    require_affordable(
        Estimate(
            f"reading {pluralize(len(tokens), 'token')} again", count * SECONDS_PER_NUMBER, count * BYTES_PER_NUMBER
        )
    )
    codes = [transformer.token_index[token] for token in tokens]
    known = Tokens(transformer.vocabulary, codes, fast.code.token_classes)
    try:
        for block in replay(fast, known, len(tokens), sorted(atoms, key=fast.program.numbers.__getitem__), BLOCK_SIZE):
            columns = _RationalColumns(fast, block)
            for where, parts in _cache_slots(target, heads):
                target.append_kv(where, [columns.tensor(part) for part in parts])
    except PrecisionError:  # a number is out of the range of the fast engine
        target.rewind(0)
        return False
    target.tokens_read = len(tokens)
    return True


def _cache_slots(
    reading: Pass, heads: Sequence[UnrolledHead]
) -> Iterator[tuple[tuple[int, int, int, int], list[Sequence[Affine]]]]:
    """The KV cache slots of the dense engine: for each group of heads, its keys and the values of each head."""
    engine, following = reading.engine, iter(heads)
    for b, block in enumerate(engine.transformer.blocks):
        for turn in range(block.iterations(reading.length)):
            for depth, dense in enumerate(engine.blocks[b]):
                own = [next(following) for _ in block.layers[depth].heads]
                placed = dict(zip(dense.order, own, strict=True))
                start = 0
                for index, group in enumerate(dense.groups):
                    members = [placed[start + k] for k in range(len(group))]
                    yield (b, turn, depth, index), [members[0].full_key, *(head.value for head in members)]
                    start += len(group)


class _RationalColumns:
    """The numbers of a block as rationals; equal ones share one object."""

    def __init__(self, fast: FastEngine, block: PositionBlock) -> None:
        self.fast, self.block = fast, block
        self._atoms: dict[Atom, Array] = {}

    def tensor(self, forms: Sequence[Affine]) -> Tensor:
        """Some forms at every position: (1, position, form)."""
        value = np.empty((1, len(self.block.tokens), len(forms)), dtype=object)
        for k, form in enumerate(forms):
            value[0, :, k] = self._form(form)
        return Tensor(value)

    def _form(self, form: Affine) -> Array:
        table = np.array([form.at_token(token) for token in range(self.fast.program.vocabulary_size)], dtype=object)
        exact = np.array([fmpq(entry.numerator, entry.denominator) for entry in table], dtype=object)
        total: Array = exact[self.block.tokens]
        for atom, weight in form.other_terms.items():
            total = total + self._atom(atom) * fmpq(weight.numerator, weight.denominator)
        return total

    def _atom(self, atom: Atom) -> Array:
        if atom not in self._atoms:
            column = self.block.column(column_of_atom(atom))
            below = np.broadcast_to(column.denominators, column.numerators.shape).tolist()
            known: dict[tuple[int, int], fmpq] = {}
            self._atoms[atom] = np.array(
                [known.setdefault(pair, fmpq(*pair)) for pair in zip(column.numerators.tolist(), below, strict=True)],
                dtype=object,
            )
        return self._atoms[atom]
