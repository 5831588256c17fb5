"""Finite automata in ⌈log₂ n⌉ turns of one loop, by one set of weights that knows nothing of positions: layer norm.

Figure 1 of "Revisiting Padded Transformer Expressivity" gives fully uniform transformers with log^d turns the class
FO-uniform TC^d, and cites Merrill and Sabharwal. This shows members of it: one set of weights for all lengths, no
position feature, and a loop that turns ⌈log₂ n⌉ times. Regular languages are in NC¹, so in TC¹; those whose monoid has
a group that is not solvable are complete for NC¹ (Barrington), and no transformer of constant depth is known for them.
The zoo's ``shell-game`` is such a language.

At every position i stands what the letters from i - 2^k + 1 to i do to states, |Q|² bits: from which to which. In turn
k it is composed with what stands at i - 2^k, so that twice as many letters are covered; the start token, at position 0,
changes no state, and is what is found where fewer letters are left. When 2^k ≥ n, all of the word up to i is covered.

Uniform attention gives 1/(i+1), the share of the start token. The distance is carried as 2^k/(i+1), which doubles in
every turn, and stops at 1. So (i - 2^k)/(i+1) and 1/(i+1) are known, and the layer-norm hash of the two is that of the
number i - 2^k, by which position i - 2^k is found (Merrill and Sabharwal; layer norm without the ε of section B.3).

Needs: no position features; layer norm; that the loop turns ⌈log₂ n⌉ times. Hashes are irrational: float64 or balls, of
Θ(log n) bits, since scores are about 1/n⁴ apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from softmachine.ir import Program, Signal, attend, constant, loop, named, recogniser, relu, stack, total
from softmachine.ir.gadgets.hashing import look_up
from softmachine.ir.kinds import BIT, real
from softmachine.ir.primitives import token
from softmachine.languages.turing import TuringMachine
from softmachine.theorems.automaton_layer_norm.tokens import Automaton, AutomatonCodec
from softmachine.theorems.cost import Cost, parameter
from softmachine.theorems.theorem import Guide, Needs, Theorem
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import Logarithm


def signals(codec: AutomatonCodec) -> Program:
    """A transformer that says at every position whether the word up to there is accepted."""
    automaton = codec.automaton
    size = len(automaton.states)
    # Step 1. What a letter does to states, and 1/(i+1).
    table = {codec.start: _bits(range(size))} | {letter: _bits(automaton.after(letter)) for letter in codec.alphabet}
    does = token("does", table, labels=_labels(automaton)).known(BIT)
    is_start = token("start", {codec.start: (1,)} | dict.fromkeys(codec.alphabet, (0,)))
    per = attend("1/(i+1)", value=is_start, mask=Mask.CAUSAL)
    # Step 2. Twice as many letters in every turn.
    begin = stack(does, per.known(real(0, 1)))
    covered = loop("twice as far", times=Logarithm(of_length=True), carry=begin, body=_turn(size, per))
    # Step 3. Where the first state has come to.
    ends = [covered[size * automaton.start + state] for state in range(size) if automaton.accepting[state]]
    accepted = named("accepted", total(*ends, kind=BIT)) if ends else constant(0).known(BIT)
    return recogniser(codec.source.name, (codec.start, *codec.alphabet), accepted)


def _turn(size: int, per: Signal) -> Callable[[Signal], Signal]:
    """What letters do to states is composed with what those before them do; the distance doubles."""

    def turn(state: Signal) -> Signal:
        does, distance = state[: size**2], state[size**2]
        place = 1 - per
        behind = relu("position behind", place - distance)
        before = look_up("before", behind, per, place, per, does, Mask.CAUSAL)
        composed = [
            total(*(_both(before[size * q + r], does[size * r + s]) for r in range(size)), kind=BIT)
            for q in range(size)
            for s in range(size)
        ]
        further = (2 * distance - relu("beyond 1", 2 * distance - 1)).known(real(0, 1))
        return stack(*composed, further)

    return turn


def _both(one: Signal, other: Signal) -> Signal:
    """Whether two bits are 1."""
    return relu("composed", one + other - 1)


def _bits(after: Sequence[int]) -> tuple[int, ...]:
    """A function of states as bits: from which to which."""
    return tuple(int(after[state] == other) for state in range(len(after)) for other in range(len(after)))


def _labels(automaton: Automaton) -> tuple[str, ...]:
    return tuple(f"{one} → {other}" for one in automaton.states for other in automaton.states)


GUIDE = (
    Guide(
        "How far along are we?",
        "Uniform attention to the start token gives 1/(i+1); without position features that is all there is.",
        ("1/(i+1)",),
    ),
    Guide(
        "Which position is 2^k behind?",
        "(i - 2^k)/(i+1) and 1/(i+1) have the layer-norm hash of i - 2^k, as that position has.",
        ("position behind", "before…", "hash of the position…", "before"),
    ),
    Guide(
        "What do twice as many letters do?",
        "What the letters before do to states, and then what those here do.",
        ("composed", "twice as far", "beyond 1"),
    ),
)

_STATES = parameter("|Q|", "states of the automaton", lambda codec: len(codec.automaton.states))

THEOREMS = (
    Theorem(
        "automaton-layer-norm",
        "fully uniform, log n turns: finite automata by hard attention and layer norm, one set of weights",
        "Revisiting Padded Transformer Expressivity, Figure 1 (†), layer norm without ε; Merrill and Sabharwal 2025",
        Needs("no position features", also="layer norm; a loop that turns ⌈log₂ n⌉ times"),
        Cost(
            {
                "stored layers": 4,
                "heads": 2,
                "width": 2 * _STATES**2 + 10,
                "units per layer": _STATES**3 + 4 * _STATES**2 + 10,
            },
            also="three of the layers are a loop, applied ⌈log₂ n⌉ times",
        ),
        TuringMachine,
        ("hard",),
        codec=lambda machine, _: AutomatonCodec(machine),
        signals=lambda codec, _: signals(codec),
        steps=(
            "Uniform attention gives 1/(i+1), the share of the start token.",
            "What 2^k letters do to states is composed with what the 2^k letters before them do.",
            "The position 2^k behind is found by the layer-norm hash; 2^k/(i+1) doubles in every turn.",
            "After ⌈log₂ n⌉ turns all letters are covered: has the first state come to an accepting one?",
        ),
        guide=GUIDE,
        rank=12,
    ),
)
