"""Experiment on number theory with chain of thought: which position encoding generalises to longer words?

According to "Softmax Transformers are Turing-Complete", unary inputs need none and binary inputs need the relation R.
Its table has five tasks. The unary ones are here counter machines of the zoo, whose traces have one token per
transition.

For binary inputs, the paper does not define a word of 201 letters, since R reaches back only as many letters as a
position has bits, and phase I of its Theorem 4.3 takes 2^n tokens for n letters. Only short words can be trained on.
The binary part is therefore a different task, and is labelled so: phase I (fillers until the length encodes the word,
once for each letter), then a question about the resulting number, which a counter machine answers in steps of its
modulus, so that traces are short: is the last letter b (modulo 4), is the last but one b (modulo 8)?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from softmachine.languages.counter import parse
from softmachine.languages.crasp.from_turing_relative import build_relative_program
from softmachine.languages.source import Source
from softmachine.studies.learn.config import Schedule, TrainingConfig
from softmachine.studies.learn.data import make_runs, make_task
from softmachine.studies.learn.report import align_columns, format_ending, format_metric, group_and_name, read_configs
from softmachine.studies.learn.runs import Record
from softmachine.support.text import pluralize
from softmachine.theorems.read_source import read_source

DESCRIPTION = "Which position encoding generalises to longer words in unary and binary number theory? (ICLR 2026)"

PAPER_UNARY_RESULTS = {
    "prime-counter": (100.0, 100.0),
    "exponential-counter": (99.95, 99.96),
    "division-counter": (99.90, 99.99),
    "gcd-counter": (99.99, 99.70),
    "multiplication-counter": (99.99, 99.98),
}
"""Unary, without positions: test0 and test2 of the paper, in %, trained on lengths up to 100, test2 from 201 to 300."""
PAPER_BINARY_RESULTS = "binary with R 100 % on test0 and test2, without 64–95 % and 0 %"
BINARY_TASKS = ("ends-in-b-relative", "last-but-one-b")
LAST_BUT_ONE_MACHINE = """\
# The last letter but one is b: the number a is 1 0 w 1 in binary, so that its third digit from the
# right is 0; below 16 the word has fewer than two letters.
input a b
start small
accept yes
reject no

small: a < 16 -> no
small: else -> digits

