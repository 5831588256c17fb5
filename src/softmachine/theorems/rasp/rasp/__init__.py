"""RASP, in encoders and decoders, exact at every length."""
