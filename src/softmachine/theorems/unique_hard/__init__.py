"""Linear temporal logic by masked unique-hard attention."""
