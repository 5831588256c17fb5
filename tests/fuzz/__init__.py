"""Everything at random: sources of all languages by all theorems, damaged folders, hostile files."""
