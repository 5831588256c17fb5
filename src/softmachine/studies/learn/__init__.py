"""Learning: is what can be compiled also learned? Small decoders, trained on the traces of any source.

Every source that is compiled is also a data set with a known algorithm, and has a compiled model beside it. This room
trains models on the same tokens, and measures where they go on to be right: see ``docs/learning.md``. It needs torch,
which is imported where it is used.
"""
