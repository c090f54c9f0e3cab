"""Explicit Runge-Kutta methods over the flat state: tableaux as data, one fixed and one adaptive stepper."""
