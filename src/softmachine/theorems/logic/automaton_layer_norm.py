"""Finite automata in ⌈log₂ n⌉ iterations of a looped block, by layer norm, without position features.

Figure 1 of "Revisiting Padded Transformer Expressivity" gives fully uniform transformers with log^d iterations the
class FO-uniform TC^d, and cites Merrill and Sabharwal. These are members of it: one set of weights for all lengths, no
position features, and a block that is applied ⌈log₂ n⌉ times. Regular languages are in NC¹, so in TC¹; those whose
monoid has a group that is not solvable are complete for NC¹ (Barrington), and no transformer of constant depth is known
for them. The zoo's ``shell-game`` is such a language.

Position i holds the transition function of the symbols from i - 2^k + 1 to i, as |Q|² bits (state pairs). Iteration k
composes it with the one at i - 2^k, which doubles the number of symbols covered (parallel prefix); the start token, at
position 0, has the identity and is found where fewer symbols are left. When 2^k ≥ n, the whole prefix up to i is
covered.

Uniform attention gives 1/(i+1), the mean of the start token's bit. The distance is carried as 2^k/(i+1), which doubles
in every iteration up to 1. The layer-norm hash of (i - 2^k)/(i+1) and 1/(i+1) is that of the number i - 2^k, by which
position i - 2^k is found (Merrill and Sabharwal; layer norm without the ε of section B.3).

Needs: no position features; layer norm; ⌈log₂ n⌉ iterations. Hashes are irrational: float64 or interval arithmetic with
Θ(log n) bits, since scores are about 1/n⁴ apart.

The automata are one-way read-only Turing machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from softmachine.ir import Program, Signal, attend, constant, loop, named, recogniser, relu, stack, sum_signals
from softmachine.ir.gadgets.lookup import lookup_by_hash
from softmachine.ir.primitives import token
from softmachine.ir.ranges import BIT, real
from softmachine.languages.turing import TuringMachine
from softmachine.support.errors import ConstructionError
from softmachine.theorems.codec import Word
from softmachine.theorems.cost import Cost, parameter
from softmachine.theorems.shared.recogniser_codec import StartTokenCodec
from softmachine.theorems.theorem import Requirements, Theorem, TourStep
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Logarithm

ACCEPTS, REJECTS = "accept", "reject"


@dataclass(frozen=True)
class Automaton:
    """The finite automaton of a Turing machine that reads every symbol once, from left to right, and never writes.

    A machine that halts before the end of the word has decided: two absorbing states stand for the verdicts.

    Raises:
        ConstructionError: If the machine is not of this form.
    """

    machine: TuringMachine

    def __post_init__(self) -> None:
        machine = self.machine
        if machine.tapes != 1 or not machine.accept:
            raise _not_an_automaton_error(machine, "it has several tapes or no accepting state")
        for rule in machine.rules:
            if rule.read != rule.write:
                raise _not_an_automaton_error(machine, f"the rule {rule} writes")
            continues = rule.next not in machine.halting_states
            if continues and rule.read == (machine.blank,):
                raise _not_an_automaton_error(machine, f"the rule {rule} continues after the end of the word")
            if continues and rule.move != ("R",):
                raise _not_an_automaton_error(machine, f"the rule {rule} does not move right")

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The non-final states of the machine, and one absorbing state per verdict."""
        return (*(state for state in self.machine.states if state not in self.machine.halting_states), ACCEPTS, REJECTS)

    @property
    def start(self) -> int:
        """The index of the start state."""
        return self.states.index(self._verdict_after_stops(self.machine.start))

    def successors(self, letter: str) -> tuple[int, ...]:
        """For each state, the index of its successor on a symbol."""
        return tuple(self._successor(state, letter) for state in range(len(self.states)))

    @cached_property
    def accepting(self) -> tuple[bool, ...]:
        """For each state, whether a word that ends there is accepted."""
        last = (self._successor(state, self.machine.blank) for state in range(len(self.states)))
        return tuple(self.states[state] == ACCEPTS for state in last)

    def accepts(self, word: Word) -> bool:
        """Whether a word is accepted."""
        state = self.start
        for letter in word:
            state = self._successor(state, letter)
        return self.accepting[state]

    def _successor(self, state: int, symbol: str) -> int:
        if state >= len(self.states) - 2:
            return state
        rule = self.machine.find_rule(self.states[state], (symbol,))
        return self.states.index(REJECTS if rule is None else self._verdict_after_stops(rule.next))

    def _verdict_after_stops(self, state: str) -> str:
        if state in self.machine.accept:
            return ACCEPTS
        return REJECTS if state in self.machine.reject else state


def _not_an_automaton_error(machine: TuringMachine, why: str) -> ConstructionError:
    return ConstructionError(
        f"{machine.name!r} is not a finite automaton: {why}",
        hint="this theorem applies to machines that read every symbol once, move right, and decide at the first blank",
    )


