/* fixture.h - has sessions as plain arrays, to be put into a store and compared with its answers.
 *
 * Rows come from logs (the session in examples/data, and sessions of the simulated
 * GPU), through the decoder, in batches as they came. */
#ifndef GPUFL_TESTS_STORE_FIXTURE_H
#define GPUFL_TESTS_STORE_FIXTURE_H

#include "store/store.h"

struct fixture_name {
    char *text; /* NULL: no such id */
    size_t len;
};

struct fixture {
    int64_t *rows[RECORD_COUNT]; /* owned: column_count cells a row; dictionary rows once by id */
    size_t count[RECORD_COUNT], cap[RECORD_COUNT];
    struct fixture_name *names; /* owned: by id */
    size_t name_count, name_cap;
    struct fixture_log *logs; /* owned: lines of the session, channel by channel */
    size_t log_count;
};

/* Reads a session's folder; fails the test if that is not possible. */
void fixture_open(struct fixture *f, const char *dir);
void fixture_close(struct fixture *f);

/* Makes a session of the simulated GPU below the folder. Returns its path; caller frees. */
char *fixture_simulate(const char *folder, const char *options);

/* Returns the path of the recorded session in examples/data; caller frees. */
char *fixture_recorded(void);

/* Puts the session into a store in transactions of about so many lines, with its pyramid. */
void fixture_load(const struct fixture *f, const struct store_ops *ops, struct store_session *ss,
                  size_t lines_a_commit);

static inline int64_t fixture_cell(const struct fixture *f, enum record_type type, size_t row,
                                   unsigned column)
{
    return f->rows[type][row * records[type].column_count + column];
}

#endif
