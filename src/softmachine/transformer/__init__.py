"""The product: exact weights with names, and what they are made of."""
