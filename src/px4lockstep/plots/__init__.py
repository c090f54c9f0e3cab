"""Figures of flights, of two flights overlaid, and of integrator comparisons."""
