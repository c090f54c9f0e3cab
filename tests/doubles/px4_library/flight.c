/* Flight mode manager, position, attitude and rate control: a simple cascade with PX4's parameters.
 *
 * The desired velocity points at the target, slows down before it, and is limited in acceleration; then follow a
 * velocity PI, an attitude P and a rate PID controller. Angles are in rad, axes NED and FRD.
 */
#include "double.h"

static const double GRAVITY_M_S2 = 9.80665;
enum { MAX_DT_US = 40000 };

typedef struct {
    uint64_t last_us;
} Clock;

static struct {
    Clock manager, position, rate;
    bool is_climbing_out;
    uint64_t ramp_since_us, armed_since_us;
    Vector vel_sp;
    double yaw_sp;
    Vector integral; /* of the velocity error, as an acceleration */
    Quaternion q_sp;
    double thrust; /* collective, 0 to 1 */
    Vector rate_sp, rate_integral;
} fly;

void flight_start(void) {
    memset(&fly, 0, sizeof fly);
    fly.q_sp.w = 1.0;
    fly.yaw_sp = NAN;
}

static double limit(double value, double low, double high) { return fmin(fmax(value, low), high); }

static double elapsed_s(Clock *clock, uint64_t now_us) {
    uint64_t us = clock->last_us == 0 ? 4000 : now_us - clock->last_us;
    clock->last_us = now_us;
    return (double)(us > MAX_DT_US ? MAX_DT_US : us) * 1e-6;
}

static double slewed(double from, double to, double most) { return from + limit(to - from, -most, most); }

static bool is_armed(void) {
    const vehicle_control_mode_s *mode = latest(TOPIC_vehicle_control_mode, 0);
    return mode != NULL && mode->flag_armed;
}

/* Without position control, as in manual mode, nothing replaces the last setpoints. */
static bool is_controlled(void) {
    const vehicle_control_mode_s *mode = latest(TOPIC_vehicle_control_mode, 0);
    return mode != NULL && mode->flag_multicopter_position_control_enabled;
}

/* Whether there are a target and a valid position. */
static bool is_flying(void) {
    return is_armed() && is_controlled() && navigator_target()->manoeuvre != NOWHERE &&
           latest(TOPIC_vehicle_local_position, 0) != NULL;
}

static bool is_down(void) {
    const vehicle_land_detected_s *land = latest(TOPIC_vehicle_land_detected, 0);
    return land != NULL && land->landed && navigator_target()->manoeuvre == LAND_AT;
}

static void rest(void) {
    fly.vel_sp = fly.integral = fly.rate_sp = fly.rate_integral = (Vector){0.0, 0.0, 0.0};
    fly.thrust = 0.0;
    fly.yaw_sp = NAN;
    fly.ramp_since_us = 0;
    fly.q_sp = (Quaternion){1.0, 0.0, 0.0, 0.0};
}

/* -- flight mode manager -- */

static Vector wished_velocity(const vehicle_local_position_s *at) {
    const Target *target = navigator_target();
    double north = target->pos_ned.x - (double)at->x, east = target->pos_ned.y - (double)at->y;
    double away = hypot(north, east), brake = 0.5 * param_float(PARAM_MPC_ACC_HOR);
    double speed = fmin(param_float(PARAM_MPC_XY_P) * away, sqrt(2.0 * brake * away));
    speed = fmin(speed, param_float(PARAM_MPC_XY_CRUISE));
    double scale = away > 1e-6 ? speed / away : 0.0;
    double up = param_float(target->manoeuvre == TAKE_OFF_TO ? PARAM_MPC_TKO_SPEED : PARAM_MPC_Z_V_AUTO_UP);
    double down = param_float(PARAM_MPC_Z_V_AUTO_DN);
    double descent = param_float(PARAM_MPC_Z_P) * (target->pos_ned.z - (double)at->z);
    if (target->manoeuvre == LAND_AT) {
        const home_position_s *home = latest(TOPIC_home_position, 0);
        double height = (home != NULL ? (double)home->z : 0.0) - (double)at->z;
        descent = height > param_float(PARAM_MPC_LAND_ALT2) ? down : param_float(PARAM_MPC_LAND_SPEED);
    }
    return (Vector){scale * north, scale * east, limit(descent, -up, down)};
}

