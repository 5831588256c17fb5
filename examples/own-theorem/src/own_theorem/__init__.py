"""A theorem of one's own, for softmachine."""
