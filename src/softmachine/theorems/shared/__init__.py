"""Shared by theorems: codecs of recognisers and Turing machines, and signals of the transition."""
