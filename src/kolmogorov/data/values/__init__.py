"""Values: how they are written, what they mean, and their scale."""
