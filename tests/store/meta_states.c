/* meta_states.c - states of hosts and GPUs that are merged with the stored ones. */
#include "meta_place.h"

#include <stdio.h>

/* The rows that a write replaces, as they were shown to the test. */
struct seen_rows {
    struct meta_gpu gpu;
    unsigned times, of_hosts;
    char state[64];
    int64_t seen, created;
};

static void see_row(void *arg, bool gpu, size_t i, const char *state, int64_t seen, int64_t created)
{
    struct seen_rows *t = arg;
    assert_int_equal(i, 0);
    t->times++;
    t->of_hosts += !gpu;
    if (!gpu)
        return;
    snprintf(t->state, sizeof t->state, "%s", state);
    t->seen = seen;
    t->created = created;
    t->gpu.state = "{\"both\":1}";
    t->gpu.seen = seen;
}

/* A write gets the rows that it replaces, of its workspace alone, and may change its own rows by
 * them. */
static void test_stored_states(void **state)
{
    struct fixture *f = *state;
    struct seen_rows t = {0};
    struct meta_host host = {.name = "node-s", .state = "{}", .seen = 100};
    struct meta_gpu_now gpu;
    t.gpu = (struct meta_gpu){
        .uuid = "GPU-s", .host = "node-s", .state = "{\"a\":1}", .created = 70, .seen = 100};
    const struct meta_fleet_state s = {.hosts = &host,
                                       .gpus = &t.gpu,
                                       .host_count = 1,
                                       .gpu_count = 1,
                                       .stored = see_row,
                                       .arg = &t};
    people_make(f);
    OK(meta_fleet_put(f->m, "w1", &s, &f->e));
    assert_int_equal(t.times, 0); /* there was no row */
    OK(meta_fleet_put(f->m, "w2", &s, &f->e));
    assert_int_equal(t.times, 0);
    t.gpu.state = "{\"b\":2}";
    t.gpu.seen = 90;
    OK(meta_fleet_put(f->m, "w1", &s, &f->e));
    assert_int_equal(t.times, 2);
    assert_int_equal(t.of_hosts, 1);
    assert_string_equal(t.state, "{\"a\":1}");
    assert_int_equal(t.seen, 100);
    assert_int_equal(t.created, 70);
    OK(meta_gpu_get(ASK(f, "w1"), "GPU-s", &gpu));
    assert_string_equal(gpu.state, "{\"both\":1}");
    assert_int_equal(gpu.seen, 100);
}

int meta_state_cases(void)
{
    const struct CMUnitTest tests[] = {CASE(test_stored_states)};
    return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
