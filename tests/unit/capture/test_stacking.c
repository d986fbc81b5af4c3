/* test_stacking.c - tests captured stacks as rows: a tree of frames, each written once, defined
 * before it is used in every part. The stacks come from this file, which replaces stack/stack.c. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "capture/log/messages.h"
#include "capture/stacks/stacking.h"
#include "capture/threads/names.h"
#include "capture/threads/threads.h"
#include "stack/stack.h"
#include "tests/test.h"
#include "tests/unit/support/parts.h"

/* ---- stacks of this test ----------------------------------------------------------------- */

static const struct stack_module program = {.number = 3,
                                            .kind = 1,
                                            .base = 0x400000,
                                            .path = "/bin/program",
                                            .build_id = "aa01",
                                            .size = 9};
static const struct stack_code train = {
    .number = 1, .first_line = 80, .name = "train_step", .file = "train.py"};

#define NATIVE(address)                                                                            \
    {                                                                                              \
        .kind = STACK_NATIVE, .module = &program, .offset = address                                \
    }
#define PYTHON(at)                                                                                 \
    {                                                                                              \
        .kind = STACK_PYTHON, .code = &train, .line = at                                           \
    }

static const struct stack_place first[] = {NATIVE(0x10), PYTHON(90), NATIVE(0x20)};
static const struct stack_place second[] = {NATIVE(0x11), PYTHON(90), NATIVE(0x20)};
static const struct stack_place third[] = {{.kind = STACK_MARK, .mark = "<driver-internal>"}};
/* Walks end in both files: in one for lack of unwind tables, in the other for another reason. */
static const struct stack_module blind = {
    .number = 4, .kind = 1, .base = 0x900000, .path = "/opt/libblind.so"};
static const struct stack_module seeing = {
    .number = 5, .kind = 1, .base = 0xa00000, .path = "/opt/libseeing.so", .unwinds = true};
#define ENDS_IN(m)                                                                                 \
    {                                                                                              \
        {.kind = STACK_NATIVE, .module = (m), .offset = 0x40},                                     \
        {                                                                                          \
            .kind = STACK_MARK, .mark = "<truncated>"                                              \
        }                                                                                          \
    }
static const struct stack_place fourth[] = ENDS_IN(&seeing), fifth[] = ENDS_IN(&blind);
static const struct stack stacks[] = {
    {1, 3, first}, {2, 3, second}, {3, 1, third}, {4, 2, fourth}, {5, 2, fifth}};

static struct stacks_stats stats;
static uint32_t next_stack;
static int opened, refuse;

const struct stack *stacks_get(uint32_t id)
{
    return id > 0 && id <= 5 ? &stacks[id - 1] : NULL;
}

uint32_t stacks_capture(const void *from)
{
    (void)from;
    stats.captured++;
    return next_stack;
}

int stacks_open(bool python, struct err *e)
{
    (void)python;
    opened++;
    return refuse ? err_set(e, GPUFL_E_NOMEM, "no room") : 0;
}

void stacks_refresh(void)
{
}

const char *stacks_python(void)
{
    return "CPython 3.11";
}

void stacks_stats(struct stacks_stats *out)
{
    *out = stats;
}

void stacks_forget(void)
{
}

/* ---- the log ----------------------------------------------------------------------------- */

static struct writer *writer;
static char *dir;
static int64_t stack_seen[16];
static int seen_count;

static int setup(void **state)
{
    (void)state;
    struct err e;
    struct options o = {.enable_stack_trace = true};
    struct writer_config c = {.header = {.session = "s", .app = "a", .engine = "Trace"}};
    dir = parts_tmpdir();
    c.dir = dir;
    c.rotate_bytes = 4096;
    assert_int_equal(names_open(), 0);
    assert_int_equal(writer_open(&writer, &c, names_table(), &e), 0);
    refuse = 0;
    stacking_begin(&o, GPUFL_ENGINE_TRACE);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stacking_end();
    writer_close(writer);
    parts_rmdir(dir);
    return 0;
}

static void take_row(void *arg, enum record_type type, const int64_t *row)
{
    (void)arg;
    if (type == RECORD_sync && seen_count < 16)
        stack_seen[seen_count++] = row[COL_sync_stack];
}

static void put_sync(uint32_t stack)
{
    struct sync_row row = {
        .start = 5, .duration = 1, .kind = 3, .stack = stacking_row(writer, stack)};
    writer_row(writer, RECORD_sync, (const int64_t *)&row);
}

/* A message is written once a session if a walk ended in a file without tables. */
TEST(where_stacks_end)
{
    struct parts p = {0};
    messages_begin();
    put_sync(1);
    put_sync(3);
    put_sync(4);
    messages_drain(writer, names_table());
    assert_int_equal(writer_flush(writer), 0);
    parts_read_all(dir, &p);
    assert_int_equal(p.rows[RECORD_message], 0);
    put_sync(5);
    put_sync(5);
    messages_drain(writer, names_table());
    assert_int_equal(writer_flush(writer), 0);
    p = (struct parts){0};
    parts_read_all(dir, &p);
    assert_int_equal(p.rows[RECORD_message], 1);
}

