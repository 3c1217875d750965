"""What is kept of draws beside a model that was learned from them."""
