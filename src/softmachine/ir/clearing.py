"""Removal of clearing units: ReLU(g) is g where g is proved to be nonnegative.

A narrow program clears a coordinate that is never negative with one unit, x - ReLU(x). Only facts about x show that
nothing is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from softmachine.ir.analysis import Analysis
from softmachine.ir.domain import Domain
from softmachine.ir.facts import ONE, ZERO
from softmachine.ir.primitives import Attention, Loop, Unit, expand_named
from softmachine.ir.program import Program
from softmachine.ir.signal import Affine, Atom, Node, topological_order


def remove_clearing(
    program: Program, domain: Domain, length: int, hints: Mapping[str, Attention] = MappingProxyType({})
) -> Program:
    """Return the program without units that only clear, for inputs of a domain up to a length.

    Programs with loops are returned as they are: their coordinates are not reused.
    """
    nodes = list(topological_order(program.logits.forms))
    if any(isinstance(node, Loop) for node in nodes):
        return program
    return _Removal(Analysis(program, domain, length, hints)).program(nodes)


class _Removal:
    """Rebuilds the nodes of a program, inputs first, and analyses each."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.nodes: dict[Node, Node] = {}
        self.linear: dict[Atom, Affine] = {}

    def program(self, nodes: list[Node]) -> Program:
        for node in nodes:
            new = self.nodes[node] = node.with_forms(self.forms)
            self.analysis.visit(new)
            if isinstance(new, Unit) and new.activation == "relu" and self.analysis.of(new.forms[0]).low >= ZERO:
                self.linear[new, 0] = expand_named(new.forms[0])
        program = self.analysis.program
        return replace(program, logits=replace(program.logits, forms=self.forms(program.logits.forms)))

    def forms(self, forms: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple(
            self.simplify(Affine({(self.nodes[node], k): factor for (node, k), factor in f.terms.items()}, f.constant))
            for f in forms
        )

    def simplify(self, form: Affine) -> Affine:
        """The form with g in place of every ReLU(g)."""
        linear = [atom for atom in form.terms if atom in self.linear]
        return Affine.sum([form, *((self.linear[a] + Affine({a: -ONE})) * form.terms[a] for a in linear)])
