"""The engine of block coordinate descent, the estimator around it, fold-in and files."""
