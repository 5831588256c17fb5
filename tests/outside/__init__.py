"""One toy of each kind that can be added, each in one file, as another package would bring it."""
