"""``softmachine slices``: count the Myhill–Nerode classes of a language, by length."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softmachine.cli import options
from softmachine.cli.compile_options import notes_json, print_notes
from softmachine.cli.options import file_option, switch_option, value_option
from softmachine.cli.output import Output
from softmachine.support.errors import FixHint, SoftmachineError, UsageError

if TYPE_CHECKING:
    from softmachine.compiler.model import Model
    from softmachine.languages.source import Source
    from softmachine.studies.measure.growth_laws import GrowthFit
    from softmachine.studies.measure.myhill_nerode import MyhillNerodeSlice

EXAMPLES = """[dim]Examples:[/]
  softmachine slices palindrome --up-to 12
  softmachine slices majority-crasp --up-to 12 --plot majority.png
  softmachine slices parity-crasp --up-to 8 --automata
  softmachine slices dyck-2-program --up-to 8 --formulas 4
  softmachine slices "Q_a since Q_b" --up-to 8 --volume
  softmachine slices "#<[Q_a] > #<[Q_b]" --up-to 10 --json"""


UpTo = Annotated[
    int,
    value_option("N", "Maximum length; all words of each length are enumerated.", "--up-to", minimum=1, default=True),
]
MaxSteps = Annotated[
    int, value_option("N", "Maximum number of steps of a run.", "--max-steps", minimum=1, default=True)
]
Plot = Annotated[Path | None, file_option("Plot the number of classes by length (PNG or SVG).")]
Automata = Annotated[
    bool,
    switch_option(
        "Of a C-RASP program: build the automata of Lemma 4.2 of [i]Softmax Transformers are Turing-Complete[/], and "
        "compare them.",
        "--automata",
    ),
]
Formulas = Annotated[
    int | None,
    typer.Option(
        "--formulas",
        metavar="SIZE",
        min=1,
        max=6,
        help="Instead, enumerate all temporal formulas up to this size, and show a word of length N that none of them "
        "distinguishes from the language: evidence, not a proof, that it has no formula.",
    ),
]
Volumes = Annotated[
    bool,
    switch_option(
        "Instead, find the least precision of fixed point, and so the volume, in which the model is correct on all "
        "words of each length.",
        "--volume",
    ),
]


def command(
    source: options.Source,
    *,
    up_to: UpTo = 10,
    max_steps: MaxSteps = 1_000_000,
    plot: Plot = None,
    automata: Automata = False,
    formulas: Formulas = None,
    volume: Volumes = False,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    journal: options.JournalFile = None,
    output: Output,
) -> None:
    """Count the states an automaton needs for each length of words.

    Languages of C-RASP, with or without chain of thought, have polynomially many (without relative counts).
    """
    from softmachine import api
    from softmachine.cli.output import bar
    from softmachine.compiler.model import Model
    from softmachine.studies.measure.myhill_nerode import (
        MyhillNerodeSlice,
        draw_slices,
        fit_class_growth,
        format_growth,
        format_slices,
    )
    from softmachine.studies.measure.slices import sweep_slices
    from softmachine.support.parallel import select_executor

    sweeping = {"plot": plot, "automata": automata, "workers": workers, "cluster": cluster, "journal": journal}
    _require_compatible({"formulas": formulas, "volume": volume, **sweeping})
    item = api.load(source, format_name)
    language, notes = (item.source, item.notes) if isinstance(item, Model) else (item, ())
    if alphabet is not None:
        language = api.extend_alphabet(language, alphabet)
    if formulas is not None or volume:
        if formulas is not None:
            _print_formula_search(language, up_to, formulas, max_steps, output)
        else:
            _print_volumes(item if isinstance(item, Model) else api.compile(language), up_to, output)
        print_notes(notes, output)
        return
    factory, found = select_executor(workers, cluster), list[MyhillNerodeSlice]()
    made = sweep_slices(
        language, range(1, up_to + 1), max_steps, factory=factory, journal=journal, progress=output.warn
    )
    with bar("lengths", up_to, output) as advance:
        for each in made:
            found.append(each)
            advance(1)
    if plot is not None:
        draw_slices(language.name, found, plot)
    built = _automaton_sizes(language, found) if automata else {}
    if output.as_json:
        drawn = {} if plot is None else {"plot": str(plot)}
        states = {"automata": [{"length": n, "states": size} for n, size in built.items()]} if automata else {}
        output.print_json(_answer(language.name, found, fit_class_growth(found)) | states | drawn | notes_json(notes))
        return
    if not output.quiet:
        output.print(f"{language}\n")
    output.print(format_slices(found))
    output.print(format_growth(found))
    if built:
        _print_automata(built, output)
    if plot is not None and not output.quiet:
        output.print(f"plot written to {plot}")
    print_notes(notes, output)


def _require_compatible(options: dict[str, object]) -> None:
    """Require that --formulas and --volume, which replace the classes, come without the options of these.

    Raises:
        UsageError: If an option is given that does not apply.
    """
    given = [name for name, value in options.items() if value]
    if {"formulas", "volume"} & set(given) and len(given) > 1:
        raise UsageError(
            f"--{given[0]} cannot be combined with --{given[1]}",
            hint=FixHint(f"leave out --{given[1]}", **{given[1]: False if options[given[1]] is True else None}),
        )


def _print_formula_search(language: Source, length: int, largest: int, max_steps: int, output: Output) -> None:
    """Print the words that small formulas do not distinguish from the language."""
    from softmachine.languages.source import format_word
    from softmachine.studies.measure.formula_search import CAVEAT, sample_pairs, separate
    from softmachine.studies.measure.slices import membership_predicate

    inside, outside = sample_pairs(membership_predicate(language, max_steps=max_steps), language.alphabet, length)
    words = f"{len(inside)} words of length {length} that are in the language, {len(outside)} that are not"
    if not output.quiet and not output.as_json:
        output.print(f"{language}\n\n{words}")
        output.print(f"{'size':>4}  {'formulas':>8}  {'hold on all':>11}  {'indistinct':>14}")
    rows = []
    for each in separate(inside, outside, language.alphabet, largest):
        rows.append(each)
        if not output.as_json:
            output.print(f"{each.size:>4}  {each.formulas:>8,}  {each.num_holding:>11,}  {each.unseparated:>14}")
    last = rows[-1]
    example = None if last.example is None else format_word(last.example, language.alphabet)
    if output.as_json:
        counts = {"length": length, "inside": len(inside), "outside": len(outside)}
        sizes = [{"size": each.size, "formulas": each.formulas, "left": each.unseparated} for each in rows]
        output.print_json({"name": language.name, **counts, "sizes": sizes, "example": example})
    elif example is None:
        output.print(f"formulas of size {last.size} distinguish all of these words from the language; {CAVEAT}")
    else:
        output.print(
            f"no conjunction of formulas of size {last.size} distinguishes {example} from the language; {CAVEAT}"
        )


def _print_volumes(model: Model, up_to: int, output: Output) -> None:
    """Print the least fixed-point precision in which a model is correct, by length."""
    from softmachine.engines.check import check_inputs
    from softmachine.studies.measure.growth import MAX_BITS, VOLUME_CAVEAT, find_volumes
    from softmachine.support.errors import PrecisionError

    def right(length: int, bits: int) -> bool:
        try:
            return check_inputs(model, model.codec.words(length), arithmetic=f"fixed:{bits}").holds
        except PrecisionError:  # a weight is not in F_b
            return False

    rows = []
    if not output.as_json:
        output.print(f"{model.name}, {model.theorem.name}, width {model.weights.width}\n")
        output.print(f"{'length':>6}  {'least b':>7}  {'volume':>6}")
    for each in find_volumes(right, model.weights.width, range(1, up_to + 1)):
        rows.append({"length": each.length, "precision": each.precision, "volume": each.bits})
        if not output.as_json:
            bits = (f"> {MAX_BITS}", "–") if each.precision is None else (each.precision, each.bits)
            output.print(f"{each.length:>6}  {bits[0]:>7}  {bits[1]:>6}")
    if output.as_json:
        output.print_json({"name": model.name, "theorem": model.theorem.name, "volumes": rows})
    else:
        output.print(VOLUME_CAVEAT)


def _automaton_sizes(language: Source, found: list[MyhillNerodeSlice]) -> dict[int, int]:
    """Return the number of states of a program's automaton for each length.

    The automaton is that of Lemma 4.2 of "Softmax Transformers are Turing-Complete".

    Raises:
        UsageError: If the source is not a C-RASP program.
        SoftmachineError: If an automaton does not recognise the language.
    """
    from softmachine.languages.crasp import CraspProgram
    from softmachine.studies.measure.crasp_automaton import build_automaton

    if not isinstance(language, CraspProgram):
        raise UsageError(
            f"--automata requires a C-RASP program, and {language.name!r} is not one",
            hint=FixHint("leave out --automata", automata=False),
        )
    states = {}
    for each in found:
        built = build_automaton(language, each.length)
        if built.count_classes(each.length) != each.classes:
            raise SoftmachineError(f"the automaton of {language.name!r} for length {each.length} is wrong")
        states[each.length] = built.size
    return states


def _print_automata(built: dict[int, int], output: Output) -> None:
    from softmachine.studies.measure.growth_laws import find_closed_form

    formula = find_closed_form(built)
    output.print(f"\n{'length':>6}  states of the automaton whose states are the program's counts")
    for length, states in built.items():
        output.print(f"{length:>6}  {states:>9,}")
    grows = f"{formula} states: polynomially many" if formula else "no simple formula"
    output.print(f"{grows}; minimised, they are the classes above", style="green")


def _answer(name: str, found: list[MyhillNerodeSlice], grown: GrowthFit | None) -> dict[str, object]:
    from softmachine.studies.measure.myhill_nerode import FITTED_SEQUENCE

    return {
        "name": name,
        "slices": [
            {
                "length": each.length,
                "words": each.words,
                "classes": each.num_states,
                "by_prefix_length": list(each.classes),
            }
            for each in found
        ],
        "growth": None
        if grown is None
        else {
            "law": str(grown.law),
            "fitted": FITTED_SEQUENCE,
            "degree": grown.degree,
            "power_error": grown.power_error,
            "base": grown.base,
            "exponential_error": grown.exponential_error,
            "from": grown.first,
            "to": grown.last,
        },
    }
