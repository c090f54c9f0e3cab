"""MAVLink 2, as far as a simulator of PX4 needs it: frames, the messages of every step, streams, links.

The messages of every step (`hil`) have layouts of their own, which tests compare with pymavlink byte for byte; all
others go by pymavlink's dialect (`dialect`), which is imported when it is first needed. Nothing else of the package is
imported here.

Reference: https://mavlink.io/en/guide/serialization.html
"""
