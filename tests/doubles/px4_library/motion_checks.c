/* Checks over time: the inputs must move like a vehicle, with down positive and rates in body axes.
 *
 * Over time windows, the integrated velocity is compared with the change of position, acceleration with the change of
 * velocity, and angular velocity with the change of attitude. The tolerances allow at least five standard deviations of
 * the difference for a noisy estimate (0.02 m, 0.05 m/s, 0.01 rad); a wrong sign or axis exceeds them by far as soon as
 * the vehicle moves.
 */
#include "double.h"

enum { POSITION_WINDOW_US = 1000000, ATTITUDE_WINDOW_US = 300000, REST_US = 2000000, EASE_US = 500000 };
static const double MAX_POSITION_ERROR_M = 0.3;
static const double MAX_VELOCITY_ERROR_M_S = 1.0; /* a touchdown is sampled coarsely */
static const double MAX_ATTITUDE_ERROR_RAD = 0.1;
static const double MAX_RATE_RAD_S = 35.0; /* range of a gyroscope */

typedef struct {
    uint64_t since_us, last_us;
    Vector pos, vel, acc;        /* at the last message */
    Vector pos_start, vel_start; /* at the start of the window */
    Vector vel_sum, acc_sum;
    bool has_acc;
    uint8_t resets[4];
} PositionWindow;

typedef struct {
    uint64_t since_us, last_us;
    Quaternion predicted;
    Vector omega;
    uint8_t resets;
} AttitudeWindow;

static struct {
    PositionWindow position;
    AttitudeWindow attitude;
    uint64_t at_rest_since_us; /* not landed, but not moving either */
    uint64_t at_ease_since_us; /* landed and disarmed */
    bool is_only_manual;       /* armed on the ground, and in no other mode since */
} motion;

void motion_checks_start(void) { memset(&motion, 0, sizeof motion); }

/* a + times b */
static Vector plus(Vector a, Vector b, double times) {
    return (Vector){a.x + times * b.x, a.y + times * b.y, a.z + times * b.z};
}

static double distance(Vector a, Vector b) {
    return sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z));
}

/* -- position, velocity, acceleration -- */

static void compare_position(const PositionWindow *w) {
    Vector moved = plus(w->pos_start, w->vel_sum, 1.0), sped = plus(w->vel_start, w->acc_sum, 1.0);
    if (distance(moved, w->pos) > MAX_POSITION_ERROR_M)
        violation("velocity", "over a second it leads to x, y, z = %.2f, %.2f, %.2f; they are %.2f, %.2f, %.2f",
                  moved.x, moved.y, moved.z, w->pos.x, w->pos.y, w->pos.z);
    if (w->has_acc && distance(sped, w->vel) > MAX_VELOCITY_ERROR_M_S)
        violation("acceleration", "over a second it leads to vx, vy, vz = %.2f, %.2f, %.2f; they are %.2f, %.2f, %.2f",
                  sped.x, sped.y, sped.z, w->vel.x, w->vel.y, w->vel.z);
}

static void watch_position(const vehicle_local_position_s *at) {
    PositionWindow *w = &motion.position;
    Vector pos = {(double)at->x, (double)at->y, (double)at->z}, vel = {(double)at->vx, (double)at->vy, (double)at->vz};
    Vector acc = {(double)at->ax, (double)at->ay, (double)at->az};
    if (!at->xy_valid || !at->z_valid || !at->v_xy_valid || !at->v_z_valid) {
        w->since_us = 0; /* invalid, so there is nothing to compare; checks.c reports it */
        return;
    }
    uint8_t resets[4] = {at->xy_reset_counter, at->z_reset_counter, at->vxy_reset_counter, at->vz_reset_counter};
    bool is_whole = w->since_us > 0 && at->timestamp > w->last_us && memcmp(resets, w->resets, sizeof resets) == 0;
    if (is_whole) {
        double half_s = (double)(at->timestamp - w->last_us) * 0.5e-6;
        w->vel_sum = plus(plus(w->vel_sum, vel, half_s), w->vel, half_s);
        w->acc_sum = plus(plus(w->acc_sum, acc, half_s), w->acc, half_s);
    }
    w->has_acc = w->has_acc || acc.x != 0.0 || acc.y != 0.0 || acc.z != 0.0;
    w->pos = pos;
    w->vel = vel;
    w->acc = acc;
    w->last_us = at->timestamp;
    bool is_over = is_whole && at->timestamp - w->since_us >= POSITION_WINDOW_US;
    if (is_over) compare_position(w);
    if (is_over || !is_whole) {
        w->since_us = at->timestamp;
        w->pos_start = pos;
        w->vel_start = vel;
        w->vel_sum = w->acc_sum = (Vector){0.0, 0.0, 0.0};
        w->has_acc = false;
        memcpy(w->resets, resets, sizeof resets);
    }
}

/* -- attitude and angular velocity -- */

static Quaternion turned(Quaternion q, Vector omega, double dt_s) {
    double rate = sqrt(omega.x * omega.x + omega.y * omega.y + omega.z * omega.z), half = 0.5 * rate * dt_s;
    double c = cos(half), s = rate > 0.0 ? sin(half) / rate : 0.0;
    double x = s * omega.x, y = s * omega.y, z = s * omega.z;
    return (Quaternion){q.w * c - q.x * x - q.y * y - q.z * z, q.w * x + q.x * c + q.y * z - q.z * y,
                        q.w * y - q.x * z + q.y * c + q.z * x, q.w * z + q.x * y - q.y * x + q.z * c};
}

