"""Chapter 8 of the lecture notes: every Turing machine is simulated by a decoder with average-hard attention.

Theorem 8.2. For every Turing machine M there is a decoder that, prompted with w and BOS, emits one token a step of M
and then ACC, REJ or HALT, as M does on w; if M does not stop, neither does the decoder.

Needs: average-hard attention, position features i, i² and 1/(i+1); one set of weights for every length.
Costs: see :func:`cost`; one token a step, one to begin, one verdict.
Gaps: 1/(i+1) in layer 2, 1/(2(i+1)) in layer 3. In float64 exact for heads up to 10⁶ and more; a run that float64
cannot decide stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from softmachine.languages.turing import Action, Rule, Tape, TuringMachine, Verdict
from softmachine.signals import Program, Signal, Vocabulary, named, position, relu, stack
from softmachine.signals.gadgets import Located, Row, first_of, gate, latest, locate, mean, table, where_zero
from softmachine.signals.kinds import BIT
from softmachine.theorems.shared.turing_tokens import Begin, Given, Meaning, TuringCodec
from softmachine.theorems.theorem import Theorem
from softmachine.transformer.features import INVERSE

NOTHING = Signal((), (), ())


@dataclass(frozen=True)
class Cost:
    """What the construction spends on a machine, at most."""

    layers: int
    heads: int
    width: int


def cost(machine: TuringMachine) -> Cost:
    """The cost for K tapes, |Q| states, |Γ| tape symbols and |Σ| input symbols.

    Two-way tapes: 5 layers, 1 + 5K heads, width 2|Q| + (4K + 1)|Γ| + 2|Σ| + 10K + 7. Tapes with a left end: 5 layers,
    1 + 3K heads, width 2|Q| + (4K + 1)|Γ| + 2|Σ| + 11K + 6. What a machine never writes, reads or does is left out.
    """
    tapes = machine.tapes
    names = 2 * len(machine.states) + (4 * tapes + 1) * len(machine.symbols) + 2 * len(machine.alphabet)
    if machine.tape is Tape.TWO_WAY:
        return Cost(5, 1 + 5 * tapes, names + 10 * tapes + 7)
    return Cost(5, 1 + 3 * tapes, names + 11 * tapes + 6)


def signals(codec: TuringCodec) -> Program:
    """Theorem 8.2, with the repairs that ``docs/errata.md`` lists."""
    machine, tapes = codec.machine, range(codec.machine.tapes)
    tokens = Vocabulary(codec.meanings)

    # Step 1. Unpack the token: (q, b, m), or an input symbol, or BOS.
    begins = tokens.bit("BOS", lambda token: isinstance(token, Begin))
    state = tokens.onehot("state", machine.states, lambda token: token.state if isinstance(token, Action) else None)
    given = tokens.onehot("input", machine.alphabet, lambda token: token.symbol if isinstance(token, Given) else None)
    wrote = [_wrote(tokens, machine, k) for k in tapes]
    move = [Move(tokens, machine, k) for k in tapes]

    # Step 2. The heads' positions, as shares of i+1; and the cell that this token wrote, one move earlier.
    shares = mean("mean of moves", stack(*(part.value for part in move)))
    head = [_located(machine, "head", k, shares[k], given if k == 0 else NOTHING) for k in tapes]
    cell = [_located(machine, "cell", k, shares[k] - move[k].share) for k in tapes]

    # Step 3. The symbols under the heads: the latest write to the cell, or the input, or a blank.
    symbol = []
    for k in tapes:
        last = latest(
            on_tape(machine, "last write", k),
            stack(cell[k].number.value, wrote[k]),
            equal=(cell[k].number, head[k].number),
        )
        missed = last[0] - head[k].number.value
        bits = last[1:].known(BIT).labelled(machine.symbols, exclusive=True)
        written = where_zero(on_tape(machine, "written", k), bits, missed)
        choices = [written]
        if k == 0 and machine.alphabet:
            choices.append(gate("untouched input", head[0].read, off=stack(written.total, head[0].below)))
        symbol.append(first_of(on_tape(machine, "symbol", k), *choices, labels=machine.symbols, default=machine.blank))

    # Step 4. The transition.
    at_end = [relu(on_tape(machine, "at left end", k), 1 - head[k].number.value).known(BIT) for k in tapes]
    rows = list(_rows(codec, begins, state, symbol, at_end))
    return tokens.program(machine.name, _logits(codec, rows, state, given), margin=Fraction(1))


def on_tape(machine: TuringMachine, name: str, tape: int) -> str:
    """The name of something that every tape has one of."""
    return name if machine.tapes == 1 else f"{name} {tape + 1}"


def _wrote(tokens: Vocabulary[Meaning], machine: TuringMachine, tape: int) -> Signal:
    """The symbol that this token wrote; zero if it is not an action."""
    return tokens.onehot(
        on_tape(machine, "wrote", tape),
        machine.symbols,
        lambda token: token.write[tape] if isinstance(token, Action) else None,
    )


def moved(token: object, tape: int) -> str | None:
    """How a token moves the head of a tape; None if it is not an action."""
    return token.move[tape] if isinstance(token, Action) else None


class Move:
    """The move of this token, as two bits: it is not L, it is not R.

    ``share`` is move/(i+1), by two gates that add nothing to 1/(i+1) where they let it through, so that no float
    format loses digits.
    """

    def __init__(
        self,
        tokens: Vocabulary[Any],
        machine: TuringMachine,
        tape: int,
        moved: Callable[[Any, int], str | None] = moved,
    ) -> None:
        def differs(letter: str) -> Signal:
            return tokens.bit(on_tape(machine, f"not {letter}", tape), lambda token: moved(token, tape) != letter)

        not_left, not_right = differs("L"), differs("R")
        self.value = not_left - not_right
        per_position = position(INVERSE)
        right = gate(on_tape(machine, "right/(i+1)", tape), per_position, off=not_right)
        left = gate(on_tape(machine, "left/(i+1)", tape), per_position, off=not_left)
        self.share = right - left


def _located(machine: TuringMachine, what: str, tape: int, share: Signal, read: Signal = NOTHING) -> Located:
    """A number from its share of i+1; the notes' (8.13) would need a product with the move, which no layer computes."""
    name = on_tape(machine, what, tape)
    return locate(name, named(f"{name}/(i+1)", share), read, negative=machine.tape is Tape.TWO_WAY)


