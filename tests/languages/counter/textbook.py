"""Minsky's textbook reduction, for comparison: two stacks and a scratch counter; every stack is moved back."""

from __future__ import annotations

from collections.abc import Callable

from softmachine.languages.counter import CounterMachine, Transition, make_comparison
from softmachine.languages.turing import TuringMachine


class Textbook:
    """Digits are 0 … k-1 with the blank as 0; the right stack begins under the head; only for unary inputs."""

    def __init__(self, machine: TuringMachine) -> None:
        self.machine = machine
        others = [symbol for symbol in machine.symbols if symbol != machine.blank]
        self.digit = {symbol: number for number, symbol in enumerate([machine.blank, *others])}
        self.transitions: list[Transition] = []
        self.states = 0

    def counter_machine(self) -> CounterMachine:
        (letter,) = self.machine.alphabet
        for state in self.machine.states:
            if state not in self.machine.halting_states:
                self._pop("R", lambda symbol, state=state: self._rule(state, symbol), state)  # type: ignore[misc]
        self._add("load", letter, ">=", 1, [(letter, -1)], self._push("R", letter, "load"))
        self._add("load", letter, "=", 0, [], self.machine.start)
        return CounterMachine(
            name="textbook", alphabet=(letter,), work_counters=("L", "R", "T"), start="load",
            accept=self.machine.accept, reject=self.machine.reject, transitions=tuple(self.transitions),
        )  # fmt: skip

    def _rule(self, state: str, symbol: str) -> str:
        rule = self.machine.find_rule(state, (symbol,))
        assert rule is not None
        if rule.move == ("R",):
            return self._push("L", rule.write[0], rule.next)
        return self._push("R", rule.write[0], self._pop("L", lambda read: self._push("R", read, rule.next)))

    def _push(self, stack: str, symbol: str, after: str) -> str:
        multiply, back = self._new(), self._new()
        self._add(multiply, stack, ">=", 1, [(stack, -1), ("T", len(self.digit))], multiply)
        self._add(multiply, stack, "=", 0, [(stack, self.digit[symbol])], back)
        self._back(back, stack, after)
        return multiply

    def _pop(self, stack: str, after: Callable[[str], str], divide: str | None = None) -> str:
        divide = divide or self._new()
        self._add(divide, stack, ">=", len(self.digit), [(stack, -len(self.digit)), ("T", 1)], divide)
        for symbol, digit in self.digit.items():
            back = self._new()
            self._add(divide, stack, "=", digit, [(stack, -digit)], back)
            self._back(back, stack, after(symbol))
        return divide

    def _back(self, state: str, stack: str, after: str) -> None:
        self._add(state, "T", ">=", 1, [("T", -1), (stack, 1)], state)
        self._add(state, "T", "=", 0, [], after)

    def _new(self) -> str:
        self.states += 1
        return f"s{self.states}"

    def _add(
        self, source: str, counter: str, relation: str, number: int, updates: list[tuple[str, int]], target: str
    ) -> None:
        self.transitions.append(Transition(source, make_comparison(counter, relation, number), tuple(updates), target))
