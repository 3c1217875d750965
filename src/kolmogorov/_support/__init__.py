"""Ground floor: compilation, threads, seeds, validation, progress. Knows nothing about Kolmogorov models."""
