"""Rewrites of weights: transformations from the literature that preserve the outputs.

One head per layer (:mod:`.to_one_head`), one loop instead of several blocks (:mod:`.to_one_loop`), no masks
(:mod:`.unmasked`), causal masks only (:mod:`.causal`), softmax for average-hard attention in fixed point
(:mod:`.fixed_point_softmax`), and signs without layer norm (:mod:`.signs`). Each module documents its cost.
"""
