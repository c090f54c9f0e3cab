"""Runs: from an aircraft file to a flight, its log, its summary, its picture and the folder that keeps them."""
