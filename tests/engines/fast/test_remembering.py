"""Memoised answers belong to their own key: small integers index a table, others are compared."""

from __future__ import annotations

import random

import numpy as np
import pytest

import softmachine as sm
from softmachine.engines.fast.codegen.logits import MAX_TABLE, SLOTS, HashMemo, TableMemo, choose_memo
from softmachine.engines.fast.engine import FastEngine


def lookup(memory: TableMemo | HashMemo, slots: int | None = None) -> object:
    """The generated lines as a function: the answer, and whether it was stored."""
    names = [f"z{k}" for k in range(memory.count)]
    found = [f"    {line}" for line in memory.emit_lookup(names)]
    kept = [f"        {line}" for line in memory.emit_store(names)]
    lines = [
        f"def look_up(memory, answer, token, {', '.join(names)}):",
        *found,
        "    known = out >= 0",
        "    if out < 0:",
        "        out = answer",
        *kept,
        "    return out, known",
    ]
    space: dict[str, object] = {"np": np}
    exec("\n".join(lines), space)
    return space["look_up"]


@pytest.mark.parametrize("memory", [TableMemo(5, 2, 3), HashMemo(2), HashMemo(9)])
def test_memoised_answers_are_the_computed_ones(memory: TableMemo | HashMemo) -> None:
    look_up, kept, chooser = lookup(memory), memory.empty_array(), random.Random(1)
    truth: dict[tuple[int, ...], int] = {}
    remembered = 0
    for _ in range(20_000):
        far = 2**61 if chooser.random() < 0.1 else 3
        key = (chooser.randrange(5), *(chooser.randint(-far, far) for _ in range(memory.count)))
        right = truth.setdefault(key, len(truth))
        out, known = look_up(kept, right, *key)  # type: ignore[operator]
        assert out == right
        remembered += known
    assert remembered > (15_000 if memory.count == 2 else 0)


def test_a_slot_holds_the_last_key_stored() -> None:
    """More keys than slots, each looked up twice in turn: all answers are right, and many slots were replaced."""
    memory = HashMemo(1)
    look_up, kept = lookup(memory), memory.empty_array()
    for _ in range(2):
        for key in range(2 * SLOTS):
            assert look_up(kept, key % 7, 0, key)[0] == key % 7  # type: ignore[operator]


def test_tables_are_for_few_small_integers() -> None:
    for vocabulary in (3, 20, 200):
        for count in range(12):
            memory = choose_memo(vocabulary, count)
            if isinstance(memory, TableMemo):
                assert len(memory.empty_array()) <= MAX_TABLE
                assert memory.reach >= 1
            else:
                assert vocabulary * 4**count > MAX_TABLE


@pytest.mark.parametrize(
    ("source", "word", "kind"),
    [
        ("palindrome", "abba", TableMemo),
        ("binary-multiplication", "101*11", HashMemo),
        ("three-tape-addition", "11+1", HashMemo),
    ],
)
@pytest.mark.usefixtures("uncompiled")
def test_both_memos_give_the_interpreters_tokens(source: str, word: str, kind: type) -> None:
    model = sm.compile(source)
    code = FastEngine(model.weights).code
    assert isinstance(code.logit_code.memo, kind)  # type: ignore[union-attr]
    run = sm.run(model, word, engine="fast", verify=True)
    assert run.verified_count == len(run.tokens)
    assert not run.differs