static void watch_attitude(const vehicle_attitude_s *attitude, const vehicle_angular_velocity_s *rates) {
    AttitudeWindow *w = &motion.attitude;
    Quaternion q = {(double)attitude->q[0], (double)attitude->q[1], (double)attitude->q[2], (double)attitude->q[3]};
    Vector omega = {(double)rates->xyz[0], (double)rates->xyz[1], (double)rates->xyz[2]};
    uint64_t now_us = attitude->timestamp;
    double rate = distance(omega, (Vector){0.0, 0.0, 0.0});
    if (rate > MAX_RATE_RAD_S) violation("rates", "the vehicle turns at %g rad/s", rate);
    bool is_whole = w->since_us > 0 && now_us > w->last_us && w->resets == attitude->quat_reset_counter;
    if (is_whole) {
        Vector mean = plus(plus((Vector){0.0, 0.0, 0.0}, omega, 0.5), w->omega, 0.5);
        w->predicted = turned(w->predicted, mean, (double)(now_us - w->last_us) * 1e-6);
    }
    w->omega = omega;
    w->last_us = now_us;
    bool is_over = is_whole && now_us - w->since_us >= ATTITUDE_WINDOW_US;
    if (is_over) {
        Quaternion p = w->predicted;
        double cosine = fabs(p.w * q.w + p.x * q.x + p.y * q.y + p.z * q.z), error = 2.0 * acos(fmin(cosine, 1.0));
        if (error > MAX_ATTITUDE_ERROR_RAD)
            violation("rates", "in 0.3 s they lead to an attitude that is %.2f rad from the one given", error);
    }
    if (is_over || !is_whole) {
        w->since_us = now_us;
        w->predicted = q;
        w->resets = attitude->quat_reset_counter;
    }
}

/* -- the ground -- */

/* In manual mode the controllers follow the setpoints of the previous flight, so a host must not apply the motors. */
static void check_manual(bool is_armed, bool is_landed, double height) {
    const vehicle_status_s *status = latest(TOPIC_vehicle_status, 0);
    if (!is_armed) motion.is_only_manual = is_landed;
    if (status == NULL || status->nav_state != MANUAL) motion.is_only_manual = false;
    if (motion.is_only_manual && height > 0.5) {
        violation("manual", "armed in manual mode, the vehicle has left the ground");
        motion.is_only_manual = false;
    }
}

static void check_ground(const vehicle_local_position_s *at, const vehicle_attitude_s *attitude, uint64_t now_us) {
    const vehicle_land_detected_s *land = latest(TOPIC_vehicle_land_detected, 0);
    const home_position_s *home = latest(TOPIC_home_position, 0);
    const actuator_armed_s *armed = latest(TOPIC_actuator_armed, 0);
    if (land == NULL || home == NULL || armed == NULL) return;
    double height = (double)home->z - (double)at->z;
    double speed = distance((Vector){(double)at->vx, (double)at->vy, (double)at->vz}, (Vector){0.0, 0.0, 0.0});
    double x = attitude->q[1], y = attitude->q[2];
    check_manual(armed->armed, land->landed, height);
    if (height < -0.5) violation("ground", "the vehicle is %.2f m below the ground: z points down", -height);
    /* after a touchdown, a delayed estimate may still show motion */
    if (armed->armed || !land->landed) motion.at_ease_since_us = now_us;
    bool is_at_ease = now_us - motion.at_ease_since_us > EASE_US;
    if (land->landed && height > (is_at_ease ? 0.5 : 1.0))
        violation("landed", "landed %.2f m above the ground", height);
    if (land->landed && speed > (is_at_ease ? 0.5 : 1.5)) violation("landed", "landed at %.2f m/s", speed);
    if (land->landed && !armed->armed && 1.0 - 2.0 * (x * x + y * y) < 0.5)
        violation("upright", "at rest on the ground the vehicle's down is not down: q = %.3f, %.3f, %.3f, %.3f",
                  (double)attitude->q[0], x, y, (double)attitude->q[3]);
    bool is_resting = !armed->armed && !land->landed && fabs(height) < 0.3 && speed < 0.3;
    if (!is_resting) motion.at_rest_since_us = now_us;
    if (now_us - motion.at_rest_since_us > REST_US) {
        violation("landed", "not landed, but disarmed and at rest on the ground for 2 s");
        motion.at_rest_since_us = now_us;
    }
}

void check_motion(uint64_t now_us) {
    const vehicle_local_position_s *at = latest(TOPIC_vehicle_local_position, 0);
    const vehicle_attitude_s *attitude = latest(TOPIC_vehicle_attitude, 0);
    const vehicle_angular_velocity_s *rates = latest(TOPIC_vehicle_angular_velocity, 0);
    if (at != NULL && at->timestamp > motion.position.last_us) watch_position(at);
    if (attitude != NULL && rates != NULL && attitude->timestamp > motion.attitude.last_us)
        watch_attitude(attitude, rates);
    if (at != NULL && attitude != NULL) check_ground(at, attitude, now_us);
}
