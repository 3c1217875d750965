"""Pictures of numbers with matplotlib: Axes in, Axes out. What they show is gathered elsewhere."""
