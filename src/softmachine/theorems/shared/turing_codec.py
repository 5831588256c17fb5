"""Base codec of a Turing machine's chain of thought: tokens of actions, symbols and verdicts, and their results.

Also the signals of a transition, with one-hot states and symbols: moves, rules and logits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar, Generic, TypeVar

from softmachine.ir import Signal, Vocabulary, position, stack
from softmachine.ir.gadgets import TableRow, gate, lookup_table
from softmachine.languages.run_view import RunView, TapesPicture, TokenWindow
from softmachine.languages.turing import (
    MOVES,
    Action,
    Configuration,
    Rule,
    TapeConvention,
    TuringMachine,
    Verdict,
    execute,
    replay,
)
from softmachine.languages.turing.configuration import format_trace
from softmachine.support.errors import InputError
from softmachine.support.token_array import CodeArray, CodedSequence
from softmachine.theorems.codec import DecoderCodec, Outcome, Word
from softmachine.theorems.cost import Expression, Term, conditional, parameter
from softmachine.transformer.features import RECIPROCAL

VERDICTS = {Verdict.ACCEPT: "ACC", Verdict.REJECT: "REJ", Verdict.HALT: "HALT"}
MAX_VOCABULARY = 1 << 20
"""Maximal size of a vocabulary."""

TAPES = parameter("K", "tapes", lambda codec: codec.machine.tapes)
STATES = parameter("|Q|", "states", lambda codec: len(codec.machine.states))


def by_tape_kind(two_way: Term, otherwise: Term) -> Expression:
    """A cost term that depends on whether tapes are two-way or have a left end."""
    return conditional(
        "for two-way tapes", lambda codec: codec.machine.tape is TapeConvention.TWO_WAY, two_way, otherwise
    )


@dataclass(frozen=True)
class InputSymbol:
    """An input symbol."""

    symbol: str


@dataclass(frozen=True)
class RunMarker:
    """The end of the prompt: the run begins."""


M = TypeVar("M", bound=Hashable)


class MachineCodecMixin:
    """Mixin of the codecs of Turing machines."""

    source: TuringMachine

    @property
    def machine(self) -> TuringMachine:
        """The machine."""
        return self.source

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The possible verdicts of the machine."""
        return tuple(dict.fromkeys(self.machine.verdict(state) for state in self.machine.states))

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions of the rules."""
        return tuple(dict.fromkeys(list_actions(self.machine.rules, self.machine.tape)))

    @property
    def source_lines(self) -> Sequence[str]:
        """The rules."""
        return tuple(map(str, self.machine.rules))


class _Meanings(dict[str, M]):
    """Maps tokens to meanings; an unknown token (of edited weights) raises an InputError."""

    def __missing__(self, token: str) -> M:
        raise InputError(f"the model emits {token!r}, which is not a token of its codec")


@dataclass(frozen=True)
class TuringRunCodec(MachineCodecMixin, DecoderCodec[TuringMachine], Generic[M]):
    """Prompts and runs of a machine; every token has a meaning: an action, a symbol, a verdict or a marker."""

    live_view: ClassVar[str] = "tape"

    @abstractmethod
    def token_meanings(self) -> Iterator[tuple[str, M]]:
        """Yield all tokens with their meanings, in order; a token that repeats an earlier text is quoted."""

    @cached_property
    def meanings(self) -> dict[str, M]:
        """The meaning of every token. Only the actions of rules are tokens."""
        tokens: dict[str, M] = _Meanings()
        for text, meaning in self.token_meanings():
            token = text
            while token in tokens:
                token = f"'{token}'"
            tokens[token] = meaning
        return tokens

    @cached_property
    def tokens(self) -> dict[M, str]:
        """The token of each meaning."""
        return {meaning: token for token, meaning in self.meanings.items()}

    @cached_property
    def token_by_meaning(self) -> dict[object, str]:
        """The same with keys of any type."""
        return dict(self.tokens.items())

    def tokens_of(self, *kinds: type | M) -> frozenset[str]:
        """Return the tokens with one of these meanings, or a meaning of one of these types."""
        types = tuple(kind for kind in kinds if isinstance(kind, type))
        found = (token for token, meaning in self.meanings.items() if meaning in kinds or isinstance(meaning, types))
        return frozenset(found)

    def is_stop_token(self, token: str) -> bool:
        return isinstance(self.meanings[token], Verdict)

    def is_step(self, token: str) -> bool:
        """Whether the token is a step of the machine."""
        return isinstance(self.meanings[token], Action)

    def format_actions(self, pieces: Iterable[Sequence[Action]]) -> Iterator[Sequence[str]]:
        """Yield the tokens of actions, chunk by chunk."""
        names: tuple[str, ...] = ()
        for piece in pieces:
            if isinstance(piece, CodeArray):
                names = names or tuple(self.token_by_meaning.get(action, "") for action in piece.names)
                yield CodeArray(piece.codes, names)
            else:
                yield [self.token_by_meaning[action] for action in piece]

    def parse_output(self, word: Word, emitted: Sequence[str]) -> TuringOutcome:
        """Parse the tokens of a run (those after the prompt): the verdict and, by replaying the actions, the tapes."""
        return self.build_outcome(word, *parse_steps(emitted, self.meanings))

    def build_outcome(
        self, word: Word, actions: Sequence[Action], verdict: Verdict | None, printed: Sequence[str] | None = None
    ) -> TuringOutcome:
        """Return the result of a run; its output is ``printed``, or else the contents of the first tape."""
        machine, word = self.machine, self.machine.word(word)
        left = replay(machine, word, actions).tape_contents[0].symbols if printed is None else printed
        return TuringOutcome(
            verdict=verdict,
            steps=len(actions),
            output=machine.format_symbols(left),
            machine=machine,
            word=word,
            actions=actions,
        )

    def run_view(self, word: Word, window: TokenWindow) -> RunView:
        """Return the tapes, and at every position the rule that applies next."""
        machine = self.machine
        taken = parse_steps(window.generated_before, self.meanings)[0]
        announced = self.has_initial_token and not window.generated_before
        now = replay(machine, machine.word(word), taken[self.has_initial_token :])
        tapes = TapesPicture(
            blank=machine.blank,
            state=now.state,
            cells=tuple(map(dict, now.cells)),
            heads=tuple(now.heads),
            steps=now.steps,
            actions={
                token: (action.state, action.write, tuple(MOVES[move] for move in action.move))
                for token in dict.fromkeys(window.tokens)
                if isinstance(action := self.meanings[token], Action)
            },
            announced=announced,
        )
        return RunView(self.source_lines, tuple(self._next_rules(now, window, announced=announced)), picture=tapes)

    def _next_rules(self, now: Configuration, window: TokenWindow, *, announced: bool) -> Iterator[int | None]:
        """Yield the index of the rule that applies after each token, once the run has begun."""
        machine, given = self.machine, len(window.tokens) - window.generated
        number = {rule: index for index, rule in enumerate(machine.rules)}
        for place, token in enumerate(window.tokens):
            meaning = self.meanings[token]
            if isinstance(meaning, Action):
                if not announced:
                    now.apply(meaning)
                announced = False
            begun = place >= given - (not self.has_initial_token) and not isinstance(meaning, Verdict)
            rule = (
                machine.find_rule(now.state, now.read_symbols())
                if begun and now.state not in machine.halting_states
                else None
            )
            yield None if rule is None else number[rule]


@dataclass(frozen=True, kw_only=True)
class TuringOutcome(Outcome):
    """The result of a Turing machine's run, parsed from its tokens."""

    machine: TuringMachine
    actions: Sequence[Action]

    def format_trace(self) -> Iterator[str]:
        """The configurations: step, state, and the tapes with the head's cell in brackets."""
        return format_trace(self.machine, self.word, self.actions)


