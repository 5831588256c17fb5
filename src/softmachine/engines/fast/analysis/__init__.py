"""Analysis of a decoder: the unrolled program, the proved ranges of its numbers, and an index for each head."""
