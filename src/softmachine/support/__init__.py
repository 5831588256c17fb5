"""Utilities independent of transformers: errors, text, plug-ins, files, resources, parallel map, JIT."""
