"""Turing machines by average-hard attention (Theorem 8.2 of Chiang's lecture notes)."""
