/* writer_fixture.h - for the tests of the log writer: rows of every type, a function of
 * their number, and a check that written rows can be read back. */
#ifndef GPUFL_TESTS_WRITER_FIXTURE_H
#define GPUFL_TESTS_WRITER_FIXTURE_H

#include "capture/log/writer.h"
#include "tests/unit/support/parts.h"

enum { CONFIGS = 50, STREAMS = 5, THREADS = 20 }; /* that define_all defines */

struct fixture {
    char *dir; /* owned; removed at the end */
    struct intern *names;
    struct writer_config config; /* for open_writer */
    struct writer *w;            /* NULL: not open */
    struct err e;
    uint64_t given[RECORD_COUNT]; /* rows handed to the writer */
};

int writer_setup(void **state); /* *state: struct fixture */
int writer_teardown(void **state);
#define WRITER_TEST(name) cmocka_unit_test_setup_teardown(name, writer_setup, writer_teardown)

void open_writer(struct fixture *f);
void close_writer(struct fixture *f);

/* ---- rows ---- */

uint32_t some_name(struct fixture *f, int i);
void define(struct fixture *f, enum record_type type, const int64_t *row);
void define_all(struct fixture *f); /* what rows refer to */

/* The i-th row of a type; its cells are a function of type and i. */
void make_row(struct fixture *f, enum record_type type, int i, int64_t *row);
void give(struct fixture *f, enum record_type type); /* the next one of the type */
void give_some_of_all(struct fixture *f, int rounds);
void give_end(struct fixture *f); /* message, final ledger, end */

/* ---- what was written ---- */

void assert_clean(const struct parts *p);

/* Everything that was given is there, in order, and counted exactly. */
void assert_complete(struct fixture *f, struct parts *p);

/* rows = written + lost, and the written ones are those in p. */
void assert_counts_agree(struct fixture *f, const struct parts *p);

/* ---- children ---- */

/* Runs fn in a child that has to end with 0; 77 skips the test. */
void run_child(void (*fn)(struct fixture *), struct fixture *f);

/* In a child: what goes wrong ends it, naming the line. */
void check_in_child(bool right, int line);
#define CHECK(x) check_in_child(x, __LINE__)

#endif
