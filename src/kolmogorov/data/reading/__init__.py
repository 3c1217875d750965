"""From what people have (text, frames, arrays) to entries of a table."""
