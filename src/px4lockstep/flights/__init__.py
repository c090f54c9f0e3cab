"""Flights: from a spec to a flight, its log, summary and figure, and the run folder that holds them."""
