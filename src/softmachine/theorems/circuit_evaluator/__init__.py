"""One looped transformer that reads any circuit as tokens."""
