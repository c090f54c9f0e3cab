"""Many flights: what they vary, what is measured of each, and what came of all of them."""
