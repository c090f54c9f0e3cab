"""The multirotor: one file per model, coupled into one right-hand side by `multirotor`."""
