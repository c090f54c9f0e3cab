"""The panels of the picture of a flight."""
