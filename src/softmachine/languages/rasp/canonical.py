"""Canonical order of definitions: dead code removed, each anonymous operation right before its first use."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace

from softmachine.languages.rasp.building import distinguished
from softmachine.languages.rasp.core import Definition, Repeat, operands, renamed
from softmachine.languages.rasp.names import ANONYMOUS


def canonical(definitions: Iterable[Definition], output: str) -> tuple[tuple[Definition, ...], str]:
    """The definitions that an output depends on, in the order in which parsing creates them, and the output's name.

    Named definitions keep their relative order. Anonymous ones come right before their first use and are numbered by
    index: ``_1``, ``_2``, …, and in the first loop ``_1_1``, ``_1_2``, …
    """
    by_name = {definition.name: definition for definition in definitions}
    ordered = _in_order(by_name, [output])
    loops: dict[Hashable, Repeat] = {}
    names: dict[str, str] = {}
    result: list[Definition] = []
    for number, definition in enumerate(ordered, start=1):
        name = f"_{number}" if ANONYMOUS.fullmatch(definition.name) else definition.name
        names[definition.name] = name
        node = definition.node
        if isinstance(node, Repeat):
            node = _canonical_loop(node, loops)
        result.append(Definition(name, renamed(node, names), definition.place))
    return tuple(result), names[output]


def _canonical_loop(node: Repeat, loops: dict[Hashable, Repeat]) -> Repeat:
    key = distinguished(replace(node, result=""))
    if key not in loops:
        by_name = {step.name: step for step in node.body}
        names: dict[str, str] = {}
        body: list[Definition] = []
        for number, step in enumerate(_in_order(by_name, node.following), start=1):
            name = f"_{len(loops) + 1}_{number}" if ANONYMOUS.fullmatch(step.name) else step.name
            names[step.name] = name
            body.append(Definition(name, renamed(step.node, names), step.place))
        following = tuple(names.get(name, name) for name in node.following)
        loops[key] = replace(node, body=tuple(body), following=following)
    return replace(loops[key], result=node.result)


def _in_order(by_name: Mapping[str, Definition], roots: Iterable[str]) -> list[Definition]:
    """The requested definitions and their transitive operands, in topological order."""
    needed: set[str] = set()
    waiting = [name for name in roots if name in by_name]
    roots = list(waiting)
    while waiting:
        name = waiting.pop()
        if name not in needed and name in by_name:
            needed.add(name)
            waiting += operands(by_name[name].node)
    named = [name for name in by_name if name in needed and not ANONYMOUS.fullmatch(name)]
    done: dict[str, Definition] = {}
    for root in [*named, *roots]:
        stack = [root]
        while stack:
            name = stack[-1]
            missing = [used for used in operands(by_name[name].node) if used in by_name and used not in done]
            if name in done or not missing:
                done.setdefault(name, by_name[name])
                stack.pop()
            else:
                stack.append(missing[0])
    return list(done.values())
