"""Independent interpreters of machines, formulas, programs, circuits and graphs, written to be obviously right.

Nothing of softmachine is imported. Objects are read by the names of their classes and fields. Positions of words are
0, 1, …; the languages that count from 1 are marked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """An outcome; None for what the interpreter does not define."""

    verdict: str | None = None
    steps: int | None = None
    output: str | None = None
    values: tuple[Any, ...] | None = None


def turing(machine: Any, word: tuple[str, ...], most: int) -> Answer:
    """A Turing machine: tapes are dictionaries."""
    rules = {(rule.state, rule.read): rule for rule in machine.rules}
    tapes: list[dict[int, str]] = [dict(enumerate(word)), *({} for _ in range(machine.tapes - 1))]
    heads = [0] * machine.tapes
    state, steps = machine.start, 0
    ended = False
    while not ended:
        rule = rules.get((state, tuple(tape.get(head, machine.blank) for tape, head in zip(tapes, heads, strict=True))))
        off = rule is not None and any(move == "L" and head == 0 for move, head in zip(rule.move, heads, strict=True))
        if state in machine.accept + machine.reject or rule is None or (off and str(machine.tape) == "error"):
            ended = True
        elif steps == most:
            break
        else:
            for k, (symbol, move) in enumerate(zip(rule.write, rule.move, strict=True)):
                tapes[k][heads[k]] = symbol
                held = move == "L" and heads[k] == 0 and str(machine.tape) == "stay"
                heads[k] += 0 if held else {"L": -1, "S": 0, "R": 1}[move]
            state, steps = rule.next, steps + 1
    cells = [cell for cell, symbol in tapes[0].items() if symbol != machine.blank]
    left = [tapes[0].get(cell, machine.blank) for cell in range(min(cells), max(cells) + 1)] if cells else []
    between = "" if all(len(symbol) == 1 for symbol in machine.symbols) else " "
    if not ended:
        return Answer(None, steps, between.join(left))
    verdict = "accept" if state in machine.accept else "reject" if state in machine.reject or machine.accept else "halt"
    return Answer(verdict, steps, between.join(left))


def counter(machine: Any, word: tuple[str, ...], most: int) -> Answer:
    """A counter machine that breaks no rule."""
    names = (*machine.alphabet, *machine.work_counters)
    value = {name: word.count(name) if name in machine.alphabet else 0 for name in names}
    state, steps = machine.start, 0
    if machine.has_ordered_letters and list(word) != sorted(word, key=machine.alphabet.index):
        return Answer("reject", 0, _counters(value))
    while state not in machine.accept + machine.reject:
        leaving = [one for one in machine.transitions if one.source == state]
        takes = [one for one in leaving if one.test is not None and _condition(one.test, value)]
        (taken,) = takes or [one for one in leaving if one.test is None]
        if steps == most:
            return Answer(None, steps, _counters(value))
        for name, change in taken.updates:
            value[name] += change
        assert min(value.values(), default=0) >= 0
        state, steps = taken.target, steps + 1
    return Answer("accept" if state in machine.accept else "reject", steps, _counters(value))


def _counters(value: dict[str, int]) -> str:
    return " ".join(f"{name}={number}" for name, number in value.items())


def _condition(test: Any, value: dict[str, int]) -> bool:
    kind = type(test).__name__
    if kind == "CounterComparison":
        left, right = (
            sum(k * value[name] for k, name in side.terms) + side.constant for side in (test.left, test.right)
        )
        return compares(str(test.relation), left, right)
    return boolean(kind, test, lambda part: _condition(part, value))


def compares(relation: str, left: Any, right: Any) -> bool:
    """Whether two values compare so."""
    if relation in ("=", "!="):
        return bool((left == right) is (relation == "="))
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[relation])


def boolean(kind: str, formula: Any, holds: Any) -> bool:
    """A connective, given the values of its operands."""
    match kind:
        case "BooleanConstant":
            return bool(formula.value)
        case "Not":
            return not holds(formula.operand)
        case "And":
            return all(holds(part) for part in formula.operands)
        case "Or":
            return any(holds(part) for part in formula.operands)
        case "Implies":
            return holds(formula.right) if holds(formula.left) else True
        case "Iff":
            return bool(holds(formula.left) == holds(formula.right))
    raise AssertionError(f"no meaning is known for {kind}")


def temporal(specification: Any, word: tuple[str, ...], most: int) -> Answer:
    """A formula at every position, by recursion; a word satisfies it at its last one."""
    known: dict[tuple[int, int], bool] = {}
    n = len(word)

    def at(formula: Any, i: int) -> bool:
        if (id(formula), i) not in known:
            known[id(formula), i] = meaning(formula, i)
        return known[id(formula), i]

    def count(number: Any, i: int) -> int:
        match type(number).__name__:
            case "LeftCount":
                return [at(number.formula, j) for j in range(i + 1)].count(True)
            case "RightCount":
                return [at(number.formula, j) for j in range(i, n)].count(True)
        return i + 1

    def meaning(formula: Any, i: int) -> bool:
        kind = type(formula).__name__
        match kind:
            case "Symbol":
                return bool(word[i] == formula.symbol)
            case "First":
                return i == 0
            case "Last":
                return i == n - 1
            case "Previous":
                return i > 0 and at(formula.operand, i - 1)
            case "Next":
                return i + 1 < n and at(formula.operand, i + 1)
            case "Once":
                return at(formula.operand, i) or (i > 0 and at(formula, i - 1))
            case "Historically":
                return at(formula.operand, i) and (i == 0 or at(formula, i - 1))
            case "Eventually":
                return at(formula.operand, i) or (i + 1 < n and at(formula, i + 1))
            case "Always":
                return at(formula.operand, i) and (i + 1 == n or at(formula, i + 1))
            case "Since" | "Until":
                before = i - 1 if kind == "Since" else i + 1
                now = at(formula.right, i) and (str(formula.semantics) == "standard" or at(formula.left, i))
                return now or (at(formula.left, i) and 0 <= before < n and at(formula, before))
            case "CountComparison":
                sides = (formula.left, formula.right)
                left, right = (sum(k * count(number, i) for k, number in side.terms) + side.constant for side in sides)
                return compares(str(formula.relation), left, right)
            case "NumericalPredicate":
                return predicate(formula.name, count(formula.argument, i), n, formula.parameters)
        return boolean(kind, formula, lambda part: at(part, i))

    values = tuple(at(specification.formula, i) for i in range(n))
    return Answer("accept" if values[-1:] == (True,) else "reject", values=values)


def predicate(name: str, number: int, n: int, parameters: tuple[int, ...]) -> bool:
    """The predicates of numbers, in a word of length n, that the generator writes."""
    match name:
        case "odd":
            return number % 2 == 1
        case "prime":
            return number > 1 and all(number % k for k in range(2, number))
        case "power2":
            return number in {2**k for k in range(number + 1)}
        case "mod":
            return number % parameters[0] == parameters[1]
        case "half":
            return number <= n / 2
        case "middle":
            return number == n - n // 2
        case "divides":
            return number in {k for k in range(1, n + 1) if n / k == n // k}
        case "upto":
            return number * parameters[1] <= n * parameters[0]
    raise AssertionError(f"no meaning is known for {name}")


def crasp(program: Any, word: tuple[str, ...], most: int) -> Answer:
    """C-RASP: position 0 is before the first token, where nothing is true of a symbol and every count is 0."""
    bodies = {entry.name: entry.body for entry in program.definitions}
    tokens = list(word)
    known: dict[tuple[int, int], bool] = {}

    def at(formula: Any, i: int) -> bool:
        if (id(formula), i) not in known:
            known[id(formula), i] = meaning(formula, i)
        return known[id(formula), i]

    def meaning(formula: Any, i: int) -> bool:
        kind = type(formula).__name__
        match kind:
            case "Symbol":
                return i > 0 and bool(tokens[i - 1] == formula.symbol)
            case "TermComparison":
                return compares(str(formula.relation), total(formula.left, i), total(formula.right, i))
            case "NamedFormula":
                return at(bodies[formula.name], i)
        return boolean(kind, formula, lambda part: at(part, i))

    def total(term: Any, i: int) -> int:
        return int(term.constant + sum(coefficient * number(one, i) for coefficient, one in term.terms))

    def number(one: Any, i: int) -> int:
        match type(one).__name__:
            case "Count":
                counted = range(1, i + 1) if one.relation is None else related(i)
                return [at(one.formula, j) for j in counted].count(True)
            case "NamedTerm":
                return total(bodies[one.name], i)
            case "Conditional":
                return total(one.then if at(one.condition, i) else one.otherwise, i)
            case "Minimum":
                return sorted(total(each, i) for each in one.arguments)[0]
            case "Maximum":
                return sorted(total(each, i) for each in one.arguments)[-1]
        raise AssertionError(f"no meaning is known for {type(one).__name__}")

    if program.accept is not None:
        values = tuple(at(program.accept, i) for i in range(len(tokens) + 1))
        return Answer("accept" if values[-1] else "reject", values=values[1:])
    while len(tokens) - len(word) <= most:
        token = next(rule.token for rule in program.rules if at(rule.body, len(tokens)))
        if token in ("ACC", "REJ"):
            return Answer("accept" if token == "ACC" else "reject", len(tokens) - len(word))
        tokens.append(token)
    return Answer(None, most)


def related(x: int) -> list[int]:
    """The positions i ≤ x where bit i of what follows the first 0 of x in binary is 1."""
    bits = list(bin(x)[2:])
    if x == 0 or "0" not in bits:
        return []
    rest = bits[bits.index("0") + 1 :]
    return [k + 1 for k, bit in enumerate(rest) if bit == "1" and k + 1 <= x]


def srasp(program: Any, word: tuple[str, ...], most: int) -> Answer:
    """S-RASP: vector after vector, position after position; pos counts from 1."""
    n = len(word)
    vectors: dict[str, list[Any]] = {"in": list(word), "pos": list(range(1, n + 1))}

    def value(one: Any, i: int, j: int) -> Any:
        match type(one).__name__:
            case "VectorRead":
                return vectors[one.name][i if one.at == "i" else j]
            case "SymbolLiteral" | "IntegerLiteral" | "BooleanLiteral":
                return one.value
            case "Not":
                return not value(one.operand, i, j)
            case "And":
                return all(value(part, i, j) for part in one.parts)
            case "Or":
                return any(value(part, i, j) for part in one.parts)
            case "Compare":
                return compares(str(one.relation), value(one.left, i, j), value(one.right, i, j))
            case "Member":
                return value(one.operand, i, j) in one.symbols
            case "Conditional":
                return value(one.then if value(one.condition, i, j) else one.otherwise, i, j)
            case "Add":
                return value(one.left, i, j) + value(one.right, i, j)
            case "Subtract":
                return value(one.left, i, j) - value(one.right, i, j)
            case "PrefixSum":
                return sum(value(one.term, k, k) for k in range(i + 1))
            case "Attention":
                seen = [k for k in range(n) if visible(str(one.mask), k, i) and value(one.predicate, i, k)]
                if not seen:
                    return value(one.default, i, i)
                return value(one.value, i, min(seen) if str(one.choice) == "leftmost" else max(seen))
        raise AssertionError(f"no meaning is known for {type(one).__name__}")

    for entry in program.definitions:
        vectors[entry.name] = [value(entry.body, i, i) for i in range(n)]
    out = tuple(vectors[program.output])
    if program.has_verdict:
        return Answer("accept" if out[-1:] == (True,) else "reject", values=out)
    return Answer("halt", values=out)


def visible(mask: str, j: int, i: int) -> bool:
    """Whether position i sees j."""
    return {"j": True, "j < i": j < i, "j <= i": j <= i, "j > i": j > i, "j >= i": j >= i}[mask]


def circuit(one: Any, word: tuple[str, ...], most: int) -> Answer:
    """A circuit: the value of a wire, by recursion."""
    gates = {gate.name: gate for gate in one.gates}
    held = {wire: bit == "1" for wire, bit in zip(one.inputs, word, strict=True)}

    def value(wire: str) -> bool:
        if wire not in held:
            gate = gates[wire]
            held[wire] = gate_value(str(gate.kind), [value(each) for each in gate.inputs], gate.threshold)
        return held[wire]

    bits = "".join("1" if value(wire) else "0" for wire in one.outputs)
    return Answer({"0": "reject", "1": "accept"}.get(bits, "halt"), output=bits)


def gate_value(kind: str, bits: list[bool], threshold: int | None) -> bool:
    """The value of a gate."""
    ones, zeros = bits.count(True), bits.count(False)
    return {
        "AND": not zeros,
        "OR": ones > 0,
        "NOT": ones == 0,
        "BUF": ones == 1,
        "XOR": ones % 2 == 1,
        "XNOR": ones % 2 == 0,
        "NAND": zeros > 0,
        "NOR": ones == 0,
        "MAJ": ones > zeros,
        "THR": ones >= (threshold or 0),
        "ZERO": False,
        "ONE": True,
    }[kind]


def family(one: Any, word: tuple[str, ...], most: int) -> Answer:
    """A family: the circuit that it unrolls to, by recursion."""
    return Answer(circuit(one.circuit(len(word)), word, most).verdict)


def logspace(machine: Any, word: tuple[str, ...], most: int) -> Answer:
    """A nondeterministic machine: the reachable configurations, step by step, until there is no new one."""
    tape, space = ("<", *word, ">"), machine.log_factor * len(word).bit_length() + machine.extra_cells
    now = {(machine.start, 0, 0, ("<", *"_" * space, ">"))}
    seen = set(now)
    while now:
        if any(state in machine.accept for state, *_ in now):
            return Answer("accept")
        after = set()
        for state, head, at, work in now:
            for rule in machine.rules:
                if (rule.state, rule.input_symbol, rule.work_symbol) == (state, tape[head], work[at]):
                    written = (*work[:at], rule.written_symbol, *work[at + 1 :])
                    moves = {"L": -1, "S": 0, "R": 1}
                    after.add((rule.next, head + moves[rule.move], at + moves[rule.work_move], written))
        now = after - seen
        seen |= now
    return Answer("reject")


def odd_walks(one: Any, word: tuple[str, ...], most: int) -> Answer:
    """Whether a walk of odd length leads to the second vertex: walk, and look after every odd number of edges."""
    edges = list(one.edges) + ([] if one.directed else [(b, a) for a, b in one.edges])
    at, found = {word[0]}, False
    for length in range(1, 2 * len(one.vertices) + 2):
        at = {b for a, b in edges if a in at}
        found = found or (length % 2 == 1 and word[1] in at)
    return Answer("accept" if found else "reject")


def graph(one: Any, word: tuple[str, ...], most: int) -> Answer:
    """Whether the second vertex can be reached: add neighbours until nothing is new."""
    reached = {word[0]}
    edges = list(one.edges) + ([] if one.directed else [(b, a) for a, b in one.edges])
    while more := {b for a, b in edges if a in reached} - reached:
        reached |= more
    return Answer("accept" if word[1] in reached else "reject")
