"""A controller that holds the X500 above home: docs/howto/own_controller.md."""

MIX = ((-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1))  # roll, pitch and yaw of each motor


def limited(value, most):
    return min(max(value, -most), most)


class Hold:
    def __init__(self, height_m=5.0, p=2.0, d=2.5):
        self.height_m, self.p, self.d = height_m, p, d
        self.hover = 0.7  # duty; learned in flight, because the battery sags

    def step(self, time_us, inputs, outputs):
        if not inputs.scenario.arm:
            return
        x, y, z = inputs.estimate.pos_ned.tolist()
        vx, vy, vz = inputs.estimate.vel_ned.tolist()
        qw, qx, qy, qz = inputs.estimate.q_bn.tolist()
        p, q, r = inputs.estimate.omega_body.tolist()
        north = limited(-2.5 * limited(x, 2.0) - 3.0 * vx, 4.0)  # acceleration, m/s²
        east = limited(-2.5 * limited(y, 2.0) - 3.0 * vy, 4.0)
        down = limited(-self.p * limited(z + self.height_m, 1.5) - self.d * vz, 4.0)
        roll, pitch, yaw = 2 * (qw * qx + qy * qz), 2 * (qw * qy - qz * qx), 2 * (qw * qz + qx * qy)  # rad, small
        roll_torque = 0.08 * (6.5 * (east / 9.81 - roll) - p)
        pitch_torque = 0.08 * (6.5 * (-north / 9.81 - pitch) - q)
        yaw_torque = 0.2 * (-2.0 * yaw - r)
        self.hover = min(max(self.hover - 0.0002 * down, 0.5), 0.9)
        lift = self.hover - 0.04 * down
        for motor, (a, b, c) in enumerate(MIX):
            duty = lift + a * roll_torque + b * pitch_torque + c * yaw_torque
            outputs.motors[motor] = min(max(duty, 0.0), 1.0)
