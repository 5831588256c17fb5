"""Learning: small decoders trained on the traces of a source, compared with the compiled model.

Every source defines a data set with a known algorithm and a compiled model. This package trains models on the same
tokens and measures their generalisation to longer words: see ``docs/learning.md``. It requires torch, which is imported
where it is used.
"""
