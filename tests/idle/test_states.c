/* test_states.c - tests the states of threads by samples, compared with the threads' own account:
 * at least 95 of 100 samples are right, or 85 on a machine that is too busy for punctual samples. A
 * thread that computes notes the times in which it had no core, which are frequent on a busy
 * machine; these times are the truth for that thread. */
#include "tests/fake/runner.h"
#include "tests/idle/rows.h"
#include "tests/test.h"

#include <string.h>
#include <sys/syscall.h>

enum { BORDER_NS = 150000, LOOK_NS = 20000, LEAST = 20, SIGMAS = 4 };

/* Says how many percentage points a share may be off: a thread that lost its core after the sampler
 * woke up is sampled as running; with a sanitizer that time is longer. */
#ifdef __SANITIZE_ADDRESS__
enum { SHARE_OFF = 15 };
#else
enum { SHARE_OFF = 10 };
#endif

#ifdef __SANITIZE_THREAD__
/* With this sanitizer our threads have no descriptor table of their own: see fd_thread.h. */
#define STATES 0
#else
#define STATES 1
#endif

/* ---- truth ----------------------------------------------------------------------------------- */

/* Returns true if the sample of a thread that computes is right. Near the ends of a time without a
 * core both states are: a thread that has just lost its core, perhaps to the sampler, ran. */
static bool computes_right(json_t *role, const struct host_sample_row *s)
{
    size_t i;
    json_t *gap;
    json_array_foreach(at(role, "gaps"), i, gap)
    {
        int64_t from = int_at(gap, "0"), to = int_at(gap, "1");
        if (s->start >= from && s->start < to)
            return s->state == 2 ||
                   (s->state == 1 && (s->start - from < BORDER_NS || to - s->start < LOOK_NS));
        if (s->start >= from - BORDER_NS && s->start < to + BORDER_NS)
            return s->state == 1 || s->state == 2;
    }
    return s->state == 1;
}

static bool blocks_in(const struct host_sample_row *s, long number)
{
    return s->state == 3 && s->syscall == number;
}

static bool is_right(json_t *role, const struct host_sample_row *s)
{
    const char *name = text_at(role, "name");
    if (!STATES)
        return s->state == CELL_NULL && s->syscall == CELL_NULL;
    if (!strcmp(name, "compute") || !strcmp(name, "pinned"))
        return computes_right(role, s) && s->syscall == CELL_NULL;
    if (!strcmp(name, "pipe"))
        return blocks_in(s, SYS_read);
    if (!strcmp(name, "lock"))
        return blocks_in(s, SYS_futex);
    return blocks_in(s, SYS_clock_nanosleep);
}

/* ---- checks ---------------------------------------------------------------------------------- */

struct tally {
    int64_t samples, right, off; /* off: samples at whose time the thread had no core */
    int64_t by_state[4];         /* [0]: unknown */
};

static bool is_off(json_t *role, int64_t time)
{
    size_t i;
    json_t *gap;
    json_array_foreach(json_object_get(role, "gaps"), i, gap)
    {
        if (time >= int_at(gap, "0") && time < int_at(gap, "1"))
            return true;
    }
    return false;
}

static struct tally tally_of(const struct run *r, const struct rows *rows, json_t *role)
{
    struct tally t = {0};
    int64_t from = int_at(r->said, "0.from"), to = int_at(r->said, "0.to");
    for (size_t i = 0; i < rows->count; i++) {
        const struct host_sample_row *s = &rows->samples[i];
        if (s->thread != int_at(role, "tid") || s->start < from || s->start >= to)
            continue;
        t.samples++;
        t.right += is_right(role, s);
        t.off += is_off(role, s->start);
        t.by_state[s->state == CELL_NULL ? 0 : s->state]++;
    }
    return t;
}

/* Returns true if few samples are late. On a busy machine many are: the sampler has just taken the
 * core of the thread that it samples, or waited for a core itself. */
static bool is_punctual(const struct run *r)
{
    return int_at(r->report, "ledger.host_samples_late") * 50 <=
           int_at(r->report, "ledger.host_samples");
}

static int64_t distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

/* The samples must show how much of the time a thread had no core: half of it if two threads share
 * a core. They are at random times, so a share of a half is off by 50 / sqrt(samples) points (one
 * sigma), and each sample must be right for its time. Late samples are biased, since the sampler
 * gets a core when the program loses one: if many are late, the share is not checked. */
static void check_share(const struct run *r, json_t *role, const struct tally *t)
{
    size_t i;
    json_t *gap;
    int64_t from = int_at(r->said, "0.from"), to = int_at(r->said, "0.to"), off = 0;
    json_array_foreach(at(role, "gaps"), i, gap)
    {
        int64_t begin = int_at(gap, "0"), end = int_at(gap, "1");
        begin = begin > from ? begin : from;
        end = end < to ? end : to;
        off += end > begin ? end - begin : 0;
    }
    int64_t truth = 100 * off / (to - from), here = 100 * t->off / t->samples;
    int64_t seen = 100 * t->by_state[2] / t->samples;
    print_message("without a core %lld %%, at the samples' times %lld %%, in samples %lld %%\n",
                  (long long)truth, (long long)here, (long long)seen);
    if (!is_punctual(r))
        return;
    int64_t chance = distance(truth, here);
    assert_true(chance * chance * t->samples <= (SIGMAS * 50) * (SIGMAS * 50));
    assert_true(distance(here, seen) <= SHARE_OFF);
}

