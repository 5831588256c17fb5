"""``softmachine certify``: prove that softmax gives the outputs of hard attention, for every input up to a length."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from softmachine.cli import options
from softmachine.cli.compile_options import Wanted, alphabet_line, noted, open_model, rasp_theorem, say_notes
from softmachine.cli.options import Status, file, switch, value
from softmachine.cli.output import Output
from softmachine.support.errors import UsageError

if TYPE_CHECKING:
    from softmachine.certify import Certificate
    from softmachine.certify.empirical import Measurement
    from softmachine.compiler.model import Model
    from softmachine.transformer.weights import Transformer

EXAMPLES = """[dim]Examples:[/]
  softmachine certify palindrome --length 500
  softmachine certify "Q_a since Q_b" --length 100 --sharpness 2
  softmachine certify "prev Q_a" --length 64 --arithmetic float32
  softmachine certify "odd(#<[Q_1])" --length 100 --plot margin.png
  softmachine certify palindrome --length 50 --csv heads.csv --latex heads.tex
  softmachine certify "Q_a since Q_b" --length 4 --from-weights"""


Length = Annotated[
    int, value("N", "Certify every input up to length N (for decoders, input and run together).", "--length", least=0)
]
Sharpness = Annotated[
    int | None, value("S", "Scale every head by S / gap. Default: the smallest S that is certified.", least=1)
]
Measured = Annotated[
    str | None,
    value("NAME", "Also measure the length, at most N, up to which random inputs are correct in this float format."),
]
FromWeights = Annotated[
    bool,
    switch(
        "Use only the weights: score gaps come from running every input, if they are few, or from denominators. The "
        "default for saved weights without a source.",
        "--from-weights",
    ),
]
Csv = Annotated[Path | None, file("Write the table to FILE as CSV, in full precision.", "--csv")]
Latex = Annotated[Path | None, file("Write the table to FILE as LaTeX.", "--latex")]
Plot = Annotated[Path | None, file("Plot the margin against the scale (PNG or SVG).")]


def command(
    source: options.Source,
    *,
    length: Length,
    sharpness: Sharpness = None,
    arithmetic: Measured = None,
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
    from softmachine.cli.output import working
    from softmachine.support.files import require_new, write

    bare = _load_bare_weights(source)
    chosen = rasp_theorem(theorem, causal=causal)
    if from_weights or bare is not None:
        unused = {"--arithmetic": arithmetic, "--plot": plot, "--csv": csv, "--latex": latex}
        if given := [name for name, value in unused.items() if value is not None]:
            raise UsageError(f"{given[0]} requires a source, and cannot be combined with --from-weights")
        wanted = Wanted(chosen, "hard", context, alphabet=alphabet, format=format_name)
        return _certify_weights(source, bare, wanted, length, sharpness, output)
    files = {name: path for name, path in {"plot": plot, "csv": csv, "latex": latex}.items() if path is not None}
    for path in files.values():
        require_new(path)
    context = length if context is None else context
    wanted = Wanted(chosen, "hard", context, alphabet=alphabet, format=format_name)
    model = open_model(source, wanted, output, two_letters=True)
    with working("certifying", output):
        certificate = api.certificate(model, length=length, sharpness=sharpness)
    measured = None
    if arithmetic is not None and certificate.holds:
        measured = _measure(model, length, sharpness, arithmetic, output)
    if plot is not None:
        _draw(model, length, plot, output)
    if csv is not None:
        write(csv, certificate.to_csv())
    if latex is not None:
        write(latex, certificate.to_latex())
    if output.as_json:
        figures = {"measured": measured.to_json()} if measured else {}
        written = {name: str(path) for name, path in files.items()}
        over = {"alphabet": list(model.codec.alphabet)}
        output.answer(certificate.to_json() | over | figures | written | noted(model.notes))
    else:
        output.say(str(certificate))
        if letters := alphabet_line(model.source):
            output.say(f"  {letters}")
        if measured is not None:
            output.say(f"  {measured}")
        for name, path in files.items() if not output.quiet else ():
            output.say(f"  {name} written to {path}")
        say_notes(model.notes, output)
    return Status.DONE if certificate.holds else Status.FAILS


def _load_bare_weights(source: str) -> Transformer | None:
    """Return the weights of a folder that holds weights without a source, else None."""
    from softmachine.api import saved_folder
    from softmachine.exports.native import has_bare_weights, load_weights

    folder = saved_folder(source)
    return load_weights(folder) if folder and has_bare_weights(folder) else None


def _certify_weights(
    source: str, bare: Transformer | None, wanted: Wanted, length: int, sharpness: int | None, output: Output
) -> int:
    """Print the certificate from the weights alone."""
    from softmachine.certify import certify_weights
    from softmachine.certify.exhaustive import inputs_of
    from softmachine.cli.output import working

    if bare is not None:
        weights, inputs = bare, None
    else:
        model = open_model(source, wanted, output, two_letters=True)
        weights, inputs = model.weights, inputs_of(model)
    with working("certifying", output):
        certificate = certify_weights(weights, length, sharpness, inputs)
    if output.as_json:
        output.answer(certificate.to_json())
    else:
        output.say(str(certificate))
    return Status.DONE if certificate.holds else Status.FAILS


def _measure(model: Model, length: int, sharpness: int | None, arithmetic: str, output: Output) -> Measurement:
    """Measure the length up to which a float format is correct."""
    from softmachine import api
    from softmachine.certify.empirical import measure
    from softmachine.cli.output import working

    with working("measuring", output) as tell:
        return measure(api.soften(model, length=length, sharpness=sharpness)[0], arithmetic, length, tell)


def _draw(model: Model, length: int, file: Path, output: Output) -> None:
    """Plot certificates for several lengths and scales."""
    from softmachine import api
    from softmachine.certify.empirical import draw
    from softmachine.cli.output import working

    with working("drawing", output) as tell:

        def prove(part: int, sharpness: int | None) -> Certificate:
            tell(f"drawing: certifying for length {part:,}{'' if sharpness is None else f', sharpness {sharpness}'}")
            return api.certificate(model, length=part, sharpness=sharpness)

        draw(model.name, prove, length, file)