@dataclass(frozen=True)
class AutomatonCodec(StartTokenCodec[TuringMachine]):
    """Codec with prompt "start token, word"; the output at each position is whether the prefix is accepted.

    Raises:
        ConstructionError: If the machine is not a finite automaton.
    """

    def __post_init__(self) -> None:
        _ = self.automaton

    @cached_property
    def automaton(self) -> Automaton:
        """The automaton."""
        return Automaton(self.source)

    def expected(self, word: Word, max_steps: int) -> Iterator[str | None]:
        """The verdict on every prefix of the word, the empty one first."""
        del max_steps
        letters = self.source.word(word)
        for count in range(len(letters) + 1):
            yield str(self.automaton.accepts(letters[:count])).lower()


def signals(codec: AutomatonCodec) -> Program:
    """A transformer that outputs at every position whether the prefix up to there is accepted."""
    automaton = codec.automaton
    size = len(automaton.states)
    # Step 1. The transition function of each symbol, and 1/(i+1).
    table = {codec.start: _transition_bits(range(size))} | {
        letter: _transition_bits(automaton.successors(letter)) for letter in codec.alphabet
    }
    transition = token("transition", table, labels=_pair_labels(automaton)).with_range(BIT)
    is_start = token("start", {codec.start: (1,)} | dict.fromkeys(codec.alphabet, (0,)))
    per = attend("1/(i+1)", value=is_start, mask=Mask.CAUSAL)
    # Step 2. Every iteration doubles the number of symbols covered.
    begin = stack(transition, per.with_range(real(0, 1)))
    covered = loop("doubling", iterations=Logarithm(of_length=True), initial=begin, body=_loop_body(size, per))
    # Step 3. The state that is reached from the start state.
    ends = [covered[size * automaton.start + state] for state in range(size) if automaton.accepting[state]]
    accepted = named("accepted", sum_signals(*ends, value_range=BIT)) if ends else constant(0).with_range(BIT)
    return recogniser(codec.source.name, (codec.start, *codec.alphabet), accepted)


def _loop_body(size: int, inverse_distance: Signal) -> Callable[[Signal], Signal]:
    """The loop body: composes the transition function with that of the preceding symbols, and doubles the distance."""

    def body(state: Signal) -> Signal:
        transition, distance = state[: size**2], state[size**2]
        place = 1 - inverse_distance
        earlier = relu("position i - 2^k", place - distance)
        before = lookup_by_hash(
            "preceding transition", earlier, inverse_distance, place, inverse_distance, transition, Mask.CAUSAL
        )
        composed = [
            sum_signals(
                *(_conjunction(before[size * q + r], transition[size * r + s]) for r in range(size)), value_range=BIT
            )
            for q in range(size)
            for s in range(size)
        ]
        further = (2 * distance - relu("above 1", 2 * distance - 1)).with_range(real(0, 1))
        return stack(*composed, further)

    return body


def _conjunction(one: Signal, other: Signal) -> Signal:
    """The conjunction of two bits."""
    return relu("composed", one + other - 1)


def _transition_bits(after: Sequence[int]) -> tuple[int, ...]:
    """A function on states as bits, one per pair of states."""
    return tuple(int(after[state] == other) for state in range(len(after)) for other in range(len(after)))


def _pair_labels(automaton: Automaton) -> tuple[str, ...]:
    return tuple(f"{one} → {other}" for one in automaton.states for other in automaton.states)


TOUR = (
    TourStep(
        "Which position is this?",
        "Uniform attention to the start token gives 1/(i+1), the only position signal without position features.",
        ("1/(i+1)",),
    ),
    TourStep(
        "Which position is 2^k earlier?",
        "(i - 2^k)/(i+1) and 1/(i+1) have the layer-norm hash of i - 2^k, as that position has.",
        ("position i - 2^k", "preceding transition…", "hash of the position…", "preceding transition"),
    ),
    TourStep(
        "What is the transition function of twice as many symbols?",
        "The transition function of the preceding symbols, composed with the one here.",
        ("composed", "doubling", "above 1"),
    ),
)

_STATES = parameter("|Q|", "states of the automaton", lambda codec: len(codec.automaton.states))

THEOREMS = (
    Theorem(
        "automaton-layer-norm",
        "fully uniform, log n iterations: finite automata by hard attention and layer norm, one set of weights",
        "Revisiting Padded Transformer Expressivity, Figure 1 (†), layer norm without ε; Merrill and Sabharwal 2025",
        Requirements("no position features", remark="layer norm; ⌈log₂ n⌉ iterations of a block"),
        Cost(
            {
                "stored layers": 4,
                "heads": 2,
                "width": 2 * _STATES**2 + 10,
                "units per layer": _STATES**3 + 4 * _STATES**2 + 10,
            },
            remark="three of the layers are a looped block, applied ⌈log₂ n⌉ times",
        ),
        TuringMachine,
        ("hard",),
        codec=lambda machine, _: AutomatonCodec(machine),
        signals=lambda codec, _: signals(codec),
        steps=(
            "Uniform attention gives 1/(i+1), the mean of the start token's bit.",
            "The transition function of 2^k symbols is composed with that of the 2^k symbols before them.",
            "The layer-norm hash finds the position 2^k earlier; 2^k/(i+1) doubles in every iteration.",
            "After ⌈log₂ n⌉ iterations the prefix is covered: is an accepting state reached from the start state?",
        ),
        tour=TOUR,
        rank=12,
    ),
)
