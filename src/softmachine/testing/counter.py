"""Random counter machines that never get stuck, and conditions on counters."""

from __future__ import annotations

from softmachine.languages.counter import (
    Condition,
    CounterMachine,
    LinearExpression,
    Not,
    Relation,
    Transition,
    make_comparison,
)
from softmachine.languages.temporal.structure import conjunction, disjunction
from softmachine.testing.randomness import Seed, generator


def random_condition(rng: Seed, counters: tuple[str, ...], depth: int = 2) -> Condition:
    """Draw a condition with small numbers.

    Args:
        rng: The random generator, or a seed.
        counters: The names of the counters.
        depth: The maximal nesting of connectives.
    """
    rng = generator(rng)
    kind = rng.random()
    if depth == 0 or kind < 0.5 or not counters:
        some = rng.sample(counters, k=rng.randint(0, min(2, len(counters))))
        terms = tuple((rng.choice([1, 1, 1, 2, -1, -3]), name) for name in some)
        return make_comparison(
            LinearExpression(terms, rng.choice([0, 0, 1])),
            rng.choice(list(Relation)),
            LinearExpression((), rng.randint(-2, 4)),
        )
    if kind < 0.6:
        return Not(random_condition(rng, counters, depth - 1))
    operands = tuple(random_condition(rng, counters, depth - 1) for _ in range(rng.randint(1, 3)))
    return conjunction(operands) if kind < 0.8 else disjunction(operands)


def random_counter_machine(rng: Seed, *, letters: int = 2, work_counters: int = 2, states: int = 3) -> CounterMachine:
    """Draw a deterministic machine that never gets stuck and never decrements a counter below 0; it may run forever.

    The test of a transition excludes the earlier tests of its state and requires what the transition subtracts; every
    state has an ``else``.

    Args:
        rng: The random generator, or a seed.
        letters: The number of input letters.
        work_counters: The number of counters beside those of the letters.
        states: The number of states that neither accept nor reject.
    """
    rng = generator(rng)
    alphabet, work = tuple("abcdef"[:letters]), tuple("xyzuvw"[:work_counters])
    counters = alphabet + work
    running = [f"q{number}" for number in range(states)]
    targets = [*running, *running, "yes", "no"]
    transitions = []
    for state in running:
        before: tuple[Condition, ...] = ()
        for _ in range(rng.randint(0, 3)):
            updates = tuple(
                (name, rng.choice([-2, -1, -1, 1, 3])) for name in rng.sample(counters, k=rng.randint(0, len(counters)))
            )
            enough = tuple(make_comparison(name, ">=", -change) for name, change in updates if change < 0)
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
        has_ordered_letters=rng.random() < 0.3,
        start="q0",
        accept=("yes",),
        reject=("no",),
        transitions=tuple(transitions),
    )
