/* meta_rollups.c - cases of the sums of kernels, scopes and lines that outlive their sessions, and
 * of GPUs by application and host. */
#include "meta_place.h"

#include "meta/usage_gpus.h"

#include <stdio.h>
#include <string.h>

/* Spans of days are 0 to 31, 32 to 63 and so on. The first question covers whole spans only; in the
 * second no whole span is covered that has a sum. */
static const struct meta_rollup_query of_kernels = {.kind = "kernel", .to = 96};
static const struct meta_rollup_query of_kernel_days = {.kind = "kernel", .from = 1, .to = 95};

/* The sum of a name over all days; NULL: it is not there. */
static const struct meta_rollup_sum *sum_of(struct fixture *f, const struct meta_rollup_query *q,
                                            const char *name)
{
    struct meta_rollup_sum *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    OK(meta_rollup_sums(ASK(f, "w1"), q, &page, &rows, &n));
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

static void check_sum(struct fixture *f, const char *name, int64_t sessions, int64_t calls,
                      double total)
{
    const struct meta_rollup_query *const both[] = {&of_kernels, &of_kernel_days};
    for (int i = 0; i < 2; i++) {
        const struct meta_rollup_sum *s = sum_of(f, both[i], name);
        assert_non_null(s);
        assert_int_equal(s->sessions, sessions);
        assert_int_equal(s->calls, calls);
        assert_true(s->total == total);
    }
}

/* A session counts once, however often it is summed, also with other rows. After a drop the sums
 * stay, and that session is not summed again; forgotten days are gone. */
TEST(test_sums_outlive_sessions)
{
    struct fixture *f = *state;
    const struct meta_rollup_part one[] = {{"kernel", 0, 10, "train", "a", "gemm", 7, 700},
                                           {"kernel", 0, 10, "train", "a", "", 2, 20},
                                           {"scope", 0, 10, "train", "a", "step", 5, 50},
                                           {"line", 0, 10, "train", "a", "t.py:7", 3, 9},
                                           {"kernel", 0, 10, "train", "a", "gemm", 1, 100}};
    const struct meta_rollup_part changed[] = {{"kernel", 0, 10, "train", "a", "conv", 4, 40}};
    const struct meta_rollup_part two[] = {{"kernel", 0, 70, "train", "b", "gemm", 1, 1000}};
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    session_make(f, "w1", "s2", "train", "b", 100);
    OK(meta_rollup_put(f->m, "w1", "s1", one, 5, &f->e));
    OK(meta_rollup_put(f->m, "w1", "s1", one, 5, &f->e));
    OK(meta_rollup_put(f->m, "w1", "s2", two, 1, &f->e));
    check_sum(f, "gemm", 2, 9, 1800);
    check_sum(f, "", 1, 2, 20);
    OK(meta_rollup_put(f->m, "w1", "s1", changed, 1, &f->e));
    check_sum(f, "gemm", 1, 1, 1000);
    check_sum(f, "conv", 1, 4, 40);
    assert_null(sum_of(f, &of_kernels, ""));
    assert_null(sum_of(f, &of_kernel_days, ""));
    assert_null(sum_of(f, &(struct meta_rollup_query){.kind = "scope", .to = 100}, "step"));
    OK(meta_rollup_put(f->m, "w1", "s1", one, 5, &f->e));
    OK(meta_session_drop(f->m, "w1", "s1", 900, &f->e));
    FAILS(NOENT, meta_rollup_put(f->m, "w1", "s1", one, 5, &f->e));
    check_sum(f, "gemm", 2, 9, 1800);
    assert_null(sum_of(f, &of_kernels, "conv"));
    FAILS(INVAL, meta_rollup_put(f->m, "w1", "s2", two, META_ROLLUPS_MAX + 1, &f->e));
    FAILS(NOENT, meta_rollup_put(f->m, "w9", "s2", two, 1, &f->e));
    OK(meta_fleet_forget(f->m, "w1", 65 * INT64_C(86400000000000), &f->e));
    check_sum(f, "gemm", 1, 1, 1000);
    OK(meta_rollup_put(f->m, "w1", "s2", two, 1, &f->e)); /* and counts once again */
    check_sum(f, "gemm", 1, 1, 1000);
}

/* A line whose time comes from no samples has no number of them: that is unknown, not 0. */
TEST(test_lines_without_samples)
{
    struct fixture *f = *state;
    const struct meta_rollup_part one[] = {{"line", 0, 10, "train", "a", "wait.py:7", 0, 900},
                                           {"line", 0, 10, "train", "a", "both.py:7", 0, 300}};
    const struct meta_rollup_part two[] = {{"line", 0, 70, "train", "b", "wait.py:7", 0, 90},
                                           {"line", 0, 70, "train", "b", "both.py:7", 4, 30}};
    static const char *const apps[] = {NULL, "train"};
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    session_make(f, "w1", "s2", "train", "b", 100);
    OK(meta_rollup_put(f->m, "w1", "s1", one, 2, &f->e));
    OK(meta_rollup_put(f->m, "w1", "s2", two, 2, &f->e));
    for (int i = 0; i < 2; i++) {
        const struct meta_rollup_query q = {.kind = "line", .to = 100, .app = apps[i]};
        const struct meta_rollup_sum *wait = sum_of(f, &q, "wait.py:7"),
                                     *both = sum_of(f, &q, "both.py:7");
        assert_non_null(wait);
        assert_non_null(both);
        assert_int_equal(wait->calls, META_NONE);
        assert_true(wait->total == 990);
        assert_int_equal(both->calls, 4);
        assert_true(both->total == 330);
    }
    const struct meta_rollup_query by_day = {.kind = "line", .name = "both.py:7", .to = 100};
    struct meta_rollup_day *days = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    OK(meta_rollup_days(ASK(f, "w1"), &by_day, &page, &days, &n));
    assert_int_equal(n, 2);
    assert_int_equal(days[0].calls, META_NONE);
    assert_int_equal(days[1].calls, 4);
}

/* Sums by application and host, and in pages. */
TEST(test_sums_by_day)
{
    struct fixture *f = *state;
    const struct meta_rollup_part one[] = {{"kernel", 0, 10, "train", "a", "gemm", 7, 700},
                                           {"kernel", 0, 10, "train", "a", "conv", 7, 70}};
    const struct meta_rollup_part two[] = {{"kernel", 0, 12, "infer", "b", "gemm", 1, 70}};
    struct meta_rollup_query q = {.kind = "kernel", .name = "gemm", .to = 100};
    struct meta_rollup_day *days = NULL;
    struct meta_rollup_sum *sums = NULL;
    struct meta_page page = {.limit = 1};
    size_t n = 0;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    session_make(f, "w1", "s2", "infer", "b", 100);
    OK(meta_rollup_put(f->m, "w1", "s1", one, 2, &f->e));
    OK(meta_rollup_put(f->m, "w1", "s2", two, 1, &f->e));
    OK(meta_rollup_days(ASK(f, "w1"), &q, &page, &days, &n));
    assert_int_equal(n, 1);
    assert_int_equal(days[0].day, 10);
    assert_string_equal(days[0].name, "");
    assert_true(days[0].total == 700);
    page.after = page.next;
    OK(meta_rollup_days(ASK(f, "w1"), &q, &page, &days, &n));
    assert_int_equal(n, 1);
    assert_int_equal(days[0].day, 12);
    assert_null(page.next);
    q.by = META_ROLLUP_APP;
    page = (struct meta_page){0};
    OK(meta_rollup_days(ASK(f, "w1"), &q, &page, &days, &n));
    assert_int_equal(n, 2);
    assert_string_equal(days[0].name, "infer");
    q.by = META_ROLLUP_HOST;
    q.app = "train";
    OK(meta_rollup_days(ASK(f, "w1"), &q, &page, &days, &n));
    assert_int_equal(n, 1);
    assert_string_equal(days[0].name, "a");
    q.app = NULL;
    page = (struct meta_page){.limit = 1};
    OK(meta_rollup_sums(ASK(f, "w1"), &q, &page, &sums, &n));
    assert_int_equal(n, 1);
    assert_string_equal(sums[0].name, "gemm");
    assert_true(sums[0].total == 770);
    page.after = page.next;
    OK(meta_rollup_sums(ASK(f, "w1"), &q, &page, &sums, &n));
    assert_int_equal(n, 1);
    assert_string_equal(sums[0].name, "conv");
    assert_null(page.next);
    page.after = "nonsense";
    FAILS(INVAL, meta_rollup_sums(ASK(f, "w1"), &q, &page, &sums, &n));
}

enum { PARTS = 60 };

/* Returns whether a part counts in a row of an answer, or in any row (name NULL). */
static bool counts_in(const struct meta_rollup_part *p, const struct meta_rollup_query *q,
                      const struct meta_rollup_day *row)
{
    if (strcmp(p->kind, q->kind) != 0 || strcmp(p->name, q->name) != 0 || p->day < q->from ||
        p->day >= q->to || (q->app && strcmp(p->app, q->app) != 0) ||
        (q->host && strcmp(p->host, q->host) != 0))
        return false;
    const char *by = q->by == META_ROLLUP_APP ? p->app : q->by == META_ROLLUP_HOST ? p->host : "";
    return !row || (p->day == row->day && strcmp(by, row->name) == 0);
}

/* Asks in pages, and compares each row with the parts that it sums, and all rows with all parts. */
static void days_check(struct fixture *f, const struct meta_rollup_query *q,
                       const struct meta_rollup_part parts[PARTS])
{
    struct meta_rollup_day *rows = NULL, last = {.name = "", .day = -1};
    struct meta_page page = {.limit = 4};
    int64_t sessions = 0, wanted = 0;
    size_t n = 0;
    do {
        OK(meta_rollup_days(ASK(f, "w1"), q, &page, &rows, &n));
        for (size_t i = 0; i < n; i++) {
            int64_t counted = 0, calls = 0;
            double total = 0;
            for (int k = 0; k < PARTS; k++)
                if (counts_in(&parts[k], q, &rows[i])) {
                    counted++;
                    calls += parts[k].calls;
                    total += parts[k].total;
                }
            assert_int_equal(rows[i].sessions, counted);
            assert_int_equal(rows[i].calls, calls);
            assert_true(rows[i].total == total);
            int order = strcmp(rows[i].name, last.name);
            assert_true(order > 0 || (order == 0 && rows[i].day > last.day));
            last = rows[i];
            sessions += counted;
        }
        page.after = page.next;
    } while (page.next);
    for (int k = 0; k < PARTS; k++)
        wanted += counts_in(&parts[k], q, NULL);
    assert_int_equal(sessions, wanted);
}

/* Every grouping of the days of every choice of sessions. */
TEST(test_days_of_all_choices)
{
    static const char *const apps[] = {NULL, "app0", "app2", "none"};
    static const char *const hosts[] = {NULL, "host0", "host4", "none"};
    static char names[PARTS][2][8];
    struct fixture *f = *state;
    struct meta_rollup_part parts[PARTS];
    people_make(f);
    for (int i = 0; i < PARTS; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        snprintf(names[i][0], sizeof names[i][0], "app%d", i % 3);
        snprintf(names[i][1], sizeof names[i][1], "host%d", i / 2 % 5);
        parts[i] = (struct meta_rollup_part){"kernel",    0,           i % 7 * 9,
                                             names[i][0], names[i][1], i % 4 ? "gemm" : "",
                                             1 + i,       1 << i % 20};
        session_make(f, "w1", id, parts[i].app, parts[i].host, 100);
        OK(meta_rollup_put(f->m, "w1", id, &parts[i], 1, &f->e));
    }
    for (int choice = 0; choice < 4 * 4 * 3 * 2; choice++)
        days_check(f,
                   &(struct meta_rollup_query){.kind = "kernel",
                                               .name = choice % 2 ? "" : "gemm",
                                               .by = choice / 2 % 3,
                                               .app = apps[choice / 6 % 4],
                                               .host = hosts[choice / 24],
                                               .from = 9,
                                               .to = 54},
                   parts);
}

/* A span of days is used if all of it is asked for, and its days otherwise: the answer is that of
 * an application, which is summed from days alone. */
TEST(test_sums_of_spans)
{
    struct fixture *f = *state;
    people_make(f);
    for (int day = 0; day < 130; day++) {
        char id[16];
        const struct meta_rollup_part part = {"kernel", 0, day, "train", "a", "gemm", 1, 1 << 20};
        snprintf(id, sizeof id, "s%d", day);
        session_make(f, "w1", id, "train", "a", 100);
        OK(meta_rollup_put(f->m, "w1", id, &part, 1, &f->e));
    }
    static const int64_t days[][2] = {{0, 130}, {0, 32},   {1, 32},   {0, 31},  {31, 33},
                                      {5, 70},  {32, 128}, {33, 127}, {60, 60}, {40, 50}};
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        struct meta_rollup_query q = {.kind = "kernel", .from = days[i][0], .to = days[i][1]};
        const struct meta_rollup_sum *all = sum_of(f, &q, "gemm");
        q.app = "train";
        const struct meta_rollup_sum *app = sum_of(f, &q, "gemm");
        q.host = "a";
        const struct meta_rollup_sum *host = sum_of(f, &q, "gemm");
        int64_t want = q.to - q.from;
        assert_int_equal(all ? all->sessions : 0, want);
        assert_int_equal(app ? app->sessions : 0, want);
        assert_int_equal(host ? host->calls : 0, want);
        assert_true(!all || all->total == (double)(want << 20));
    }
}

