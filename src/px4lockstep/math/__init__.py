"""Mathematics with bit-identical results on every machine, compiled or interpreted.

`exponential` (exp, log, pow) and `trigonometry` (sin, cos, atan2, asin, ...) replace the C library, whose last bits
differ between platforms; `quaternion` has the attitude algebra, `philox` the random numbers.
"""
