"""A minimal compiled Turing machine that gives the token of every step: the oracle of long runs."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from softmachine.compiler.model import Model
from softmachine.languages.turing import Action, TapeConvention
from softmachine.theorems.turing.average_hard.codec import TuringCodec

MOVES = {"L": -1, "S": 0, "R": 1}


@numba.njit  # type: ignore[untyped-decorator]
def _run(step: Any, write: Any, move: Any, after: Any, state: int, head: int, tape: Any, codes: Any) -> int:
    """Compute the token of every step; returns their number. Stops where no rule applies or the tape ends."""
    for count in range(codes.size):
        token = step[state, tape[head]]
        if token < 0 or head < 1 or head >= tape.size - 1:
            return count
        tape[head] = write[token]
        head += move[token]
        state = after[token]
        codes[count] = token
    return int(codes.size)


def expected_codes(model: Model, steps: int, reach: int = 1 << 21) -> NDArray[Any]:
    """The vocabulary indices of the actions of a one-tape, two-way machine on the empty input."""
    codec = model.codec
    assert isinstance(codec, TuringCodec)
    machine = codec.machine
    assert machine.tapes == 1
    assert machine.tape is TapeConvention.TWO_WAY
    states, symbols = list(machine.states), [machine.blank, *(s for s in machine.symbols if s != machine.blank)]
    number = model.weights.token_index
    size = len(model.weights.vocabulary)
    step = np.full((len(states), len(symbols)), -1, dtype=np.int64)
    write, move, after = (np.zeros(size, dtype=np.int64) for _ in range(3))
    for rule in machine.rules:
        action = Action(rule.next, rule.write, rule.move)
        token = number[codec.tokens[action]]
        step[states.index(rule.state), symbols.index(rule.read[0])] = token
        write[token] = symbols.index(rule.write[0])
        move[token] = MOVES[rule.move[0]]
        after[token] = states.index(rule.next)
    codes = np.zeros(steps, dtype=np.int32)
    tape = np.zeros(2 * reach, dtype=np.int64)
    done = _run(step, write, move, after, states.index(machine.start), reach, tape, codes)
    return codes[:done]
