/* damage.h - has steps that the tests of damage of all engines share: writing kernels, counting
 * them, and writing by a process that is killed. A step that fails unexpectedly fails the test. */
#ifndef GPUFL_TESTS_STORE_DAMAGE_H
#define GPUFL_TESTS_STORE_DAMAGE_H

#include "store/store.h"
#include "tests/test.h"

#define OK(call)                                                                                   \
    do {                                                                                           \
        struct err damage_err = {0}, *e = &damage_err;                                             \
        int damage_code = (call);                                                                  \
        if (damage_code)                                                                           \
            fail_msg("%s: %s: %s", #call, err_name(damage_code), damage_err.text);                 \
    } while (0)

/* Adds n kernels to the open transaction. */
int damage_append(const struct store_ops *ops, struct store_session *ss, size_t n, int64_t position,
                  struct err *e);

/* Writes n kernels and their position in one transaction. Returns the engine's code. */
int damage_write(const struct store_ops *ops, struct store_session *ss, size_t n, int64_t position,
                 struct err *e);

int64_t damage_kernels(const struct store_ops *ops, struct store_session *ss);
int64_t damage_position(const struct store_ops *ops, struct store_session *ss);

int damage_no_rows(void *arg, const struct store_chunk *c); /* a visitor that ignores all rows */

/* Runs a child that writes commit after commit to session `killed` of workspace w and is killed
 * after some of them; after each settle_every commits it settles (0: never). Checks that every
 * acknowledged commit is there, once. Called before the engine has threads. */
void damage_killed_writer(const struct store_ops *ops, const struct store_config *c, int rounds,
                          int settle_every);

#endif
