"""An NVIDIA GPU, and tables on it."""
