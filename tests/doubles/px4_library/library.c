/* Life cycle of the library: version, create, step, destroy. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "double.h"

typedef struct {
    int64_t period_us; /* 0: every step */
    uint64_t last_us;
    void (*run)(uint64_t now_us);
} Module;

static const Config DEFAULTS = {1, 0, 100, 20, 100, 250, 250, 1, 250};
enum { MAX_MODULES = 6 };

static struct {
    bool is_live;
    Config config;
    Module modules[MAX_MODULES];
    int n_modules;
} library;

bool is_live(const void *handle) { return library.is_live && handle == &library; }

EXPORT uint32_t px4_lockstep_abi_version(void) {
    if (is_told("signal_at_load")) raise((int)told_number("signal_at_load", 0));
    return (uint32_t)told_number("abi_version", ABI_VERSION);
}

EXPORT void px4_lockstep_sizes(uint32_t *in, uint32_t *out, uint32_t *cfg) {
    uint32_t sizes[3] = {0, 0, sizeof(Config)};
    told_sizes(sizes);
    if (in != NULL) *in = sizes[0];
    if (out != NULL) *out = sizes[1];
    if (cfg != NULL) *cfg = sizes[2];
}

static void add_module(int32_t rate_hz, void (*run)(uint64_t)) {
    int64_t period_us = rate_hz > 0 ? 1000000 / rate_hz : 0;
    library.modules[library.n_modules++] = (Module){period_us, 0, run};
}

EXPORT void *px4_lockstep_create(const Config *config) {
    if (told_error() != NULL) {
        fprintf(stderr, "px4 double: %s is not understood; see misbehave.c\n", told_error());
        return NULL;
    }
    const Config *wanted = config != NULL ? config : &DEFAULTS;
    if (library.is_live) {
        violation("second_handle", "create while a handle exists");
        return NULL;
    }
    if (is_told("null_handle") || wanted->enable_commander != 0) return NULL;
    library.is_live = true;
    library.config = *wanted;
    library.n_modules = 0;
    add_module(wanted->navigator_rate_hz, navigator_run);
    add_module(0, flight_mode_manager_run);
    add_module(wanted->mc_pos_control_rate_hz, position_control_run);
    add_module(wanted->mc_att_control_rate_hz, attitude_control_run);
    add_module(wanted->mc_rate_control_rate_hz, rate_control_run);
    if (wanted->enable_control_allocator != 0) add_module(wanted->control_allocator_rate_hz, allocator_run);
    apply_staged_params();
    uorb_open();
    navigator_start();
    flight_start();
    allocator_start();
    checks_start();
    count_steps_anew();
    printf("INFO  [lockstep] conformance double, ABI %d\n", ABI_VERSION);
    fflush(stdout);
    if (is_told("signal_at_create")) raise((int)told_number("signal_at_create", 0));
    return &library;
}

/* Runs when the library is unloaded. */
__attribute__((destructor)) static void unloaded(void) {
    if (is_told("signal_at_exit")) raise((int)told_number("signal_at_exit", 0));
}

EXPORT void px4_lockstep_destroy(void *handle) {
    if (!is_live(handle)) {
        violation("destroy", "destroy of a handle that does not exist");
        return;
    }
    library.is_live = false;
    forget_mission();
    uorb_close();
}

EXPORT int px4_lockstep_control_alloc_update_params(void *handle) {
    DO_AS_TOLD("control_alloc_update_params");
    if (!is_live(handle)) return -1;
    if (library.config.enable_control_allocator == 0) return -2;
    ca_params_are_told();
    allocator_start();
    return 0;
}

static void run_modules(uint64_t now_us) {
    for (int i = 0; i < library.n_modules; i++) {
        Module *module = &library.modules[i];
        if (module->last_us == 0 || now_us - module->last_us >= (uint64_t)module->period_us) {
            module->last_us = now_us;
            module->run(now_us);
        }
    }
}

static void misbehave(void) {
    if (is_told_now("signal")) raise((int)told_number("signal", 0));
    if (is_told_now("sleep_us")) {
        long us = (long)told_number("sleep_us", 0);
        nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
    }
    if (is_told_now("print")) {
        for (long i = (long)told_number("print", 0); i > 0; i--) putchar(i % 80 == 0 ? '\n' : '.');
        fflush(stdout);
    }
}

EXPORT int px4_lockstep_step_uorb(void *handle, uint64_t time_us) {
    DO_AS_TOLD("step_uorb");
    if (!is_live(handle)) return -1;
    count_step();
    misbehave();
    report_time(time_us);
    long before = violations();
    check_time(time_us);
    int code = publish_queued(time_us);
    if (code < 0) return code;
    check_step(time_us);
    if (is_told("strict") && violations() > before) return -3;
    run_modules(time_us);
    return 0;
}
