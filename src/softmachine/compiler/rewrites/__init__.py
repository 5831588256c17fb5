"""Transformers made of transformers: what the papers say loses nothing, as a rewriting of weights.

One head a layer (:mod:`.one_head`), one loop instead of several blocks (:mod:`.one_loop`), no masks (:mod:`.unmasked`),
causal masks only (:mod:`.causal`), and softmax for average-hard attention in fixed point (:mod:`.fixed_point_softmax`).
Each says what it costs, and answers as the given transformer does.
"""
