"""What Turing machines cost, by their tapes, symbols and lengths."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from softmachine.languages.turing import Rule, TapeConvention, TuringMachine
from tests.theorems.costs.family import SIX, Family, Made
from tests.theorems.test_ternary import full_machine

TAPES = {
    1: (1, TapeConvention.STAY),
    2: (2, TapeConvention.STAY),
    3: (3, TapeConvention.STAY),
    4: (1, TapeConvention.TWO_WAY),
    5: (2, TapeConvention.TWO_WAY),
}
TAPES |= {6: (3, TapeConvention.TWO_WAY)}
LENGTHS = (16, 32, 64, 128, 256, 512)


def many_states(states: int) -> TuringMachine:
    """A machine that goes through its states and writes little."""
    names = tuple(f"q{k}" for k in range(states))
    rules = tuple(
        Rule(name, (" a"[k % 2],), (" a"[k // 2 % 2],), ("R",), names[(k + 1) % states]) for k, name in enumerate(names)
    )
    return TuringMachine(
        name="many states", states=names, alphabet=("a",), symbols=(" ", "a"), blank=" ", rules=rules, start="q0",
        tape=TapeConvention.TWO_WAY,
    )  # fmt: skip


def with_tapes(length: int | None, tapes: int) -> Made:
    return full_machine(*TAPES[tapes]), length


def machines() -> Iterator[Family]:
    """Turing machines, by their tapes; those whose weights depend on a length, by lengths."""
    for name, length, tight in (
        ("turing-average-hard", None, ("layers", "heads")),
        ("turing-average-hard-summary", None, ("layers",)),
        ("turing-binary-address", 64, ("layers", "heads")),
    ):
        yield Family(name, "tapes", SIX, partial(with_tapes, length), tight)
    for name in ("turing-binary-address", "turing-residue-address", "turing-residue-address-no-positions"):
        yield Family(name, "lengths", LENGTHS, lambda length: (full_machine(1), length), ("layers", "heads"))
    keys = ("key width", "value width")
    for name in ("turing-ternary", "turing-ternary-summary"):
        yield Family(name, "lengths", LENGTHS, lambda length: (full_machine(1), length), ("heads per layer", *keys))
        yield Family(name, "states", (2, 9, 33, 130), lambda states: (many_states(states), 16), keys)
    yield Family(
        "turing-ternary", "tapes", (1, 2, 4), lambda k: (full_machine(*TAPES[k]), 64), ("heads per layer", *keys)
    )
    letters = (2, 3, 4, 5, 6, 7)
    yield Family(
        "turing-counter", "symbols", letters, lambda symbols: (full_machine(1, symbols=symbols), None), ("heads",)
    )
    yield Family(
        "turing-counter-relative-bias", "symbols", letters, lambda symbols: (full_machine(1, symbols=symbols), None)
    )
    automata = ("parity", "divisible-by-three", "shell-game")
    yield Family("automaton-layer-norm", "automata", (0, 1, 2), lambda k: (automata[k], None))