TEST(a_tree_of_frames)
{
    struct parts p = {.row = take_row};
    seen_count = 0;
    for (uint32_t i = 1; i <= 3; i++)
        put_sync(i);
    put_sync(2);
    put_sync(77); /* no such stack */
    put_sync(0);
    assert_int_equal(writer_flush(writer), 0);
    parts_read_all(dir, &p);
    assert_int_equal(p.unresolved + p.damaged + p.headers_bad, 0);
    assert_int_equal(p.rows[RECORD_module], 1);
    assert_int_equal(p.rows[RECORD_frame], 5);
    assert_int_equal(p.rows[RECORD_stack], 5); /* two stacks share two outer frames */
    assert_int_equal(seen_count, 6);
    assert_int_equal(stack_seen[0], 3);
    assert_int_equal(stack_seen[1], 4);
    assert_int_equal(stack_seen[2], 5);
    assert_int_equal(stack_seen[3], 4);
    assert_int_equal(stack_seen[4], 0);
    assert_int_equal(stack_seen[5], 0);
}

TEST(every_part_has_what_it_uses)
{
    struct parts p = {0};
    for (int i = 0; i < 5000; i++) {
        put_sync((uint32_t)i % 3 + 1);
        if (i % 100 == 0)
            assert_int_equal(writer_flush(writer), 0);
    }
    assert_int_equal(writer_flush(writer), 0);
    parts_read_all(dir, &p);
    assert_true(p.parts > 3);
    assert_int_equal(p.unresolved + p.damaged, 0);
    assert_int_equal(p.rows[RECORD_stack], 5 * p.parts);
    struct stacking_counts n;
    stacking_counts(&n);
    assert_int_equal(n.distinct, 3);
}

TEST(wanted_where_asked_for)
{
    struct options o = {0};
    struct thread_state t = {0};
    next_stack = 2;
    assert_false(stacking_at_launches());
    struct stacking_counts before, after;
    stacking_counts(&before);
    for (int i = 0; i < 128; i++)
        assert_int_equal(stacking_capture(&t), 2);
    stacking_counts(&after);
    assert_int_equal(after.captured - before.captured, 128);
    assert_true(atomic_load(&t.counters.stack_ticks) > 0);
    stacking_end();
    int before_opening = opened;
    stacking_begin(&o, GPUFL_ENGINE_TRACE);
    assert_int_equal(stacking_at_wait(), 0);
    assert_int_equal(opened, before_opening); /* not asked for: not opened */
    o.enable_stack_trace = o.launch_stacks = true;
    stacking_begin(&o, GPUFL_ENGINE_MONITOR);
    assert_false(stacking_at_launches());
    stacking_begin(&o, GPUFL_ENGINE_SYNC);
    assert_true(stacking_at_launches());
    refuse = 1;
    stacking_begin(&o, GPUFL_ENGINE_SYNC);
    assert_false(stacking_at_launches());
}

TEST(every_allocation_fails)
{
    uint64_t lost = 0;
    for (int n = 0; n < 12; n++) {
        stacking_end();
        mem_fail_at(n);
        uint32_t row = stacking_row(writer, 1);
        mem_fail_at(-1);
        uint32_t again = stacking_row(writer, 1);
        assert_true(again != 0);
        assert_true(row == 0 || row == again);
        struct stacking_counts counts;
        stacking_counts(&counts);
        assert_int_equal(counts.lost, row == 0); /* a stack without a row is lost */
        lost += counts.lost;
    }
    assert_true(lost > 0);
}

/* Python reports the path "train.py"; the program has changed its folder since. */
TEST(a_script_is_found_where_the_session_began)
{
    struct options o = {.enable_stack_trace = true};
    char here[PATH_MAX], path[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(path, sizeof path, "%s/train.py", dir);
    FILE *script = fopen(path, "w");
    assert_non_null(script);
    assert_int_equal(fclose(script), 0);
    assert_int_equal(intern_find(names_table(), path, strlen(path)), 0);
    stacking_end();
    assert_int_equal(chdir(dir), 0);
    stacking_begin(&o, GPUFL_ENGINE_TRACE);
    assert_int_equal(chdir(here), 0);
    put_sync(1);
    assert_int_not_equal(intern_find(names_table(), path, strlen(path)), 0);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_tree_of_frames),
        T(where_stacks_end),
        T(every_part_has_what_it_uses),
        T(wanted_where_asked_for),
        T(every_allocation_fails),
        T(a_script_is_found_where_the_session_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
