"""Logs of flights: one schema, in memory, as CSV and as Parquet."""
