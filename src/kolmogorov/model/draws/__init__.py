"""What models that are drawn can do beyond others."""