void flight_mode_manager_run(uint64_t now_us) {
    double dt_s = elapsed_s(&fly.manager, now_us);
    const vehicle_local_position_s *at = latest(TOPIC_vehicle_local_position, 0);
    if (!is_armed()) fly.armed_since_us = now_us;
    if (!is_controlled()) return;
    if (!is_flying() || is_down()) {
        rest();
        return;
    }
    if (isnan(fly.yaw_sp)) fly.yaw_sp = (double)at->heading;
    const Target *target = navigator_target();
    Vector wish = wished_velocity(at);
    double change_xy = param_float(PARAM_MPC_ACC_HOR) * dt_s;
    fly.vel_sp.x = slewed(fly.vel_sp.x, wish.x, change_xy);
    fly.vel_sp.y = slewed(fly.vel_sp.y, wish.y, change_xy);
    fly.vel_sp.z = slewed(fly.vel_sp.z, wish.z, param_float(PARAM_MPC_ACC_DOWN_MAX) * dt_s);
    if (!isnan(target->yaw_rad)) {
        double turn = remainder(target->yaw_rad - fly.yaw_sp, 2.0 * M_PI);
        double most = param_float(PARAM_MPC_YAWRAUTO_MAX) * M_PI / 180.0 * dt_s;
        fly.yaw_sp = remainder(fly.yaw_sp + limit(turn, -most, most), 2.0 * M_PI);
    }
    trajectory_setpoint_s out = {.timestamp = now_us, .yaw = (float)fly.yaw_sp};
    out.position[0] = (float)target->pos_ned.x;
    out.position[1] = (float)target->pos_ned.y;
    out.position[2] = target->manoeuvre == LAND_AT ? NAN : (float)target->pos_ned.z;
    out.velocity[0] = (float)fly.vel_sp.x;
    out.velocity[1] = (float)fly.vel_sp.y;
    out.velocity[2] = (float)fly.vel_sp.z;
    publish(TOPIC_trajectory_setpoint, &out);
}

/* -- position control -- */

