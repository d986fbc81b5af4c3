/* rows.h - for tests of sums: a table of names for their models, and rows added by hand. */
#ifndef GPUFL_TESTS_ROWS_H
#define GPUFL_TESTS_ROWS_H

#include "analyze/model/model.h"
#include "base/intern.h"

/* Holds the table from rows_set_up to rows_tear_down, of a test or a group. */
extern struct intern *names;
int rows_set_up(void **state);
int rows_tear_down(void **state);

/* Adds a row, a struct of the record. The test fails if the model does not accept it. */
void rows_put(struct model *m, enum record_type type, const void *row);

/* Checks that the rows of idle time by line sum up to the time of each cause. */
void rows_check_idle(const struct model *m);

#endif
