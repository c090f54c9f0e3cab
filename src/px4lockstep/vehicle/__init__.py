"""The multirotor model: one module per component, coupled into one right-hand side by `multirotor`."""