def count_run_positions(codec: TuringRunCodec[M], word: Word, max_steps: int) -> int:
    """Return the number of positions of a run: the prompt, the announcement, one token per step and the verdict."""
    steps = execute(codec.machine, word, max_steps=max_steps).steps
    return len(codec.prompt(word).tokens) + codec.has_initial_token + steps + 1


def parse_steps(emitted: Sequence[str], meanings: Mapping[str, object]) -> tuple[Sequence[Action], Verdict | None]:
    """Return the actions among the tokens of a run, and its verdict; other tokens are ignored."""
    if isinstance(emitted, CodedSequence):
        taken = emitted.map_items(lambda token: meaning if isinstance(meaning := meanings[token], Action) else None)
        return taken, find_verdict(meanings[emitted.names[code]] for code in emitted.used_codes())
    found = [meanings[token] for token in emitted]
    return tuple(meaning for meaning in found if isinstance(meaning, Action)), find_verdict(found)


def find_verdict(meanings: Iterable[object]) -> Verdict | None:
    """Return the first verdict among meanings, if any."""
    return next((meaning for meaning in meanings if isinstance(meaning, Verdict)), None)


def list_actions(rules: Iterable[Rule], tape: TapeConvention) -> Iterator[Action]:
    """Yield the actions of rules: under the "stay" convention, also with S instead of L."""
    for rule in rules:
        options = [["L", "S"] if move == "L" and tape is TapeConvention.STAY else [move] for move in rule.move]
        yield from (Action(rule.next, rule.write, move) for move in product(*options))


def verdict_tokens(verdicts: Iterable[Verdict]) -> Iterator[tuple[str, Verdict]]:
    """Yield the tokens of verdicts."""
    return ((VERDICTS[verdict], verdict) for verdict in verdicts)


def action_tokens(actions: Iterable[Action]) -> Iterator[tuple[str, Action]]:
    """Yield the tokens of actions: state, written symbols and moves."""
    return ((f"({action.state},{' '.join(action.write)},{' '.join(action.move)})", action) for action in actions)


def input_tokens(machine: TuringMachine) -> Iterator[tuple[str, InputSymbol]]:
    """Yield the tokens of input symbols: the symbols themselves."""
    return ((symbol, InputSymbol(symbol)) for symbol in machine.alphabet)


