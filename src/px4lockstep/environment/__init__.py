"""The environment of the vehicle: atmosphere, gravity, wind and gusts, and the map projection."""
