"""RASP as an embedded language: programs are Python expressions, as in tracr."""
