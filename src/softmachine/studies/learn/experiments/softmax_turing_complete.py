"""Number theory with chain of thought: which position encoding goes on to longer words?

"Softmax Transformers are Turing-Complete" says: in unary none is needed, in binary the relation R is. Its table has
five tasks. The unary ones are counter machines of the zoo here, whose traces have one token a transition.

Binary, the paper does not say what a word of 201 letters can be, since R reaches only as many letters back as a
position has bits, and phase I of Theorem 4.3 takes 2^n tokens for n letters. What can be trained is short words. So the
binary part here is labelled as what it is: phase I (fillers until the length encodes the word, once for each letter),
and then a question about the number that came out, which a counter machine answers in steps as large as its modulus,
so that traces fit: is the last letter b (modulo 4), is the last but one b (modulo 8)?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from softmachine.languages.counter import parse
from softmachine.languages.crasp.relative import relative_program
from softmachine.languages.source import Source
from softmachine.studies.learn.runs import Record
from softmachine.studies.learn.settings import Schedule, Setting
from softmachine.studies.learn.tables import aligned, ends, measured, named, settings_of
from softmachine.studies.learn.tasks import grid, task_for
from softmachine.support.text import many
from softmachine.theorems.read_source import read_source

ABOUT = "Which position encoding lets unary and binary number theory go on to longer words? (ICLR 2026)"

THEIRS = {
    "prime-counter": (100.0, 100.0),
    "exponential-counter": (99.95, 99.96),
    "division-counter": (99.90, 99.99),
    "gcd-counter": (99.99, 99.70),
    "multiplication-counter": (99.99, 99.98),
}
"""Unary, without positions: test0 and test2 of the paper, in %, trained on lengths up to 100, test2 from 201 to 300."""
THEIR_BINARY = "binary with R 100 % on test0 and test2, without 64–95 % and 0 %"
BINARY = ("ends-in-b-relative", "last-but-one-b")
LAST_BUT_ONE = """# The last letter but one is b: the number a is 1 0 w 1 in binary, so that its third digit from the
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
class Scale:
    """How large the experiment is.

    Args:
        lengths: The length of the training of each unary task; tests go to twice and three times that.
        binary: The length of the training of binary tasks; tests go one and two letters farther.
        positions: Encodings of unary tasks.
        binary_positions: Encodings of binary tasks.
        layers: How many layers.
        width: How wide.
        heads: How many heads a layer has.
        schedule: How it is trained.
        seeds: How many seeds.
        max_steps: How many steps a run of a source may take.
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
    "small": Scale(
        dict.fromkeys(THEIRS, 30) | {"prime-counter": 20},
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
    "medium": Scale(
        dict.fromkeys(THEIRS, 50) | {"prime-counter": 30},
        5,
        _ALL,
        _RELATIVE,
        2,
        128,
        4,
        Schedule(steps=6_000, learning_rate=1e-3),
        3,
    ),
    "paper": Scale(
        dict.fromkeys(THEIRS, 100),
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
FEW_WORDS = {"prime-counter": 8, **dict.fromkeys(BINARY, 8)}
"""So many words make up a step where traces are long."""


def source_named(name: str) -> Source:
    """A source of the zoo, or the one that is written here."""
    if name == BINARY[1]:
        return relative_program(parse(LAST_BUT_ONE, name=name), name=name)
    return read_source(name)


def settings(scale: str, seeds: int | None = None) -> list[Setting]:
    """The runs of a scale."""
    chosen = SCALES[scale]
    found: list[Setting] = []
    for name in (*THEIRS, *BINARY):
        unary = name in THEIRS
        length = chosen.lengths[name] if unary else chosen.binary
        tests = (2 * length, 3 * length) if unary else (length + 1, length + 2)
        task = task_for(source_named(name), train=length, tests=tests, seed=2026, max_steps=chosen.max_steps)
        found += grid(
            task,
            replace(chosen.schedule, batch=FEW_WORDS.get(name, chosen.schedule.batch)),
            positions=chosen.positions if unary else chosen.binary_positions,
            layers=(chosen.layers,),
            seeds=range(seeds or chosen.seeds),
            width=chosen.width,
            heads=chosen.heads,
        )
    return found


def report(records: Sequence[Record]) -> list[str]:
    """Ours beside theirs, task by task."""
    rows = [["task", "positions", "test0", "long", "test1", "long", "test2", "long", "theirs 0", "theirs 2"]]
    lines: list[str] = []
    for name in dict.fromkeys(one.task.name for one in settings_of(records)):
        own = [each for each in records if each["setting"]["task"]["name"] == name]
        for label, group in named(own):
            cells = [measured(group, f"test{k}", key) for k in range(3) for key in ("exact", "exact_long")]
            theirs = THEIRS.get(name) if label == "none" else None
            shown = [f"{value:g}" for value in theirs] if theirs else ["–", "–"]
            rows.append([name, label, *cells, *shown])
        lines += _facts(name, own)
    return [aligned(rows), "", *lines, "", *_caveats(records)]


def _facts(name: str, records: Sequence[Record]) -> list[str]:
    task = settings_of(records)[0].task
    bins = records[0]["measures"]
    counts = "; ".join(
        f"{bin_} {lengths[0]}–{lengths[-1]}: {bins[bin_]['words']} words, {bins[bin_]['accepted']} accepted, "
        f"{bins[bin_]['long_words']} long, baseline {100 * bins[bin_]['same_trace']:.0f} %"
        for bin_, lengths in task.bins.items()
    )
    return [
        f"{name}: trained on {records[0]['data']['train']['words']} words; {counts}",
        *(f"  {label}: {ends(group)}" for label, group in named(records)),
    ]


def _caveats(records: Sequence[Record]) -> list[str]:
    first = settings_of(records)[0]
    cells = (
        "Shares of words whose whole trace is exact, in %; long: among traces of over 10 tokens. Mean and range over "
        f"{many(len({each['setting']['seed'] for each in records}), 'seed')}. Baseline: who always says the most "
        "frequent trace of the training."
    )
    sizes = (
        f"Ours: {first.shape.layers} layers, width {first.shape.width}, {first.shape.heads} heads, "
        f"{first.schedule.steps:,} steps, data seed {first.task.seed}. "
        "Theirs (unary, no positions): lengths up to 100, test2 from 201 to 300, up to 30,000 steps; "
        f"{THEIR_BINARY}."
    )
    unknown = (
        "The paper states neither layers, width, learning rate, data, traces, loss, measure nor seeds; what length "
        "means in its binary part is unknown. Binary tasks here are phase I of Theorem 4.3 with the end marker of our "
        "repaired encoding, and a question about the number: not the paper's."
    )
    return [cells, sizes, unknown]
