/* Texts of the modules: on the topic mavlink_log, and on the console. */
#include <stdarg.h>

#include "double.h"

void say(int severity, const char *format, ...) {
    mavlink_log_s text = {.timestamp = report_now(), .severity = (uint8_t)severity};
    memset(text.text, '~', sizeof text.text); /* PX4 leaves the bytes after the text undefined */
    va_list values;
    va_start(values, format);
    vsnprintf((char *)text.text, sizeof text.text, format, values);
    va_end(values);
    publish(TOPIC_mavlink_log, &text);
    printf("%s [navigator] %s\n", severity <= WARNING ? "WARN " : "INFO ", (char *)text.text);
    fflush(stdout);
}
