"""No certified scale grows and no certified length shrinks. See :mod:`tests.certified.record`."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction
from typing import Any

import pytest

from tests.certified.cases import Case, Row, cases
from tests.certified.record import recorded

QUICK = 0.05
"""Rows that take at most this many seconds are compared in every run of the suite …"""
SLOW = 0.5
"""… and of each theorem and attention, the quickest rows up to this many seconds."""
RECORD = recorded()
LEFT_OUT = {
    "three-tape-addition · residues · hard",
    "three-tape-addition · residues-without-positions · hard",
}
"""Rows that have not been recorded: for length 256 they take more than a minute."""


def sample() -> set[str]:
    """The quick rows; also the quickest certified and the quickest refused row of every theorem and attention."""
    chosen = {key for key, row in RECORD.items() if row["seconds"] <= QUICK}
    first: dict[tuple[str, str, bool], str] = {}
    for key in sorted(RECORD, key=lambda key: (RECORD[key]["seconds"], key)):
        case = Case.read(key)
        first.setdefault((case.theorem, case.attention, is_refused(RECORD[key])), key)
    return chosen | {key for key in first.values() if RECORD[key]["seconds"] <= SLOW}


def is_refused(row: Row) -> bool:
    """Whether a row has no scale at all."""
    return "no model" in row or not any("sharpness" in proof for proof in row.get("certificates", {"": row}).values())


def parameters() -> list[Any]:
    """The rows of each theorem, those of every run of the suite and the slow ones apart."""
    fast = sample()
    groups: dict[tuple[str, bool], list[str]] = {}
    for key in RECORD:
        groups.setdefault((Case.read(key).theorem, key not in fast), []).append(key)
    return [
        pytest.param(keys, id=f"{theorem}{'-slow' * slow}", marks=[pytest.mark.slow] * slow)
        for (theorem, slow), keys in groups.items()
    ]


def worse(old: Row, new: Row) -> list[str]:
    """In what a row is worse than the recorded one: refusals, scales that grow, lengths that shrink."""
    if "certificates" not in old:
        return _worse_scales("", old, new)
    found = [
        problem
        for length, proof in old["certificates"].items()
        for problem in _worse_proof(f"length {length}", proof, new["certificates"][length])
    ]
    if (old.get("longest") or 0) > (new.get("longest") or 0):
        found.append(f"the longest certified length is {new.get('longest')}, not {old['longest']}")
    return found


def _worse_proof(where: str, old: Row, new: Row) -> list[str]:
    if "sharpness" not in old:
        return []
    if "sharpness" not in new:
        return [f"{where}: {new}"]
    found = _worse_scales(where, old, new)
    if int(new["sharpness"]) > int(old["sharpness"]):
        found.append(f"{where}: sharpness {new['sharpness']}, not {old['sharpness']}")
    return found


def _worse_scales(where: str, old: Row, new: Row) -> list[str]:
    """Heads are compared in order: their names may change."""
    if "heads" not in old:
        return []
    if len(new.get("heads", [])) != len(old["heads"]):
        return [f"{where}: other heads, so that the row has to be recorded anew: {new}"]
    pairs = [(after[0], before[-1], after[-1]) for before, after in zip(old["heads"], new["heads"], strict=True)]
    return [
        f"{where}: scale {after} of head {name!r}, not {before}"
        for name, before, after in pairs
        if (before is None) != (after is None) or (before is not None and Fraction(after) > Fraction(before))
    ]


@pytest.mark.parametrize("keys", parameters())
def test_no_scale_grows_and_no_certified_length_shrinks(keys: list[str]) -> None:
    problems = {key: worse(RECORD[key], Case.read(key).row(RECORD[key].get("longest"))) for key in keys}
    assert {key: found for key, found in problems.items() if found} == {}


def test_every_entry_theorem_and_attention_is_in_the_record() -> None:
    assert {str(case) for case in cases()} == RECORD.keys() | LEFT_OUT


def test_a_refusal_is_recorded_with_its_reason() -> None:
    proofs = [proof for row in RECORD.values() for proof in row.get("certificates", {}).values()]
    assert any("refused" in proof for proof in proofs)
    assert all(proof.get("refused") or proof.get("no model") for proof in proofs if "sharpness" not in proof)


def test_a_larger_scale_and_a_shorter_length_are_worse_and_the_opposite_is_not() -> None:
    old = RECORD["palindrome · chapter-8 · hard"]
    assert worse(old, old) == []

    def changed(sharpness: int, factor: Fraction, longest: int) -> Row:
        new = deepcopy(old)
        proof = new["certificates"]["1000"]
        proof["sharpness"] = str(int(proof["sharpness"]) + sharpness)
        proof["heads"][-1][-1] = str(Fraction(proof["heads"][-1][-1]) * factor)
        new["longest"] += longest
        return new

    assert worse(old, changed(-1, Fraction(1, 2), 1)) == []
    assert len(worse(old, changed(1, Fraction(1), 0))) == 1
    assert len(worse(old, changed(0, Fraction(2), 0))) == 1
    assert len(worse(old, changed(0, Fraction(1), -1))) == 1
    refused = deepcopy(old)
    refused["certificates"]["10"] = {"refused": "why"}
    assert len(worse(old, refused)) == 1
    assert worse(refused, old) == []