digits: a >= 8 -> digits: a -= 8
digits: a < 4 -> yes
digits: else -> no
"""


@dataclass(frozen=True)
class NumberTheoryScale:
    """Size of the experiment.

    Args:
        lengths: Training length of each unary task; the tests have up to two and three times that length.
        binary: Training length of binary tasks; the tests have one and two letters more.
        positions: Position encodings for unary tasks.
        binary_positions: Position encodings for binary tasks.
        layers: Number of layers.
        width: Width of the residual stream.
        heads: Heads per layer.
        schedule: Training schedule.
        seeds: Number of seeds.
        max_steps: Maximum number of steps of a run of a source.
    """

    lengths: dict[str, int]
    binary: int
    positions: tuple[str, ...]
    binary_positions: tuple[str, ...]
    layers: int
    width: int
    heads: int
    schedule: Schedule
    seeds: int
    max_steps: int = 100_000


_ALL = ("none", "rope", "alibi", "absolute", "sinusoidal")
_RELATIVE = ("none", "none+log", "relative", "relative+log")
SCALES = {
    "small": NumberTheoryScale(
        dict.fromkeys(PAPER_UNARY_RESULTS, 30) | {"prime-counter": 20},
        5,
        ("none", "rope"),
        ("none", "relative", "relative+log"),
        2,
        64,
        2,
        Schedule(),
        1,
        10_000,
    ),
    "medium": NumberTheoryScale(
        dict.fromkeys(PAPER_UNARY_RESULTS, 50) | {"prime-counter": 30},
        5,
        _ALL,
        _RELATIVE,
        2,
        128,
        4,
        Schedule(steps=6_000, learning_rate=1e-3),
        3,
    ),
    "paper": NumberTheoryScale(
        dict.fromkeys(PAPER_UNARY_RESULTS, 100),
        7,
        _ALL,
        _RELATIVE,
        4,
        256,
        8,
        Schedule(steps=30_000, learning_rate=5e-4, patience=3),
        5,
    ),
}
BATCH_SIZES = {"prime-counter": 8, **dict.fromkeys(BINARY_TASKS, 8)}
"""Batch sizes of the tasks with long traces."""


def find_source(name: str) -> Source:
    """Return a source of the zoo, or the one defined in this module."""
    if name == BINARY_TASKS[1]:
        return build_relative_program(parse(LAST_BUT_ONE_MACHINE, name=name), name=name)
    return read_source(name)


def list_runs(scale: str, seeds: int | None = None) -> list[TrainingConfig]:
    """Return the runs of a scale."""
    chosen = SCALES[scale]
    found: list[TrainingConfig] = []
    for name in (*PAPER_UNARY_RESULTS, *BINARY_TASKS):
        unary = name in PAPER_UNARY_RESULTS
        length = chosen.lengths[name] if unary else chosen.binary
        tests = (2 * length, 3 * length) if unary else (length + 1, length + 2)
        task = make_task(find_source(name), train=length, tests=tests, seed=2026, max_steps=chosen.max_steps)
        found += make_runs(
            task,
            replace(chosen.schedule, batch=BATCH_SIZES.get(name, chosen.schedule.batch)),
            positions=chosen.positions if unary else chosen.binary_positions,
            layers=(chosen.layers,),
            seeds=range(seeds or chosen.seeds),
            width=chosen.width,
            heads=chosen.heads,
        )
    return found


def format_report(records: Sequence[Record]) -> list[str]:
    """Format our results next to those of the paper, by task."""
    rows = [["task", "positions", "test0", "long", "test1", "long", "test2", "long", "theirs 0", "theirs 2"]]
    lines: list[str] = []
    for name in dict.fromkeys(one.task.name for one in read_configs(records)):
        own = [each for each in records if each["setting"]["task"]["name"] == name]
        for label, group in group_and_name(own):
            cells = [format_metric(group, f"test{k}", key) for k in range(3) for key in ("exact", "exact_long")]
            theirs = PAPER_UNARY_RESULTS.get(name) if label == "none" else None
            shown = [f"{value:g}" for value in theirs] if theirs else ["–", "–"]
            rows.append([name, label, *cells, *shown])
        lines += _format_facts(name, own)
    return [align_columns(rows), "", *lines, "", *_format_caveats(records)]


def _format_facts(name: str, records: Sequence[Record]) -> list[str]:
    task = read_configs(records)[0].task
    bins = records[0]["measures"]
    counts = "; ".join(
        f"{bin_} {lengths[0]}–{lengths[-1]}: {bins[bin_]['words']} words, {bins[bin_]['accepted']} accepted, "
        f"{bins[bin_]['long_words']} long, baseline {100 * bins[bin_]['same_trace']:.0f} %"
        for bin_, lengths in task.bins.items()
    )
    return [
        f"{name}: trained on {records[0]['data']['train']['words']} words; {counts}",
        *(f"  {label}: {format_ending(group)}" for label, group in group_and_name(records)),
    ]


def _format_caveats(records: Sequence[Record]) -> list[str]:
    first = read_configs(records)[0]
    cells = (
        "Shares of words whose whole trace is exact, in %; long: among traces of over 10 tokens. Mean and range over "
        f"{pluralize(len({each['setting']['seed'] for each in records}), 'seed')}. Baseline: always the most frequent "
        "trace of the training split."
    )
    sizes = (
        f"Ours: {first.shape.layers} layers, width {first.shape.width}, {first.shape.heads} heads, "
        f"{first.schedule.steps:,} steps, data seed {first.task.seed}. "
        "Theirs (unary, no positions): lengths up to 100, test2 from 201 to 300, up to 30,000 steps; "
        f"{PAPER_BINARY_RESULTS}."
    )
    unknown = (
        "The paper states neither layers, width, learning rate, data, traces, loss, measure nor seeds; what length "
        "means in its binary part is unknown. Binary tasks here are phase I of its Theorem 4.3 with the end marker of "
        "our repaired encoding, and a question about the number: they are not the paper's tasks."
    )
    return [cells, sizes, unknown]
