"""``softmachine certify``: prove that softmax gives the outputs of hard attention, for every input up to a length."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from softmachine.cli import options
from softmachine.cli.compile_options import (
    choose_rasp_theorem,
    format_alphabet,
    load_model,
    notes_json,
    print_notes,
)
from softmachine.cli.options import Status, file_option, switch_option, value_option
from softmachine.cli.output import Output
from softmachine.compiler.model import CompileOptions, Model
from softmachine.support.errors import UsageError

if TYPE_CHECKING:
    from softmachine.certify import Certificate
    from softmachine.certify.empirical import PrecisionMeasurement
    from softmachine.transformer.weights import Transformer

EXAMPLES = """[dim]Examples:[/]
  softmachine certify palindrome --length 500
  softmachine certify "Q_a since Q_b" --length 100 --sharpness 2
  softmachine certify "prev Q_a" --length 64 --arithmetic float32
  softmachine certify "odd(#<[Q_1])" --length 100 --plot margin.png
  softmachine certify palindrome --length 50 --csv heads.csv --latex heads.tex
  softmachine certify "Q_a since Q_b" --length 4 --from-weights"""


Length = Annotated[
    int,
    value_option(
        "N", "Certify every input up to length N (for decoders, input and run together).", "--length", minimum=0
    ),
]
Sharpness = Annotated[
    int | None, value_option("S", "Scale every head by S / gap. Default: the smallest S that is certified.", minimum=1)
]
MeasuredFormat = Annotated[
    str | None,
    value_option(
        "NAME", "Also measure the length, at most N, up to which random inputs are correct in this float format."
    ),
]
FromWeights = Annotated[
    bool,
    switch_option(
        "Use only the weights: everything is derived from them, or, if that fails and there are few inputs, all are "
        "run. The default for saved weights without a source.",
        "--from-weights",
    ),
]
Csv = Annotated[Path | None, file_option("Write the table to FILE as CSV, in full precision.", "--csv")]
Latex = Annotated[Path | None, file_option("Write the table to FILE as LaTeX.", "--latex")]
Plot = Annotated[Path | None, file_option("Plot the margin against the scale (PNG or SVG).")]


def command(
    source: options.Source,
    *,
    length: Length,
    sharpness: Sharpness = None,
    arithmetic: MeasuredFormat = None,
    plot: Plot = None,
    csv: Csv = None,
    latex: Latex = None,
    from_weights: FromWeights = False,
    theorem: options.TheoremName = None,
    causal: options.Causal = False,
    context: options.Context = None,
    alphabet: options.Alphabet = None,
    format_name: options.Format = None,
    output: Output,
) -> int:
    """Prove that softmax and hard attention agree up to a length.

    The certificate bounds the errors of softmax at some temperature, head by head, for every input.

    Exit status: 0 the certificate holds; 1 it does not.
    """
    from softmachine import api
    from softmachine.cli.output import spinner
    from softmachine.support.files import require_creatable, write_file

    bare = _load_bare_weights(source)
    chosen = choose_rasp_theorem(theorem, causal=causal)
    if from_weights or bare is not None:
        unused = {"--arithmetic": arithmetic, "--plot": plot, "--csv": csv, "--latex": latex}
        if given := [name for name, value in unused.items() if value is not None]:
            raise UsageError(f"{given[0]} requires a source, and cannot be combined with --from-weights")
        wanted = CompileOptions(chosen, "hard", context, alphabet=alphabet, format=format_name)
        return _certify_weights(source, bare, wanted, length, sharpness, output)
    files = {name: path for name, path in {"plot": plot, "csv": csv, "latex": latex}.items() if path is not None}
    for path in files.values():
        require_creatable(path)
    context = length if context is None else context
    wanted = CompileOptions(chosen, "hard", context, alphabet=alphabet, format=format_name)
    model = load_model(source, wanted, output, two_letters=True)
    with spinner("certifying", output):
        certificate = api.certificate(model, length=length, sharpness=sharpness)
    measured = None
    if arithmetic is not None and certificate.holds:
        measured = _measure(model, length, sharpness, arithmetic, output)
    if plot is not None:
        _draw(model, length, plot, output)
    if csv is not None:
        write_file(csv, certificate.to_csv())
    if latex is not None:
        write_file(latex, certificate.to_latex())
    if output.as_json:
        figures = {"measured": measured.to_json()} if measured else {}
        written = {name: str(path) for name, path in files.items()}
        over = {"alphabet": list(model.codec.alphabet)}
        output.print_json(certificate.to_json() | over | figures | written | notes_json(model.notes))
    else:
        output.print(str(certificate))
        if letters := format_alphabet(model.source):
            output.print(f"  {letters}")
        if measured is not None:
            output.print(f"  {measured}")
        for name, path in files.items() if not output.quiet else ():
            output.print(f"  {name} written to {path}")
        print_notes(model.notes, output)
    return Status.OK if certificate.holds else Status.DOES_NOT_HOLD


def _load_bare_weights(source: str) -> Transformer | None:
    """Return the weights of a folder that holds weights without a source, else None."""
    from softmachine.api import find_saved_folder
    from softmachine.exports.native import has_bare_weights, load_weights

    folder = find_saved_folder(source)
    return load_weights(folder) if folder and has_bare_weights(folder) else None


def _certify_weights(
    source: str, bare: Transformer | None, wanted: CompileOptions, length: int, sharpness: int | None, output: Output
) -> int:
    """Print the certificate from the weights alone."""
    from softmachine.certify import certify_or_run
    from softmachine.certify.exhaustive import prompts_by_length
    from softmachine.cli.output import spinner

    if bare is not None:
        weights, domain, inputs = bare, None, None
    else:
        model = load_model(source, wanted, output, two_letters=True)
        weights, domain, inputs = model.weights, model.codec.domain(model.weights.vocabulary), prompts_by_length(model)
    with spinner("certifying", output):
        certificate = certify_or_run(weights, length, sharpness, domain, inputs)
    if output.as_json:
        output.print_json(certificate.to_json())
    else:
        output.print(str(certificate))
    return Status.OK if certificate.holds else Status.DOES_NOT_HOLD


def _measure(model: Model, length: int, sharpness: int | None, arithmetic: str, output: Output) -> PrecisionMeasurement:
    """Measure the length up to which a float format is correct."""
    from softmachine import api
    from softmachine.certify.empirical import measure_precision
    from softmachine.cli.output import spinner

    with spinner("measuring", output) as progress:
        return measure_precision(api.soften(model, length=length, sharpness=sharpness)[0], arithmetic, length, progress)


def _draw(model: Model, length: int, file: Path, output: Output) -> None:
    """Plot certificates for several lengths and scales."""
    from softmachine import api
    from softmachine.certify.empirical import draw_margins
    from softmachine.cli.output import spinner

    with spinner("drawing", output) as progress:

        def prove(part: int, sharpness: int | None) -> Certificate:
            progress(
                f"drawing: certifying for length {part:,}{'' if sharpness is None else f', sharpness {sharpness}'}"
            )
            return api.certificate(model, length=part, sharpness=sharpness)

        draw_margins(model.name, prove, length, file)
