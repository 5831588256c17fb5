"""Reference interpreter of C-RASP, directly after the definitions.

A count at position i is computed from all positions up to i, so a chain of thought of n tokens takes O(n²) steps.
`softmachine.languages.crasp.streaming_interpreter` is the fast interpreter; the tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from softmachine.languages.crasp.program import (
    ACCEPT,
    REJECT,
    CraspProgram,
    NamedFormula,
    TermComparison,
    subformulas_of,
)
from softmachine.languages.crasp.relations import RELATIONS
from softmachine.languages.crasp.terms import AtomicTerm, Conditional, Count, Maximum, Minimum, NamedTerm, Term
from softmachine.languages.linear import LinearExpression
from softmachine.languages.temporal.formula import And, BooleanConstant, Formula, Iff, Implies, Not, Or, Symbol
from softmachine.support.errors import NoNextTokenError


class Evaluation:
    """The values of all formulas and terms of a program at every position of a growing sequence of tokens.

    Position 0 is before the first token: it has no symbol, and every count is 0.
    """

    def __init__(self, program: CraspProgram, tokens: Iterable[str] = ()) -> None:
        self.program = program
        self.tokens: list[str] = []
        # In topological order.
        self._formulas = dict.fromkeys(formula for body in program.bodies for formula in subformulas_of(body))
        self._values: dict[Formula, list[bool]] = {formula: [] for formula in self._formulas}
        self._numbers: dict[tuple[AtomicTerm, int], int] = {}
        self._evaluate()
        for token in tokens:
            self.append(token)

    def append(self, token: str) -> None:
        """Append a token."""
        self.tokens.append(token)
        self._evaluate()

    def holds(self, formula: Formula, position: int = -1) -> bool:
        """Whether a formula of the program is true at a position, by default the last one."""
        return self._values[formula][position]

    def value(self, name: str, position: int) -> bool | int:
        """The value of a named formula or term at a position."""
        body = self.program[name]
        return self._total(body, position) if isinstance(body, LinearExpression) else self.holds(body, position)

    def next_token(self) -> str:
        """The token of the first rule whose body holds at the last position.

        Raises:
            NoNextTokenError: If no rule applies.
        """
        for rule in self.program.rules:
            if self.holds(rule.body):
                return rule.token
        raise stuck_error(self.program, len(self.tokens), self.tokens[-1] if self.tokens else None)

    def _evaluate(self) -> None:
        """Compute all values at the last position."""
        position = len(self.tokens)
        self._numbers.clear()
        for formula in self._formulas:
            self._values[formula].append(self._truth(formula, position))

    def _truth(self, formula: Formula, i: int) -> bool:
        def here(part: Formula) -> bool:
            return self._values[part][i]

        match formula:
            case Symbol(symbol):
                return i > 0 and self.tokens[i - 1] == symbol
            case BooleanConstant(value):
                return value
            case Not(of):
                return not here(of)
            case And(operands):
                return all(here(operand) for operand in operands)
            case Or(operands):
                return any(here(operand) for operand in operands)
            case Implies(left, right):
                return not here(left) or here(right)
            case Iff(left, right):
                return here(left) == here(right)
            case TermComparison(one, relation, other):
                return relation.holds(self._total(one, i), self._total(other, i))
            case NamedFormula(name):
                return self.value(name, i) is True
            case _:
                raise TypeError(f"{type(formula).__name__} is not a formula of C-RASP")

    def _total(self, term: Term, i: int) -> int:
        total = term.constant
        for coefficient, number in term.terms:
            if (number, i) not in self._numbers:
                self._numbers[number, i] = self._number(number, i)
            total += coefficient * self._numbers[number, i]
        return total

    def _number(self, number: AtomicTerm, i: int) -> int:
        match number:
            case Count(of, None):
                return sum(self._values[of][j] for j in range(1, i + 1))
            case Count(of, str(relation)):
                row = RELATIONS[relation](i) if i > 0 else ()
                return sum(self._values[of][j] for j in range(1, i + 1) if j in row)
            case NamedTerm(name):
                return int(self.value(name, i))
            case Conditional(condition, then, otherwise):
                return self._total(then if self._values[condition][i] else otherwise, i)
            case Minimum(of):
                return min(self._total(each, i) for each in of)
            case Maximum(of):
                return max(self._total(each, i) for each in of)
        raise TypeError(f"{type(number).__name__} is not a number of C-RASP")


def generate(program: CraspProgram, word: str | Iterable[str]) -> Iterator[str]:
    """Generate the chain of thought of a program on a word; it ends with ACC or REJ, or is infinite.

    Raises:
        InputError: If a symbol is not in the alphabet.
        NoNextTokenError: If no rule applies.
    """
    evaluation = Evaluation(program, program.word(word))
    token = ""
    while token not in (ACCEPT, REJECT):
        token = evaluation.next_token()
        yield token
        evaluation.append(token)


def satisfies(program: CraspProgram, word: str | Iterable[str]) -> bool:
    """Whether the acceptance formula of a program without rules is true at the last position of a word."""
    if program.accept is None:
        raise TypeError(f"{program.name} has rules")
    return Evaluation(program, program.word(word)).holds(program.accept)


def stuck_error(program: CraspProgram, position: int, token: str | None) -> NoNextTokenError:
    """The error of a run in which no rule applies."""
    where = f"at position {position}, after {token!r}" if token is not None else "on the empty word"
    return NoNextTokenError(
        f"C-RASP program {program.name!r} is stuck {where}: no rule applies",
        hint="add a last rule with the body true, as in: REJ <- true",
    )
