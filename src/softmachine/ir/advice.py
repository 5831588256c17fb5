"""Advice: the gadgets of :mod:`softmachine.ir.gadgets` that repair what a refused certificate names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from softmachine.ir.analysis import Analysis
from softmachine.ir.facts import ONE, ZERO, Fact
from softmachine.ir.primitives import Attention, Named, Norm, Position, Token, Unit
from softmachine.ir.signal import Affine, Atom


def advise_grid(analysis: Analysis, forms: Iterable[Affine]) -> str:
    """The gadget that gives the scores of a head a grid, from its queries and keys."""
    lost = next((form for form in forms if analysis.of(form).step is None), None)
    if lost is not None:
        return _describe_lost_step(analysis, lost)
    return "recover integers from shares of i+1 before they are compared (recover_integer)"


def _describe_lost_step(analysis: Analysis, form: Affine) -> str:
    """Where the step of a form is lost, and the gadget that helps."""
    for node, k in form.terms:
        if isinstance(node, Token) or analysis.facts[node, k].step is not None:
            continue
        match node:
            case Position():
                return f"use a feature with a denominator, such as i or 1/(i+1), in place of {node.name!r}"
            case Attention() if analysis.of(node.value[k]).step is not None:
                return f"recover the integers that head {node.name!r} reads as shares of i+1 (recover_integer)"
            case Attention():
                return _describe_lost_step(analysis, node.value[k])
            case Norm():
                return f"compare integers or bits in place of the layer norm {node.name!r}, which is on no grid"
            case Named() | Unit(activation="relu"):
                return _describe_lost_step(analysis, node.forms[k])
        return f"round {node.label(k)!r} (round_unit_bit, round_to_trit)"
    return "round what the head reads (round_unit_bit, round_to_trit)"


def advise_rounding(analysis: Analysis, forms: Iterable[Affine], errors: Mapping[Atom, float]) -> str:
    """The gadgets that make exact what forms read with errors."""
    found = dict.fromkeys(atom for form in forms for atom in form.terms if errors.get(atom))
    return "; ".join(_describe_rounding(node.label(k), analysis.facts[node, k]) for node, k in found)


def _describe_rounding(name: str, fact: Fact) -> str:
    if fact.values is not None and set(fact.values) <= {-ONE, ZERO, ONE}:
        return f"round {name!r} with {'round_unit_bit' if fact.is_bit else 'round_to_trit'}"
    if fact.step is not None and fact.step.is_constant:
        return f"round {name!r} with round_to_integer"
    return f"recover the integer of which {name!r} is a share (recover_integer)"


def advise_comparison(fact: Fact) -> str:
    """The gadget that compares a number with an error with 0; if it is only rounded, it stays at the threshold."""
    if fact.step is None or not fact.step.is_constant or not fact.step.factor:
        return "recover the integer of which it is a share (recover_integer), and compare that with compare_with_zero"
    number = "it" if fact.step.factor == 1 else f"{1 / fact.step.factor} times it"
    return f"compare {number} with compare_with_zero, which rounds, in place of the step"
