"""The order of gates in a circuit: each after those that it reads, or the cycle that makes it impossible."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from softmachine.languages.circuit.gates import Gate


def in_order(inputs: Iterable[str], gates: Sequence[Gate]) -> list[Gate]:
    """The gates, each after those that it reads, otherwise as listed; those on or behind a cycle are left out."""
    given = frozenset(inputs)
    waiting = [len(set(gate.inputs) - given) for gate in gates]
    readers: dict[str, list[int]] = {}
    for index, gate in enumerate(gates):
        for wire in dict.fromkeys(gate.inputs):
            if wire not in given:
                readers.setdefault(wire, []).append(index)
    ready = [index for index, count in enumerate(waiting) if not count]
    order: list[Gate] = []
    while ready:
        gate = gates[heapq.heappop(ready)]
        order.append(gate)
        for reader in readers.get(gate.name, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    return order


def find_cycle(inputs: Iterable[str], gates: Sequence[Gate]) -> list[Gate]:
    """Gates of which each is read by the next and the last one by the first; empty if there is no cycle."""
    settled = {gate.name for gate in in_order(inputs, gates)}
    stuck = {gate.name: gate for gate in gates if gate.name not in settled}
    if not stuck:
        return []
    wire = next(iter(stuck))
    step: dict[str, int] = {}
    while wire not in step:
        step[wire] = len(step)
        wire = next(source for source in stuck[wire].inputs if source in stuck)
    return [stuck[name] for name in list(step)[step[wire] :]][::-1]
