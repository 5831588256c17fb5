"""Causal RASP dialect in the style of RASP-L: functions of sequences."""
