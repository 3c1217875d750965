"""What the paper leaves open, one thing at a time: a table and a plot each."""