static void check_role(const struct run *r, const struct rows *rows, json_t *role)
{
    struct tally t = tally_of(r, rows, role);
    print_message("%s: %lld samples, %lld right; on a core %lld, ready %lld, blocked %lld; of all "
                  "%lld late\n",
                  text_at(role, "name"), (long long)t.samples, (long long)t.right,
                  (long long)t.by_state[1], (long long)t.by_state[2], (long long)t.by_state[3],
                  (long long)int_at(r->report, "ledger.host_samples_late"));
    assert_true(t.samples >= LEAST);
    /* A late sample may be wrong, and two threads on one core have most of the late ones. */
    int64_t late = is_punctual(r) ? int_at(r->report, "ledger.host_samples_late") : 0;
    assert_true((t.right + late) * 100 >= t.samples * (is_punctual(r) ? 95 : 85));
    if (STATES && !strcmp(text_at(role, "name"), "pinned"))
        check_share(r, role, &t);
}

static void check_rows(const struct run *r, const struct rows *rows)
{
    assert_int_equal(rows->damaged, 0);
    assert_int_equal(int_at(r->report, "ledger.host_samples"), (int64_t)rows->count);
    assert_int_equal(int_at(r->report, "ledger.host_samples_no_memory"), 0);
    assert_true(int_at(r->report, "ledger.cost_host_samples") > 0);
    assert_string_equal(capability_of(r, "host_samples", "status"),
                        STATES ? "collected" : "partial");
    if (STATES) /* else the runner leaves the message out */
        assert_null(message_of(r, "host_samples_state"));
    for (size_t i = 0; i < rows->count; i++) {
        assert_true(rows->samples[i].late >= 0);
        /* Without Python only a blocked thread has a stack. */
        const struct host_sample_row *s = &rows->samples[i];
        assert_true(s->stack ? s->state == 3 && s->quality == 3 : s->quality == CELL_NULL);
    }
}

static void run_roles(const char *const *program, int roles)
{
    struct run r;
    struct rows rows;
    size_t i;
    json_t *role;
    run_all(&r, &(struct run_setup){.program = program, .binary = "fake/idle_threads"});
    check_program(&r, 0);
    rows_open(&rows, r.logs);
    check_rows(&r, &rows);
    assert_int_equal(json_array_size(at(r.said, "0.roles")), roles);
    json_array_foreach(at(r.said, "0.roles"), i, role) check_role(&r, &rows, role);
    rows_close(&rows);
    run_free(&r);
}

TEST(each_in_its_state)
{
    run_roles(LIST("pipe", "lock", "sleep", "ms=1500"), 3);
}

TEST(one_that_computes)
{
    run_roles(LIST("compute", "ms=1500"), 1);
}

/* Two threads share a core: at each moment one of them is ready and has none. */
TEST(two_on_one_core)
{
    run_roles(LIST("pinned", "pinned", "ms=2000"), 2);
}

/* If the kernel reports nothing of threads, samples have no state, and the session says why. */
TEST(kernel_says_nothing)
{
    static const struct {
        const char *program[4], *why;
    } cases[] = {{{"pipe", "ms=500", "proc=none"}, "/proc/self/task cannot be opened"},
                 {{"pipe", "ms=500", "proc=bare"}, "/proc/self/task/*/syscall cannot be read"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run r;
        struct rows rows;
        run_all(&r,
                &(struct run_setup){.env = LIST("ASAN_OPTIONS=detect_leaks=0"), /* needs /proc */
                                    .program = cases[i].program,
                                    .binary = "fake/idle_threads"});
        check_program(&r, 0);
        if (json_object_get(json_array_get(r.said, 0), "mounts")) {
            run_free(&r);
            print_message("skipped: no right to mount\n");
            skip();
        }
        rows_open(&rows, r.logs);
        size_t seen = 0;
        for (size_t k = 0; k < rows.count; k++) {
            seen += rows.samples[k].thread == int_at(r.said, "0.roles.0.tid");
            assert_true(rows.samples[k].state == CELL_NULL);
        }
        assert_true(seen >= LEAST);
        assert_string_equal(capability_of(&r, "host_samples", "status"), "partial");
        if (STATES) {
            check_contains(&r, capability_of(&r, "host_samples", "reason"), cases[i].why);
            check_contains(&r, message_of(&r, "host_samples_state"), cases[i].why);
        }
        rows_close(&rows);
        run_free(&r);
    }
}

/* The first thread has a row although it never launches: it sleeps and joins. */
TEST(first_thread_is_looked_at)
{
    struct run r;
    struct rows rows;
    run_all(&r,
            &(struct run_setup){.program = LIST("pipe", "ms=500"), .binary = "fake/idle_threads"});
    check_program(&r, 0);
    rows_open(&rows, r.logs);
    json_t *first =
        json_pack("{s:s,s:I}", "name", "main", "tid", (json_int_t)int_at(r.said, "0.pid"));
    check_role(&r, &rows, first);
    json_decref(first);
    rows_close(&rows);
    run_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_in_its_state),         cmocka_unit_test(one_that_computes),
        cmocka_unit_test(two_on_one_core),           cmocka_unit_test(kernel_says_nothing),
        cmocka_unit_test(first_thread_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
