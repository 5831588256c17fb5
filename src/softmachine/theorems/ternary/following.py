"""Logits of the next token (step 5): the agreement of each token's code with the code to emit. Margin: 1."""

from __future__ import annotations

from softmachine.ir import Signal, named, relu, stack, weighted
from softmachine.ir.gadgets import all_of, kept, matches
from softmachine.ir.kinds import BIT, SIGN
from softmachine.languages.turing import Action, Tape, Verdict
from softmachine.theorems.ternary.blocks import Block
from softmachine.theorems.ternary.cells import Read
from softmachine.theorems.ternary.embedding import Words, agreement
from softmachine.theorems.ternary.summary import Phase
from softmachine.theorems.ternary.tokens import Bits, Ending, Mark, Meaning, Output


def transition(words: Words, state: Signal, read: list[Read], at_end: list[Signal]) -> tuple[Signal, Signal]:
    """A bit, whether a rule applies, and the code of its action, else empty: one unit per rule."""
    machine = words.machine
    situation = stack(state, *(item.symbol for item in read))
    width = len(words.action_code(words.codec.actions[0])) if machine.rules else 1
    units: list[Signal] = []
    action: list[list[tuple[int, Signal]]] = [[] for _ in range(width)]
    for rule in machine.rules:
        symbols = (sign for symbol in rule.read for sign in words.symbol_code[symbol])
        lefts = [at_end[k] for k in words.tapes if rule.move[k] == "L" and machine.tape is Tape.ERROR]
        off = stack(*lefts) if lefts else None
        unit = matches(str(rule), situation, (*words.state_code[rule.state], *symbols), off=off)
        units.append(unit)
        signs = words.action_code(Action(rule.next, rule.write, rule.move))
        for part, sign in zip(action, signs, strict=True):
            part.append((sign, unit))
    fires = named("a rule applies", weighted([(1, unit) for unit in units], 0, BIT))
    return fires, named("action", stack(*(weighted(parts, 0, SIGN) for parts in action)))


def action_logits(words: Words, action: Signal, at_end: list[Signal], goes_on: Signal) -> dict[Meaning, Signal]:
    """The logits of actions, where the run continues; at a left end, L = (-1, -1) becomes S = (1, -1)."""
    whole = kept("next", action, goes_on)
    parts = [whole[k] for k in range(len(whole))]
    if words.machine.tape is Tape.STAY and words.machine.rules:
        first = len(action) - 2 * len(words.tapes)
        for k, sign in enumerate(range(first, len(action), 2)):
            held = relu(words.name("held back", k), at_end[k] - action[sign] + goes_on - 2)
            parts[sign] = parts[sign] + 2 * held
    emitted = named("next action", stack(*parts).known(SIGN))
    return {item: agreement(emitted, words.action_code(item)) for item in words.codec.actions}


def verdict_logits(words: Words, state: Signal, fires: Signal) -> dict[Meaning, Signal]:
    """The logits of verdicts: whether the machine has stopped in one of their states."""
    machine = words.machine
    active = words.flag("decides", Action, Mark.BEGIN, Mark.END_POSITION, Mark.END_SUMMARY)
    stopped = named("no rule applies", (active - fires).known(BIT))
    first, *others = words.codec.verdicts
    logits: dict[Meaning, Signal] = {}
    rest = stopped
    for verdict in others:
        states = [q for q in machine.states if machine.verdict(q) is verdict]
        inside = stack(*(matches(f"in {q}", state, words.state_code[q]) for q in states)).total
        logits[verdict] = all_of(f"{verdict}", stopped, named(f"{verdict} state", inside.known(BIT)))
        rest = rest - logits[verdict]
    return {first: rest, **logits}


def block_logits(words: Words, block: Block, spelled: Signal, fires: Signal) -> dict[Meaning, Signal]:
    """The logits of blocks: POS after the r-th step, if another one follows; the bits of the heads' cells; EPOS."""
    bits = (meaning for meaning in words.codec.meanings.values() if isinstance(meaning, Bits))
    return {
        Mark.POSITION: all_of("block begins", block.due, fires),
        Mark.END_POSITION: block.complete,
        **{meaning: agreement(spelled, meaning.signs) for meaning in bits},
    }


def output_logits(words: Words, phase: Phase | None, read: Read, left: Signal) -> dict[Meaning, Signal]:
    """The logits after the verdict: the symbols of the first tape, LEFT after the last one to the right, and END."""
    printing = words.flag("prints", Verdict, Output, *([] if phase else [Mark.LEFT]))
    if phase and words.codec.two_way:
        turned = all_of("left of the output", words.flag("LEFT", Mark.LEFT), phase.ended)
        printing = (printing + turned).known(BIT)
    if words.codec.ending is Ending.WORD:
        missing = matches("no more output", read.symbol, words.blank, off=1 - printing)
    else:
        missing = relu("no more output", printing - read.found).known(BIT)
    output = named("output", kept("output", read.symbol, (printing - missing).known(BIT)))
    logits: dict[Meaning, Signal] = {Mark.END: missing}
    if words.codec.two_way:
        logits[Mark.END] = all_of("output ends", missing, left)
        logits[Mark.LEFT] = relu("output goes left", missing - left).known(BIT)
    return logits | {Output(symbol): agreement(output, code) for symbol, code in words.symbol_code.items()}
