"""The public functions that write models: our own folders, which can be read back, and exports for other software."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softmachine.compiler.model import Model
from softmachine.compiling import compile, compiled_by  # noqa: A004
from softmachine.languages.source import Source
from softmachine.loading import load
from softmachine.support.arguments import validated
from softmachine.support.errors import UsageError
from softmachine.support.progress import Tell, nobody
from softmachine.theorems import Theorem, theorem_for
from softmachine.transformer.weights import Transformer

if TYPE_CHECKING:
    from softmachine.exports.writing import Exported


@validated
def save(model: Model | Transformer, folder: str | Path, *, force: bool = False) -> None:
    """Write a model to a folder, from which :func:`load` reads it; or bare weights, for :func:`load_weights`."""
    from softmachine.exports import native

    if isinstance(model, Transformer):
        native.save_weights(model, Path(folder), force=force)
    else:
        native.save(model, Path(folder), force=force)


@validated
def load_weights(folder: str | Path) -> Transformer:
    """The weights of a folder that :func:`save` wrote, of a model or bare, without what they are for."""
    from softmachine.exports import native

    return native.load_weights(Path(folder))


@validated
def export(
    model: Model | Source | str | Path,
    folder: str | Path,
    *,
    to: str = "gpt2",
    length: int | None = None,
    dtype: str | None = None,
    theorem: str | Theorem | None = None,
    construction: str | None = None,
    force: bool = False,
    tell: Tell = nobody,
    workers: int = 1,
) -> Exported:
    """Write a model (or a source, compiled on the way) so that other people's software loads it.

    Nothing is written unless a stock model, loaded from what would be written, says on sample inputs what the
    reference interpreter says.

    Args:
        model: What to export. A model with hard attention is made soft, with a certificate for the length.
        folder: Where to.
        to: The format, see ``docs/export.md``.
        length: The number of positions: marks, input and steps together.
        dtype: The floating-point format of the weights; by default float32.
        theorem: The theorem to compile a source by; by default the one that is made for the format.
        construction: An older name of ``theorem``.
        force: Whether to replace a model that is there.
        tell: Is told what is being done, since it may take minutes.
        workers: How many processes run the stock model on sample inputs, if that takes a while; see :func:`check`.
    """
    from softmachine.exports.export import DEFAULT_LENGTH, positions_of, ready, stock_theorem, written
    from softmachine.support.parallel import Processes, hired, hiring

    item = load(model)
    wanted, dtype, folder = theorem or construction, dtype or "float32", Path(folder)
    if isinstance(item, Model) and not compiled_by(item, wanted):
        raise UsageError(f"{item.name!r} is already compiled, by {item.theorem.name}")
    form = ready(to, dtype, folder, length, force=force)
    if isinstance(item, Model):
        positions, compiled = positions_of(item, length), item
    else:
        positions = DEFAULT_LENGTH if length is None else length
        tell("compiling")
        chosen = theorem_for(item, wanted)
        if wanted is None:
            chosen = stock_theorem(item, form, dtype) or chosen
        attention = "hard" if "hard" in chosen.attentions else "soft"
        compiled = compile(item, chosen, attention=attention, length=positions if chosen.length else None)
    with hiring(Processes(workers, asked=False) if workers > 1 else hired()):
        return written(compiled, folder, form, length=positions, dtype=dtype, force=force, tell=tell)
