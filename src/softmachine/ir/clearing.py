"""Removal of clearing units: ReLU(g) is g where g is proved to be nonnegative.

A narrow program clears a coordinate that is never negative with one unit, x - ReLU(x). Only facts about x show that
nothing is left.
"""

from __future__ import annotations

from dataclasses import replace

from softmachine.ir.analysis import Analysis
from softmachine.ir.facts import ONE, ZERO
from softmachine.ir.lifter import is_read_directly
from softmachine.ir.primitives import Loop, Named, Unit, expand_named
from softmachine.ir.signal import Affine, Atom, Node, topological_order


def remove_clearing(analysis: Analysis) -> None:
    """Remove units that only clear from the program of an analysis, which follows the nodes of the new program.

    Programs with loops are left as they are: their coordinates are not reused.
    """
    nodes = list(topological_order(analysis.program.logits.forms))
    if not any(isinstance(node, Loop) for node in nodes):
        _Removal(analysis).run(nodes)


class _Removal:
    """Rebuilds the nodes of a program, inputs first, and analyses each."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.nodes: dict[Node, Node] = {}
        self.linear: dict[Atom, Affine] = {}

    def run(self, nodes: list[Node]) -> None:
        """Replace the program."""
        for node in nodes:
            new = self.nodes[node] = node.with_forms(self.forms)
            if isinstance(new, Named) and is_read_directly(new.forms[0]):
                self.linear[new, 0] = new.forms[0]
                continue
            self.analysis.visit(new)
            if isinstance(new, Unit) and new.activation == "relu" and self.analysis.of(new.forms[0]).low >= ZERO:
                self.linear[new, 0] = expand_named(new.forms[0])
        program = self.analysis.program
        logits = replace(program.logits, forms=self.forms(program.logits.forms))
        self.analysis.program = replace(program, logits=logits)
        kept = set(topological_order(logits.forms))
        self.analysis.heads = {head: fact for head, fact in self.analysis.heads.items() if head in kept}

    def forms(self, forms: tuple[Affine, ...]) -> tuple[Affine, ...]:
        return tuple(
            self.simplify(Affine({(self.nodes[node], k): factor for (node, k), factor in f.terms.items()}, f.constant))
            for f in forms
        )

    def simplify(self, form: Affine) -> Affine:
        """The form with g in place of every ReLU(g), and without names of what is read directly."""
        linear = [atom for atom in form.terms if atom in self.linear]
        return Affine.sum([form, *((self.linear[a] + Affine({a: -ONE})) * form.terms[a] for a in linear)])
