"""The relative encoding: C-RASP with chain of thought for arbitrary words, by counts through the relation R.

Without R no program recognises the palindromes: of an input it keeps only counts, so it tells apart only polynomially
many words of a length ("Softmax Transformers are Turing-Complete", Lemma 4.2). With R it can (Theorem 4.3), in two
phases.

**Phase I** writes the input w as numbers. For every letter a in turn, fillers are written until the length of all
tokens encodes the set of a's positions; then comes a marker::

    E_a := #R[Q_a or Q_$] = #[Q_a or Q_$] and #R[true] = #[Q_a or Q_$]
    M_a <- (it is a's turn) and E_a
    l_a <- (it is a's turn)

E_a says that the positions in R with the present one are those that hold a or $. The end marker $ is written right
after the input. It is needed: β of the length is fixed by E_a only up to zeros at its end, and so w would not be known,
only the positions of its letters (`Encoding.LITERAL` leaves it out, as the paper does, and then ``ab`` fires at length
5 already, since β(5) is 1). The length X_a at which E_a held is the number of tokens that come before M_a.

**Phase II** runs a counter machine on the numbers X_a, as in `softmachine.languages.crasp.from_counter`.

The numbers grow as 2^(letters + |w|), and a machine counts them down one by one: this is for short words.
"""

from __future__ import annotations

from softmachine.languages.counter import CounterMachine
from softmachine.languages.crasp.formula import NamedFormula, compare
from softmachine.languages.crasp.from_counter import Names, simulation, transition_tokens, unique
from softmachine.languages.crasp.program import Definition, Program, Rule
from softmachine.languages.crasp.relation import Encoding
from softmachine.languages.crasp.terms import Count, Term, term
from softmachine.languages.temporal.formula import TRUE, And, Formula, Not, Symbol
from softmachine.languages.temporal.structure import disjunction
from softmachine.support.errors import UsageError


def relative_program(
    machine: CounterMachine, *, encoding: Encoding = Encoding.MARKED, name: str | None = None
) -> Program:
    """The program that encodes a word in lengths, and then runs a counter machine on them.

    Args:
        machine: A machine over the letters of words; the counter of a letter starts with the length X that encodes the
            positions of that letter (see `softmachine.languages.crasp.relation`), not with the number of letters.
        encoding: With the end marker, or literally as in the paper.
        name: What to call the program; by default as the machine.

    Raises:
        UsageError: If the machine asks for letters in order, which has no meaning here; or for the exact encoding,
            which C-RASP does not express.
    """
    if encoding is Encoding.EXACT:
        raise UsageError("C-RASP does not express the exact encoding", hint="encode with the end marker")
    if machine.order:
        raise UsageError(
            f"{machine.name!r} asks for letters in order, but its letters stand for encoded words here",
            hint="leave out the line 'order'",
        )
    used = set(machine.alphabet)
    fillers = {letter: unique(f"l_{letter}", used) for letter in machine.alphabet}
    markers = {letter: unique(f"M_{letter}", used) for letter in machine.alphabet}
    end = unique("$", used) if encoding is Encoding.MARKED else None
    tokens = transition_tokens(machine, taken=used)
    names = Names()

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
        here, there = term(Count(places)), term(Count(places, "R"))
        row = term(Count(TRUE, "R"))
        definitions.append(Definition(turn, disjunction([before, Symbol(fillers[letter])])))
        definitions.append(Definition(encoded, And((compare(there, "=", here), compare(row, "=", here)))))
        rules.append(Rule(markers[letter], And((NamedFormula(turn), NamedFormula(encoded)))))
        rules.append(Rule(fillers[letter], NamedFormula(turn)))
        shorter += (fillers[letter],)
        lengths[letter] = term(Count(disjunction(Symbol(token) for token in shorter)))
        shorter += (markers[letter],)
        before = Symbol(markers[letter])
    steps = simulation(machine, tokens, names, initial=lengths, begins=before)
    return Program(
        name=name or machine.name,
        alphabet=machine.alphabet,
        definitions=(*definitions, *steps.definitions),
        rules=(*rules, *steps.rules),
        place=machine.place,
    )
