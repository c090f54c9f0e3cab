/* Checks of the host's messages, one by one and between topics; motion_checks.c has the checks over time.
 *
 * Each violation starts with the name of its check. The checks are PX4's expectations of its host, which replaces
 * commander, estimator and land detector.
 */
#include "double.h"

enum { MAX_AGE_US = 1000000 };
static const double EARTH_RADIUS_M = 6371000.0; /* PX4's */
static const double MAX_MAP_ERROR_M = 0.05;
static const double MAX_HEADING_ERROR_RAD = 1e-3;

static const int INJECTED[] = {TOPIC_battery_status,           TOPIC_vehicle_attitude,   TOPIC_vehicle_local_position,
                               TOPIC_vehicle_global_position,  TOPIC_vehicle_angular_velocity,
                               TOPIC_vehicle_land_detected,    TOPIC_vehicle_status,     TOPIC_vehicle_control_mode,
                               TOPIC_actuator_armed,           TOPIC_home_position,      TOPIC_geofence_status};
enum { N_INJECTED = sizeof INJECTED / sizeof *INJECTED };

static struct {
    bool is_checking, has_time, was_armed, has_reference;
    uint64_t last_us;
    uint64_t stamps[N_TOPICS][MAX_INSTANCES], samples[N_TOPICS][MAX_INSTANCES], published_us[N_TOPICS];
    bool is_published[N_TOPICS];
    double periods_us[N_INJECTED]; /* -1: every step; 0: never */
    double ref_lat, ref_lon, ref_alt;
    uint32_t home_count;
} checks;

void checks_start(void) {
    memset(&checks, 0, sizeof checks);
    checks.is_checking = !is_told("unchecked");
    for (int i = 0; i < N_INJECTED; i++) checks.periods_us[i] = told_of_topic("expect", INJECTED[i], -1.0);
    motion_checks_start();
}

void check_time(uint64_t now_us) {
    if (checks.has_time && now_us <= checks.last_us)
        violation("time", "a step at this time after one at %llu us", (unsigned long long)checks.last_us);
    checks.has_time = true;
    checks.last_us = now_us;
}

/* -- any message -- */

/* Whether a float may be NaN for unknown, as PX4's modules write it. */
static bool may_be_nan(int topic, const char *field) {
    if (topic == TOPIC_battery_status)
        return strcmp(field, "voltage_v") != 0 && strcmp(field, "current_a") != 0 && strcmp(field, "remaining") != 0;
    if (topic == TOPIC_vehicle_local_position)
        return strncmp(field, "dist_bottom", 11) == 0 || strncmp(field, "hagl_", 5) == 0 ||
               strcmp(field, "vxy_max") == 0 || strcmp(field, "vz_max") == 0;
    if (topic == TOPIC_vehicle_global_position) return strcmp(field, "terrain_alt") == 0;
    return false;
}

static void check_number(int topic, const Field *field, double value) {
    if (isfinite(value) || (isnan(value) && may_be_nan(topic, field->name))) return;
    violation("finite", "%s.%s is %g", TOPICS[topic].name, field->name, value);
}

static void check_fields(int topic, const uint8_t *message) {
    for (int i = 0; i < TOPICS[topic].n_fields; i++) {
        const Field *field = &TOPICS[topic].fields[i];
        const uint8_t *at = message + field->offset;
        for (int k = 0; k < field->count; k++) {
            if (field->kind == 'f') {
                float value;
                memcpy(&value, at + 4 * k, 4);
                check_number(topic, field, (double)value);
            } else if (field->kind == 'd') {
                double value;
                memcpy(&value, at + 8 * k, 8);
                check_number(topic, field, value);
            } else if (field->kind == 'b' && at[k] > 1) {
                violation("bool", "%s.%s is the byte %d", TOPICS[topic].name, field->name, at[k]);
            }
        }
    }
}

static uint64_t sample_of(int topic, const void *message) {
    if (topic == TOPIC_vehicle_attitude) return ((const vehicle_attitude_s *)message)->timestamp_sample;
    if (topic == TOPIC_vehicle_local_position) return ((const vehicle_local_position_s *)message)->timestamp_sample;
    return ((const vehicle_angular_velocity_s *)message)->timestamp_sample;
}

