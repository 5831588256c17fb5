"""Evaluation of threshold circuits by one looped transformer that reads them as tokens."""
