/* What the host did wrong: counted, and the first of it as text. */
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

/* Whether there is room for another text, with some left for other checks. */
static bool has_room(const char *check) {
    int same = 0;
    for (int i = 0; i < report.kept; i++) same += strcmp(report.checks[i], check) == 0;
    return report.kept < KEPT && same < KEPT_OF_A_CHECK;
}

void report_time(uint64_t now_us) { report.now_us = now_us; }

long violations(void) { return report.count; }

/* One line: "check at 1004000 us: what is wrong". */
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

/* How often something was wrong, over all lives of the process. */
EXPORT long px4_double_violations(void) { return report.count; }

/* Writes the first texts, at most four of a check, a line each, as many as fit; returns the length of all of them. */
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