static void check_stamps(int topic, int instance, const void *message, uint64_t now_us) {
    uint64_t stamp;
    memcpy(&stamp, message, sizeof stamp); /* the first field of every message */
    uint64_t *last = &checks.stamps[topic][instance];
    bool needs_one =
        topic == TOPIC_home_position || topic == TOPIC_geofence_status || topic == TOPIC_vehicle_global_position;
    const char *name = TOPICS[topic].name;
    unsigned long long shown = stamp, shown_last = *last;
    if (stamp > (now_us > 0 ? now_us : 1)) violation("timestamp", "%s.timestamp = %llu is in the future", name, shown);
    if (stamp + MAX_AGE_US < now_us) violation("timestamp", "%s.timestamp = %llu is old", name, shown);
    if (stamp == 0 && (needs_one || now_us > 0)) violation("timestamp", "%s.timestamp is 0", name);
    if (stamp <= *last && *last > 0)
        violation("timestamp", "%s.timestamp = %llu does not rise from %llu", name, shown, shown_last);
    *last = stamp;
    if (topic != TOPIC_vehicle_attitude && topic != TOPIC_vehicle_local_position &&
        topic != TOPIC_vehicle_angular_velocity)
        return;
    /* PX4 computes its time steps from these */
    uint64_t sample = sample_of(topic, message), *last_sample = &checks.samples[topic][instance];
    if (sample > stamp) violation("timestamp", "%s.timestamp_sample is after its timestamp", name);
    if (sample <= *last_sample && *last_sample > 1) violation("timestamp", "%s.timestamp_sample does not rise", name);
    *last_sample = sample;
}

/* -- each topic -- */

static void check_battery(const battery_status_s *battery) {
    double volts = battery->voltage_v, left = battery->remaining;
    if (battery->connected && !(volts > 1.0 && volts < 100.0))
        violation("battery", "voltage_v = %g of a connected one", volts);
    if (!(left >= 0.0 && left <= 1.0)) violation("battery", "remaining = %g is not from 0 to 1", left);
    if (fabs((double)battery->current_a) > 1000.0) violation("battery", "current_a = %g", (double)battery->current_a);
    if (battery->warning > 4) violation("battery", "warning = %d is unknown", battery->warning);
}

static void check_attitude(const vehicle_attitude_s *attitude) {
    double squares = 0.0;
    for (int i = 0; i < 4; i++) squares += (double)attitude->q[i] * (double)attitude->q[i];
    if (!(fabs(squares - 1.0) < 1e-4)) violation("quaternion", "vehicle_attitude.q has the norm %g", sqrt(squares));
}

static void check_local(const vehicle_local_position_s *at) {
    if (!at->xy_valid || !at->z_valid || !at->v_xy_valid || !at->v_z_valid)
        violation("valid", "xy_valid, z_valid, v_xy_valid, v_z_valid = %d, %d, %d, %d; all must be true",
                  at->xy_valid, at->z_valid, at->v_xy_valid, at->v_z_valid);
    if (!at->xy_global || !at->z_global || !at->heading_good_for_control)
        violation("valid", "xy_global, z_global, heading_good_for_control = %d, %d, %d; all must be true",
                  at->xy_global, at->z_global, at->heading_good_for_control);
    const float limits[] = {at->vxy_max, at->vz_max, at->hagl_min, at->hagl_max_z, at->hagl_max_xy};
    static const char *const NAMES[] = {"vxy_max", "vz_max", "hagl_min", "hagl_max_z", "hagl_max_xy"};
    for (int i = 0; i < 5; i++)
        if (!isnan(limits[i])) violation("limits", "%s = %g; it must be NaN", NAMES[i], (double)limits[i]);
    if (fabs((double)at->heading) > M_PI + 1e-5) violation("heading", "heading = %g is beyond pi", (double)at->heading);
    double alt = (double)at->ref_alt;
    bool is_as_before = at->ref_lat == checks.ref_lat && at->ref_lon == checks.ref_lon && alt == checks.ref_alt;
    if (checks.has_reference && !is_as_before) violation("reference", "ref_lat, ref_lon, ref_alt changed in flight");
    checks.has_reference = true;
    checks.ref_lat = at->ref_lat;
    checks.ref_lon = at->ref_lon;
    checks.ref_alt = alt;
}

static void check_global(const vehicle_global_position_s *at) {
    if (fabs(at->lat) > 90.0 || fabs(at->lon) > 180.0)
        violation("global", "lat, lon = %g, %g degrees", at->lat, at->lon);
    if (!at->lat_lon_valid || !at->alt_valid) violation("valid", "lat_lon_valid and alt_valid must be true");
}

static bool is_known_mode(int nav_state) {
    return nav_state == MANUAL || nav_state == MISSION || nav_state == LOITER || nav_state == RETURN ||
           nav_state == DESCEND || nav_state == LAND;
}

