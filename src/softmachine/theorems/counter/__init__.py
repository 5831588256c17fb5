"""Counter machines, as C-RASP with chain of thought."""
