"""What goes with what: counts of items by pairs, weights between items, and the scores that weights give."""
