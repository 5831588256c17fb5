"""Depth or precision: which of the two limits how long a chain of thought can be?

"The Expressive Power of Low Precision Softmax Transformers with (Summarized) Chain-of-Thought" predicts: depth. Its
construction has layers in proportion to the logarithm of the length, and needs few bits; with summaries, what counts is
the length of a segment. The authors train on searches of Sudoku puzzles. Here it is the traces of a Turing machine, in
the tokens of that very construction (``ternary`` and ``ternary-summary``): head positions are spelled in binary now
and then, and the latest symbol of a cell has to be found again. The machine sorts bits, by walking to and fro: its
traces are from ten to more than a hundred tokens long for words of at most ten letters, and all words halt, so that
nothing is balanced and few are seen twice. Words are in distribution, and held out. What is asked for each depth and
precision: up to which length of traces are 90 % of them right?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from softmachine.learn.runs import Record
from softmachine.learn.settings import Schedule, Setting
from softmachine.learn.tables import aligned, settings_of, share
from softmachine.learn.tasks import grid, task_for
from softmachine.sources import read_source
from softmachine.theorems import theorem_for
from softmachine.theorems.ternary.cost import cost
from softmachine.theorems.ternary.tokens import TernaryCodec

ABOUT = "Does depth or precision limit the length of a chain of thought? (Brösamle and Eckstein 2026)"
MACHINE = "sort-bits"
KINDS = {"ternary": "chain of thought", "ternary-summary": "summarised"}
ENOUGH = 0.9
FEW = 20
"""Lengths with fewer held-out traces than this are put together with the next, so that no trace alone decides."""


@dataclass(frozen=True)
class Scale:
    """How large the experiment is."""

    length: int
    context: int
    words: int
    layers: tuple[int, ...]
    precisions: tuple[str, ...]
    width: int
    heads: int
    schedule: Schedule
    seeds: int


SCALES = {
    "small": Scale(
        10,
        128,
        3_000,
        (2, 4, 6),
        ("float32", "bfloat16", "bits:4"),
        32,
        2,
        Schedule(steps=1_000, batch=16, learning_rate=5e-3),
        2,
    ),
    "medium": Scale(
        20,
        512,
        10_000,
        (2, 3, 4, 5, 6),
        ("float32", "bfloat16", "bits:5", "bits:4", "bits:3"),
        64,
        4,
        Schedule(steps=4_000, batch=32, learning_rate=1e-3),
        3,
    ),
    "paper": Scale(
        80,
        16_384,
        100_000,
        (4, 5, 6, 7, 8),
        ("float32", "bfloat16"),
        512,
        8,
        Schedule(steps=200_000, batch=16, learning_rate=5e-4, warm_up=0.02),
        3,
    ),
}


def settings(scale: str, seeds: int | None = None) -> list[Setting]:
    """The runs of a scale."""
    chosen = SCALES[scale]
    found = []
    for theorem in KINDS:
        task = task_for(
            read_source(MACHINE),
            train=chosen.length,
            tests=(),
            theorem=theorem,
            context=chosen.context,
            words=chosen.words,
            seed=2026,
        )
        found += grid(
            task,
            chosen.schedule,
            positions=("rope",),
            layers=chosen.layers,
            precisions=chosen.precisions,
            seeds=range(seeds or chosen.seeds),
            width=chosen.width,
            heads=chosen.heads,
        )
    return found


def lengths(record: Record) -> dict[int, tuple[int, int]]:
    """Traces by their length in tokens: how many, and how many right; at least :data:`FEW` but for the longest."""
    found: dict[int, tuple[int, int]] = {}
    count = right = 0
    steps = sorted((int(end), pair) for end, pair in record["measures"]["test0"]["by_tokens"].items())
    for tokens, (more, good) in steps:
        count, right = count + more, right + good
        if count >= FEW or tokens == steps[-1][0]:
            found[tokens] = count, right
            count = right = 0
    return found


def longest(record: Record) -> int:
    """Up to how many tokens traces are right: at every length up to there at least 90 % of them; 0 if nowhere."""
    found = 0
    for tokens, (count, right) in lengths(record).items():
        if right < ENOUGH * count:
            break
        found = tokens
    return found


def report(records: Sequence[Record]) -> list[str]:
    """For every depth and precision the longest length at which 90 % of traces are right."""
    lines: list[str] = []
    for theorem, kind in KINDS.items():
        own = [each for each, one in zip(records, settings_of(records), strict=True) if one.task.theorem == theorem]
        if not own:
            continue
        task = settings_of(own)[0].task
        counts = ", ".join(f"{count} up to {tokens}" for tokens, (count, _) in lengths(own[0]).items())
        lines += [
            f"{kind} ({theorem}) of {task.name!r}, words up to {task.train}, contexts up to {own[0]['context']}",
            f"  held-out traces by length in tokens: {counts}",
            *(f"  {line}" for line in _table(own).splitlines()),
            f"  the construction: {_formula(theorem, task.context or 0)}",
            "",
        ]
    return [*lines, *_caveats(records)]


def _caveats(records: Sequence[Record]) -> list[str]:
    first = settings_of(records)[0]
    seeds = ", ".join(sorted({str(each["setting"]["seed"]) for each in records}))
    cells = (
        "Each cell: the longest length (in tokens, of those above) up to which at least 90 % of held-out traces of every "
        "length are exact, mean and range over seeds; then the share of all traces that are exact."
    )
    trained, spent = records[0]["data"]["train"]["words"], sum(each["training"]["cpu"] for each in records) / 60
    ours = (
        f"{first.schedule.steps:,} steps of {first.schedule.batch} segments, rate {first.schedule.learning_rate:g}, width "
        f"{first.shape.width}, {first.shape.heads} heads, positions {first.shape.positions}, {trained} words to train "
        f"on, data seed {first.task.seed}, seeds {seeds}; {spent:.0f} minutes of processor time in all."
    )
    theirs = (
        "The paper: 9×9 Sudoku, width 512, 20·10⁹ tokens; summarised, 4/5/6/7/8 layers solve "
        "16.3/97.2/99.5/99.7/99.6 %; float32 practically as bfloat16."
    )
    emulated = "Precisions are emulated: activations and attention weights are rounded, sums are float32."
    return [cells, emulated, ours, theirs]


def _table(records: Sequence[Record]) -> str:
    groups: dict[tuple[int, str], list[Record]] = {}
    for record, setting in zip(records, settings_of(records), strict=True):
        groups.setdefault((setting.shape.layers, setting.shape.precision), []).append(record)
    precisions = list(dict.fromkeys(precision for _, precision in groups))
    rows = [
        [str(depth), *(_cell(groups.get((depth, precision), [])) for precision in precisions)]
        for depth in sorted({depth for depth, _ in groups})
    ]
    return aligned([["layers", *precisions], *rows])


def _cell(group: Sequence[Record]) -> str:
    if not group:
        return "–"
    lengths = [longest(each) for each in group]
    low, high = min(lengths), max(lengths)
    mean = f"{fmean(lengths):.0f}" + ("" if low == high else f" ({low}–{high})")
    return f"{mean}, {share([each['measures']['test0']['exact'] for each in group])} %"


def _formula(theorem: str, context: int) -> str:
    """How deep the compiled model is."""
    source = read_source(MACHINE)
    codec = theorem_for(source, theorem).codec_for(source, context)
    assert isinstance(codec, TernaryCodec)
    exact, soft = cost(codec), cost(codec, denoised=True)
    return (
        f"{exact.layers} layers for contexts up to 2^{codec.bits} tokens, {soft.layers} with softmax in low precision; "
        "layers grow with the logarithm of the context, bits do not"
    )
