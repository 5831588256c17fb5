"""Translation of Turing machines to C-RASP with chain of thought, via counter machines.

Words of the shape a₁* … aₘ* are given by the counts of their letters; arbitrary words are first encoded as numbers, by
the relative encoding. The chain of thought is as long as the run of the counter machine (see
`softmachine.languages.counter.from_turing`), which is exponential in the space of the Turing machine.
"""

from __future__ import annotations

from softmachine.languages.counter.from_turing import counter_machine
from softmachine.languages.counter.relative import relative_counter_machine
from softmachine.languages.crasp.from_counter import counter_program
from softmachine.languages.crasp.program import Program
from softmachine.languages.crasp.relative import relative_program
from softmachine.languages.turing import TuringMachine
from softmachine.support.errors import ConstructionError


def bounded_program(machine: TuringMachine) -> Program:
    """Build the program that simulates a Turing machine on words a₁^n₁ … aₘ^nₘ and rejects all other words.

    Raises:
        ConstructionError: If the machine has more than one tape, or no input alphabet.
    """
    return counter_program(counter_machine(_with_letters(machine)))


def turing_program(machine: TuringMachine) -> Program:
    """Build the program that simulates a Turing machine on arbitrary words, by the relative encoding.

    Raises:
        ConstructionError: If the machine has more than one tape, or no input alphabet.
    """
    return relative_program(relative_counter_machine(_with_letters(machine)))


def _with_letters(machine: TuringMachine) -> TuringMachine:
    """Check that the input alphabet is not empty, which C-RASP requires."""
    if not machine.alphabet:
        raise ConstructionError(
            f"{machine.name!r} has no input alphabet, but C-RASP counts letters",
            hint="declare one of its symbols as a letter, even if no input has it; or choose a theorem without C-RASP",
        )
    return machine
