"""What is done with models: data sets, learning, measurements, uniformity, circuits, sweeps, benchmarks."""
