"""Experiment "depth or precision": which of the two limits the length of a chain of thought?

"The Expressive Power of Low Precision Softmax Transformers with (Summarized) Chain-of-Thought" (Brösamle and Eckstein)
predicts: depth. The number of layers of its construction is proportional to the logarithm of the length, and few bits
suffice; with summaries, the relevant length is that of a segment. The authors train on searches of Sudoku puzzles. Here
the data are traces of a Turing machine, in the tokens of the same construction (``turing-ternary`` and
``turing-ternary-summary``): head positions are periodically written in binary, and the symbol of a cell has to be
retrieved. The machine converts Gray code to binary, from left to right, with two steps per cell: traces are about six
times as long as words, there are many words of every length, and a small decoder learns it in a minute. (There are only
about a thousand palindromes, or words to sort, with traces of this length: they are memorised first.) Test words are
held out and in distribution. The result for each depth and precision is the longest length at which 90 % of traces are
exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from softmachine.languages import formats
from softmachine.languages.source import Source
from softmachine.studies.learn.config import Schedule, TrainingConfig
from softmachine.studies.learn.data import make_runs, make_task
from softmachine.studies.learn.report import align_columns, format_share, read_configs
from softmachine.studies.learn.runs import Record
from softmachine.support.stored_names import present_theorem
from softmachine.theorems import find_theorem
from softmachine.theorems.turing.ternary.codec import TernaryCodec
from softmachine.theorems.turing.ternary.theorem import PLAIN_COST, SUMMARY_COST

DESCRIPTION = "Does depth or precision limit the length of a chain of thought? (Brösamle and Eckstein 2026)"
GRAY_CODE_MACHINE = """\
# From Gray code to binary: every cell becomes the parity of the ones up to it. A step reads, the next writes.
blank: _
start state: even
alphabet: [0, 1]
table:
  even:
    0: {N: write 0}
    1: {N: write 1}
    _: {N: done}
  odd:
    0: {N: write 1}
    1: {N: write 0}
    _: {N: done}
  write 0:
    [0, 1]: {write: 0, R: even}
  write 1:
    [0, 1]: {write: 1, R: odd}
  done:
