"""Graph → schedule: assigns every node to the earliest sublayer that its inputs allow.

Within a block, stage 0 is the state at the start of the block, stage 2l - 1 the attention of layer l, stage 2l its
feed-forward layer. Blocks alternate: plain, loop, plain, loop, …, plain.
"""

from __future__ import annotations

from dataclasses import dataclass

from softmachine.compiler.graph import SignalGraph
from softmachine.ir.primitives import Attention, Carried, Loop, Named, Unit
from softmachine.ir.signal import Affine, Node
from softmachine.transformer.features import Feature

Time = tuple[int, int]
"""(block, stage); blocks are numbered from 0."""

START: Time = (0, 0)


@dataclass(frozen=True)
class BlockPlan:
    """The sublayers of one block."""

    name: str
    repeats: int | Feature
    heads: tuple[tuple[Attention, ...], ...]
    units: tuple[tuple[Unit, ...], ...]
    loop: Loop | None

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.heads)


@dataclass(frozen=True)
class Schedule:
    """The blocks of a transformer, and the time at which each node is computed.

    Args:
        blocks: The blocks, in order of execution.
        time: The time at which a node is complete.
    """

    blocks: tuple[BlockPlan, ...]
    time: dict[Node, Time]


def graph_to_schedule(graph: SignalGraph) -> Schedule:
    """Schedule every node at the earliest time at which its inputs are complete."""
    order = {loop.carried: index for index, loop in enumerate(graph.loops)}
    time: dict[Node, Time] = {}
    for node in graph.nodes:
        if isinstance(node, Carried):
            time[node] = (2 * order[node] + 1, 0)
        elif isinstance(node, Loop):
            time[node] = (2 * order[node.carried] + 2, 0)
        else:
            body = graph.body_of.get(node)
            floor = START if body is None else (2 * order[body] + 1, 0)
            time[node] = _earliest_stage(node, max([floor, *(completion_time(form, time) for form in node.inputs())]))
    stages: dict[Time, list[Node]] = {}
    for node in graph.nodes:
        stages.setdefault(time[node], []).append(node)
    loops = [None, *(item for loop in graph.loops for item in (loop, None))]
    return Schedule(tuple(_plan_block(index, loop, stages) for index, loop in enumerate(loops)), time)


def completion_time(form: Affine, time: dict[Node, Time]) -> Time:
    """Return the time at which all atoms of a form are complete."""
    return max((time[node] for node, _ in form.terms), default=START)


def _earliest_stage(node: Node, ready: Time) -> Time:
    """Return the first sublayer of the right type after the inputs are ready."""
    block, stage = ready
    match node:
        case Attention():
            return block, stage + 1 + stage % 2
        case Unit():
            return block, stage + 2 - stage % 2
        case Named():
            return ready
    return START


def _plan_block(index: int, loop: Loop | None, stages: dict[Time, list[Node]]) -> BlockPlan:
    last = max((stage for block, stage in stages if block == index), default=0)
    depth = max((last + 1) // 2, 1 if loop else 0)
    heads, units = [], []
    for layer in range(1, depth + 1):
        heads.append(tuple(node for node in stages.get((index, 2 * layer - 1), ()) if isinstance(node, Attention)))
        units.append(tuple(node for node in stages.get((index, 2 * layer), ()) if isinstance(node, Unit)))
    repeats = loop.iterations if loop else 1
    return BlockPlan(loop.name if loop else "", repeats, tuple(heads), tuple(units), loop)
