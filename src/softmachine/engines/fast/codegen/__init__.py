"""Code generation: from plans to one step function, specialised to the shape of a model."""
