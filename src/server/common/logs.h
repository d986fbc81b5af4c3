/* logs.h - writes the server's log: one line for each event, for people or for programs.
 *
 * The log goes to stderr, each line in one write, as text ("time level event key=value …") or as a
 * JSON object. If the reader of stderr does not read, lines are lost and counted, but requests do
 * not wait. Lines have no secrets: callers choose what they log. [any] */
#ifndef GPUFL_SERVER_COMMON_LOGS_H
#define GPUFL_SERVER_COMMON_LOGS_H

#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum logs_format { LOGS_TEXT, LOGS_JSON };

/* Opens the log. level: the least level that is logged. From here on lines of base/log.h have this
 * form, too. */
void logs_open(enum logs_format format, enum log_level level);

struct logs_line {
    enum log_level level;
    bool off;
    size_t len;
    char text[2048];
};

void logs_begin(struct logs_line *l, enum log_level level, const char *event);
void logs_text(struct logs_line *l, const char *key, const char *value); /* NULL: left out */
void logs_int(struct logs_line *l, const char *key, int64_t value);
/* Writes a time as ms with 3 decimals. */
void logs_ms(struct logs_line *l, const char *key, int64_t ns);
void logs_end(struct logs_line *l);

/* Logs a line with one sentence. */
void logs_say(enum log_level level, const char *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

uint64_t logs_lost(void); /* number of lines that were not read in time */

#endif
