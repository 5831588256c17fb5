"""Two arrays hold a large model: ``code``, which a run does not change, and ``heap``, which it does.

Both consist of records: some integers one after the other, found by the address of the first. A call with many arrays
takes longer than what is done with them, so there are two. The names are the places of integers in their records;
``X_END`` is the address after the last of the X. Words and numbers are in the heap, so their addresses are there;
everything else is where its record is, unless it is said.
"""

from __future__ import annotations

BLOCK, HEAD = 0, 1
"""What there is to do, in ``OPS``."""

OPS, OPS_END, TOKENS, TOKEN_WORDS, FEATURES, FEATURES_END, PAST, PAST_END = range(8)
LOGITS, LOGITS_END, ANSWER, ROOM, ROOM_END, EVERY, INDEXES, HEADS, FOUND_BY_KEY, FOUND_BY_KEY_END = range(8, 18)
HEADER = 18
"""The beginning of the code: what to do, as pairs of what it is and its record; for each token the first words, and how
many; position features, five integers each: kind, two parameters, word and shift; the heads that do not see their own
position; the addresses of the logits; the block that has them; in the heap, room for this and that, and whether
everything is to be computed; how many indexes and heads there are; all that is found by a key, three integers each:
where it is in the heap, the words of a key, and of an entry."""

KEY, KEY_END, LAST = 0, 1, 2
"""Records of those who read words begin so: pairs of a word and a mask; in the heap, what was last read there."""

WORD, WORDS, TABLE, KNOWN = range(3, 7)
ROW, ROW_END, READ, READ_END, WRITE, WRITE_END, KEEPS, DRAFT, ANSWERS, BLOCK_NUMBER = range(7, 17)
"""A block: the first word that it writes, and how many; in the heap, its table of answers, and the number of the answer
to what it read last, `UNDECIDED` if that is not what its words are; its rows; what it reads and writes, each a number,
its word, and the shift there; whether its rows keep their sums (then all of this is as `changes` has it), and in the
heap, drafts of its words; whether it has the logits; its number."""

PARTS, PARTS_END, IS_WIDE, CAUSAL, GROUPED, KIND, INDEX_NUMBER = range(3, 10)
"""An index: where in its key numbers are, as a block has them; whether one of them is wide; whether the present
position is seen; in the heap, its groups, and the kinds of their keys; its number."""

INDEX, PLAIN, TIME, ASKS, QUERY, SIGNS, ASKED, CONSTANT, RUNS, RUNS_END, SIZES, SIZES_END = range(3, 15)
"""A question: its index; whether all numbers are narrow, and the position does not count; the coefficient of the
position; for each part of the index a word and the shift there, a weight, and a constant; in the heap, the numbers of
the query, their signs as the words of a key, and what was found. If it is plain: the signs of constants; what the other
signs are copies of, a word, a mask, a shift to the left, the word of the key, and whether signs change; and which parts
are of one size if they are not 0: the size, the word of the key, and a bit for each."""

OF, QUESTION, CHOICE, LATER, MEAN, VALUES, VALUES_END, FOUND, FOUND_END, TO_WORD, TO_WIDE, VALUED, HEAD_NUMBER = range(
    3, 16
)
"""A head: its index; its question; which of tied keys; whether the last of equal keys is the best, and not the first;
whether all are taken together; where its values are in the words that it keeps, and what it finds, as a block has them;
the first word of that; whether that is wide though a value is not; in the heap, what is kept; its number."""

ENTRIES, CAPACITY, USED, HASH, HASHED, FILLED = range(6)
TABLE_SIZE = 6
"""In the heap, what is found by a key of words: where entries are, which begin with their keys, how many fit, and how
many there are; the hash table of their numbers, how large it is, a power of two, and how many are in it. A table of
answers is that: an entry is a key, and the words of the answer."""

PLACES, INSERTED, LATEST, KINDS = range(6, 10)
GROUPS = 10
GROUPS_AT_FIRST = USED, INSERTED, LATEST, KINDS
"""The groups of an index are that, too, and have besides: where positions are, the first of a group, the last, and how
many; how many positions were put in; the group of the last; how many kinds there are, `MANY` if they
are not told apart."""
FIRST, FINAL, COUNT, PLACE = 0, 1, 2, 3

VALUE, DONE, TOTAL, TOTALS, MIXED = range(5)
"""In the heap, what is kept of values: where they are; how many positions were put in; where sums are, how many fit,
and how many there are. A value has the number of its group's sum, -1 while all values of the group are equal, and then
the words of the first of them, or of the last."""

GROUP, SCORE, SEEN, AT, ASKED_BEFORE = range(5)
"""In the heap, what was found last: the one best group, `UNDECIDED` if that is not known; its score; how many groups
there were; the position, plus one; whether the query is known."""

MANY, UNDECIDED = -1, -1
MOST_KINDS = 8
"""More kinds of keys are not told apart."""
