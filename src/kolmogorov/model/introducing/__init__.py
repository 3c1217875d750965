"""New users and items, of whom or which there are only attributes."""
