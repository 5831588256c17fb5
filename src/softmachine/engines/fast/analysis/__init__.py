"""From the weights to plans: what every number is made of, what is proved of it, and which index serves each head."""
