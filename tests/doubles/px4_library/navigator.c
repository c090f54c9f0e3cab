/* The navigator: target from the mission or for the return; publishes mission_result and position_setpoint_triplet.
 *
 * As in the real library, the first mission_result is published when a mission is first requested, and reports it as
 * finished. The mission starts only after the navigator has run once in another mode, one run after mission mode is
 * requested again. It is finished when a landing is detected, after its last waypoint, or at RETURN_TO_LAUNCH, which is a
 * command to the commander: without one, the vehicle sinks where it is. If the vehicle is still armed and in mission mode
 * at the next run, the mission restarts: on the ground with its first item, in the air with its last. An interrupted
 * mission continues with its current item, also after a landing.
 */
#include "double.h"

enum { WAYPOINT = 16, LOITER_UNLIMITED = 17, LOITER_TIME = 19, RETURN_TO_LAUNCH = 20, LAND_ITEM = 21, TAKEOFF = 22 };
enum { TYPE_POSITION = 0, TYPE_LOITER = 2, TYPE_TAKEOFF = 3, TYPE_LAND = 4, TYPE_IDLE = 5 };
enum { MULTICOPTER_ACCEPTANCE_M = 2, TOO_MANY_RUNS = 20 };
enum { DO_GIMBAL_MANAGER_CONFIGURE = 1001, DO_TRIGGER_CONTROL = 2003 };
static const double EARTH_RADIUS_M = 6371000.0; /* PX4's */

typedef enum { TO_ITEM, TO_LANDING_PLACE, CLIMB, GO_HOME, SINK, TOUCH_DOWN } Work;

static struct {
    int mode;
    bool is_valid, is_refused, is_finished, is_held, is_begun, has_begun_before;
    int runs_to_begin, runs_held;
    int current, reached;
    Work work;
    bool is_there;
    uint64_t there_since_us;
    double return_height_m;
    Target target;
    mission_result_s result;
} nav;

void navigator_start(void) {
    memset(&nav, 0, sizeof nav);
    nav.reached = -1;
}

const Target *navigator_target(void) { return &nav.target; }

static const vehicle_local_position_s *local(void) { return latest(TOPIC_vehicle_local_position, 0); }

static bool is_landed(void) {
    const vehicle_land_detected_s *land = latest(TOPIC_vehicle_land_detected, 0);
    return land != NULL && land->landed;
}

static Vector home(void) {
    const home_position_s *position = latest(TOPIC_home_position, 0);
    return position != NULL ? (Vector){position->x, position->y, position->z} : (Vector){0.0, 0.0, 0.0};
}

/* -- map projection, valid near the reference -- */

static Vector place_of(const Item *item) {
    const vehicle_local_position_s *at = local();
    const home_position_s *from = latest(TOPIC_home_position, 0);
    double north_rad = (item->lat_deg - at->ref_lat) * M_PI / 180.0;
    double east_rad = (item->lon_deg - at->ref_lon) * M_PI / 180.0;
    double alt_m = item->is_relative ? item->alt_m + (double)from->alt : item->alt_m;
    return (Vector){EARTH_RADIUS_M * north_rad, EARTH_RADIUS_M * east_rad * cos(at->ref_lat * M_PI / 180.0),
                    (double)at->ref_alt - alt_m};
}

static position_setpoint_s setpoint_of(const Target *target, uint64_t now_us) {
    const vehicle_local_position_s *at = local();
    position_setpoint_s setpoint = {.timestamp = now_us, .valid = target->manoeuvre != NOWHERE};
    static const uint8_t TYPES[] = {TYPE_IDLE, TYPE_TAKEOFF, TYPE_POSITION, TYPE_LAND};
    setpoint.type = TYPES[target->manoeuvre];
    setpoint.lat = at->ref_lat + target->pos_ned.x / EARTH_RADIUS_M * 180.0 / M_PI;
    setpoint.lon = at->ref_lon + target->pos_ned.y / EARTH_RADIUS_M / cos(at->ref_lat * M_PI / 180.0) * 180.0 / M_PI;
    setpoint.alt = (float)((double)at->ref_alt - target->pos_ned.z);
    setpoint.yaw = (float)target->yaw_rad;
    setpoint.acceptance_radius = (float)target->radius_m;
    setpoint.cruising_speed = -1.0F;
    return setpoint;
}

