"""A binary adder with two tapes, 11 states and 5 symbols, of the size and speed of the one measured in the paper.

The first number is moved to the second tape behind a mark; both are added from the right, into the place of the second
number; the sum is moved via the second tape to the left end of the first. The output has no blanks.
"""

from __future__ import annotations

from itertools import product

from softmachine.languages.turing import Rule, TapeConvention, TuringMachine

SYMBOLS = ("_", "0", "1", "+", "$")


def binary_adder() -> TuringMachine:
    """The machine: 7n + 9 steps for two numbers of n > 1 digits with a carry at the end."""
    rules: list[Rule] = []

    def on(state: str, read: str, write: str, move: str, following: str) -> None:
        rules.append(Rule(state, tuple(read), tuple(write), tuple(move), following))

    for digit in "01":
        on("mark", f"{digit}_", f"{digit}$", "SR", "first")
        on("first", f"{digit}_", f"${digit}", "RR", "move")
        on("move", f"{digit}_", f"_{digit}", "RR", "move")
        on("right", f"{digit}_", f"{digit}_", "RS", "right")
    on("move", "+_", "__", "RS", "right")
    on("right", "__", "__", "LL", "add 0")
    for carry, first, second in product("01", "01_", "01$"):
        if first + second == "_$":
            continue
        total = int(carry) + (first == "1") + (second == "1")
        moves = "LS" if second == "$" else "LL"
        on(f"add {carry}", first + second, f"{total % 2}{second}", moves, f"add {total // 2}")
    on("add 1", "_$", "1$", "SR", "lift")
    on("add 0", "_$", "_$", "RR", "lift")
    for digit, under in product("01", "01_"):
        on("lift", digit + under, "_" + digit, "RR", "lift")
    on("lift", "__", "__", "LL", "back")
    for first, second in product("_$", "01"):
        on("back", first + second, first + second, "SL" if first == "$" else "LL", "back")
    on("back", "_$", "_$", "LS", "edge")
    on("back", "$$", "$$", "SS", "edge")
    on("edge", "_$", "_$", "LS", "edge")
    on("edge", "$$", "$$", "SR", "put")
    for first, digit in product("_$", "01"):
        on("put", first + digit, digit + "_", "RR", "put")
    on("put", "__", "__", "SS", "done")
    return TuringMachine(
        name="adder with two tapes",
        states=("mark", "first", "move", "right", "add 0", "add 1", "lift", "back", "edge", "put", "done"),
        alphabet=("0", "1", "+"),
        symbols=SYMBOLS,
        blank="_",
        rules=tuple(rules),
        start="mark",
        accept=("done",),
        tape=TapeConvention.STAY,
        tapes=2,
    )
