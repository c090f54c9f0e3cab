"""Mathematics that gives the same bits on every machine, compiled or interpreted.

`exponential` (exp, log, pow) and `trigonometry` (sin, cos, atan2, asin, ...) stand in for the C library, whose last
bits differ from one platform to the next; `quaternion` has the attitude algebra, `philox` the random numbers.
"""
