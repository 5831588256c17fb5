"""Record format: two arrays hold a large model, ``code``, which a run does not change, and ``heap``, which it does.

Both consist of records: consecutive integers, identified by the address of the first. There are only two arrays because
passing many takes longer than the work done on them. The constants are offsets of fields in their records; ``X_END`` is
the address after the last of the X. Words and numbers are in the heap, so fields that refer to them are heap addresses;
all other addresses are in the code, unless stated otherwise.
"""

from __future__ import annotations

BLOCK, INSERT_KEY, EVALUATE_QUERY, INSERT_AND_RETRIEVE, RETRIEVE, INSERT_VALUE = range(6)
"""Opcodes in ``OPS``: evaluate a block, insert the key of an index, evaluate a query; insert the value of a lookup
and retrieve, or one of these."""

OPS, OPS_END, TOKENS, TOKEN_WORDS, FEATURES, FEATURES_END, PREVIOUS_OPS, PREVIOUS_OPS_END = range(8)
OPS_WITHOUT_OUTPUT, OPS_WITHOUT_OUTPUT_END, LOGITS, OUTPUTS, LOGIT_BLOCK, SCRATCH, SCRATCH_END, COMPUTE_ALL, FREE = (
    range(8, 17)
)
HEADER = 17
"""The header of the code: operations, as pairs of opcode and record; for each token the initial words, and their
number; position features, five integers each: kind, two parameters, word and shift; operations for the previous
position, and for positions without output; heap address of the first logit, and the number of logits; the block that
computes them; heap address of scratch space; whether everything is computed without memoisation; heap address of
three integers: the free end of the heap, its size, and the size needed."""

MOVES, WIDTH, LAST_READ = range(3)
"""Common beginning of records that read words: the moves, as `gather` reads them; the number of gathered words; heap
address of these words as last read."""

WORD, WORDS, MEMO, LAST_RESULT, HAS_LOGITS, BLOCK_NUMBER, IS_INCREMENTAL = range(3, 10)
"""A block: first output word, and number of output words; the store of memoised results; heap address of the number
of the result for the last input, `UNDECIDED` if the output words are not that result; whether it has the logits; its
number; whether it is evaluated incrementally."""
ROW, ROW_END, READ, READ_END, WRITE, WRITE_END = range(10, 16)
"""Without incremental evaluation: its rows; its inputs and outputs, each a number, its word, and the shift there."""
ROWS, READERS, LAST_INPUT, SUMS, RESULTS, DIRTY, DIRTY_WORDS, DRAFT = range(10, 18)
"""With incremental evaluation: its rows; for each input lane its readers; heap addresses of the words it was last
computed from, of each row's sum and result, and of the dirty set, a bit per row; the number of words of that set;
heap address of drafts of the output words."""

PARTS, PARTS_END, IS_WIDE, GROUP_STORE, KIND = range(3, 8)
"""An index: the addresses of numbers in its key, as in a block; whether one of them is wide; the store of its
groups; heap address of the kinds of keys."""

INDEX, IS_PLAIN, POSITION_WEIGHT, FACTORS, QUERY, SIGNS, SEARCH_RESULT, INVERTED, SIZES, SIZES_END = range(3, 13)
"""A query: its index; whether all numbers are packed trits and the position does not count; the coefficient of the
position; for each part of the index a word and the shift there, a weight, and a constant; heap addresses of the
query's numbers, their signs as the words of a key, and the search result. If it is plain, it reads these words; for
each of them, the signs of constants, and a bit for each sign to invert; and the parts of equal absolute value: the
value, the word of the key, and a bit for each."""

(
    LOOKUP_INDEX,
    LOOKUP_QUERY,
    CHOICE,
    PREFERS_LATER,
    IS_MEAN,
    VALUES,
    VALUES_END,
    RESULT,
    RESULT_END,
    RESULT_WORD,
    RESULT_IS_WIDE,
    VALUE,
) = range(3, 15)
INSERTED_VALUES, SUM_STORE, LOOKUP_NUMBER = range(15, 18)
"""A lookup: its index; its query; tie-breaking among best keys; whether the last of equal keys is the best, and not
the first; whether all are averaged; the addresses of its values in the stored words, and of its results, as in a
block; the first result word; whether results are wide though values are not; the offset of its value in a group;
heap address of the number of inserted positions; the store of sums, used by groups whose values are not all equal;
its number."""

STATE, KEY_WIDTH, STRIDE, IS_HASHED, MAX_ENTRIES = range(5)
"""A store of entries: heap address of its state; words per key, and per entry without its key; whether entries are
found by their keys; maximum number of entries."""
ENTRIES, KEYS, CAPACITY, USED, HASH, HASH_SLOTS, FOLD = range(7)
STATE_SIZE = 7
"""The state of a store: addresses of entries and keys, capacity, and number of entries; address of the hash table,
its number of slots (a power of two), and the logarithm of the slots per word."""

INSERTED, LATEST, KINDS = range(7, 10)
GROUPS_SIZE = 10
INITIALLY_ZERO = USED, INSERTED, LATEST, KINDS
"""The state of an index's groups has three more fields: the number of inserted positions; the group of the last one;
the number of kinds, `TOO_MANY_KINDS` if kinds are not distinguished."""
FIRST_POSITION, LAST_POSITION, COUNT = range(3)
GROUP_HEADER_SIZE = 3
"""The entry of a group: its first position, its last, and its size; then the values of all lookups, one after the
other. A value has the number of its group's sum, -1 while all values of the group are equal, and then the words of
the first of them, or of the last."""

GROUP, SCORE, SEARCHED_GROUPS, BOUNDED_KINDS = range(4)
SEARCH_RESULT_SIZE = 4
"""The search result of a query: the unique best group, `UNDECIDED` if unknown; its score; the number of groups
searched; the number of kinds with known bounds. Then, for these bounds, the nonzero pattern of the query, and for
each kind the maximum score and the step below it."""

TOO_MANY_KINDS, UNDECIDED = -1, -1
MAX_KINDS = 8
"""Maximum number of kinds of keys that are distinguished."""
