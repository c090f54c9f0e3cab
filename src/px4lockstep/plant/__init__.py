"""Plant models and their interface: layout, faults, inputs, reference problems, and users' plants by address."""
