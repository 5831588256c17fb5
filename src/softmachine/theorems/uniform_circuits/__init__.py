"""Languages of uniform families of circuits."""