"""
THEOREM_LABELS = {"turing-ternary": "chain of thought", "turing-ternary-summary": "summarised"}
MIN_EXACT_SHARE = 0.9
MIN_TRACES_PER_LENGTH = 20
"""Minimum number of held-out traces per length; lengths with fewer are merged, so no single trace decides."""


@dataclass(frozen=True)
class DepthScale:
    """Size of the experiment.

    Args:
        sizes: For every kind of chain of thought the length of words and of contexts. Summaries are harder to learn.
        words: Maximum number of words.
        layers: Depths.
        precisions: Precisions of activations.
        width: Width of the residual stream.
        heads: Heads per layer.
        schedule: Training schedule.
        seeds: Number of seeds.
    """

    sizes: dict[str, tuple[int, int]]
    words: int
    layers: tuple[int, ...]
    precisions: tuple[str, ...]
    width: int
    heads: int
    schedule: Schedule
    seeds: int


SCALES = {
    "small": DepthScale(
        {"turing-ternary": (14, 128), "turing-ternary-summary": (10, 64)},
        4_000,
        (2, 4, 6),
        ("float32", "bits:4"),
        32,
        2,
        Schedule(steps=900, batch=16, learning_rate=5e-3),
        2,
    ),
    "medium": DepthScale(
        dict.fromkeys(THEOREM_LABELS, (40, 512)),
        10_000,
        (2, 3, 4, 5, 6),
        ("float32", "bfloat16", "bits:5", "bits:4", "bits:3"),
        64,
        4,
        Schedule(steps=4_000, batch=32, learning_rate=1e-3),
        3,
    ),
    "paper": DepthScale(
        dict.fromkeys(THEOREM_LABELS, (1_000, 16_384)),
        100_000,
        (4, 5, 6, 7, 8),
        ("float32", "bfloat16"),
        512,
        8,
        Schedule(steps=200_000, batch=16, learning_rate=5e-4, warm_up=0.02),
        3,
    ),
}


def parse_machine() -> Source:
    """Return the Turing machine whose traces are learned."""
    return formats.parse(GRAY_CODE_MACHINE, format="turingmachine.io", name="gray-to-binary")


def list_runs(scale: str, seeds: int | None = None) -> list[TrainingConfig]:
    """Return the runs of a scale."""
    chosen = SCALES[scale]
    found = []
    for theorem, (length, context) in chosen.sizes.items():
        task = make_task(
            parse_machine(),
            train=length,
            tests=(),
            theorem=theorem,
            context=context,
            words=chosen.words,
            seed=2026,
        )
        found += make_runs(
            task,
            chosen.schedule,
            positions=("absolute",),
            layers=chosen.layers,
            precisions=chosen.precisions,
            seeds=range(seeds or chosen.seeds),
            width=chosen.width,
            heads=chosen.heads,
        )
    return found


def count_by_length(record: Record) -> dict[int, tuple[int, int]]:
    """Return for each trace length the number of traces (at least 20 if possible) and of exact ones."""
    found: list[tuple[int, int, int]] = []
    for end, (count, right) in record["measures"]["test0"]["by_tokens"].items():
        if found and found[-1][1] < MIN_TRACES_PER_LENGTH:
            _, earlier, good = found.pop()
            found.append((int(end), earlier + count, good + right))
        else:
            found.append((int(end), count, right))
    if len(found) > 1 and found[-1][1] < MIN_TRACES_PER_LENGTH:
        (_, count, right), (end, more, good) = found[-2:]
        found[-2:] = [(end, count + more, right + good)]
    return {end: (count, right) for end, count, right in found}


def max_exact_length(record: Record) -> int:
    """Return the longest length, in tokens, at which at least 90 % of traces are exact; 0 if there is none."""
    return max(
        (tokens for tokens, (count, right) in count_by_length(record).items() if right >= MIN_EXACT_SHARE * count),
        default=0,
    )


def format_report(records: Sequence[Record]) -> list[str]:
    """Format for every depth and precision the longest length at which 90 % of traces are exact."""
    lines: list[str] = []
    for theorem, kind in THEOREM_LABELS.items():
        own = [
            each
            for each, one in zip(records, read_configs(records), strict=True)
            if present_theorem(one.task.theorem) == theorem
        ]
        if not own:
            continue
        task = read_configs(own)[0].task
        counts = ", ".join(f"{count} up to {tokens}" for tokens, (count, _) in count_by_length(own[0]).items())
        lines += [
            f"{kind} ({theorem}) of {task.name!r}, words up to {task.train}, contexts up to {own[0]['context']}",
            f"  {own[0]['data']['train']['words']:,} words to train on; held-out traces by length in tokens: {counts}",
            *(f"  {line}" for line in _format_table(own).splitlines()),
            f"  the construction: {_format_depth(theorem, task.context or 0)}",
            "",
        ]
    return [*lines, *_format_caveats(records)]


def _format_caveats(records: Sequence[Record]) -> list[str]:
    first = read_configs(records)[0]
    seeds = ", ".join(sorted({str(each["setting"]["seed"]) for each in records}))
    cells = (
        "Each cell: the longest length (in tokens, of those above) at which at least 90 % of held-out traces are "
        "exact, mean and range over seeds; then the share of all traces that are exact."
    )
    spent = sum(each["training"]["cpu"] for each in records) / 60
    ours = (
        f"{first.schedule.steps:,} steps of {first.schedule.batch} segments, rate {first.schedule.learning_rate:g}, "
        f"width {first.shape.width}, {first.shape.heads} heads, positions {first.shape.positions}, data seed "
        f"{first.task.seed}, seeds {seeds}; {spent:.0f} minutes of processor time in total."
    )
    theirs = (
        "The paper: 9×9 Sudoku, width 512, 20·10⁹ tokens; summarised, 4/5/6/7/8 layers solve "
        "16.3/97.2/99.5/99.7/99.6 %; float32 and bfloat16 hardly differ."
    )
    emulated = "Precisions are emulated: activations and attention weights are rounded, sums are float32."
    return [cells, emulated, ours, theirs]


def _format_table(records: Sequence[Record]) -> str:
    groups: dict[tuple[int, str], list[Record]] = {}
    for record, setting in zip(records, read_configs(records), strict=True):
        groups.setdefault((setting.shape.layers, setting.shape.precision), []).append(record)
    precisions = list(dict.fromkeys(precision for _, precision in groups))
    rows = [
        [str(depth), *(_format_cell(groups.get((depth, precision), [])) for precision in precisions)]
        for depth in sorted({depth for depth, _ in groups})
    ]
    return align_columns([["layers", *precisions], *rows])


def _format_cell(group: Sequence[Record]) -> str:
    if not group:
        return "–"
    lengths = [max_exact_length(each) for each in group]
    low, high = min(lengths), max(lengths)
    mean = f"{fmean(lengths):.0f}" + ("" if low == high else f" ({low}–{high})")
    return f"{mean}, {format_share([each['measures']['test0']['exact'] for each in group])} %"


def _format_depth(theorem: str, context: int) -> str:
    """Format the depth of the compiled model."""
    source = parse_machine()
    codec = find_theorem(source, theorem).build_codec(source, context)
    assert isinstance(codec, TernaryCodec)
    cost = SUMMARY_COST if codec.writes_summaries else PLAIN_COST
    layers, softmax = cost.evaluate("layers", codec), cost.evaluate("layers with softmax", codec)
    return (
        f"{layers} layers for contexts up to 2^{codec.bits} tokens, {softmax} with softmax in low precision; "
        "layers grow with the logarithm of the context, bits do not"
    )
