/* log.h - what the library says on stderr: "gpufl: text", one write a line.
 *
 * Nothing goes to stdout. A message repeated from one place is written once a second at
 * most. Debug lines need log_set_debug(true). Do not log on hot paths. [any] */
#ifndef GPUFL_BASE_LOG_H
#define GPUFL_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_NOTE, LOG_WARN, LOG_ERROR };

void log_set_debug(bool on);
bool log_debug_on(void);

/* Redirects the lines; NULL: back to stderr. Repetitions are counted from 0 from here on: the
 * new reader has seen no line yet. */
void log_set_sink(void (*fn)(enum log_level, const char *line));

void log_write(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Logs a text that was made elsewhere. key identifies its place: texts with one key count as
 * repetitions of each other. */
void log_say(enum log_level level, uintptr_t key, const char *text);

#define log_debug(...)                                                                             \
    do {                                                                                           \
        if (log_debug_on())                                                                        \
            log_write(LOG_DEBUG, __VA_ARGS__);                                                     \
    } while (0)
/* Logs a line whose place is its text, so that different texts from one place are all written. */
void log_each(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_debug_each(...)                                                                        \
    do {                                                                                           \
        if (log_debug_on())                                                                        \
            log_each(LOG_DEBUG, __VA_ARGS__);                                                      \
    } while (0)
#define log_note(...)  log_write(LOG_NOTE, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

#endif
