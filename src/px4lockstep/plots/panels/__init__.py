"""The panels of the figure of a flight."""
