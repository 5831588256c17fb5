"""Source languages: what people write, what it means, and a reference interpreter for each. No transformer in sight."""
