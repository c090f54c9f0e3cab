/* The host's violations: all are counted, and the first ones kept as text. */
#include <stdarg.h>

#include "double.h"

enum { KEPT = 32, KEPT_OF_A_CHECK = 4, LENGTH = 240 };

static struct {
    uint64_t now_us;
    long count;
    int kept;
    const char *checks[KEPT];
    char texts[KEPT][LENGTH];
} report;

/* Whether another text fits, with space left for other checks. */
static bool has_room(const char *check) {
    int same = 0;
    for (int i = 0; i < report.kept; i++) same += strcmp(report.checks[i], check) == 0;
    return report.kept < KEPT && same < KEPT_OF_A_CHECK;
}

void report_time(uint64_t now_us) { report.now_us = now_us; }

uint64_t report_now(void) { return report.now_us; }

long violations(void) { return report.count; }

/* Reports a violation as one line: "check at 1004000 us: text". */
void violation(const char *check, const char *format, ...) {
    report.count++;
    if (has_room(check)) {
        report.checks[report.kept] = check;
        char *text = report.texts[report.kept++];
        int n = snprintf(text, LENGTH, "%s at %llu us: ", check, (unsigned long long)report.now_us);
        va_list values;
        va_start(values, format);
        vsnprintf(text + n, (size_t)(LENGTH - n), format, values);
        va_end(values);
        if (is_told("strict")) fprintf(stderr, "px4 double: %s\n", text);
    }
}

/* Returns the number of violations since the process started. */
EXPORT long px4_double_violations(void) { return report.count; }

/* Writes the first texts, at most four per check, one line each, as many as fit; returns their total length. */
EXPORT long px4_double_report(char *buffer, size_t size) {
    size_t used = 0, length = 0;
    if (buffer != NULL && size > 0) buffer[0] = 0;
    for (int i = 0; i < report.kept; i++) {
        size_t n = strlen(report.texts[i]) + 1;
        length += n;
        if (buffer != NULL && used + n < size) {
            memcpy(buffer + used, report.texts[i], n - 1);
            buffer[used + n - 1] = '\n';
            buffer[used + n] = 0;
            used += n;
        }
    }
    return (long)length;
}

EXPORT void px4_double_clear_report(void) { report.count = report.kept = 0; }
