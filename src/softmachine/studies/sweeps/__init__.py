"""What sweeps do with a part of their range, here and wherever it travels: text and numbers go, and never weights."""
