/* finder.h - makes, for tests of insight rules, a program whose log is known, and the findings in
 * it.
 *
 * A test calls finder_begin, functions of program.h on finder.p, finder_look, finder_find and the
 * like, and finder_end. There is one finder, which the tests of a file share. */
#ifndef GPUFL_TESTS_FINDER_H
#define GPUFL_TESTS_FINDER_H

#include "analyze/insight/insight.h"
#include "tests/unit/support/program.h"

struct finder {
    struct intern *names;
    struct program p;
    struct model m;
    struct insights found;
};

extern struct finder finder;

/* These set up and tear down a group of tests. */
int finder_open(void **state);
int finder_close(void **state);

void finder_begin(const char *session);
/* Reads the program, finds, and checks what is true of every finding. */
void finder_look(void);
/* Finds again and again: each allocation fails once, and in the last round none. */
void finder_without_memory(void);
void finder_end(void);

/* Returns the finding of a rule at a place ("": any), or NULL. */
const struct insight *finder_find(const char *rule, const char *place);
/* Returns the insight's evidence of that name; fails if there is none. */
int64_t finder_fact(const struct insight *i, const char *key);
/* Fails if a rule other than these has a finding; one may be "". */
void finder_only(const char *a, const char *b);

/* Returns the stack of a Python function that main.py calls. */
int64_t finder_python(const char *file, const char *function, int64_t line);
/* Adds n steps, each with that many kernels of 300 us and with work of the host. A wait ends each
 * step (inside), or the last one. */
void finder_steps(int n, int kernels, int64_t stack, bool inside);
/* Adds n kernels of ns at late.py:33. Each is launched `host` ns after the one before has ended. */
void finder_gaps(int n, int64_t host, int64_t ns);
/* Adds ten launches of 500 us of gemm(float*), or of another kernel, with a configuration. */
void finder_kernels(struct config_row c, int64_t limiter);
void finder_kernels_of(const char *name, struct config_row c, int64_t limiter);

#endif
