"""Events in words, and predictions explained by them."""
