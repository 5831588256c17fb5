"""RASP embedded in Python: programs are Python expressions, as in tracr."""
