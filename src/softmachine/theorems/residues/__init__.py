"""Turing machines by tokens that say their cell modulo M, for bfloat16 and float16."""
