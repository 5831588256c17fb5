"""From Turing machines to C-RASP with chain of thought, through counter machines.

Words of the shape a₁* … aₘ* need only be counted; arbitrary words are written as numbers first, by the relative
encoding. Both are as long as what a counter machine takes for the run (see
`softmachine.languages.counter.from_turing`), which is exponential in the space that the Turing machine uses.
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
    """The program that does with words a₁^n₁ … aₘ^nₘ what a Turing machine does; other words are rejected.

    Raises:
        ConstructionError: If the machine has more than one tape, or no input alphabet.
    """
    return counter_program(counter_machine(_with_letters(machine)))


def turing_program(machine: TuringMachine) -> Program:
    """The program that does with a word, by the relative encoding, what a Turing machine does with it.

    Raises:
        ConstructionError: If the machine has more than one tape, or no input alphabet.
    """
    return relative_program(relative_counter_machine(_with_letters(machine)))


def _with_letters(machine: TuringMachine) -> TuringMachine:
    """The machine, if it has letters: C-RASP counts them, and a program without any is not valid."""
    if not machine.alphabet:
        raise ConstructionError(
            f"{machine.name!r} has no input alphabet, but C-RASP counts letters",
            hint="name one of its symbols as a letter, even if no input has it; or take a theorem that does not count",
        )
    return machine
