"""Campaigns: many flights with varying inputs, their metrics, and statistics over all of them."""
