"""The host of real PX4, compiled: what it is told and answers at a tick, and the calls into its library by address."""