static void check_status(const vehicle_status_s *status) {
    if (status->arming_state != 1 && status->arming_state != 2)
        violation("status", "arming_state = %d; it must be 1 or 2", status->arming_state);
    if (!is_known_mode(status->nav_state)) violation("status", "nav_state = %d is not a host's", status->nav_state);
    if (status->vehicle_type != 1) violation("status", "vehicle_type = %d; it must be 1", status->vehicle_type);
}

static void check_control_mode(const vehicle_control_mode_s *mode) {
    if (mode->flag_control_manual_enabled == mode->flag_control_auto_enabled)
        violation("control_mode", "manual = auto = %d", mode->flag_control_auto_enabled);
    if (mode->flag_multicopter_position_control_enabled != mode->flag_control_auto_enabled)
        violation("control_mode", "multicopter_position_control must be as auto");
    if (!mode->flag_control_position_enabled || !mode->flag_control_velocity_enabled ||
        !mode->flag_control_altitude_enabled || !mode->flag_control_climb_rate_enabled ||
        !mode->flag_control_attitude_enabled || !mode->flag_control_rates_enabled ||
        !mode->flag_control_allocation_enabled)
        violation("control_mode", "position, velocity, altitude, climb rate, attitude, rates, allocation must be true");
    if (mode->flag_control_termination_enabled || mode->flag_control_offboard_enabled)
        violation("control_mode", "termination and offboard must be false");
}

static void check_land(const vehicle_land_detected_s *land) {
    if (land->landed && land->freefall) violation("landed", "landed and in free fall");
}

static void check_home(const home_position_s *home) {
    if (home->update_count < checks.home_count)
        violation("home", "update_count falls from %u to %u", checks.home_count, home->update_count);
    checks.home_count = home->update_count;
    if (!home->valid_alt || !home->valid_hpos) violation("home", "valid_alt and valid_hpos must be true");
    if (home->update_count == 0) violation("home", "update_count is 0");
}

void check_message(int topic, int instance, const void *message, uint64_t now_us) {
    if (!checks.is_checking) return;
    checks.published_us[topic] = now_us;
    checks.is_published[topic] = true;
    check_fields(topic, message);
    check_stamps(topic, instance, message, now_us);
    bool is_injected = false;
    for (int i = 0; i < N_INJECTED; i++) is_injected = is_injected || INJECTED[i] == topic;
    if (is_injected && instance > 0 && topic != TOPIC_battery_status)
        violation("instance", "%s has instance %d, which no module reads", TOPICS[topic].name, instance);
    if (topic == TOPIC_battery_status) check_battery(message);
    if (topic == TOPIC_vehicle_attitude) check_attitude(message);
    if (topic == TOPIC_vehicle_local_position) check_local(message);
    if (topic == TOPIC_vehicle_global_position) check_global(message);
    if (topic == TOPIC_vehicle_status) check_status(message);
    if (topic == TOPIC_vehicle_control_mode) check_control_mode(message);
    if (topic == TOPIC_vehicle_land_detected) check_land(message);
    if (topic == TOPIC_home_position) check_home(message);
    if (topic == TOPIC_geofence_status && ((const geofence_status_s *)message)->status != 1)
        violation("geofence", "status = %d; it must be 1, ready", ((const geofence_status_s *)message)->status);
}

/* -- between topics -- */

static void check_arrivals(uint64_t now_us) {
    for (int i = 0; i < N_INJECTED; i++) {
        int topic = INJECTED[i];
        double period_us = checks.periods_us[i];
        if (period_us == 0.0) continue;
        if (!checks.is_published[topic]) {
            if ((double)now_us >= period_us) violation("missing", "%s was never published", TOPICS[topic].name);
        } else if ((double)(now_us - checks.published_us[topic]) >= (period_us < 0.0 ? 1.0 : period_us)) {
            violation("missing", "%s was last published at %llu us", TOPICS[topic].name,
                      (unsigned long long)checks.published_us[topic]);
        }
    }
}

/* Returns the latest message of a topic if it was published in this step, else NULL. */
static const void *fresh(int topic, uint64_t now_us) {
    return checks.is_published[topic] && checks.published_us[topic] == now_us ? latest(topic, 0) : NULL;
}

