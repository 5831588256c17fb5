"""Translation of Turing machines to C-RASP programs, by the relative encoding and counts through the relation R.

Without R no program recognises the palindromes: a program depends only on counts of the input, so it distinguishes only
polynomially many words of a length (Lemma 4.2 of "Softmax Transformers are Turing-Complete"). With R there is one
(Theorem 4.3 of the same paper), with two phases.

**Phase I** encodes the input w as numbers. For each letter a, the program generates fillers until the number of tokens
encodes the set of positions of a, and then a marker::

    E_a := #R[Q_a or Q_$] = #[Q_a or Q_$] and #R[true] = #[Q_a or Q_$]
    M_a <- turn_a and E_a
    l_a <- turn_a

The formula turn_a holds while a is being encoded. E_a holds if the positions related to the current one by R are those
of a and $. The end marker $ directly follows the input. It is necessary: E_a determines β of the length only up to
trailing zeros, so without $ only the positions of the letters would be encoded, not the length of w.
(`RelativeEncoding.LITERAL` omits it, as in the paper; then ``ab`` has a marker at length 5 already, since β(5) is 1.)
The length X_a at which E_a held is the number of tokens before M_a.

**Phase II** runs a counter machine on the numbers X_a, as in `softmachine.languages.crasp.from_counter`.

The numbers grow as 2^(letters + |w|), and the machine counts them down one by one, so this is practical only for short
words.

Words of the shape a₁* … aₘ* need no encoding: they are given by the counts of their letters. The chain of thought is as
long as the run of the counter machine (see `softmachine.languages.counter.from_turing`), which is exponential in the
space of the Turing machine.
"""

from __future__ import annotations

from softmachine.languages.counter import CounterMachine
from softmachine.languages.counter.from_turing import build_counter_machine
from softmachine.languages.counter.from_turing_relative import build_relative_counter_machine
from softmachine.languages.crasp.from_counter import (
    NameGenerator,
    build_counter_program,
    build_simulation,
    make_unique,
    transition_tokens,
)
from softmachine.languages.crasp.program import CraspProgram, Definition, NamedFormula, Rule, make_comparison
from softmachine.languages.crasp.relations import RelativeEncoding
from softmachine.languages.crasp.terms import Count, Term, as_term
from softmachine.languages.temporal.formula import TRUE, And, Formula, Not, Symbol
from softmachine.languages.temporal.structure import disjunction
from softmachine.languages.turing import TuringMachine
from softmachine.support.errors import ConstructionError, UsageError


def build_relative_program(
    machine: CounterMachine, *, encoding: RelativeEncoding = RelativeEncoding.MARKED, name: str | None = None
) -> CraspProgram:
    """Build the program that encodes a word as lengths and then runs a counter machine on them.

    Args:
        machine: A machine over the letters of words; the counter of a letter starts with the length X that encodes the
            positions of that letter (see `softmachine.languages.crasp.relations`), not with the number of letters.
        encoding: With the end marker, or as in the paper's formula.
        name: Name of the program; by default that of the machine.

    Raises:
        UsageError: If the machine has ``order``, which is meaningless here; or for the exact encoding, which is not
            expressible in C-RASP.
    """
    if encoding is RelativeEncoding.EXACT:
        raise UsageError("C-RASP cannot express the exact encoding", hint="use the encoding with the end marker")
    if machine.has_ordered_letters:
        raise UsageError(
            f"{machine.name!r} requires its letters in order, but here its counters hold encoded words",
            hint="remove the line 'order'",
        )
    used = set(machine.alphabet)
    fillers = {letter: make_unique(f"l_{letter}", used) for letter in machine.alphabet}
    markers = {letter: make_unique(f"M_{letter}", used) for letter in machine.alphabet}
    end = make_unique("$", used) if encoding is RelativeEncoding.MARKED else None
    tokens = transition_tokens(machine, transitions=used)
    names = NameGenerator()

    written = [*([end] if end else []), *fillers.values(), *markers.values(), *tokens]
    given = Not(disjunction(Symbol(token) for token in written))
    inputs = names("input")
    definitions = [Definition(inputs, given)]
    rules = [Rule(end, NamedFormula(inputs))] if end else []
    before: Formula = Symbol(end) if end else NamedFormula(inputs)
    shorter: tuple[str, ...] = (*machine.alphabet, *([end] if end else []))
    lengths: dict[str, Term] = {}
    for letter in machine.alphabet:
        turn, encoded = names(f"turn_{letter}"), names(f"E_{letter}")
        places = disjunction(Symbol(symbol) for symbol in (letter, *([end] if end else [])))
        here, there = as_term(Count(places)), as_term(Count(places, "R"))
        row = as_term(Count(TRUE, "R"))
        definitions.append(Definition(turn, disjunction([before, Symbol(fillers[letter])])))
        definitions.append(
            Definition(encoded, And((make_comparison(there, "=", here), make_comparison(row, "=", here))))
        )
        rules.append(Rule(markers[letter], And((NamedFormula(turn), NamedFormula(encoded)))))
        rules.append(Rule(fillers[letter], NamedFormula(turn)))
        shorter += (fillers[letter],)
        lengths[letter] = as_term(Count(disjunction(Symbol(token) for token in shorter)))
        shorter += (markers[letter],)
        before = Symbol(markers[letter])
    steps = build_simulation(machine, tokens, names, initial=lengths, start=before)
    return CraspProgram(
        name=name or machine.name,
        alphabet=machine.alphabet,
        definitions=(*definitions, *steps.definitions),
        rules=(*rules, *steps.rules),
        place=machine.place,
    )


def build_bounded_program(machine: TuringMachine) -> CraspProgram:
    """Build the program that simulates a Turing machine on words a₁^n₁ … aₘ^nₘ and rejects all other words.

    Raises:
        ConstructionError: If the machine has more than one tape, or no input alphabet.
    """
    return build_counter_program(build_counter_machine(_check_alphabet(machine)))


def build_turing_program(machine: TuringMachine) -> CraspProgram:
    """Build the program that simulates a Turing machine on arbitrary words, by the relative encoding.

    Raises:
        ConstructionError: If the machine has more than one tape, or no input alphabet.
    """
    return build_relative_program(build_relative_counter_machine(_check_alphabet(machine)))


def _check_alphabet(machine: TuringMachine) -> TuringMachine:
    """Check that the input alphabet is not empty, which C-RASP requires."""
    if not machine.alphabet:
        raise ConstructionError(
            f"{machine.name!r} has no input alphabet, but C-RASP counts letters",
            hint="declare one of its symbols as a letter, even if no input has it; or choose a theorem without C-RASP",
        )
    return machine
