"""What item follows from which: weights between items in closed form, and how they are settled."""