static void publish_triplet(const Target *before, uint64_t now_us) {
    position_setpoint_triplet_s triplet = {.timestamp = now_us};
    triplet.previous = setpoint_of(before, now_us);
    triplet.current = setpoint_of(&nav.target, now_us);
    publish(TOPIC_position_setpoint_triplet, &triplet);
}

static void go(Manoeuvre manoeuvre, Vector pos_ned, double yaw_rad, double radius_m, uint64_t now_us) {
    Target before = nav.target;
    nav.target = (Target){manoeuvre, pos_ned, yaw_rad, radius_m};
    nav.is_there = false;
    publish_triplet(&before, now_us);
}

static void command(uint32_t number, uint64_t now_us) {
    vehicle_command_s message = {.timestamp = now_us, .command = number, .target_system = 1, .source_system = 1};
    publish(TOPIC_vehicle_command, &message);
}

/* -- arrival -- */

static double distance_xy(Vector to) { return hypot(to.x - (double)local()->x, to.y - (double)local()->y); }

static bool is_reached(uint64_t now_us, double hold_s) {
    const Target *target = &nav.target;
    bool is_near = fabs(target->pos_ned.z - (double)local()->z) <= param_float(PARAM_NAV_MC_ALT_RAD);
    if (target->manoeuvre != TAKE_OFF_TO) {
        double turn = remainder(target->yaw_rad - (double)local()->heading, 2.0 * M_PI);
        is_near = is_near && distance_xy(target->pos_ned) <= target->radius_m &&
                  !(fabs(turn) > param_float(PARAM_MIS_YAW_ERR) * M_PI / 180.0); /* no error without a heading */
    }
    if (is_near && !nav.is_there) {
        nav.is_there = true;
        nav.there_since_us = now_us;
    }
    return nav.is_there && (double)(now_us - nav.there_since_us) >= hold_s * 1e6;
}

/* -- the mission -- */

static bool is_place(const Item *item) {
    return item->command <= LOITER_TIME || item->command == LAND_ITEM || item->command == TAKEOFF;
}

static void publish_result(uint64_t now_us) {
    mission_result_s result = {.timestamp = nav.result.timestamp,
                               .mission_id = 1,
                               .seq_reached = nav.reached,
                               .seq_current = (uint16_t)nav.current,
                               .seq_total = (uint16_t)mission_count(),
                               .valid = nav.is_valid,
                               .finished = nav.is_finished};
    if (memcmp(&result, &nav.result, sizeof result) == 0) return;
    result.timestamp = now_us;
    nav.result = result;
    const home_position_s *from = latest(TOPIC_home_position, 0);
    result.home_position_counter = from != NULL ? from->update_count : 0;
    publish(TOPIC_mission_result, &result);
}

static void begin_return(uint64_t now_us) {
    Vector at = {(double)local()->x, (double)local()->y, (double)local()->z};
    double away = distance_xy(home()), height = param_float(PARAM_RTL_RETURN_ALT);
    if (away <= param_float(PARAM_RTL_MIN_DIST)) {
        double cone = tan((double)param_int(PARAM_RTL_CONE_ANG) * M_PI / 180.0);
        if (cone > 0.0) height = fmin(height, away / cone);
    }
    nav.return_height_m = fmax(height, home().z - at.z);
    nav.work = CLIMB;
    at.z = home().z - nav.return_height_m;
    go(FLY_TO, at, NAN, MULTICOPTER_ACCEPTANCE_M, now_us);
}

