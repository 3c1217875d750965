"""What the page opens with: the table, and one prediction taken apart."""
