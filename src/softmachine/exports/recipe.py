"""Recipe of a model: what workers receive in place of its weights, with the digest of the result.

Theorem, source text, attention and lengths determine a compiled model. A worker compiles it again and compares the
digest of the weights. Digests differ if the worker has another version of softmachine, or if the weights were not
compiled from the source, such as edited weights of a folder; such a model is not sent to workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from softmachine.certify import certify_theorem
from softmachine.compiler import compile_program
from softmachine.compiler.model import Model
from softmachine.exports.native import made_from, written_source
from softmachine.support.errors import MismatchError, Remedy, UsageError
from softmachine.support.version import __version__
from softmachine.transformer.digest import digest


@dataclass(frozen=True)
class Recipe:
    """Everything needed to compile a model again.

    Args:
        theorem: The name of the theorem.
        source: The source as text: its language, name and text; None if the theorem is about a single source.
        attention: The kind of attention.
        length: The length that the weights are built for.
        certified: The length for which softmax is certified, and the sharpness.
        digest: The digest of the weights.
        version: The version of softmachine.
    """

    theorem: str
    source: tuple[tuple[str, str], ...] | None
    attention: str
    length: int | None
    certified: tuple[int, int] | None
    digest: str
    version: str = __version__

    @staticmethod
    def of(model: Model) -> Recipe | None:
        """The recipe of a model; None if its source has no text."""
        try:
            written = written_source(model.source, model.theorem)
        except UsageError:
            return None
        theorem = model.theorem
        attention = model.attention if model.attention in theorem.attentions else theorem.attentions[0]
        source = None if written is None else tuple(written.items())
        certified = None if model.proof is None else (model.proof.length, model.proof.sharpness)
        return Recipe(theorem.name, source, attention, model.length, certified, digest(model.weights))

    def model(self) -> Model:
        """Compile the model, once per process.

        Raises:
            MismatchError: If the version of softmachine or the digest differs.
        """
        if self.version != __version__:
            raise MismatchError(
                f"a worker has softmachine {__version__} instead of {self.version}",
                hint="install the same version on all machines",
            )
        model = _made(self)
        found = digest(model.weights)
        if found != self.digest:
            name = model.name
            raise MismatchError(
                f"a worker compiled other weights of {name!r} by {self.theorem}: their digest is {found[:12]}…, not "
                f"{self.digest[:12]}…",
                hint=Remedy(
                    "weights that this version did not compile run in one process only: {}", workers=1, cluster=None
                ),
            )
        return model


@lru_cache(maxsize=4)
def _made(recipe: Recipe) -> Model:
    theorem, source = made_from(recipe.theorem, None if recipe.source is None else dict(recipe.source))
    codec = theorem.codec_for(source, recipe.length)
    model = Model(compile_program(theorem.signals(codec, recipe.attention)), codec, theorem, recipe.length)
    if recipe.certified is None:
        return model
    proof = certify_theorem(model, *recipe.certified)
    return replace(model, weights=proof.softened, certificate=proof)
