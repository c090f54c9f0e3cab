/* Requested misbehaviour, as text: "key[=value][@n]", comma separated; @n: from the n-th call or step on.
 *
 *   abi_version=2              sizes=0/0/40               hash.TOPIC=0x1234          size.TOPIC=64
 *   code.FUNCTION=-3@2         the function, without its prefix, returns the code
 *   null_handle                create returns NULL
 *   missing.PARAMETER          the parameter is unknown
 *   fields                     topics have field strings
 *   motors=nan@500             command of all motors (nan, inf, 1.5, -0.1)
 *   servos=0.25                not a misbehaviour: command of all servos, which have no other
 *   silent.TOPIC@10            messages that the modules publish on the topic are lost
 *   sleep_us=20000@500         each step takes longer
 *   print=100000@1             each step prints this many characters
 *   signal=11@500              the process gets the signal in that step
 *   signal_at_load=11          the same when its version is queried
 *   signal_at_create=11        the same in create, after it has printed
 *   signal_at_exit=11          the same when the process exits
 *   gimbal                     not a misbehaviour: the navigator also commands a gimbal, after its other commands
 *   expect.TOPIC=100000        not a misbehaviour: the period at which the host publishes [us]; 0 means never
 *   strict                     not a misbehaviour: a step after a violation returns -3
 *   unchecked                  not a misbehaviour: nothing is checked, for benchmarks
 *
 * Passed to px4_double_misbehave, or in the environment variable PX4_DOUBLE_MISBEHAVE.
 */
#include <stdlib.h>

#include "double.h"

enum { MAX_TOLD = 32, MAX_KEY = 64 };

typedef struct {
    char key[MAX_KEY];
    char value[MAX_KEY];
    long from;  /* first call or step, from 1 */
    long calls; /* number of calls of the function */
} Told;

static Told told[MAX_TOLD];
static int n_told;
static long step;
static bool is_environment_read;
static char error_text[2 * MAX_KEY];

static const char *const ALONE[] = {"abi_version", "sizes", "null_handle", "fields", "motors",   "servos",
                                    "sleep_us",    "print", "signal",      "strict", "unchecked", "gimbal",
                                    "signal_at_load", "signal_at_create", "signal_at_exit"};
static const char *const FUNCTIONS[] = {
    "load_mission_qgc_wpl", "step_uorb",            "param_set_i32",          "param_set_f32",
    "param_get_i32",        "param_get_f32",        "param_notify",           "param_preinit_set_i32",
    "param_preinit_set_f32", "control_alloc_update_params", "orb_topic_metadata", "orb_create_publisher",
    "orb_create_publisher_ex", "orb_queue_publish", "orb_publisher_instance", "orb_create_subscriber",
    "orb_check",            "orb_copy",             "orb_unsubscribe"};

static bool is_in(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static bool is_topic(const char *name) {
    for (int i = 0; i < N_TOPICS; i++)
        if (strcmp(name, TOPICS[i].name) == 0) return true;
    return false;
}

static bool is_param(const char *name) {
    for (int i = 0; i < N_PARAMS; i++)
        if (strcmp(name, PARAMS[i].name) == 0) return true;
    return false;
}

static bool is_key(const char *key) {
    if (is_in(key, ALONE, sizeof ALONE / sizeof *ALONE)) return true;
    const char *dot = strchr(key, '.');
    if (dot == NULL) return false;
    size_t n = (size_t)(dot - key);
    if (n == 4 && strncmp(key, "code", n) == 0) return is_in(dot + 1, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
    if (n == 7 && strncmp(key, "missing", n) == 0) return is_param(dot + 1);
    bool is_of_topic = (n == 4 && strncmp(key, "hash", n) == 0) || (n == 4 && strncmp(key, "size", n) == 0) ||
                       (n == 6 && strncmp(key, "silent", n) == 0) || (n == 6 && strncmp(key, "expect", n) == 0);
    return is_of_topic && is_topic(dot + 1);
}

static bool add(const char *text, size_t length) {
    char item[2 * MAX_KEY] = {0};
    if (length >= sizeof item || n_told == MAX_TOLD) return false;
    memcpy(item, text, length);
    Told *one = &told[n_told];
    *one = (Told){.from = 1};
    char *at = strchr(item, '@');
    if (at != NULL) {
        *at = 0;
        one->from = strtol(at + 1, NULL, 10);
    }
    char *equals = strchr(item, '=');
    if (equals != NULL) {
        *equals = 0;
        snprintf(one->value, MAX_KEY, "%s", equals + 1);
    }
    snprintf(one->key, MAX_KEY, "%s", item);
    if (!is_key(one->key) || one->from < 1) return false;
    n_told++;
    return true;
}

/* Replaces the previous options. Returns 0, or -1 if an option is invalid. */
EXPORT int px4_double_misbehave(const char *text) {
    is_environment_read = true;
    n_told = 0;
    error_text[0] = 0;
    while (text != NULL && *text != 0) {
        size_t length = strcspn(text, ",");
        if (length > 0 && !add(text, length)) {
            snprintf(error_text, sizeof error_text, "%.*s", (int)length, text);
            return -1;
        }
        text += length;
        if (*text == ',') text++;
    }
    return 0;
}

static Told *find(const char *key) {
    if (!is_environment_read) px4_double_misbehave(getenv("PX4_DOUBLE_MISBEHAVE"));
    for (int i = 0; i < n_told; i++)
        if (strcmp(told[i].key, key) == 0) return &told[i];
    return NULL;
}

const char *told_error(void) {
    find("");
    return error_text[0] != 0 ? error_text : NULL;
}

bool is_told(const char *key) { return find(key) != NULL; }

double told_number(const char *key, double otherwise) {
    Told *one = find(key);
    if (one == NULL) return otherwise;
    return strncmp(one->value, "0x", 2) == 0 ? (double)strtoul(one->value, NULL, 16) : strtod(one->value, NULL);
}

void count_steps_anew(void) { step = 0; }

void count_step(void) { step++; }

bool is_told_now(const char *key) {
    if (n_told == 0 && is_environment_read) return false;
    Told *one = find(key);
    return one != NULL && step >= one->from;
}

bool is_topic_told_now(const char *what, int topic) {
    if (n_told == 0 && is_environment_read) return false;
    char key[MAX_KEY];
    snprintf(key, sizeof key, "%s.%s", what, TOPICS[topic].name);
    return is_told_now(key);
}

double told_of_topic(const char *what, int topic, double otherwise) {
    char key[MAX_KEY];
    snprintf(key, sizeof key, "%s.%s", what, TOPICS[topic].name);
    return told_number(key, otherwise);
}

int told_code(const char *function) {
    if (n_told == 0 && is_environment_read) return 0;
    char key[MAX_KEY];
    snprintf(key, sizeof key, "code.%s", function);
    Told *one = find(key);
    if (one == NULL || ++one->calls < one->from) return 0;
    return (int)strtol(one->value, NULL, 10);
}

bool told_sizes(uint32_t sizes[3]) {
    Told *one = find("sizes");
    return one != NULL && sscanf(one->value, "%u/%u/%u", &sizes[0], &sizes[1], &sizes[2]) == 3;
}
