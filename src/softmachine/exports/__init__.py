"""Export to third-party formats (Hugging Face, ONNX, GGUF), and the native format."""
