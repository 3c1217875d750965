"""What a fit leaves behind, whatever found it: what it predicts, what it was fitted to, and its file."""
