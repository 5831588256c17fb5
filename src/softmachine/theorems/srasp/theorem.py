"""S-RASP in a transformer encoder, with average-hard attention or with softmax.

After "Simulating Hard Attention Using Soft Attention", Section 5 and Appendix E, and the simulation of S-RASP by masked
average-hard attention transformers that it builds on. Position 0 holds a start token, at which every vector is 0: no
Boolean is true there, no symbol is there, and every integer is 0. So it adds nothing to sums and matches no predicate.

| operation | score | gap |
|---|---|---|
| psum | uniform; then the position c from c/(i+1): (2 c j - j²)/(i+1) | 1/(i+1) |
| x if p else y, integers without bound | the position x from x/(n+1): (2 x j - j²)/(n+1) | 1/(n+1) |
| square of x, for a key | 2 x j - j² | 1 |
| rightmost, leftmost | Σ_k A_k(i) B_k(j) - Σ (X(i) - Y(j))² ± j/(2(n+1)) | 1/(2(n+1)) |

The predicate of an attention is a sum of products Σ_k A_k(i) B_k(j), at most one of them 1, joined with equalities of
integers X(i) = Y(j); X(i)² is left out of the score, which it would not change. A predicate in which some cases demand
other equalities than others takes a head for each set of equalities, which finds a position, and one more, which reads
at the rightmost (leftmost) of these. B_k and Y are retrieved with what is read, so that the feed-forward layer can tell
whether the position matches, and take the default if not.

Softmax is scaled by 6(n+1) where a head retrieves finite values only, which is Theorem 15's temperature; otherwise by
12(n+1)², and by 6(n+1)² or 6(n+1) where a position is looked up: every other key has weight at most e^(-6(n+1)).
Integers are not rounded behind a head, and their errors, O(n²) times that, stay far below 1/4; bits and symbols are
rounded (Lemma 9). With integers measured as x/n, as in the paper, the largest scale is 12 n⁴, and the gap 1/(2n³).

Needs: the position features i/(n+1), and with integers i, i², n, i·n, 1/(i+1), 1/(n+1), [i>0]/(n+1), as far as used.
Costs: one head an attention; one for the mean of a prefix sum, and one for each multiple of n that its size can reach
(two for -1, 0, 1); as many for the square of an integer in a key, and for a choice between integers that grow apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from softmachine.errors import ConstructionError
from softmachine.languages import srasp
from softmachine.languages.linear import Relation
from softmachine.languages.srasp import Definition, Equality, Lookup, Product, Sum, normalise, operations
from softmachine.languages.srasp.expressions import Choice, Truth, Vector, at_i
from softmachine.languages.srasp.expressions import Mask as Visible
from softmachine.signals import Program, Signal, attend, constant, named, position, recogniser, relu, stack
from softmachine.signals.gadgets import all_of, any_of, rounded
from softmachine.signals.kinds import BIT, real
from softmachine.signals.primitives import Fall, token
from softmachine.theorems.srasp.numbers import RAMP, SHARE, SHARPNESS, Finder, Number, ShareAfterStart, here
from softmachine.theorems.srasp.pointwise import Pointwise, Read, Value, finite_value, number_value, over
from softmachine.theorems.srasp.tokens import SraspCodec, start_token
from softmachine.theorems.theorem import Theorem
from softmachine.transformer.attention import Mask
from softmachine.transformer.features import LENGTH

GAMMA = 3
"""The scaled gap where only finite values are retrieved: 4e^-3 < 1/4."""

MASKS = {
    Visible.NONE: Mask.ALL,
    Visible.BEFORE: Mask.PAST,
    Visible.UP_TO: Mask.CAUSAL,
    Visible.AFTER: Mask.FUTURE,
    Visible.FROM: Mask.ANTICAUSAL,
}


def signals(program: srasp.Program, *, soft: bool) -> Program:
    """A transformer that gives at every position the output of a program: true or false, or a symbol.

    Raises:
        ConstructionError: If the program does something that there is no construction for.
    """
    if program.types[program.output].kind is srasp.Kind.INTEGER:
        raise ConstructionError(
            f"the output {program.output!r} of {program.name!r} is an integer, and a transformer has no token for each",
            hint="an output that is Boolean or a symbol can be compiled",
        )
    builder = _Builder(normalise(program), soft)
    builder.build()
    return builder.program()


class _Builder:
    """The signal of each vector of a normalised program; all are 0 at the start token."""

    def __init__(self, source: srasp.Program, soft: bool) -> None:
        self.source = source
        self.soft = soft
        self.finder = Finder(soft)
        self.values: dict[str, Value] = {}
        self.operations = {step.name: step for step in operations(source)}
        self.letters = token("in", _one_hot(source.alphabet), labels=source.alphabet)
        self.letter = self.letters.total  # whether there is a letter, so that this is not the start token
        self.here = Pointwise(source, self.finder, self.read, one=self.letter)

    def build(self) -> None:
        """Build all vectors, in order."""
        for definition in self.source.definitions:
            try:
                self.values[definition.name] = self.define(definition)
            except ConstructionError as error:
                message = f"there is no construction for the vector {definition.name!r}: {error.message}"
                raise ConstructionError(message, place=definition.place, hint=error.hint) from None

    def program(self) -> Program:
        """Answers true or false, or the symbol of the output."""
        output = finite_value(self.values[self.source.output])
        start = start_token(self.source)
        tokens = (start, *self.source.alphabet)
        if output.labels is None:
            return recogniser(self.source.name, tokens, output)
        # Any answer will do at the start token, as long as it is one.
        logits = stack(output[0] + 1 - self.letter, *(output[k] for k in range(1, len(output))))
        return Program(self.source.name, tokens, output.labels, logits, margin=Fraction(1))

    def read(self, expression: Read) -> Value:
        """What a letter, a vector or the position is at a position itself."""
        match expression:
            case Vector("in"):
                return self.letters
            case Vector("pos"):
                return here()
            case Vector(name):
                return self.values[name]

    def define(self, definition: Definition) -> Value:
        """The vector that a definition defines."""
        name, step = definition.name, self.operations.get(definition.name)
        if isinstance(step, Sum):
            return self.finder.prefix_sum(name, self.here.number(step.term))
        value = self.lookup(step) if isinstance(step, Lookup) else self.here.of(definition.body)
        if isinstance(value, Number):
            return value if value.value is not None else self.finder.found(name, value)
        symbols = self.source.types[name].symbols
        return named(name, over(symbols, value) if symbols else value)

    def lookup(self, step: Lookup) -> Value:
        """Leftmost and rightmost attention."""
        default = self.here.of(step.attention.default)
        groups: dict[tuple[Equality, ...], list[Product]] = {}
        for term in step.products:
            if term.unequal:
                raise ConstructionError(
                    f"its predicate demands that {term.unequal[0]} is not so; "
                    "attention finds integers that are equal, not integers that differ",
                    hint="write the predicate with '=' only, or compare in the value",
                )
            groups.setdefault(term.equal, []).append(term)
        if not groups:
            return default
        reads = [self.read(read) for read in step.reads]
        if len(groups) == 1:
            ((equal, products),) = groups.items()
            matched, found = self.search(step, step.name, equal, products, reads)
        else:
            matched, found = self.search_by_cases(step, groups, reads)
        retrieved = dict(zip(step.reads, found, strict=True))
        there = Pointwise(
            self.source,
            self.finder,
            lambda read: retrieved[read] if read.at == "j" else self.read(read),
            one=constant(1),
        )
        return self.here.choose(f"{step.name} or default", matched, there.of(step.attention.value), default)

    def search(
        self,
        step: Lookup,
        name: str,
        equal: tuple[Equality, ...],
        products: Sequence[Product],
        reads: Sequence[Value],
    ) -> tuple[Signal, list[Value]]:
        """Whether a position matches one of the products, and what is read at the rightmost (leftmost) that does."""
        attention = step.attention
        ours = [self.here.finite(term.at_i) for term in products]
        theirs = [self.here.finite(at_i(term.at_j)) for term in products]
        xs = [self.here.number(equality.at_i) for equality in equal]
        ys = [self.here.number(at_i(equality.at_j)) for equality in equal]
        query, key = list(ours), list(theirs)
        for equality, x, y in zip(equal, xs, ys, strict=True):
            squared = self.finder.squared(f"{at_i(equality.at_j)}", y)
            query += [2 * self.finder.value(f"{equality.at_i}", x), constant(-1)]
            key += [squared.value, squared.square]
        query.append(constant(Fraction(1 if attention.choice is Choice.RIGHTMOST else -1, 2)))
        key.append(position(RAMP))
        values = [*theirs, *ys, *reads]
        finite = all(isinstance(value, Signal) for value in values)
        scale = 2 * GAMMA * LENGTH if finite else 2 * SHARPNESS * LENGTH**2
        head = attend(
            name,
            query=stack(*query),
            key=stack(*key),
            value=self.pack(values),
            mask=MASKS[attention.mask],
            weighting=self.finder.weighting(scale),
            gap=Fraction(1, 2) / LENGTH,
            single=True,
            fall=Fall.LINEAR,
        )
        found = iter(self.unpack(name, head, values))
        bits = self.matches(name, step, products, ours, [finite_value(next(found)) for _ in products])
        checking = Pointwise(self.source, self.finder, self.read, one=constant(1))
        for equality, x in zip(equal, xs, strict=True):
            difference = x - number_value(next(found))
            bits.append(checking.compare_numbers(f"{name}: {equality}", difference, Relation.EQUAL))
        matched = bits[0] if len(bits) == 1 else all_of(f"{name} matches", *bits)
        return matched, list(found)

    def matches(
        self, name: str, step: Lookup, products: Sequence[Product], ours: Sequence[Signal], theirs: Sequence[Signal]
    ) -> list[Signal]:
        """Bits that are all 1 where a product is 1 for what was retrieved; at the start token, not all."""
        if len(products) > 1:
            pairs = enumerate(zip(ours, theirs, strict=True))
            both = [all_of(f"{name}: case {k + 1}", mine, other) for k, (mine, other) in pairs]
            return [stack(*both).total.known(BIT)]
        # From the start token, nothing is seen in the past but itself.
        trivial = products[0].at_i == Truth(True) and MASKS[step.attention.mask].causal
        return [theirs[0]] if trivial else [ours[0], theirs[0]]

    def search_by_cases(
        self, step: Lookup, groups: dict[tuple[Equality, ...], list[Product]], reads: Sequence[Value]
    ) -> tuple[Signal, list[Value]]:
        """The same for products that demand different equalities: one search each, and the best position of all."""
        rightmost = step.attention.choice is Choice.RIGHTMOST
        matches, ranks = [], []
        for k, (equal, products) in enumerate(groups.items(), 1):
            name = f"{step.name}, case {k}"
            matched, found = self.search(step, name, equal, products, [here()])
            share = number_value(found[0]).share.known(real(0, 1))
            # The rank is 0 where nothing matches: j/(n+1), or 1 - j/(n+1) to find the leftmost.
            ranks.append(relu(f"{name}: rank", share + matched - 1 if rightmost else matched - share))
            matches.append(matched)
        best = ranks[0]
        for k, rank in enumerate(ranks[1:], 2):
            best = best + relu(f"{step.name}: best of {k}", rank - best)
        some = any_of(f"{step.name} matches", *matches)
        share = best if rightmost else some - best
        if not reads:
            return some, []
        head = self.finder.at(step.name, share, self.pack(reads), SHARE, Mask.ALL)
        return some, self.unpack(step.name, head, reads)

    def pack(self, values: Sequence[Value]) -> Signal:
        """Values as one vector; of integers, themselves and their shares."""
        return stack(*(stack(self.finder.value("", v), v.share) if isinstance(v, Number) else v for v in values))

    def unpack(self, name: str, found: Signal, like: Sequence[Value]) -> list[Value]:
        """The values that were packed, as they were retrieved: bits and symbols are rounded behind a softmax."""
        values: list[Value] = []
        start = 0
        for k, value in enumerate(like):
            if isinstance(value, Number):
                exact, share = found[start].known(value.kind), found[start + 1].known(value.share_kind)
                values.append(Number(value.low, value.high, share, exact))
                start += 2
                continue
            part = found[start : start + len(value)]
            bits = rounded(f"{name}: {k}", part) if self.soft else part
            values.append(Signal(bits.forms, (BIT,) * len(value), value.labels, value.exclusive))
            start += len(value)
        return values


def _one_hot(letters: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    return {letter: tuple(int(letter == other) for other in letters) for letter in letters}


THEOREMS = (
    Theorem(
        "srasp",
        "S-RASP by an encoder that knows the length: average-hard attention, or softmax",
        "Simulating Hard Attention Using Soft Attention, Section 5 and Appendix E",
        "the length; position features i, i², 1/(i+1), i/(n+1), n; scale O(n) to O(n²)",
        "one head an attention, one for the mean of a prefix sum and one for each multiple of n that it can reach",
        srasp.Program,
        ("hard", "soft"),
        codec=lambda program, _: SraspCodec(program),
        signals=lambda codec, attention: signals(codec.source, soft=attention == "soft"),
        steps=(
            "Letters are looked up from the token; what depends on one position is a feed-forward layer.",
            "A prefix sum is a mean times i+1: the number is found by a lookup among the positions.",
            "rightmost, leftmost: a predicate is a sum of products of what query and key know; j/(2(n+1)) breaks ties.",
            "What was found is compared with what was asked for, and the default taken if it does not match.",
        ),
        features=(ShareAfterStart,),
        rank=1,
    ),
)
