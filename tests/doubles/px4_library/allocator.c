/* Control allocation: converts torque and thrust to motor commands with the pseudo-inverse of the effectiveness matrix.
 *
 * A rotor at r with thrust axis a and moment ratio k has the torque  r x a - k a  and the thrust a (PX4's convention),
 * both times CA_ROTORi_CT. The inverse is scaled like PX4's, so that PX4's gains apply: roll and pitch together by
 * their root mean square over half the rotors, yaw by its largest entry, thrust to a mean of 1.
 */
#include "double.h"

enum { AXES = 4, STATUS_US = 5000 };

static struct {
    int n_rotors;
    int rank;
    double mix[MAX_ROTORS][AXES]; /* roll, pitch, yaw, thrust */
    uint64_t status_us;
} allocator;

int allocator_rank(void) { return allocator.rank; }

static double rotor_param(int of_rotor_0, int rotor) {
    const char *name = PARAMS[of_rotor_0].name; /* CA_ROTOR0_XX */
    char wanted[32];
    snprintf(wanted, sizeof wanted, "CA_ROTOR%d%s", rotor, name + 9);
    for (int i = 0; i < N_PARAMS; i++)
        if (strcmp(PARAMS[i].name, wanted) == 0) return param_float(i);
    return 0.0;
}

static void effect_of(int rotor, double effect[AXES]) {
    Vector r = {rotor_param(PARAM_CA_ROTOR0_PX, rotor), rotor_param(PARAM_CA_ROTOR0_PY, rotor),
                rotor_param(PARAM_CA_ROTOR0_PZ, rotor)};
    Vector a = {rotor_param(PARAM_CA_ROTOR0_AX, rotor), rotor_param(PARAM_CA_ROTOR0_AY, rotor),
                rotor_param(PARAM_CA_ROTOR0_AZ, rotor)};
    double ct = rotor_param(PARAM_CA_ROTOR0_CT, rotor), k = rotor_param(PARAM_CA_ROTOR0_KM, rotor);
    double norm = sqrt(a.x * a.x + a.y * a.y + a.z * a.z);
    if (!(norm > 0.0)) norm = 1.0;
    effect[0] = ct * (r.y * a.z - r.z * a.y - k * a.x) / norm;
    effect[1] = ct * (r.z * a.x - r.x * a.z - k * a.y) / norm;
    effect[2] = ct * (r.x * a.y - r.y * a.x - k * a.z) / norm;
    effect[3] = ct * a.z / norm;
}

/* Inverts a symmetric matrix in place by Gaussian elimination; returns its rank. */
static int invert(double m[AXES][AXES]) {
    double inverse[AXES][AXES] = {{0.0}}, largest = 0.0;
    int rank = 0;
    for (int i = 0; i < AXES; i++) {
        inverse[i][i] = 1.0;
        largest = fmax(largest, fabs(m[i][i]));
    }
    for (int i = 0; i < AXES; i++) {
        int pivot = i;
        for (int j = i + 1; j < AXES; j++)
            if (fabs(m[j][i]) > fabs(m[pivot][i])) pivot = j;
        if (!(fabs(m[pivot][i]) > 1e-9 * largest)) continue;
        rank++;
        for (int k = 0; k < AXES; k++) {
            double a = m[i][k], b = inverse[i][k];
            m[i][k] = m[pivot][k];
            inverse[i][k] = inverse[pivot][k];
            m[pivot][k] = a;
            inverse[pivot][k] = b;
        }
        double scale = 1.0 / m[i][i];
        for (int k = 0; k < AXES; k++) {
            m[i][k] *= scale;
            inverse[i][k] *= scale;
        }
        for (int j = 0; j < AXES; j++) {
            double factor = j == i ? 0.0 : m[j][i];
            for (int k = 0; k < AXES; k++) {
                m[j][k] -= factor * m[i][k];
                inverse[j][k] -= factor * inverse[i][k];
            }
        }
    }
    memcpy(m, inverse, sizeof inverse);
    return rank;
}

static double root_mean_square(int axis) {
    double squares = 0.0;
    int used = 0;
    for (int i = 0; i < allocator.n_rotors; i++) {
        squares += allocator.mix[i][axis] * allocator.mix[i][axis];
        used += fabs(allocator.mix[i][axis]) > 1e-3;
    }
    return used > 0 ? sqrt(squares / (0.5 * used)) : 1.0;
}

static void scale_mix(void) {
    double level = fmax(root_mean_square(0), root_mean_square(1)), yaw = 0.0, thrust = 0.0;
    for (int i = 0; i < allocator.n_rotors; i++) {
        yaw = fmax(yaw, allocator.mix[i][2]);
        thrust += fabs(allocator.mix[i][3]) / allocator.n_rotors;
    }
    for (int i = 0; i < allocator.n_rotors; i++) {
        allocator.mix[i][0] /= level;
        allocator.mix[i][1] /= level;
        if (yaw > 0.0) allocator.mix[i][2] /= yaw;
        if (thrust > 0.0) allocator.mix[i][3] /= thrust;
    }
}

