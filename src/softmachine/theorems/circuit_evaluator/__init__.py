"""Circuit evaluation by one looped transformer that reads circuits as tokens."""