static void publish_item(const Item *item, uint64_t now_us) {
    navigator_mission_item_s out = {.timestamp = now_us,
                                    .latitude = (float)item->lat_deg,
                                    .longitude = (float)item->lon_deg,
                                    .altitude = (float)item->alt_m,
                                    .sequence_current = (uint16_t)nav.current,
                                    .nav_cmd = (uint16_t)item->command,
                                    .altitude_is_relative = item->is_relative};
    publish(TOPIC_navigator_mission_item, &out);
}

static void begin_item(uint64_t now_us) {
    while (nav.current < mission_count() && !is_place(mission_item(nav.current)) &&
           mission_item(nav.current)->command != RETURN_TO_LAUNCH)
        nav.current++; /* PX4's loader drops its parameters, so it has no effect */
    if (nav.current >= mission_count()) {
        nav.current = mission_count() - 1;
        nav.is_finished = true;
        say(INFO, "Mission finished, loitering\t");
        return;
    }
    const Item *item = mission_item(nav.current);
    publish_item(item, now_us);
    Vector place = place_of(item);
    nav.work = TO_ITEM;
    if (item->command == RETURN_TO_LAUNCH) {
        command(RETURN_TO_LAUNCH, now_us);
        if (is_told("gimbal")) command(DO_GIMBAL_MANAGER_CONFIGURE, now_us);
        nav.reached = nav.current;
        nav.is_finished = true;
        say(INFO, "Mission finished, loitering\t");
        go(LAND_AT, (Vector){(double)local()->x, (double)local()->y, 0.0}, NAN, 1.0, now_us);
    } else if (item->command == LAND_ITEM) {
        bool is_far = distance_xy(place) > MULTICOPTER_ACCEPTANCE_M;
        nav.work = is_far ? TO_LANDING_PLACE : TOUCH_DOWN;
        if (is_far) place.z = (double)local()->z;
        go(is_far ? FLY_TO : LAND_AT, place, NAN, 1.0, now_us);
    } else if (item->command == TAKEOFF || (is_landed() && nav.target.manoeuvre == NOWHERE)) {
        if (item->command != TAKEOFF) place = (Vector){(double)local()->x, (double)local()->y, place.z};
        go(TAKE_OFF_TO, place, NAN, item->radius_m, now_us);
    } else {
        go(FLY_TO, place, item->yaw_rad, item->radius_m, now_us);
    }
}

static void go_on_returning(uint64_t now_us) {
    Vector above = home();
    double wait_s = nav.work == SINK ? fmax(param_float(PARAM_RTL_LAND_DELAY), 0.0) : 0.0;
    if (nav.work == TOUCH_DOWN || !is_reached(now_us, wait_s)) return;
    if (nav.work == CLIMB) {
        above.z -= nav.return_height_m;
        nav.work = GO_HOME;
        go(FLY_TO, above, NAN, 1.0, now_us);
    } else if (nav.work == GO_HOME) {
        above.z -= fmin(nav.return_height_m, param_float(PARAM_RTL_DESCEND_ALT));
        nav.work = SINK;
        go(FLY_TO, above, NAN, 1.0, now_us);
    } else {
        nav.work = TOUCH_DOWN;
        go(LAND_AT, above, NAN, 1.0, now_us);
    }
}

static void go_on_with_mission(uint64_t now_us) {
    const Item *item = mission_item(nav.current);
    if (nav.work == TOUCH_DOWN) {
        if (is_landed()) {
            nav.is_finished = true;
            nav.reached = nav.current;
        }
    } else if (nav.work == TO_LANDING_PLACE) {
        if (is_reached(now_us, 0.0)) {
            nav.work = TOUCH_DOWN;
            go(LAND_AT, place_of(item), NAN, 1.0, now_us);
        }
    } else if (item->command != LOITER_UNLIMITED && is_reached(now_us, item->hold_s)) {
        if (nav.target.manoeuvre == TAKE_OFF_TO && item->command != TAKEOFF) {
            begin_item(now_us); /* now as a waypoint */
        } else {
            nav.reached = nav.current++;
            begin_item(now_us);
        }
    }
}

