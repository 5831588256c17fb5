"""C-RASP, with chain of thought or without, by uniform attention."""
