"""Models to compare with: biases, matrix factorisation, SVD++."""
