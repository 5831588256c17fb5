"""Engines that run compiled weights; the dense engine is the reference for the others."""
