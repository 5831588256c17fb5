"""Studies of models: data sets, learning, measurements, uniformity, circuits, sweeps, benchmarks."""
