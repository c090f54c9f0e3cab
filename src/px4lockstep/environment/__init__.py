"""The world around the vehicle: atmosphere, gravity, wind and gusts, and the map projection."""
