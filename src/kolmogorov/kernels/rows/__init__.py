"""Rows of a table: their normal equations, and small problems solved by them."""
