"""Random counter machines for property tests, determined by the seed."""

from __future__ import annotations

import random

from softmachine.languages.counter import Condition, CounterMachine, Linear, Not, Relation, Transition, compare
from softmachine.languages.temporal.structure import conjunction, disjunction


def random_condition(rng: random.Random, counters: tuple[str, ...], depth: int = 2) -> Condition:
    """A condition with small numbers."""
    kind = rng.random()
    if depth == 0 or kind < 0.5 or not counters:
        some = rng.sample(counters, k=rng.randint(0, min(2, len(counters))))
        terms = tuple((rng.choice([1, 1, 1, 2, -1, -3]), name) for name in some)
        return compare(Linear(terms, rng.choice([0, 0, 1])), rng.choice(list(Relation)), Linear((), rng.randint(-2, 4)))
    if kind < 0.6:
        return Not(random_condition(rng, counters, depth - 1))
    operands = tuple(random_condition(rng, counters, depth - 1) for _ in range(rng.randint(1, 3)))
    return conjunction(operands) if kind < 0.8 else disjunction(operands)


def random_counter_machine(
    rng: random.Random, *, letters: int = 2, work_counters: int = 2, states: int = 3
) -> CounterMachine:
    """A deterministic machine that never gets stuck and keeps counters non-negative; it need not halt.

    A test excludes the earlier ones of its state and bounds the decrements of its transition; every state has ``else``.
    """
    alphabet, work = tuple("abcdef"[:letters]), tuple("xyzuvw"[:work_counters])
    counters = alphabet + work
    going = [f"q{number}" for number in range(states)]
    targets = [*going, *going, "yes", "no"]
    transitions = []
    for state in going:
        before: tuple[Condition, ...] = ()
        for _ in range(rng.randint(0, 3)):
            updates = tuple(
                (name, rng.choice([-2, -1, -1, 1, 3])) for name in rng.sample(counters, k=rng.randint(0, len(counters)))
            )
            enough = tuple(compare(name, ">=", -change) for name, change in updates if change < 0)
            own = conjunction((random_condition(rng, counters), *enough))
            transitions.append(Transition(state, conjunction((own, *before)), updates, rng.choice(targets)))
            before += (Not(own),)
        grown = tuple(
            (name, rng.choice([1, 2])) for name in rng.sample(counters, k=rng.randint(0, min(1, len(counters))))
        )
        transitions.append(Transition(state, None, grown, rng.choice(targets)))
    return CounterMachine(
        name="random",
        alphabet=alphabet,
        work_counters=work,
        order=rng.random() < 0.3,
        start="q0",
        accept=("yes",),
        reject=("no",),
        transitions=tuple(transitions),
    )
