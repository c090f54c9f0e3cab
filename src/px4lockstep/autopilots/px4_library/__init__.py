"""Real PX4 as a library: the compiled exchange of inputs and outputs at each tick, with calls by address."""
