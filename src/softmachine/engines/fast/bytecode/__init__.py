"""Bytecode interpreter for large models: sparse rows and heads as data, run by one compiled function for all models."""
