"""MAVLink 2, for stock PX4 and for served vehicles: frames, streams of bytes, links, pymavlink's dialect, modes.

The messages of every step of stock PX4 (`hil`) are packed here, and tests compare them with pymavlink byte for byte;
all others use pymavlink's dialect (`dialect`), which is imported on first use.

Reference: https://mavlink.io/en/guide/serialization.html
"""
