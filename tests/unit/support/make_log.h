/* make_log.h - for tests: writes session logs line by line, like a capture. */
#ifndef GPUFL_TESTS_MAKE_LOG_H
#define GPUFL_TESTS_MAKE_LOG_H

#include "base/buf.h"
#include "wire/encode.h"

struct make_log {
    struct buf lines; /* the lines of the current channel */
    const char *session, *run, *engine, *host, *app;
    bool simulated;
    int64_t pass, passes; /* of `gpufl trace --passes` */
    int64_t real;         /* epoch ns at monotonic 0 */
};

void make_log_init(struct make_log *l, const char *session);
void make_log_fini(struct make_log *l);

/* Adds the header of a part, names 1, 2, … (NULL ends the list), and rows. */
void make_log_header(struct make_log *l, const char *channel, int64_t part);
void make_log_names(struct make_log *l, ...);
void make_log_rows(struct make_log *l, enum record_type type, const void *rows, size_t n);
void make_log_text(struct make_log *l, const char *text); /* adds the text unchanged */

/* Writes the lines to dir/<session>/<file>, packed for *.gz, and empties them. */
void make_log_write(struct make_log *l, const char *dir, const char *file);

/* Makes all cells of a row unknown. */
#define MAKE_UNKNOWN(row)                                                                          \
    do {                                                                                           \
        for (size_t make_i = 0; make_i < sizeof(row) / 8; make_i++)                                \
            ((int64_t *)&(row))[make_i] = CELL_NULL;                                               \
    } while (0)

/* Adds device 1 (sm_90, 4 SMs) and its stream 1; names 1 and 2 are its name and UUID. */
void make_log_device(struct make_log *l);
/* Adds configuration `id` of the kernel with that name's id, on device 1. */
void make_log_config(struct make_log *l, int64_t id, int64_t name);
/* Adds a kernel row. */
void make_log_kernel(struct make_log *l, int64_t start, int64_t duration, int64_t config,
                     int64_t scope);

#endif
