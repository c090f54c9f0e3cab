"""Experiments: measure the response of a control loop, sweep inputs, and tune gains."""
