/* Parameters: a table of int32 and float32 values by name, which persists after the handle is destroyed. */
#include <stdlib.h>

#include "double.h"

enum { MAX_STAGED = 64 };

typedef struct {
    int number;
    int32_t as_int;
    float as_float;
} Staged;

static Staged staged[MAX_STAGED];
static int n_staged;
static bool are_ca_pending;
static int highest_rotor = -1;

#ifdef NO_AUTOSAVE
static const bool is_autosave_off = true;
#else
static bool is_autosave_off;

/* PX4's function: in the real library, setting a parameter hangs unless this was called with false. */
EXPORT void param_control_autosave(bool enable) { is_autosave_off = !enable; }
#endif

static int number_of(const char *name) {
    char key[64];
    for (int i = 0; i < N_PARAMS; i++)
        if (strcmp(PARAMS[i].name, name) == 0) {
            snprintf(key, sizeof key, "missing.%s", name);
            return is_told(key) ? -1 : i;
        }
    return -1;
}

int32_t param_int(int number) { return PARAMS[number].as_int; }

double param_float(int number) { return (double)PARAMS[number].as_float; }

bool ca_params_are_pending(void) { return are_ca_pending; }

void ca_params_are_told(void) { are_ca_pending = false; }

int highest_rotor_set(void) { return highest_rotor; }

static void note_set(const char *name) {
    if (!is_autosave_off)
        violation("autosave", "%s is set before param_control_autosave(false); the real library hangs here", name);
    if (strncmp(name, "CA_", 3) == 0) are_ca_pending = true;
    if (strncmp(name, "CA_ROTOR", 8) == 0 && name[8] >= '0' && name[8] <= '9') {
        int rotor = atoi(name + 8);
        if (rotor > highest_rotor) highest_rotor = rotor;
    }
}

/* Returns the code of a call for a parameter of a type, and its index if the code is 0. */
static int look_up(const void *handle, const char *name, const void *value, bool is_int, int *number) {
    if (!is_live(handle) || name == NULL || value == NULL) return -1;
    *number = number_of(name);
    if (*number < 0) return -2;
    return PARAMS[*number].is_int == is_int ? 0 : -3;
}

EXPORT int px4_lockstep_param_set_i32(void *handle, const char *name, int32_t value) {
    DO_AS_TOLD("param_set_i32");
    int number, code = look_up(handle, name, &value, true, &number);
    if (code == 0) {
        PARAMS[number].as_int = value;
        note_set(name);
    }
    return code;
}

EXPORT int px4_lockstep_param_set_f32(void *handle, const char *name, float value) {
    DO_AS_TOLD("param_set_f32");
    int number, code = look_up(handle, name, &value, false, &number);
    if (code == 0) {
        if (!isfinite(value)) violation("parameter", "%s is set to %g", name, (double)value);
        PARAMS[number].as_float = value;
        note_set(name);
    }
    return code;
}

EXPORT int px4_lockstep_param_get_i32(void *handle, const char *name, int32_t *value) {
    DO_AS_TOLD("param_get_i32");
    int number, code = look_up(handle, name, value, true, &number);
    if (code == 0) *value = PARAMS[number].as_int;
    return code;
}

EXPORT int px4_lockstep_param_get_f32(void *handle, const char *name, float *value) {
    DO_AS_TOLD("param_get_f32");
    int number, code = look_up(handle, name, value, false, &number);
    if (code == 0) *value = PARAMS[number].as_float;
    return code;
}

EXPORT int px4_lockstep_param_notify(void *handle) {
    DO_AS_TOLD("param_notify");
    return is_live(handle) ? 0 : -1;
}

static int stage(const char *name, bool is_int, int32_t as_int, float as_float) {
    if (name == NULL) return -1;
    int number = number_of(name);
    if (number < 0) return -2;
    if (PARAMS[number].is_int != is_int) return -3;
    if (n_staged == MAX_STAGED) return -4;
    staged[n_staged++] = (Staged){number, as_int, as_float};
    return 0;
}

EXPORT int px4_lockstep_param_preinit_set_i32(const char *name, int32_t value) {
    DO_AS_TOLD("param_preinit_set_i32");
    return stage(name, true, value, 0.0F);
}

EXPORT int px4_lockstep_param_preinit_set_f32(const char *name, float value) {
    DO_AS_TOLD("param_preinit_set_f32");
    return stage(name, false, 0, value);
}

/* Called in create, where the allocator reads them anyway. */
void apply_staged_params(void) {
    for (int i = 0; i < n_staged; i++) {
        PARAMS[staged[i].number].as_int = staged[i].as_int;
        PARAMS[staged[i].number].as_float = staged[i].as_float;
        note_set(PARAMS[staged[i].number].name);
    }
    n_staged = 0;
    are_ca_pending = false;
}