def _rows(
    codec: TuringCodec, begins: Signal, state: Signal, symbol: list[Signal], at_end: list[Signal]
) -> Iterator[Row]:
    """One row a rule: what is emitted where it applies; at a left end, several."""
    machine = codec.machine
    for first in (*machine.alphabet, machine.blank):
        yield Row(f"begin, {first}", (begins, symbol[0][first]), _outputs(codec, codec.first_action(first)))
    for rule in machine.rules:
        read = (state[rule.state], *(symbol[k][rule.read[k]] for k in range(machine.tapes)))
        for conditions, move in held_back(machine, rule, at_end):
            yield Row(str(rule), (*read, *conditions), _outputs(codec, Action(rule.next, rule.write, move)))


def held_back(
    machine: TuringMachine, rule: Rule, at_end: list[Signal]
) -> Iterator[tuple[tuple[Signal, ...], tuple[str, ...]]]:
    """The moves of a rule, and when they are made: at the left end, L is held back, or an error."""
    if machine.tape is Tape.TWO_WAY:
        yield (), rule.move
        return
    lefts = [k for k, move in enumerate(rule.move) if move == "L"]
    for held in product([False, True], repeat=len(lefts)):
        if any(held) and machine.tape is Tape.ERROR:
            continue
        ends = dict(zip(lefts, held, strict=True))
        conditions = tuple(at_end[k] if here else ~at_end[k] for k, here in ends.items())
        yield conditions, tuple("S" if ends.get(k) else move for k, move in enumerate(rule.move))


def _outputs(codec: TuringCodec, action: Action) -> tuple[str, ...]:
    """The labels that an action sets in the table of the transition."""
    if not codec.last_action and action.state in codec.machine.final:
        return (f"verdict {codec.machine.verdict(action.state)}",)
    return action_labels(action)


def action_labels(action: Action) -> tuple[str, ...]:
    """The parts of an action."""
    labels = [f"state {action.state}"]
    for k, (symbol, move) in enumerate(zip(action.write, action.move, strict=True), 1):
        labels += [f"write {k} {symbol}", f"move {k} {move}"]
    return tuple(labels)


def _logits(codec: TuringCodec, rows: list[Row], state: Signal, given: Signal) -> dict[str, Signal]:
    """The logits: the largest decides, by a margin of at least 1.

    An action counts 2 if all of its parts are next, else at most 0. A verdict counts 1 in its states, so that it wins
    exactly where no rule applies. Input symbols repeat themselves; nobody listens.
    """
    machine = codec.machine
    following = table("next", tuple(dict.fromkeys(label for row in rows for label in row.outputs)), rows)
    logits: dict[str, Signal] = {}
    for token, meaning in codec.meanings.items():
        match meaning:
            case Action():
                parts = [following[label] for label in _outputs(codec, meaning)]
                logits[token] = 2 * (stack(*parts).total - (len(parts) - 1))
            case Verdict():
                ending = [q for q in machine.states if machine.verdict(q) is meaning]
                logits[token] = state.among(ending)
                if f"verdict {meaning}" in (following.labels or ()):
                    logits[token] = logits[token] + 2 * following[f"verdict {meaning}"]
            case Given():
                logits[token] = 2 * given[meaning.symbol]
    return logits


THEOREMS = (
    Theorem(
        "chapter-8",
        "Theorem 8.2: average-hard attention, one token a step",
        "Chiang, lecture notes on transformers and formal languages, Theorem 8.2 (after Pérez et al.)",
        "position features i, i², 1/(i+1); nothing of the length",
        "5 layers, 1 + 5K heads, width 2|Q| + (4K + 1)|Γ| + 2|Σ| + 10K + 7 for K two-way tapes; one token a step",
        TuringMachine,
        ("hard",),
        codec=lambda machine, _: TuringCodec(machine),
        signals=lambda codec, _: signals(codec),
        steps=(
            "Unpack the token: a state, what was written and how the heads moved; or an input symbol.",
            "The mean of all moves is head/(i+1); a lookup among the positions undoes the division.",
            "The symbol under a head is what was last written to its cell, or the input, or a blank.",
            "The transition: one unit a rule, and the action with all of its parts has the largest logit.",
        ),
        rank=1,
    ),
)