def column_tokens(machine: TuringMachine, mark: str) -> Iterator[tuple[str, tuple[str, ...], tuple[bool, ...]]]:
    """Yield the tokens of columns (one cell of every tape), with a mark at some symbols; and the symbols and marks."""
    for symbols in product(machine.symbols, repeat=machine.tapes):
        for marked in product((False, True), repeat=machine.tapes):
            shown = (f"{symbol}{mark * here}" for symbol, here in zip(symbols, marked, strict=True))
            yield f"|{' '.join(shown)}|", symbols, marked


def name_on_tape(machine: TuringMachine, name: str, tape: int) -> str:
    """Return a name with the number of the tape, if there are several tapes."""
    return name if machine.tapes == 1 else f"{name} {tape + 1}"


def move_on_tape(token: object, tape: int) -> str | None:
    """Return the move of a token on a tape; None if it is not an action."""
    return token.move[tape] if isinstance(token, Action) else None


@dataclass(frozen=True)
class MoveSignals:
    """The move of this token.

    Args:
        value: -1, 0 or 1.
        share: move/(i+1), by two gates that pass 1/(i+1) unchanged, so that no float format loses digits.
    """

    value: Signal
    share: Signal


def move_signals(
    tokens: Vocabulary[M], machine: TuringMachine, tape: int, moved: Callable[[M, int], str | None] = move_on_tape
) -> MoveSignals:
    """The move of a token, from two bits: not L, and not R."""

    def differs(letter: str) -> Signal:
        return tokens.bit(name_on_tape(machine, f"not {letter}", tape), lambda token: moved(token, tape) != letter)

    not_left, not_right = differs("L"), differs("R")
    per_position = position(RECIPROCAL)
    right = gate(name_on_tape(machine, "right/(i+1)", tape), per_position, blockers=not_right)
    left = gate(name_on_tape(machine, "left/(i+1)", tape), per_position, blockers=not_left)
    return MoveSignals(not_left - not_right, right - left)


def action_labels(action: Action) -> tuple[str, ...]:
    """Return the parts of an action: its labels in the transition table."""
    labels = [f"state {action.state}"]
    for k, (symbol, move) in enumerate(zip(action.write, action.move, strict=True), 1):
        labels += [f"write {k} {symbol}", f"move {k} {move}"]
    return tuple(labels)


def describe_rule(number: int, rule: Rule) -> str:
    """Describe a rule: its number, counted from 1, its state and symbols, and its action."""
    read, write, move = (" ".join(part) for part in (rule.read, rule.write, rule.move))
    return f"rule {number}: ({rule.state}, {read}) → ({rule.next}, {write}, {move})"


def rule_rows(
    machine: TuringMachine,
    state: Signal,
    symbol: Sequence[Signal],
    at_end: Sequence[Signal],
    labels: Callable[[Action], tuple[str, ...]] = action_labels,
) -> Iterator[TableRow]:
    """Yield the rows of the transition table: one per rule; several where a head may be at the left end."""
    for number, rule in enumerate(machine.rules, 1):
        read = (state[rule.state], *(own[label] for own, label in zip(symbol, rule.read, strict=True)))
        for conditions, move in _moves_at_left_end(machine, rule, at_end):
            outputs = labels(Action(rule.next, rule.write, move))
            yield TableRow(str(rule), (*read, *conditions), outputs, describe_rule(number, rule))


def _moves_at_left_end(
    machine: TuringMachine, rule: Rule, at_end: Sequence[Signal]
) -> Iterator[tuple[tuple[Signal, ...], tuple[str, ...]]]:
    """Yield the moves of a rule with their conditions: at the left end, L becomes S, or is an error."""
    if machine.tape is TapeConvention.TWO_WAY:
        yield (), rule.move
        return
    lefts = [k for k, move in enumerate(rule.move) if move == "L"]
    for held in product([False, True], repeat=len(lefts)):
        if any(held) and machine.tape is TapeConvention.ERROR:
            continue
        ends = dict(zip(lefts, held, strict=True))
        conditions = tuple(at_end[k] if here else ~at_end[k] for k, here in ends.items())
        yield conditions, tuple("S" if ends.get(k) else move for k, move in enumerate(rule.move))


def transition_table(rows: Sequence[TableRow], *also: str) -> Signal:
    """The transition table: one bit per label (those of the rows, and others), one unit per row."""
    return lookup_table("next", tuple(dict.fromkeys([*(label for row in rows for label in row.outputs), *also])), rows)


def conjunction_logit(parts: Iterable[Signal]) -> Signal:
    """A logit: 2 where all bits are 1, else at most 0."""
    bits = stack(*parts)
    return 2 * (bits.total - (len(bits) - 1))


def verdict_logit(machine: TuringMachine, state: Signal, verdict: Verdict) -> Signal:
    """A logit: 1 in the states of a verdict, so that it is the largest exactly if no rule applies."""
    return state.sum_of_labels([q for q in machine.states if machine.verdict(q) is verdict])
