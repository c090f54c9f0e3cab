"""The host of stock PX4: its process, its MAVLink API, and the diagnosis of failures."""