#define GPUS_OF(days, ...)                                                                         \
    meta_usage_gpus(ASK(f, "w1"), days, &(struct meta_usage_of){__VA_ARGS__}, &page, &rows, &n)

/* The rows of s1 and s2, each GPU and day by itself; what is unknown is not 0. */
static void test_gpus_of_one_name(void **state)
{
    struct fixture *f = *state;
    const struct meta_days all = {META_BY_GPU, 0, 100, NULL}, day = {META_BY_GPU, 10, 11, "GPU-1"};
    struct meta_usage_sum *rows = NULL;
    struct meta_page page = {.limit = 2};
    size_t n = 0;
    people_make(f);
    OK(meta_usage_put(f->m, "w1", "s1", usage_of_s1, 3, &f->e));
    OK(meta_usage_put(f->m, "w1", "s2", usage_of_s2, 1, &f->e));
    OK(GPUS_OF(&all, "train", NULL));
    assert_true(n == 2 && rows[0].day == 10 && rows[0].wall == 100 && rows[0].busy == 50);
    assert_true(rows[1].day == 11 && rows[1].known == 0 && rows[1].busy == META_NONE);
    assert_true(rows[1].kernels == META_NONE && rows[1].counted == 0);
    assert_true(rows[1].energy == META_NONE);
    page.after = page.next;
    OK(GPUS_OF(&all, "train", NULL));
    assert_true(n == 1 && strcmp(rows[0].name, "GPU-2") == 0 && rows[0].kernels == 1);
    page = (struct meta_page){0};
    OK(GPUS_OF(&day, NULL, "node-a"));
    assert_true(n == 1 && rows[0].sessions == 2 && rows[0].gpus == 1 && rows[0].wall == 140);
    assert_true(rows[0].known == 140 && rows[0].kernels == 9 && rows[0].counted == 2);
    assert_true(rows[0].sampled == 140 && rows[0].utilized == 90 && rows[0].energy == 7);
    OK(GPUS_OF(&day, "infer", "node-a"));
    assert_true(n == 1 && rows[0].sessions == 1 && rows[0].wall == 40);
    OK(GPUS_OF(&day, "infer", "node-b"));
    assert_int_equal(n, 0);
    FAILS(INVAL, GPUS_OF(&day, NULL, NULL));
}

int meta_rollup_cases(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_sums_outlive_sessions), CASE(test_sums_by_day),
        CASE(test_days_of_all_choices),   CASE(test_sums_of_spans),
        CASE(test_lines_without_samples), CASE(test_gpus_of_one_name)};
    return cmocka_run_group_tests_name("sums", tests, NULL, NULL);
}