/* Reads the geometry, at the start and when the host reports a change. */
void allocator_start(void) {
    memset(&allocator, 0, sizeof allocator);
    int count = param_int(PARAM_CA_ROTOR_COUNT);
    allocator.n_rotors = count < 0 ? 0 : count > MAX_ROTORS ? MAX_ROTORS : count;
    double effects[MAX_ROTORS][AXES], square[AXES][AXES] = {{0.0}};
    for (int i = 0; i < allocator.n_rotors; i++) {
        effect_of(i, effects[i]);
        for (int j = 0; j < AXES; j++)
            for (int k = 0; k < AXES; k++) square[j][k] += effects[i][j] * effects[i][k];
    }
    allocator.rank = invert(square);
    if (allocator.rank < AXES) return;
    for (int i = 0; i < allocator.n_rotors; i++)
        for (int j = 0; j < AXES; j++)
            for (int k = 0; k < AXES; k++) allocator.mix[i][j] += effects[i][k] * square[k][j];
    scale_mix();
}

/* Reduces thrust in favour of roll and pitch; yaw gets the remaining range. */
static void mix(const double wish[AXES], double motors[MAX_ROTORS]) {
    double low = INFINITY, high = -INFINITY, yaw_share = 1.0;
    double level[MAX_ROTORS];
    for (int i = 0; i < allocator.n_rotors; i++) {
        level[i] = allocator.mix[i][0] * wish[0] + allocator.mix[i][1] * wish[1] + allocator.mix[i][3] * wish[3];
        low = fmin(low, level[i]);
        high = fmax(high, level[i]);
    }
    double shift = high > 1.0 ? 1.0 - high : low < 0.0 ? fmin(-low, 1.0 - high) : 0.0;
    for (int i = 0; i < allocator.n_rotors; i++) {
        level[i] = fmin(fmax(level[i] + shift, 0.0), 1.0);
        double turn = allocator.mix[i][2] * wish[2];
        double room = turn > 0.0 ? 1.0 - level[i] : level[i];
        if (fabs(turn) > room) yaw_share = fmin(yaw_share, room / fabs(turn));
    }
    for (int i = 0; i < allocator.n_rotors; i++)
        motors[i] = fmin(fmax(level[i] + yaw_share * allocator.mix[i][2] * wish[2], 0.0), 1.0);
}

/* Reports what the motors could not provide, at most every 5 ms. */
static void publish_status(const double wish[AXES], const double motors[MAX_ROTORS], uint64_t now_us) {
    if (now_us - allocator.status_us < STATUS_US) return;
    allocator.status_us = now_us;
    control_allocator_status_s status = {.timestamp = now_us, .thrust_setpoint_achieved = 1};
    bool is_saturated = false;
    for (int i = 0; i < allocator.n_rotors; i++) {
        status.actuator_saturation[i] = motors[i] >= 1.0 ? 1 : motors[i] <= 0.0 ? -1 : 0;
        is_saturated = is_saturated || status.actuator_saturation[i] != 0;
    }
    for (int j = 0; j < 3; j++) status.unallocated_torque[j] = is_saturated ? (float)wish[j] : 0.0F;
    status.torque_setpoint_achieved = !is_saturated;
    publish(TOPIC_control_allocator_status, &status);
}

void allocator_run(uint64_t now_us) {
    const vehicle_torque_setpoint_s *torque = latest(TOPIC_vehicle_torque_setpoint, 0);
    const vehicle_thrust_setpoint_s *thrust = latest(TOPIC_vehicle_thrust_setpoint, 0);
    if (torque == NULL || thrust == NULL) return;
    double wish[AXES] = {torque->xyz[0], torque->xyz[1], torque->xyz[2], thrust->xyz[2]};
    double motors[MAX_ROTORS] = {0.0};
    if (wish[3] < 0.0) mix(wish, motors); /* without thrust all motors are off */
    bool is_told_motors = is_told_now("motors");
    actuator_motors_s out = {.timestamp = now_us, .timestamp_sample = torque->timestamp_sample};
    for (int i = 0; i < MAX_ROTORS; i++) {
        double motor = is_told_motors ? told_number("motors", 0.0) : motors[i];
        out.control[i] = i < allocator.n_rotors ? (float)motor : NAN;
    }
    publish(TOPIC_actuator_motors, &out);
    actuator_servos_s servos = {.timestamp = now_us, .timestamp_sample = torque->timestamp_sample};
    float servo = (float)told_number("servos", NAN);
    for (int i = 0; i < MAX_SERVOS; i++) servos.control[i] = servo;
    publish(TOPIC_actuator_servos, &servos);
    publish_status(wish, motors, now_us);
}
