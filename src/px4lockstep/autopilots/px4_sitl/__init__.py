"""The host of stock PX4: its process, its API, and what a flight that stops is told."""
