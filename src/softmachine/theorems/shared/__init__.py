"""What theorems share: how runs become tokens, special tokens, and a codec for recognisers."""
