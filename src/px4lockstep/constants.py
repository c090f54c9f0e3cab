"""Constants that several models share."""

STANDARD_GRAVITY_M_S2 = 9.80665  # 3rd CGPM (1901)

HOME_LAT_DEG = 47.397742  # default home of PX4's simulators, near Zurich
HOME_LON_DEG = 8.545594