static void check_allocation_set(void) {
    int count = param_int(PARAM_CA_ROTOR_COUNT);
    if (count <= 0) {
        violation("allocation", "armed with CA_ROTOR_COUNT = %d", count);
        return;
    }
    if (ca_params_are_pending()) violation("allocation", "armed, but the allocator has not read the CA_ parameters");
    if (highest_rotor_set() != count - 1)
        violation("allocation", "CA_ROTOR_COUNT = %d, and the last rotor set is %d", count, highest_rotor_set());
    if (param_int(PARAM_CA_AIRFRAME) != 0)
        violation("allocation", "CA_AIRFRAME = %d; it must be 0", param_int(PARAM_CA_AIRFRAME));
    if (allocator_rank() < 4)
        violation("allocation", "the rotors control %d of roll, pitch, yaw, thrust", allocator_rank());
}

static void check_armed_and_mode(uint64_t now_us) {
    const vehicle_status_s *status = fresh(TOPIC_vehicle_status, now_us);
    const vehicle_control_mode_s *mode = fresh(TOPIC_vehicle_control_mode, now_us);
    const actuator_armed_s *armed = fresh(TOPIC_actuator_armed, now_us);
    if (status == NULL || mode == NULL || armed == NULL) return;
    bool is_armed = status->arming_state == 2;
    if (is_armed != (mode->flag_armed == 1) || is_armed != (armed->armed == 1))
        violation("armed", "vehicle_status says %d, vehicle_control_mode %d, actuator_armed %d", is_armed,
                  mode->flag_armed, armed->armed);
    if ((status->nav_state != MANUAL) != (mode->flag_control_auto_enabled == 1))
        violation("mode", "nav_state = %d and auto = %d", status->nav_state, mode->flag_control_auto_enabled);
    if (is_armed && !checks.was_armed) check_allocation_set();
    checks.was_armed = is_armed;
}

static void check_heading(uint64_t now_us) {
    const vehicle_attitude_s *attitude = fresh(TOPIC_vehicle_attitude, now_us);
    const vehicle_local_position_s *at = fresh(TOPIC_vehicle_local_position, now_us);
    if (attitude == NULL || at == NULL) return;
    double w = attitude->q[0], x = attitude->q[1], y = attitude->q[2], z = attitude->q[3];
    double sin_pitch = 2.0 * (w * y - x * z), yaw = atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z));
    double error = remainder(yaw - (double)at->heading, 2.0 * M_PI);
    if (fabs(sin_pitch) < 0.98 && fabs(error) > MAX_HEADING_ERROR_RAD)
        violation("heading", "heading = %g rad, and the attitude's yaw is %g", (double)at->heading, yaw);
}

/* Computes north and east of a point relative to the reference (azimuthal equidistant projection, on a sphere). */
static void project(double lat, double lon, double *north, double *east) {
    double f = checks.ref_lat * M_PI / 180.0, g = lat * M_PI / 180.0, d = (lon - checks.ref_lon) * M_PI / 180.0;
    double n = sin(g - f) + 2.0 * sin(f) * cos(g) * sin(0.5 * d) * sin(0.5 * d), e = cos(g) * sin(d);
    double s = hypot(n, e), scale = s > 0.0 ? asin(fmin(s, 1.0)) / s : 1.0;
    *north = EARTH_RADIUS_M * scale * n;
    *east = EARTH_RADIUS_M * scale * e;
}

static void check_place(const char *check, double lat, double lon, double alt, double x, double y, double z) {
    double north, east, down = checks.ref_alt - alt;
    project(lat, lon, &north, &east);
    if (hypot(north - x, east - y) > MAX_MAP_ERROR_M + 1e-5 * hypot(x, y) || fabs(down - z) > MAX_MAP_ERROR_M)
        violation(check, "lat, lon, alt are north, east, down = %.2f, %.2f, %.2f; x, y, z are %.2f, %.2f, %.2f", north,
                  east, down, x, y, z);
}

static void check_places(uint64_t now_us) {
    const vehicle_local_position_s *at = fresh(TOPIC_vehicle_local_position, now_us);
    const vehicle_global_position_s *global = fresh(TOPIC_vehicle_global_position, now_us);
    const home_position_s *home = fresh(TOPIC_home_position, now_us);
    if (at == NULL) return;
    if (global != NULL)
        check_place("global", global->lat, global->lon, (double)global->alt, (double)at->x, (double)at->y,
                    (double)at->z);
    if (home != NULL && home->valid_lpos)
        check_place("home", home->lat, home->lon, (double)home->alt, (double)home->x, (double)home->y,
                    (double)home->z);
}

void check_step(uint64_t now_us) {
    if (!checks.is_checking) return;
    check_arrivals(now_us);
    check_armed_and_mode(now_us);
    check_heading(now_us);
    check_places(now_us);
    check_motion(now_us);
}
