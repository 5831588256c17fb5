"""The dense engine: every score computed, in any arithmetic. The referee of all other engines; written to be read."""
