"""A vehicle that takes commands while it flies: `px4lockstep.serve` and `px4lockstep serve`."""
