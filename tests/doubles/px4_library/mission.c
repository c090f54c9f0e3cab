/* The mission, from a QGC WPL file, with the fields that the real library uses. */
#include <stdlib.h>

#include "double.h"

enum { COLUMNS = 12, MAX_LINE = 1024 };
enum { WAYPOINT = 16, TAKEOFF = 22, RELATIVE_FRAME = 3 };

static Item items[MAX_ITEMS];
static int n_items;

int mission_count(void) { return n_items; }

const Item *mission_item(int index) { return &items[index]; }

void forget_mission(void) { n_items = 0; }

/* Returns the number of numeric columns in a line. */
static int read_columns(char *line, double values[COLUMNS]) {
    int n = 0;
    for (char *word = strtok(line, " \t\r\n"); word != NULL && n < COLUMNS; word = strtok(NULL, " \t\r\n")) {
        char *end;
        values[n] = strtod(word, &end);
        if (*end != 0) return n;
        n++;
    }
    return n;
}

static Item item_of(const double values[COLUMNS]) {
    Item item = {.command = (int)values[3], .is_relative = values[2] == RELATIVE_FRAME, .radius_m = 1.0};
    if (item.command == WAYPOINT) item.hold_s = values[4];
    if ((item.command == WAYPOINT || item.command == TAKEOFF) && values[5] > 0.0) item.radius_m = values[5];
    item.yaw_rad = values[7] * M_PI / 180.0;
    item.lat_deg = values[8];
    item.lon_deg = values[9];
    item.alt_m = values[10];
    return item;
}

EXPORT int px4_lockstep_load_mission_qgc_wpl(void *handle, const char *path) {
    DO_AS_TOLD("load_mission_qgc_wpl");
    if (!is_live(handle) || path == NULL) return -1;
    FILE *file = fopen(path, "r");
    if (file == NULL) return -2;
    n_items = 0;
    int code = 0;
    char line[MAX_LINE];
    if (fgets(line, sizeof line, file) == NULL) code = -3; /* the header, which is ignored */
    while (code == 0 && fgets(line, sizeof line, file) != NULL) {
        double values[COLUMNS];
        if (read_columns(line, values) < COLUMNS) continue;
        bool has_nan = false;
        for (int i = 0; i < COLUMNS; i++) has_nan = has_nan || isnan(values[i]);
        if (has_nan) {
            printf("WARN  [lockstep] mission line %d dropped: nan\n", n_items);
        } else if (n_items == MAX_ITEMS) {
            code = -5;
        } else {
            items[n_items++] = item_of(values);
        }
    }
    fclose(file);
    if (code == 0 && n_items == 0) code = -4;
    if (code == 0) printf("INFO  [lockstep] mission of %d items loaded\n", n_items);
    fflush(stdout);
    return code;
}
