"""C-RASP, with or without chain of thought, by uniform attention."""
