"""Campaigns: one aircraft file flown many times, with inputs that vary."""
