/* asked.h - asks a question to the engine under test, and its answer as a table. */
#ifndef GPUFL_TESTS_STORE_ASKED_H
#define GPUFL_TESTS_STORE_ASKED_H

#include "suite.h"

/* Describes a cell: known or not, and its value by the column's type. */
struct asked_cell {
    bool known;
    int64_t i;
    double r;
    char *text; /* owned; ends with a NUL */
    size_t len;
};

struct asked {
    enum store_query query;
    struct store_value args[STORE_PARAMS_MAX];
    struct asked_cell *cells; /* owned: column_count a row */
    size_t rows;
    void (*readable)(struct buf *out, const char *name); /* see struct store_visitor */
};

/* Makes a question with all parameters null, except limit, which is the largest possible. */
void asked_init(struct asked *a, enum store_query q);
void asked_fini(struct asked *a);
void asked_int(struct asked *a, const char *param, int64_t v);
void asked_text(struct asked *a, const char *param, const char *v);
void asked_list(struct asked *a, const char *param, const int64_t *v, size_t n);

/* Asks a session (NULL: workspace w). asked_try returns the engine's code; asked_run expects 0. */
int asked_try(struct asked *a, struct store_session *ss, struct err *e);
void asked_run(struct asked *a, struct store_session *ss);

const struct asked_cell *asked_cell(const struct asked *a, size_t row, const char *column);
int64_t asked_get(const struct asked *a, size_t row, const char *column); /* a known INT */
double asked_real(const struct asked *a, size_t row, const char *column);
/* Checks that the cell is that name of the fixture; id 0: unknown. */
void asked_is_name(const struct asked *a, size_t row, const char *column, const struct fixture *f,
                   int64_t id);

#endif
