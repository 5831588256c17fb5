"""What Turing machines cost, by their tapes, symbols and lengths."""

from __future__ import annotations

from collections.abc import Iterator

from softmachine.languages.turing import Tape
from softmachine.theorems.chapter_8.theorem import cost as chapter_8_cost
from softmachine.theorems.ternary.cost import cost as ternary_cost
from tests.theorems.costs.family import SIX, Family
from tests.theorems.costs.programs import DEPTHS
from tests.theorems.test_ternary import full_machine

TAPES = {1: (1, Tape.STAY), 2: (2, Tape.STAY), 3: (3, Tape.STAY), 4: (1, Tape.TWO_WAY), 5: (2, Tape.TWO_WAY)}
TAPES |= {6: (3, Tape.TWO_WAY)}
LENGTHS = (16, 32, 64, 128, 256, 512)


def machines() -> Iterator[Family]:
    """Turing machines, by their tapes; those whose weights depend on a length, by lengths."""
    two_way = {k: tape is Tape.TWO_WAY for k, (_, tape) in TAPES.items()}
    yield Family(
        "chapter-8",
        "tapes",
        ("5 layers, 1 + 5K heads",),
        SIX,
        lambda k: (full_machine(*TAPES[k]), None),
        lambda k, _: {"layers": 5, "heads": chapter_8_cost(full_machine(*TAPES[k])).heads},
    )
    yield Family(
        "chapter-8-summary",
        "tapes",
        ("7 + K layers",),
        SIX,
        lambda k: (full_machine(*TAPES[k]), None),
        lambda k, _: {"layers": 7 + TAPES[k][0]},
    )
    yield Family(
        "address-bits",
        "tapes",
        ("3 layers", "1 + 5K heads for K two-way tapes, 1 + 3K for tapes with a left end"),
        SIX,
        lambda k: (full_machine(*TAPES[k]), 64),
        lambda k, _: {"layers": 3, "heads": 1 + (5 if two_way[k] else 3) * TAPES[k][0]},
    )
    yield Family(
        "address-bits",
        "lengths",
        ("3 layers",),
        LENGTHS,
        lambda length: (full_machine(1), length),
        lambda _n, _: {"layers": 3, "heads": 4},
    )
    yield Family(
        "residues",
        "lengths",
        ("4 layers and 1 + 2K heads", "3 layers and 1 + K heads up to 128 positions"),
        LENGTHS,
        lambda length: (full_machine(1), length),
        lambda length, _: {"layers": 3 if length <= 128 else 4, "heads": 2 if length <= 128 else 3},
    )
    yield Family(
        "residues-without-positions",
        "lengths",
        ("or without positions",),
        LENGTHS,
        lambda length: (full_machine(1), length),
        lambda _n, _: {"layers": 3, "heads": 2},
    )
    for name in ("ternary", "ternary-summary"):
        yield Family(
            name,
            "lengths",
            ("K + 1 heads, width O(K r)",) if name == "ternary" else ("max(2K + 1, 5) heads",),
            LENGTHS,
            lambda length: (full_machine(1), length),
            lambda _n, codec: {"layers": ternary_cost(codec).layers, "heads of a layer": ternary_cost(codec).heads},
        )
    yield Family(
        "turing-counter",
        "symbols",
        DEPTHS[:1],
        (2, 3, 4, 5, 6, 7),
        lambda symbols: (full_machine(1, symbols=symbols), None),
        lambda symbols, _: {"heads": 1 if symbols == 2 else 2},
    )
    yield Family(
        "turing-relative",
        "symbols",
        ("two for each comparison through R",),
        (2, 3, 4, 5, 6, 7),
        lambda symbols: (full_machine(1, symbols=symbols), None),
        lambda symbols, _: {"heads": 2 * symbols, "layers": 2},
    )
