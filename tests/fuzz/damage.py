"""Damage of files: transmission errors and deliberate changes."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

HUGE = ("9" * 30, "9" * 5000, "-1", "0", "1e999", "0x10", "18446744073709551616", "NaN", "٣")
OPENING = "([{<\"'#&*!|>-: \t\\"
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 10**12, 10**30, 1.5, float("nan"), float("inf"), "", "x", "true", "1/0", "é\x00",
    [], {}, [[]], [None], {"a": 1}, "9" * 5000, [0] * 1000,
)  # fmt: skip


def flipped(rng: random.Random, data: bytes) -> bytes:
    """Flip some bits."""
    broken = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8]) if broken else 0):
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
    return bytes(broken)


def cut(rng: random.Random, data: bytes) -> bytes:
    """Remove the end, the beginning or a part in the middle."""
    one, other = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return rng.choice([data[:one], data[one:], data[:one] + data[other:]])


def doubled(rng: random.Random, data: bytes) -> bytes:
    """Repeat a part."""
    one, other = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:other] + data[one:other] * rng.choice([1, 1, 3, 200]) + data[other:]


def exchanged(rng: random.Random, data: bytes) -> bytes:
    """Replace a few bytes."""
    broken = bytearray(data)
    for _ in range(rng.randint(1, 5) if broken else 0):
        broken[rng.randrange(len(broken))] = rng.randrange(256)
    return bytes(broken)


def huge_number(rng: random.Random, data: bytes) -> bytes:
    """Replace a number by another one, possibly a huge or malformed one."""
    places = list(re.finditer(rb"\d+", data))
    if not places:
        return data + b"9" * 400
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(HUGE).encode() + data[place.end() :]


def nested(rng: random.Random, data: bytes) -> bytes:
    """Insert many opening brackets or other characters that nest."""
    at = rng.randrange(len(data) + 1)
    many = rng.choice([50, 1500, 100_000])
    return data[:at] + rng.choice(OPENING).encode() * many + data[at:]


def encoded(rng: random.Random, data: bytes) -> bytes:
    """Change the encoding or the ends of lines, or add a byte-order mark."""
    text = data.decode("latin-1")
    return rng.choice(
        [
            text.encode("utf-16"),
            text.encode("utf-32"),
            b"\xef\xbb\xbf" + data,
            data.replace(b"\n", b"\r\n"),
            data.replace(b"\n", b"\r"),
            data.replace(b" ", b"\xc2\xa0"),
            data.replace(b"\n", b"\x00"),
            data + b"\x1a",
            data.replace(b"a", "\u202e".encode()),
        ]
    )


def noise(rng: random.Random, data: bytes) -> bytes:
    """Replace all but the beginning by random bytes."""
    return data[: rng.randrange(20)] + rng.randbytes(rng.choice([0, 1, 30, 3000]))


DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    flipped, cut, doubled, exchanged, huge_number, nested, encoded, noise,
)  # fmt: skip


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Apply one or two kinds of damage; the result has at most 1.5 MB, more than is ever read."""
    for _ in range(rng.choice([1, 1, 2])):
        data = rng.choice(DAMAGES)(rng, data)[: 3 << 19]
    return data


def another_value(rng: random.Random, data: Any) -> Any:
    """Replace or remove one value of JSON data."""
    places = list(_places(data))
    container, key = rng.choice(places)
    if rng.random() < 0.2:
        del container[key]
    else:
        container[key] = json.loads(json.dumps(rng.choice(VALUES)))
    return data


def _places(data: Any) -> list[tuple[Any, Any]]:
    keys = list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
    return [(data, key) for key in keys] + [place for key in keys for place in _places(data[key])]
