"""Two arrays hold a large model: ``code``, which a run does not change, and ``heap``, which it does.

Both consist of records: some integers one after the other, found by the address of the first. A call with many arrays
takes longer than what is done with them, so there are two. The names are the places of integers in their records;
``X_END`` is the address after the last of the X. Words and numbers are in the heap, so their addresses are there;
everything else is where its record is, unless it is said.
"""

from __future__ import annotations

BLOCK, KEEP_KEY, ASK, KEEP_AND_FIND, FIND, KEEP_VALUE = range(6)
"""What there is to do, in ``OPS``: recall a block, keep the key of an index, ask a question; keep the value of a lookup
and find what is looked up, or one of these."""

OPS, OPS_END, TOKENS, TOKEN_WORDS, FEATURES, FEATURES_END, PAST, PAST_END = range(8)
UNANSWERED, UNANSWERED_END, LOGITS, OUTPUTS, ANSWER, ROOM, ROOM_END, EVERYTHING, FREE = range(8, 17)
HEADER = 17
"""The beginning of the code: what to do, as pairs of what it is and its record; for each token the first words, and how
many; position features, five integers each: kind, two parameters, word and shift; what to do for the position before,
and what to do where no output is wanted; in the heap, the first logit, and how many there are; the block that has them;
in the heap, room for this and that; whether everything is to be computed; and in the heap three integers: where that is
free, how large it is, and how large it should be."""

KEY, WIDTH, LAST = range(3)
"""Records of those who read words begin so: what of which words, as `gather` reads it; how many words that makes; in
the heap, these words as they were last read."""

WORD, WORDS, TABLE, KNOWN, ANSWERS, BLOCK_NUMBER, KEEPS = range(3, 10)
"""A block: the first word that it writes, and how many; the store of its answers, by what it
read; in the heap, the number of the answer to what it read last, `UNDECIDED` if that is not what its words are;
whether it has the logits; its number; whether its rows keep their sums."""
ROW, ROW_END, READ, READ_END, WRITE, WRITE_END = range(10, 16)
"""If they do not: its rows; what it reads and writes, each a number, its word, and the shift there."""
ROWS, READERS, SEEN_BEFORE, SUMS, RESULTS, CHANGED, CHANGES, DRAFT = range(10, 18)
"""If they do: its rows; for each lane that it reads, who is told of that; in the heap, the words that it was last
computed from, for each row its sum and its result, a bit for each row whose sum has changed, and how many words these
are, and drafts of its own words."""

PARTS, PARTS_END, IS_WIDE, GROUPED, KIND = range(3, 8)
"""An index: where in its key numbers are, as a block has them; whether one of them is wide; the store of its groups; in
the heap, the kinds of their keys."""

INDEX, PLAIN, TIME, ASKS, QUERY, SIGNS, ASKED, TURNED, SIZES, SIZES_END = range(3, 13)
"""A question: its index; whether all numbers are narrow, and the position does not count; the coefficient of the
position; for each part of the index a word and the shift there, a weight, and a constant; in the heap, the numbers of
the query, their signs as the words of a key, and what was found. If it is plain, it reads these words; for each of
them, the signs of constants, and a bit for each sign that changes; and which parts are of one size if they are not 0:
the size, the word of the key, and a bit for each."""

OF, QUESTION, CHOICE, LATER, MEAN, VALUES, VALUES_END, FOUND, FOUND_END, TO_WORD, TO_WIDE, VALUE = range(3, 15)
DONE, SUMMED, LOOKUP_NUMBER = range(15, 18)
"""A lookup: its index; its question; which of tied keys; whether the last of equal keys is the best, and not the first;
whether all are taken together; where its values are in the words that it keeps, and what it finds, as a block has them;
the first word of that; whether that is wide though a value is not; where in a group its value is; in the heap, how many
positions were put in; the store of sums, which groups have whose values are not all equal; its number."""

STATE, KEY_WIDTH, STRIDE, IS_HASHED, MOST = range(5)
"""A store of entries: in the heap, its state; how many words a key has, and an entry, without its key; whether entries
are found by their keys; how many there may be."""
ENTRIES, KEYS, CAPACITY, USED, HASH, HASHED, FOLD = range(7)
STATE_SIZE = 7
"""Its state: where entries are, and their keys, how many fit, and how many there are; the hash table of their numbers,
how many slots it has, a power of two, and which power of two of them are in a word."""

INSERTED, LATEST, KINDS = range(7, 10)
GROUPS_SIZE = 10
GROUPS_AT_FIRST = USED, INSERTED, LATEST, KINDS
"""The state of the groups of an index has besides: how many positions were put in; the group of the last; how many
kinds there are, `MANY` if they are not told apart."""
FIRST, FINAL, COUNT = range(3)
PLACE = 3
"""The entry of a group: its first position, its last, and how many; then the values of all lookups, one after the
other. A value has the number of its group's sum, -1 while all values of the group are equal, and then the words of
the first of them, or of the last."""

GROUP, SCORE, SEEN, BOUNDED = range(4)
FOUND_SIZE = 4
"""In the heap, what was found last: the one best group, `UNDECIDED` if that is not known; its score; how many groups
there were. And for how many kinds it is known how much their keys can score: then which numbers of the query were not
0, and for each kind the most, and how much less others score."""

MANY, UNDECIDED = -1, -1
MOST_KINDS = 8
"""More kinds of keys are not told apart."""
