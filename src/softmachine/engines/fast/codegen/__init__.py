"""From plans to code: one function that decodes, made for one shape of model."""
