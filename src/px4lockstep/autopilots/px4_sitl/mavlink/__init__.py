"""The part of MAVLink 2 that a PX4 simulator needs: frames, the messages exchanged at every step, streams, links.

The messages exchanged at every step (`hil`) are packed here, and tests compare them with pymavlink byte for byte; all
others use pymavlink's dialect (`dialect`), which is imported on first use. This package imports nothing else.

Reference: https://mavlink.io/en/guide/serialization.html
"""
