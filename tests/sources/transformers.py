"""Random transformers with small integers and fractions as weights and many ties, determined by the seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from softmachine.transformer.attention import AVERAGE_HARD, LEFTMOST_HARD, RIGHTMOST_HARD, Mask, Weighting
from softmachine.transformer.features import RECIPROCAL, Alternating, Bit, Distance, Feature, I, Relation, Residue
from softmachine.transformer.weights import AffineMap, Block, FeedForward, Head, Layer, Matrix, Transformer

VOCABULARY = ("a", "b", "c")
HARD = (AVERAGE_HARD, LEFTMOST_HARD, RIGHTMOST_HARD)
CAUSAL = (Mask.CAUSAL, Mask.PAST)
_FEATURES = (
    I,
    RECIPROCAL,
    Alternating(),
    Bit(0),
    Residue(3, 2),
)


class RandomTransformer:
    """Generate a random transformer.

    Args:
        seed: The seed of the random numbers.
        masks: The masks that heads may have.
        weightings: The weightings that heads may have.
        denominators: Weights are small integers over one of these.
        biases: The biases that heads may have; one head in five has one.
        features: The possible position features.
        vocabulary: The tokens.
        outputs: The outputs; by default two to four.
    """

    def __init__(
        self,
        seed: int,
        masks: Sequence[Mask] = tuple(Mask),
        weightings: Sequence[Weighting] = HARD,
        denominators: Sequence[int] = (1, 1, 1, 2, 3),
        biases: Sequence[Relation] = (Distance(),),
        features: Sequence[Feature] = _FEATURES,
        vocabulary: tuple[str, ...] = VOCABULARY,
        outputs: tuple[str, ...] = (),
    ) -> None:
        self.chooser = random.Random(seed)
        self.masks, self.weightings, self.denominators = masks, weightings, denominators
        self.biases, self.features = biases, features
        self.vocabulary, self.outputs = vocabulary, outputs
        self.width = self.chooser.randrange(1, 6)

    def transformer(self, name: str = "random") -> Transformer:
        features = tuple(self.chooser.sample(self.features, self.chooser.randrange(3)))
        drawn = tuple(f"y{k}" for k in range(self.chooser.randrange(2, 5)))
        outputs = self.outputs or drawn
        return Transformer(
            name=name,
            vocabulary=self.vocabulary,
            coordinates=tuple(f"x{k}" for k in range(self.width)),
            embedding=self.matrix(len(self.vocabulary), self.width),
            features=features,
            position_embedding=self.matrix(len(features), self.width),
            blocks=tuple(self.block(b) for b in range(self.chooser.randrange(3))),
            outputs=outputs,
            unembedding=self.affine(len(outputs)),
        )

    def number(self) -> Fraction:
        return Fraction(self.chooser.randrange(-3, 4), self.chooser.choice(self.denominators))

    def matrix(self, rows: int, columns: int) -> Matrix:
        drawn = [{c: self.number() for c in range(columns) if self.chooser.random() < 0.6} for _ in range(rows)]
        return Matrix.of(drawn, columns)

    def affine(self, rows: int) -> AffineMap:
        return AffineMap(self.matrix(rows, self.width), self.vector(rows))

    def vector(self, size: int) -> tuple[Fraction, ...]:
        return tuple(self.number() if self.chooser.random() < 0.5 else Fraction(0) for _ in range(size))

    def block(self, number: int) -> Block:
        layers = tuple(self.layer(f"{number}.{d}") for d in range(self.chooser.randrange(1, 3)))
        if self.chooser.random() < 0.7:
            return Block(layers)
        return Block(layers, self.chooser.randrange(4), f"loop {number}")

    def layer(self, name: str) -> Layer:
        heads = tuple(self.head(f"head {name}.{h}") for h in range(self.chooser.randrange(3)))
        hidden = self.chooser.randrange(4)
        forward = FeedForward(
            self.affine(hidden),
            tuple(self.chooser.choice(("relu", "relu", "step")) for _ in range(hidden)),
            AffineMap(self.matrix(self.width, hidden), self.vector(self.width)),
            tuple(f"unit {name}.{u}" for u in range(hidden)),
        )
        return Layer(heads, forward)

    def head(self, name: str) -> Head:
        keys, values = self.chooser.randrange(5), self.chooser.randrange(1, 4)
        return Head(
            name,
            query=self.affine(keys),
            key=self.affine(keys),
            value=self.affine(values),
            output=self.matrix(self.width, values),
            mask=self.chooser.choice(self.masks),
            weighting=self.chooser.choice(self.weightings),
            bias=self.bias() if self.chooser.random() < 0.2 else None,
        )

    def bias(self) -> Relation:
        return self.biases[0] if len(self.biases) == 1 else self.chooser.choice(self.biases)


def random_word(seed: int, length: int) -> list[str]:
    chooser = random.Random(seed)
    return [chooser.choice(VOCABULARY) for _ in range(length)]
