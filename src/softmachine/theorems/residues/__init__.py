"""Turing machines by tokens that contain their cell modulo M, exact in bfloat16 and float16."""
