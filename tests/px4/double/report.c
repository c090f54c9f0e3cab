/* What the host did wrong: counted, and the first of it as text. */
#include <stdarg.h>

#include "double.h"

enum { KEPT = 32, LENGTH = 240 };

static struct {
    uint64_t now_us;
    long count;
    char texts[KEPT][LENGTH];
} report;

void report_time(uint64_t now_us) { report.now_us = now_us; }

long violations(void) { return report.count; }

/* One line: "check at 1004000 us: what is wrong". */
void violation(const char *check, const char *format, ...) {
    if (report.count < KEPT) {
        char *text = report.texts[report.count];
        int n = snprintf(text, LENGTH, "%s at %llu us: ", check, (unsigned long long)report.now_us);
        va_list values;
        va_start(values, format);
        vsnprintf(text + n, (size_t)(LENGTH - n), format, values);
        va_end(values);
        if (is_told("strict")) fprintf(stderr, "px4 double: %s\n", text);
    }
    report.count++;
}

/* How often something was wrong, over all lives of the process. */
EXPORT long px4_double_violations(void) { return report.count; }

/* Writes the first texts, a line each, cut to the buffer; returns the length of all of it, without the final zero. */
EXPORT long px4_double_report(char *buffer, size_t size) {
    size_t used = 0, length = 0;
    long kept = report.count < KEPT ? report.count : KEPT;
    if (buffer != NULL && size > 0) buffer[0] = 0;
    for (long i = 0; i < kept; i++) {
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

EXPORT void px4_double_clear_report(void) { report.count = 0; }
