"""Translation of counter machines to C-RASP with chain of thought.

The tokens of the chain of thought are the transitions that the machine takes. No other state is needed, because the
value of every counter is a linear combination of counts of tokens ("Softmax Transformers are Turing-Complete",
Section 3)::

    x = (number of letters x) + Σ_ρ (change of x by ρ) · #[Q_ρ]

The machine depends only on the number of occurrences of each letter, so the languages are permutation-invariant, unary
if there is one letter, or letter-bounded, a₁* … aₘ*, if the machine has ``order``. The run has one token per step, and
one for the verdict; the program has one name per counter and state, and one rule per transition and halting state. It
counts single tokens only, except for the check of the order of letters, which nests two counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from softmachine.languages.counter import Condition, CounterComparison, CounterMachine, Transition, Verdict
from softmachine.languages.crasp.program import (
    ACCEPT,
    REJECT,
    RESERVED,
    CraspProgram,
    Definition,
    NamedFormula,
    Rule,
    TermComparison,
    make_comparison,
)
from softmachine.languages.crasp.terms import AtomicTerm, Count, NamedTerm, Term, as_term
from softmachine.languages.linear import LinearExpression
from softmachine.languages.temporal.formula import TRUE, And, Formula, Not, Or, Symbol
from softmachine.languages.temporal.structure import disjunction

VERDICTS = {Verdict.ACCEPT: ACCEPT, Verdict.REJECT: REJECT}


def build_counter_program(machine: CounterMachine) -> CraspProgram:
    """Build the program that generates the transitions of a machine on an input, and then the verdict.

    On an input where the machine gets stuck, so does the program. Where the machine would make a counter negative,
    which is an error of the machine, the program continues.
    """
    tokens = transition_tokens(machine)
    names = NameGenerator()
    begins = Not(disjunction(Symbol(token) for token in tokens)) if tokens else TRUE
    values = {letter: as_term(Count(Symbol(letter))) for letter in machine.alphabet}
    steps = build_simulation(machine, tokens, names, initial=values, start=begins)
    rules = steps.rules
    if machine.has_ordered_letters and len(machine.alphabet) > 1:
        refused = Rule(REJECT, And((steps.start, Not(_order_formula(machine.alphabet)))))
        rules = (refused, *rules)
    return CraspProgram(
        name=machine.name, alphabet=machine.alphabet, definitions=steps.definitions, rules=rules, place=machine.place
    )


def transition_tokens(machine: CounterMachine, transitions: Collection[str] = ()) -> dict[str, Transition]:
    """The tokens of the transitions of a machine, in order.

    A token is named after the source state, with a number if the state has several transitions. Transitions from
    unreachable or halting states have no token.
    """
    reached = _reachable_states(machine)
    tokens: dict[str, Transition] = {}
    used = {*machine.alphabet, *transitions, ACCEPT, REJECT}
    numbers: dict[str, int] = {}
    for transition in machine.transitions:
        state = transition.source
        if state not in reached or machine.verdict(state) is not None:
            continue
        numbers[state] = numbers.get(state, 0) + 1
        name = state if len(machine.transitions_from(state)) == 1 else f"{state}_{numbers[state]}"
        tokens[make_unique(name, used)] = transition
    return tokens


def _reachable_states(machine: CounterMachine) -> set[str]:
    """The states reachable from the start in the transition graph, ignoring tests."""
    reached: set[str] = set()
    waiting = [machine.start]
    while waiting:
        state = waiting.pop()
        if state not in reached:
            reached.add(state)
            if machine.verdict(state) is None:
                waiting += [transition.target for transition in machine.transitions_from(state)]
    return reached


class NameGenerator:
    """Generator of unique names for definitions."""

    def __init__(self) -> None:
        self._used = set(RESERVED)

    def __call__(self, stem: str) -> str:
        """An unused identifier close to the given name."""
        plain = re.sub(r"\W", "_", stem)
        if not re.match(r"[^\W\d]", plain) or plain.startswith("Q_"):
            plain = f"_{plain}"
        return make_unique(plain, self._used)


@dataclass(frozen=True)
class Simulation:
    """The part of a program that simulates a counter machine.

    Args:
        definitions: One term per counter, and one formula per state: the last transition leads to it.
        rules: One rule per transition, and the rules of the verdicts.
        start: The formula that is true where the simulation starts; a name unless it is a single token.
    """

    definitions: tuple[Definition, ...]
    rules: tuple[Rule, ...]
    start: Formula


def build_simulation(
    machine: CounterMachine,
    tokens: Mapping[str, Transition],
    names: NameGenerator,
    *,
    initial: Mapping[str, Term],
    start: Formula,
) -> Simulation:
    """Build the definitions and rules that simulate a machine.

    Args:
        machine: The machine.
        tokens: The tokens of its transitions.
        names: Generator of names for definitions.
        initial: Initial values of counters; 0 by default.
        start: A formula that is true at the position after which the machine starts, and false at all tokens.
    """
    counters = {counter: names(counter) for counter in machine.counters}
    definitions = [
        Definition(name, _counter_term(counter, initial.get(counter, LinearExpression()), tokens))
        for counter, name in counters.items()
    ]
    if not isinstance(start, Symbol):
        starting = names("begins")
        definitions.append(Definition(starting, start))
        start = NamedFormula(starting)
    rules: list[Rule] = []
    for state in machine.states:
        arrivals: list[Formula] = [start] if state == machine.start else []
        arrivals += (Symbol(token) for token, transition in tokens.items() if transition.target == state)
        if not arrivals:
            continue
        name = names(f"in_{state}")
        definitions.append(Definition(name, disjunction(arrivals)))
        here = NamedFormula(name)
        verdict = machine.verdict(state)
        if verdict is not None:
            rules.append(Rule(VERDICTS[verdict], here))
            continue
        leaving = [(token, transition) for token, transition in tokens.items() if transition.source == state]
        # The rule of `else` comes last, so it needs no test.
        for token, transition in sorted(leaving, key=lambda entry: entry[1].test is None):
            guard = TRUE if transition.test is None else condition_formula(transition.test, counters)
            rules.append(Rule(token, here if guard == TRUE else And((here, *_operands_of_or(guard)))))
    return Simulation(tuple(definitions), tuple(rules), start)


def condition_formula(condition: Condition, counters: Mapping[str, str]) -> Formula:
    """Translate a condition on counters to a formula, given the names of the terms of the counters."""
    match condition:
        case CounterComparison(left, relation, right):
            return TermComparison(_term(left, counters), relation, _term(right, counters))
        case Not(of):
            return Not(condition_formula(of, counters))
        case And(operands) | Or(operands):
            return type(condition)(tuple(condition_formula(operand, counters) for operand in operands))
        case _:
            return condition


def _term(linear: LinearExpression[str], counters: Mapping[str, str]) -> Term:
    numbers: tuple[tuple[int, AtomicTerm], ...] = tuple(
        (coefficient, NamedTerm(counters[counter])) for coefficient, counter in linear.terms
    )
    return LinearExpression(numbers, linear.constant)


def _counter_term(counter: str, initial: Term, tokens: Mapping[str, Transition]) -> Term:
    """The term of a counter: its initial value plus the changes by the transitions taken."""
    by_change: dict[int, list[str]] = {}
    for token, transition in tokens.items():
        change = dict(transition.updates).get(counter, 0)
        if change:
            by_change.setdefault(change, []).append(token)
    changes: tuple[tuple[int, AtomicTerm], ...] = tuple(
        (change, Count(disjunction(Symbol(token) for token in group))) for change, group in by_change.items()
    )
    return initial + LinearExpression(changes)


def _order_formula(alphabet: tuple[str, ...]) -> Formula:
    """The formula that the letters are in this order: no letter follows a later one."""
    misplaced: list[Formula] = []
    for index, letter in enumerate(alphabet[:-1]):
        later = Count(disjunction(Symbol(other) for other in alphabet[index + 1 :]))
        misplaced.append(And((Symbol(letter), make_comparison(as_term(later), ">", 0))))
    return make_comparison(as_term(Count(disjunction(misplaced))), "=", 0)


def _operands_of_or(formula: Formula) -> tuple[Formula, ...]:
    return formula.operands if isinstance(formula, And) else (formula,)


def make_unique(name: str, used: set[str]) -> str:
    """Make a name unique by appending underscores, and add it to the used names."""
    while name in used:
        name += "_"
    used.add(name)
    return name
