/* writer_fixture.h - has, for the tests of the log writer, rows of every type, which are made from
 * their number, and a check that written rows can be read back. */
#ifndef GPUFL_TESTS_WRITER_FIXTURE_H
#define GPUFL_TESTS_WRITER_FIXTURE_H

#include "capture/log/writer.h"
#include "tests/unit/support/parts.h"

enum { CONFIGS = 50, STREAMS = 5, THREADS = 20 }; /* defined by define_all */

struct fixture {
    char *dir; /* owned; removed at the end */
    struct intern *names;
    struct writer_config config; /* for open_writer */
    struct writer *w;            /* NULL: not open */
    struct err e;
    uint64_t given[RECORD_COUNT]; /* rows passed to the writer */
};

int writer_setup(void **state); /* *state: struct fixture */
int writer_teardown(void **state);
#define WRITER_TEST(name) cmocka_unit_test_setup_teardown(name, writer_setup, writer_teardown)

void open_writer(struct fixture *f);
void close_writer(struct fixture *f);

/* ---- rows ---- */

uint32_t some_name(struct fixture *f, int i);
void define(struct fixture *f, enum record_type type, const int64_t *row);
void define_all(struct fixture *f); /* all rows that others refer to */

/* Makes the i-th row of a type; its cells are a function of type and i. */
void make_row(struct fixture *f, enum record_type type, int i, int64_t *row);
void give(struct fixture *f, enum record_type type); /* the next row of the type */
void give_some_of_all(struct fixture *f, int rounds);
void give_end(struct fixture *f); /* message, final ledger, end */

/* ---- what was written ---- */

void assert_clean(const struct parts *p);

/* Checks that all rows that were given can be read, in order, and are counted exactly. */
void assert_complete(struct fixture *f, struct parts *p);

/* Checks that rows = written + lost, and that p has the written ones. */
void assert_counts_agree(struct fixture *f, const struct parts *p);

/* ---- children ---- */

/* Runs fn in a child that has to end with 0; 77 skips the test. */
void run_child(void (*fn)(struct fixture *), struct fixture *f);

/* This is for a child: a failed check prints its line and ends the child. */
void check_in_child(bool right, int line);
#define CHECK(x) check_in_child(x, __LINE__)

#endif
