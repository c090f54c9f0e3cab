"""What came of a flight: a summary, its events, and a picture."""
