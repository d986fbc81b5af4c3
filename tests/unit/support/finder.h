/* finder.h - for tests of insight rules: a program whose log is known, and the findings in it.
 *
 * finder_begin, calls of program.h on finder.p, finder_look, questions, finder_end. One at a time:
 * the tests of a file share it. */
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

/* Setup and teardown of a group of tests. */
int finder_open(void **state);
int finder_close(void **state);

void finder_begin(const char *session);
/* Reads the program and finds; what holds for every finding is checked. */
void finder_look(void);
/* Finds again with each allocation failing once, in turn, and at last with none. */
void finder_without_memory(void);
void finder_end(void);

/* The finding of a rule at a place ("": any), or NULL. */
const struct insight *finder_find(const char *rule, const char *place);
/* The insight's evidence of that name; fails where there is none. */
int64_t finder_fact(const struct insight *i, const char *key);
/* Fails where a rule other than these found something; one may be "". */
void finder_only(const char *a, const char *b);

/* The stack of a function of Python that main.py calls. */
int64_t finder_python(const char *file, const char *function, int64_t line);
/* n steps of so many kernels of 300 us and of the host's own work; a wait ends each (inside) or all
 * of them. */
void finder_steps(int n, int kernels, int64_t stack, bool inside);
/* n kernels of ns at late.py:33, each launched so long (host) after the one before has ended. */
void finder_gaps(int n, int64_t host, int64_t ns);
/* Ten launches of 500 us of gemm(float*), or of a kernel of another name, with a configuration. */
void finder_kernels(struct config_row c, int64_t limiter);
void finder_kernels_of(const char *name, struct config_row c, int64_t limiter);

#endif
