/* meta_place.h - where the small tables of a test are: an engine with an empty database for each
 * test, and the cases that both engines pass. */
#ifndef GPUFL_TESTS_STORE_META_PLACE_H
#define GPUFL_TESTS_STORE_META_PLACE_H

#include "meta/inside.h"
#include "tests/test.h"

#include <stdio.h>

struct meta_place {
    const struct meta_engine *engine;
    void (*make)(struct meta_config *c); /* makes an empty database; sets migrate and relaxed */
    void (*drop)(struct meta_config *c); /* removes it */
    const char *fingerprint;             /* a query for the schema as one text */
};

extern const struct meta_place *place; /* defined by each test program */

/* Holds a store for one test, and memory for its answers. */
struct fixture {
    struct meta *m;
    struct region mem;
    struct err e;
    struct meta_config config;
};

int fixture_open(void **state);  /* cmocka's setup */
int fixture_close(void **state); /* cmocka's teardown */

/* Makes an ask of a workspace whose answer lies in the fixture. */
#define ASK(f, workspace) (&(struct meta_ask){(f)->m, workspace, &(f)->mem, &(f)->e})

/* Runs raw SQL on a separate connection; the first text of its answer. */
void place_script(const struct meta_config *c, const char *sql);
void place_ask(const struct meta_config *c, const char *sql, char *out, size_t size);

/* Makes two workspaces, w1 and w2, and three users: u1 (admin, owner of both), u2, u3. */
void people_make(struct fixture *f);

/* Makes a session of a workspace that started at `started`. */
void session_make(struct fixture *f, const char *workspace, const char *id, const char *app,
                  const char *host, int64_t started);

#define OK(call)                                                                                   \
    do {                                                                                           \
        int ok_rc = (call);                                                                        \
        if (ok_rc)                                                                                 \
            fail_msg("%s: %d %s", #call, ok_rc, f->e.text);                                        \
    } while (0)
#define FAILS(code, call) assert_int_equal(call, GPUFL_E_##code)

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

/* Runs all groups of cases, or one group. Returns the number of cases that failed. */
int meta_cases(void);
int meta_people_cases(void);
int meta_session_cases(void);
int meta_list_cases(void);
int meta_fleet_cases(void);
int meta_fleet_sum_cases(void);
int meta_rollup_cases(void);
int meta_alert_cases(void);
int meta_tenant_cases(void);
int meta_quota_cases(void);
int meta_state_cases(void);
int meta_migrate_cases(void);
int meta_hard_cases(void);

/* Holds days of GPUs of two sessions: s1 used two GPUs for "train", and its second day is
 * unknown. */
static const struct meta_usage usage_of_s1[] __attribute__((unused)) = {
    {10, "GPU-1", "node-a", "train", 100, 50, 7, 100, 80, 5},
    {11, "GPU-1", "node-a", "train", 200, META_NONE, META_NONE, 0, 0, META_NONE},
    {10, "GPU-2", "node-a", "train", 100, 25, 1, 0, 0, META_NONE}};
static const struct meta_usage usage_of_s2[]
    __attribute__((unused)) = {{10, "GPU-1", "node-a", "infer", 40, 40, 2, 40, 10, 2}};

#endif
