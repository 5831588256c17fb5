"""The constructions for temporal logic and for S-RASP."""

from __future__ import annotations

from collections.abc import Callable

from softmachine.languages.srasp import Program as SraspProgram
from softmachine.languages.temporal import Specification
from softmachine.theorems.srasp import theorem as srasp
from softmachine.theorems.srasp.tokens import SraspCodec
from softmachine.theorems.temporal import theorem as temporal
from softmachine.theorems.temporal.theorem import Variant, Vision
from softmachine.theorems.temporal.tokens import TemporalCodec
from softmachine.theorems.theorem import Construction, Made


def _temporal(vision: Vision, *, unbounded: bool = False) -> Callable[[Specification, str, int | None], Made]:
    def build(specification: Specification, attention: str, length: int | None) -> Made:
        del length
        variant = Variant(vision, soft=attention == "soft", unbounded=unbounded)
        return temporal.transformer(specification, variant), TemporalCodec(specification, variant)

    return build


def _srasp(source: SraspProgram, attention: str, length: int | None) -> Made:
    del length
    soft = attention == "soft"
    return srasp.transformer(source, soft=soft), SraspCodec(source, soft)


LOGIC: tuple[Construction, ...] = (
    Construction(
        "temporal-encoder",
        "Theorems 12, 15, 20: temporal logic with counting, by an encoder that knows the length",
        "the length; bounded position features (i and i² where it counts); scale O(n), the mildest of all",
        Specification,
        ("hard", "soft"),
        _temporal(Vision.ENCODER),
    ),
    Construction(
        "temporal-masked",
        "Theorems 13, 16, 21: past temporal logic with counting, future-masked, for every length",
        "nothing of the length; 1/(i+1), (-1)^i (i and i² where it counts); scale O(i²); only the past",
        Specification,
        ("hard", "soft"),
        _temporal(Vision.MASKED),
    ),
    Construction(
        "temporal-encoder-unbounded",
        "Theorems 12, 15, 20, variant (b): temperature 1, position features that grow with the length",
        "the length; position features that grow like n, where it counts like n³; scale 1",
        Specification,
        ("hard", "soft"),
        _temporal(Vision.ENCODER, unbounded=True),
    ),
    Construction(
        "temporal-masked-unbounded",
        "Theorems 13, 16, variant (b): temperature 1, position features that grow, future-masked, no counts",
        "nothing of the length; position features that grow like i²; scale 1; only the past, no counts",
        Specification,
        ("hard", "soft"),
        _temporal(Vision.MASKED, unbounded=True),
    ),
    Construction(
        "srasp",
        "S-RASP by an encoder that knows the length: average-hard attention, or softmax",
        "the length; position features i, i², 1/(i+1), i/(n+1), n; scale O(n) to O(n²)",
        SraspProgram,
        ("hard", "soft"),
        _srasp,
    ),
)
