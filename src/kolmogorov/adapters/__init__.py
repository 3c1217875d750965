"""Models in harnesses of others: Cornac, LensKit and MLflow, each of which is imported when it is asked for."""
