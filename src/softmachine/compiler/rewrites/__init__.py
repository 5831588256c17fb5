"""Rewrites of weights: transformations from the literature that preserve the outputs.

One head per layer (:mod:`.one_head`), one loop instead of several blocks (:mod:`.one_loop`), no masks
(:mod:`.no_masks`), causal masks only (:mod:`.causal_masks`), softmax for average-hard attention in fixed point
(:mod:`.fixed_point_softmax`), and signs without layer norm (:mod:`.sign_norm`). Each module documents its cost.
"""