static Vector cross(Vector a, Vector b) {
    return (Vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static Vector unit(Vector a) {
    double norm = sqrt(a.x * a.x + a.y * a.y + a.z * a.z);
    return (Vector){a.x / norm, a.y / norm, a.z / norm};
}

/* Returns the attitude with the z axis `z` and a heading. Tilts stay below 90 degrees. */
static Quaternion attitude_of(Vector z, double yaw) {
    Vector y = unit(cross(z, (Vector){cos(yaw), sin(yaw), 0.0}));
    Vector x = cross(y, z);
    double w = 0.5 * sqrt(fmax(1.0 + x.x + y.y + z.z, 0.0));
    if (w > 1e-3) return (Quaternion){w, (y.z - z.y) / (4.0 * w), (z.x - x.z) / (4.0 * w), (x.y - y.x) / (4.0 * w)};
    /* half a turn about a nearly vertical axis */
    double qz = 0.5 * sqrt(fmax(1.0 - x.x - y.y + z.z, 0.0));
    return (Quaternion){(x.y - y.x) / (4.0 * qz), (z.x + x.z) / (4.0 * qz), (y.z + z.y) / (4.0 * qz), qz};
}

/* Returns the current maximum thrust: zero while the motors spool up, then a ramp. */
static double most_thrust(uint64_t now_us) {
    double spooled_us = param_float(PARAM_COM_SPOOLUP_TIME) * 1e6;
    if ((double)(now_us - fly.armed_since_us) < spooled_us) return 0.0;
    if (fly.ramp_since_us == 0) {
        const vehicle_local_position_s *at = latest(TOPIC_vehicle_local_position, 0);
        const home_position_s *home = latest(TOPIC_home_position, 0);
        bool is_up = home != NULL && (double)home->z - (double)at->z > 1.0;
        fly.ramp_since_us = is_up ? 1 : now_us; /* no ramp in the air */
    }
    double ramp_us = fmax(param_float(PARAM_MPC_TKO_RAMP_T) * 1e6, 1.0);
    return limit((double)(now_us - fly.ramp_since_us) / ramp_us, 0.0, 1.0) * param_float(PARAM_MPC_THR_MAX);
}

void position_control_run(uint64_t now_us) {
    double dt_s = elapsed_s(&fly.position, now_us);
    if (is_flying() && !is_down()) {
        const vehicle_local_position_s *at = latest(TOPIC_vehicle_local_position, 0);
        Vector error = {fly.vel_sp.x - (double)at->vx, fly.vel_sp.y - (double)at->vy, fly.vel_sp.z - (double)at->vz};
        double p_xy = param_float(PARAM_MPC_XY_VEL_P_ACC), p_z = param_float(PARAM_MPC_Z_VEL_P_ACC);
        Vector acc = {p_xy * error.x + fly.integral.x, p_xy * error.y + fly.integral.y, p_z * error.z + fly.integral.z};
        double lift = fmax(GRAVITY_M_S2 - acc.z, 0.2 * GRAVITY_M_S2);
        double level = hypot(acc.x, acc.y), most = lift * tan(param_float(PARAM_MPC_TILTMAX_AIR) * M_PI / 180.0 * 0.7);
        if (level > most) {
            acc.x *= most / level;
            acc.y *= most / level;
        }
        double hover = param_float(PARAM_MPC_THR_HOVER);
        double wanted = sqrt(acc.x * acc.x + acc.y * acc.y + lift * lift) * hover / GRAVITY_M_S2;
        double highest = most_thrust(now_us);
        fly.thrust = limit(wanted, fmin(param_float(PARAM_MPC_THR_MIN), highest), highest);
        bool is_on_ground = highest < param_float(PARAM_MPC_THR_MAX);
        if (wanted <= highest || error.z > 0.0) {
            double i_z = param_float(PARAM_MPC_Z_VEL_I_ACC);
            fly.integral.z = limit(fly.integral.z + i_z * error.z * dt_s, -GRAVITY_M_S2, GRAVITY_M_S2);
        }
        if (!is_on_ground && level <= most) {
            double i_xy = param_float(PARAM_MPC_XY_VEL_I_ACC);
            fly.integral.x += i_xy * error.x * dt_s;
            fly.integral.y += i_xy * error.y * dt_s;
        }
        fly.q_sp = is_on_ground ? attitude_of((Vector){0.0, 0.0, 1.0}, fly.yaw_sp)
                                : attitude_of(unit((Vector){-acc.x, -acc.y, lift}), fly.yaw_sp);
    }
    vehicle_attitude_setpoint_s out = {.timestamp = now_us};
    out.q_d[0] = (float)fly.q_sp.w;
    out.q_d[1] = (float)fly.q_sp.x;
    out.q_d[2] = (float)fly.q_sp.y;
    out.q_d[3] = (float)fly.q_sp.z;
    out.thrust_body[2] = (float)-fly.thrust;
    publish(TOPIC_vehicle_attitude_setpoint, &out);
}

/* -- attitude and rate control -- */

void attitude_control_run(uint64_t now_us) {
    const vehicle_attitude_s *at = latest(TOPIC_vehicle_attitude, 0);
    if (at == NULL) return;
    double w = at->q[0], x = at->q[1], y = at->q[2], z = at->q[3];
    Quaternion sp = fly.q_sp;
    /* rotation from the attitude to the setpoint, in body axes: conj(q) sp */
    double ew = w * sp.w + x * sp.x + y * sp.y + z * sp.z;
    double ex = w * sp.x - x * sp.w - y * sp.z + z * sp.y;
    double ey = w * sp.y + x * sp.z - y * sp.w - z * sp.x;
    double ez = w * sp.z - x * sp.y + y * sp.x - z * sp.w;
    double twice = fly.thrust <= 0.0 ? 0.0 : ew < 0.0 ? -2.0 : 2.0;
    double most_x = param_float(PARAM_MC_ROLLRATE_MAX) * M_PI / 180.0;
    double most_y = param_float(PARAM_MC_PITCHRATE_MAX) * M_PI / 180.0;
    double most_z = param_float(PARAM_MPC_YAWRAUTO_MAX) * M_PI / 180.0;
    fly.rate_sp.x = limit(twice * ex * param_float(PARAM_MC_ROLL_P), -most_x, most_x);
    fly.rate_sp.y = limit(twice * ey * param_float(PARAM_MC_PITCH_P), -most_y, most_y);
    fly.rate_sp.z = limit(twice * ez * param_float(PARAM_MC_YAW_P), -most_z, most_z);
    vehicle_rates_setpoint_s out = {.timestamp = now_us};
    out.roll = (float)fly.rate_sp.x;
    out.pitch = (float)fly.rate_sp.y;
    out.yaw = (float)fly.rate_sp.z;
    out.thrust_body[2] = (float)-fly.thrust;
    publish(TOPIC_vehicle_rates_setpoint, &out);
}

static double pid(double error, double acceleration, double *integral, const int params[4], double dt_s) {
    double p = param_float(params[0]), i = param_float(params[1]), d = param_float(params[2]);
    double most = param_float(params[3]), torque = p * error + *integral - d * acceleration;
    *integral = limit(*integral + i * error * dt_s, -most, most);
    return torque;
}

void rate_control_run(uint64_t now_us) {
    static const int ROLL[] = {PARAM_MC_ROLLRATE_P, PARAM_MC_ROLLRATE_I, PARAM_MC_ROLLRATE_D, PARAM_MC_RR_INT_LIM};
    static const int PITCH[] = {PARAM_MC_PITCHRATE_P, PARAM_MC_PITCHRATE_I, PARAM_MC_PITCHRATE_D, PARAM_MC_PR_INT_LIM};
    static const int YAW[] = {PARAM_MC_YAWRATE_P, PARAM_MC_YAWRATE_I, PARAM_MC_YAWRATE_D, PARAM_MC_YR_INT_LIM};
    double dt_s = elapsed_s(&fly.rate, now_us);
    const vehicle_angular_velocity_s *at = latest(TOPIC_vehicle_angular_velocity, 0);
    if (at == NULL) return;
    Vector torque = {0.0, 0.0, 0.0};
    if (fly.thrust > 0.0) {
        Vector *integral = &fly.rate_integral;
        torque.x = pid(fly.rate_sp.x - (double)at->xyz[0], (double)at->xyz_derivative[0], &integral->x, ROLL, dt_s);
        torque.y = pid(fly.rate_sp.y - (double)at->xyz[1], (double)at->xyz_derivative[1], &integral->y, PITCH, dt_s);
        torque.z = pid(fly.rate_sp.z - (double)at->xyz[2], (double)at->xyz_derivative[2], &integral->z, YAW, dt_s);
    }
    vehicle_torque_setpoint_s turn = {.timestamp = now_us, .timestamp_sample = at->timestamp_sample};
    turn.xyz[0] = (float)torque.x;
    turn.xyz[1] = (float)torque.y;
    turn.xyz[2] = (float)torque.z;
    publish(TOPIC_vehicle_torque_setpoint, &turn);
    vehicle_thrust_setpoint_s push = {.timestamp = now_us, .timestamp_sample = at->timestamp_sample};
    push.xyz[2] = (float)-fly.thrust;
    publish(TOPIC_vehicle_thrust_setpoint, &push);
}
