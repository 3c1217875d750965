"""One model for many: a table that many models completed, and the descent over it."""
