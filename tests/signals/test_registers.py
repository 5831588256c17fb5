"""Register gadgets, on every number of a few bits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from softmachine.ir import Signal, constant, evaluate, named, stack, token
from softmachine.ir.gadgets import (
    encode_register,
    is_register_zero,
    keep_where,
    overwrite_where,
    position_register,
    register_equals,
    round_to_trit,
    step_register,
    subtract_power,
    subtract_registers,
)
from softmachine.ir.ranges import SIGN, real
from softmachine.support.errors import ConstructionError

BITS = 4
NUMBERS = range(1 << BITS)
TOKENS = [*map(str, NUMBERS), "none"]


def register(of: Callable[[int], int] = lambda number: number) -> Signal:
    """A register that holds a function of the token's number; none at the last token."""
    return token("n", {str(n): encode_register(of(n), BITS) for n in NUMBERS} | {"none": (0,) * BITS})


def numbers(signal: Signal, tokens: list[str] = TOKENS) -> list[int | None]:
    rows = evaluate(signal, tokens)
    assert all(x in (-1, 0, 1) for row in rows for x in row)
    assert all(0 not in row or not any(row) for row in rows)
    return [None if 0 in row else sum(1 << k for k, bit in enumerate(row) if bit == 1) for row in rows]


def bit(of: Callable[[int], bool]) -> Signal:
    return token("where", {str(n): (int(of(n)),) for n in NUMBERS} | {"none": (0,)})


@pytest.mark.parametrize("power", [0, 1, 2])
def test_decreasing_stops_at_zero_and_leaves_none_alone(power: int) -> None:
    assert numbers(subtract_power("less", register(), power)) == [*(max(n - 2**power, 0) for n in NUMBERS), None]


@pytest.mark.parametrize("wraps", [True, False])
def test_a_step_up_or_down_is_added(wraps: bool) -> None:
    up, down = bit(lambda n: n % 3 == 0), bit(lambda n: n % 3 == 1)
    stepped = named(
        "stepped", (register() + step_register("step", register(), up, down, wraps_around=wraps)).with_range(SIGN)
    )
    inner = [n for n in NUMBERS if wraps or n not in (0, 2**BITS - 1)]
    wanted = [(n + (n % 3 == 0) - (n % 3 == 1)) % 2**BITS for n in inner]
    assert numbers(stepped, [*map(str, inner), "none"]) == [*wanted, None]


def test_the_difference_of_all_pairs() -> None:
    for second in NUMBERS:
        other = token("m", {t: encode_register(second, BITS) for t in TOKENS})
        where = bit(lambda n: n != 5)
        found = numbers(named("d", subtract_registers("d", register(), other, where)))
        assert found == [*((n - second) % 2**BITS if n != 5 else None for n in NUMBERS), None]
        flipped = named("d", subtract_registers("d", register(), other, where, bit(lambda n: n % 2 == 0)))
        wanted = [(n - second) % 2**BITS if n % 2 else (second - n - 1) % 2**BITS for n in NUMBERS]
        assert numbers(flipped) == [*(None if n == 5 else w for n, w in zip(NUMBERS, wanted, strict=True)), None]


def test_registers_are_kept_replaced_and_recognised() -> None:
    odd = bit(lambda n: n % 2 == 1)
    assert numbers(named("k", keep_where("k", register(), odd))) == [*(n if n % 2 else None for n in NUMBERS), None]
    new = keep_where("new", register(lambda n: 3 * n % 16), odd)
    assert numbers(overwrite_where("o", register(), odd, new)) == [*(3 * n % 16 if n % 2 else n for n in NUMBERS), None]
    assert [row[0] for row in evaluate(is_register_zero("z", register()), TOKENS)] == [1] + [0] * 16
    six = register_equals("six", register(), encode_register(6, BITS), blockers=bit(lambda n: n == 7))
    assert [row[0] for row in evaluate(six, TOKENS)] == [int(n == 6) for n in range(17)]
    assert not any(
        row[0]
        for row in evaluate(
            register_equals("6", register(), encode_register(6, BITS), blockers=bit(lambda n: n == 6)), TOKENS
        )
    )


def test_positions_are_registers() -> None:
    assert numbers(position_register(BITS), TOKENS[:16]) == list(NUMBERS)


def test_numbers_within_a_quarter_are_snapped() -> None:
    table = {f"{base} {off}": (base + Fraction(off, 8),) for base in (-1, 0, 1) for off in (-2, -1, 0, 1, 2)}
    noisy = token("x", table).with_range(real(-2, 2))
    tokens = list(table)
    assert [row[0] for row in evaluate(round_to_trit("s", noisy), tokens)] == [int(t.split()[0]) for t in tokens]


def test_widths_and_kinds_are_demanded() -> None:
    with pytest.raises(ConstructionError, match="equal width"):
        register_equals("m", register(), (1, 1))
    with pytest.raises(ConstructionError, match="takes bits"):
        keep_where("k", register(), constant(2))
    with pytest.raises(ConstructionError, match="equal width"):
        subtract_registers("d", register(), stack(register(), register()), constant(1))
