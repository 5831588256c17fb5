"""Other people's formats, and our own."""
