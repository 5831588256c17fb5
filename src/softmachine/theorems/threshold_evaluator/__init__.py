"""One looped transformer that reads any circuit with thresholds as tokens."""
