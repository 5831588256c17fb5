"""How a model is made: the text that travels to a worker in place of its weights, and the digest of what it makes.

A model is known by its theorem, its source as text, its attention and its lengths. A worker compiles that; the digest
tells whether it has the same weights. It has not, if its version of softmachine is another, or if the weights were
made or changed in another way, as those of a folder may be: such a model stays in its own process.
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
    """How a model is made.

    Args:
        theorem: The name of the theorem.
        source: The source, as text: its language, its name, its text; nothing if the theorem is about one object.
        attention: The kind of attention.
        length: The length that the weights are made for.
        certified: The length that softmax is certified for, and the sharpness.
        digest: That of the weights.
        version: That of softmachine.
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
        """The recipe of a model; None if there is no text of it."""
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
        """The model, made once in a process.

        Raises:
            MismatchError: If it is another than that of who wrote the recipe.
        """
        if self.version != __version__:
            raise MismatchError(
                f"a worker has softmachine {__version__}, and not {self.version}",
                hint="install the same version wherever workers run",
            )
        model = _made(self)
        found = digest(model.weights)
        if found != self.digest:
            name = model.name
            raise MismatchError(
                f"what a worker makes of {name!r} by {self.theorem} are other weights: their digest is "
                f"{found[:12]}…, not {self.digest[:12]}…",
                hint=Remedy(
                    "weights that this version did not compile are for one process: {}", workers=1, cluster=None
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