/* Returns the number of the first item outside of the geofence, from 1, or 0. */
static int item_outside_fence(void) {
    double radius_m = param_float(PARAM_GF_MAX_HOR_DIST), height_m = param_float(PARAM_GF_MAX_VER_DIST);
    for (int i = 0; i < mission_count(); i++) {
        if (!is_place(mission_item(i))) continue;
        Vector at = place_of(mission_item(i)), from = home();
        bool is_far = radius_m > 0.0 && hypot(at.x - from.x, at.y - from.y) > radius_m;
        if (is_far || (height_m > 0.0 && from.z - at.z > height_m)) return i + 1;
    }
    return 0;
}

static void check_mission(uint64_t now_us) {
    bool is_ready = mission_count() > 0 && latest(TOPIC_home_position, 0) != NULL;
    int outside = is_ready ? item_outside_fence() : 0;
    if (outside > 0) {
        say(CRITICAL, "Geofence violation for waypoint %d\t", outside);
        printf("WARN  [navigator] mission check failed\n"); /* not on the topic */
        nav.is_refused = true;
    }
    nav.is_valid = is_ready && outside == 0;
    nav.is_finished = true;
    nav.is_held = true;
    publish_result(now_us);
}

static void run_mission(uint64_t now_us, bool is_armed) {
    if (!nav.is_valid && !nav.is_refused) check_mission(now_us);
    if (nav.is_held && nav.is_valid && ++nav.runs_held == TOO_MANY_RUNS)
        violation("mission_start", "the mission is valid; set manual mode for a navigator run, then mission mode");
    if (nav.is_held || !is_armed) return;
    if (nav.runs_to_begin > 0) {
        nav.runs_to_begin--;
    } else if (!nav.is_begun || nav.is_finished) {
        if (nav.is_begun) violation("mission_end", "the mission is finished, but the vehicle still armed: it restarts");
        bool resumes = nav.has_begun_before && !(is_landed() && nav.current + 1 == mission_count());
        if (!resumes) {
            nav.current = 0;
            nav.reached = -1;
        }
        nav.is_finished = false;
        nav.is_begun = nav.has_begun_before = true;
        if (is_landed()) nav.target.manoeuvre = NOWHERE;
        begin_item(now_us);
    } else {
        go_on_with_mission(now_us);
    }
    publish_result(now_us);
}

static void change_mode(int mode, uint64_t now_us) {
    Vector here = {(double)local()->x, (double)local()->y, (double)local()->z};
    if (nav.mode == MISSION) command(DO_TRIGGER_CONTROL, now_us); /* stops a camera */
    nav.mode = mode;
    nav.is_begun = nav.is_refused = false;
    nav.runs_to_begin = 1;
    if (mode != MISSION) nav.is_held = false;
    if (mode == RETURN) {
        begin_return(now_us);
    } else if (mode == LAND || mode == DESCEND) {
        nav.work = TOUCH_DOWN;
        go(LAND_AT, here, NAN, 1.0, now_us);
    } else if (mode == LOITER || !is_landed()) {
        go(is_landed() ? NOWHERE : FLY_TO, here, NAN, 1.0, now_us);
    } else {
        go(NOWHERE, here, NAN, 1.0, now_us);
    }
}

void navigator_run(uint64_t now_us) {
    const vehicle_status_s *status = latest(TOPIC_vehicle_status, 0);
    if (status == NULL || local() == NULL) return;
    bool is_armed = status->arming_state == 2;
    if (status->nav_state != nav.mode) change_mode(status->nav_state, now_us);
    if (!is_armed && nav.target.manoeuvre != NOWHERE) go(NOWHERE, nav.target.pos_ned, NAN, 1.0, now_us);
    if (nav.mode == MISSION)
        run_mission(now_us, is_armed);
    else if (nav.mode == RETURN && is_armed)
        go_on_returning(now_us);
}
