/* logs.h - the server's log: one line an event, for people or for programs.
 *
 * On stderr, each line in one write. As text ("time level event key=value …") or as
 * one JSON object a line. A reader that does not read costs lines, which are
 * counted, never a request. No secrets: callers name what they log. [any] */
#ifndef GPUFL_SERVER_COMMON_LOGS_H
#define GPUFL_SERVER_COMMON_LOGS_H

#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum logs_format { LOGS_TEXT, LOGS_JSON };

/* level: the least that is said. Lines of base/log.h come out alike from here on. */
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
void logs_ms(struct logs_line *l, const char *key, int64_t ns); /* as milliseconds, 3 decimals */
void logs_end(struct logs_line *l);

/* A line with one sentence. */
void logs_say(enum log_level level, const char *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

uint64_t logs_lost(void); /* lines that nobody read in time */

#endif
