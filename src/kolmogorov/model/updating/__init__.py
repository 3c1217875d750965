"""Models that go on learning: what new, corrected and removed entries make of them."""
