"""Finite automata in logarithmically many turns, with one set of weights and no position features."""
