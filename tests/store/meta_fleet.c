/* meta_fleet.c - has cases of hosts, GPUs, days, the audit log and settings. */
#include "meta_place.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Known values of a host stay if a later state lacks them; a state that arrives late does not
 * replace a newer one. */
static void check_host(struct fixture *f)
{
    struct meta_host h = {.name = "node-a",
                          .system = "Debian 12",
                          .cpus = 64,
                          .memory = META_NONE,
                          .state = "{\"cpu\":1}",
                          .created = 10,
                          .seen = 100};
    struct meta_host_now host;
    OK(meta_host_put(f->m, "w1", &h, &f->e));
    h = (struct meta_host){.name = "node-a",
                           .cpus = META_NONE,
                           .memory = 512,
                           .state = "{\"cpu\":2}",
                           .created = 20,
                           .seen = 200};
    OK(meta_host_put(f->m, "w1", &h, &f->e));
    h = (struct meta_host){.name = "node-a",
                           .system = "Debian 11",
                           .cpus = 8,
                           .state = "{\"cpu\":3}",
                           .created = 15,
                           .seen = 150}; /* arrives late */
    OK(meta_host_put(f->m, "w1", &h, &f->e));
    h.created = 5; /* of a session that was recorded before all others */
    OK(meta_host_put(f->m, "w1", &h, &f->e));
    OK(meta_host_get(ASK(f, "w1"), "node-a", &host));
    assert_string_equal(host.system, "Debian 12");
    assert_string_equal(host.state, "{\"cpu\":2}");
    assert_int_equal(host.cpus, 64);
    assert_int_equal(host.memory, 512);
    assert_int_equal(host.created, 5);
    assert_int_equal(host.seen, 200);
}

/* A GPU is kept and forgotten like a host, and can move to another host. */
static void check_gpus(struct fixture *f)
{
    struct meta_gpu g = {.uuid = "GPU-1",
                         .host = "node-a",
                         .name = "H200",
                         .memory = 141,
                         .created = 10,
                         .seen = 100};
    struct meta_gpu_now gpu, *gpus = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    OK(meta_gpu_put(f->m, "w1", &g, &f->e));
    g = (struct meta_gpu){.uuid = "GPU-1",
                          .host = "node-b",
                          .memory = META_NONE,
                          .session = "s9",
                          .created = 200,
                          .seen = 300}; /* moved */
    OK(meta_gpu_put(f->m, "w1", &g, &f->e));
    g = (struct meta_gpu){.uuid = "GPU-1",
                          .host = "node-c",
                          .name = "H100",
                          .memory = 80,
                          .state = "{}",
                          .created = 3,
                          .seen = 4}; /* of an earlier session that comes late */
    OK(meta_gpu_put(f->m, "w1", &g, &f->e));
    g = (struct meta_gpu){.uuid = "GPU-2", .host = "node-a", .memory = META_NONE, .seen = 1};
    OK(meta_gpu_put(f->m, "w1", &g, &f->e));
    OK(meta_gpu_list(ASK(f, "w1"), NULL, &page, &gpus, &n));
    assert_int_equal(n, 2);
    assert_int_equal(gpus[0].memory, META_NONE);
    assert_string_equal(gpus[1].name, "H200");
    assert_string_equal(gpus[1].session, "s9");
    assert_int_equal(gpus[1].memory, 141);
    OK(meta_gpu_list(ASK(f, "w1"), "node-b", &page, &gpus, &n));
    assert_int_equal(n, 1);
    OK(meta_gpu_get(ASK(f, "w1"), "GPU-1", &gpu));
    assert_string_equal(gpu.host, "node-b");
    assert_string_equal(gpu.name, "H200");
    assert_string_equal(gpu.session, "s9");
    assert_string_equal(gpu.state, "");
    assert_int_equal(gpu.memory, 141);
    assert_int_equal(gpu.created, 3);
    assert_int_equal(gpu.seen, 300);
    FAILS(NOENT, meta_gpu_get(ASK(f, "w1"), "GPU-9", &gpu));
}

static void test_hosts_and_gpus(void **state)
{
    struct fixture *f = *state;
    struct meta_host_now *hosts = NULL;
    struct meta_gpu_now *gpus = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    people_make(f);
    check_host(f);
    check_gpus(f);
    OK(meta_host_remove(f->m, "w1", "node-a", &f->e));
    FAILS(NOENT, meta_host_remove(f->m, "w1", "node-a", &f->e));
    OK(meta_host_list(ASK(f, "w1"), &page, &hosts, &n));
    assert_int_equal(n, 0);
    OK(meta_gpu_list(ASK(f, "w1"), NULL, &page, &gpus, &n));
    assert_int_equal(n, 1);
}

enum { HOSTS = 7, GPUS = 4 };

static void put_fleet(struct fixture *f, char names[HOSTS][16])
{
    char uuids[HOSTS * GPUS][16];
    struct meta_host hosts[HOSTS];
    struct meta_gpu gpus[HOSTS * GPUS];
    for (int i = 0; i < HOSTS; i++) {
        snprintf(names[i], sizeof names[i], "node-%d", i);
        hosts[i] = (struct meta_host){.name = names[i], .cpus = i, .memory = i, .seen = 100 + i};
        for (int k = 0; k < GPUS; k++) {
            int at = i * GPUS + k;
            snprintf(uuids[at], sizeof uuids[at], "GPU-%d-%d", i, k);
            gpus[at] = (struct meta_gpu){.uuid = uuids[at],
                                         .host = names[i],
                                         .number = GPUS - k, /* not in the order of UUIDs */
                                         .memory = 1,
                                         .seen = 100 + i};
        }
    }
    OK(meta_fleet_put(
        f->m, "w1",
        &(struct meta_fleet_state){
            .hosts = hosts, .host_count = HOSTS, .gpus = gpus, .gpu_count = (size_t)HOSTS * GPUS},
        &f->e));
    FAILS(NOENT,
          meta_fleet_put(
              f->m, "w9",
              &(struct meta_fleet_state){.hosts = hosts, .host_count = 1, .gpu_count = 0}, &f->e));
}

/* Many hosts at once are listed in pages; hosts that sent nothing for long are forgotten. */
static void test_a_fleet(void **state)
{
    struct fixture *f = *state;
    char names[HOSTS][16], last[64] = "";
    struct meta_host_now *host = NULL;
    struct meta_gpu_now *gpu = NULL;
    struct meta_page page = {.limit = 3};
    size_t n = 0, seen = 0;
    people_make(f);
    put_fleet(f, names);
    do {
        OK(meta_host_list(ASK(f, "w1"), &page, &host, &n));
        for (size_t i = 0; i < n; i++, seen++) {
            assert_string_equal(host[i].name, names[seen]);
            assert_int_equal(host[i].gpus, GPUS);
            assert_int_equal(host[i].sessions, 0);
        }
        page.after = page.next;
    } while (page.next);
    assert_int_equal(seen, HOSTS);
    page = (struct meta_page){.limit = 5};
    for (seen = 0, page.next = "";; page.after = page.next) {
        OK(meta_gpu_list(ASK(f, "w1"), NULL, &page, &gpu, &n));
        for (size_t i = 0; i < n; i++, seen++) {
            char key[64];
            snprintf(key, sizeof key, "%s %d", gpu[i].host, (int)gpu[i].number);
            assert_true(strcmp(last, key) < 0);
            memcpy(last, key, sizeof last);
        }
        if (!page.next)
            break;
    }
    assert_int_equal(seen, HOSTS * GPUS);
    OK(meta_fleet_forget(f->m, "w1", 103, &f->e));
    page = (struct meta_page){0};
    OK(meta_host_list(ASK(f, "w1"), &page, &host, &n));
    assert_int_equal(n, HOSTS - 3);
    OK(meta_gpu_list(ASK(f, "w1"), NULL, &page, &gpu, &n));
    assert_int_equal(n, (HOSTS - 3) * GPUS);
}

/* Live sessions, and their numbers on hosts and GPUs. */
static void test_running(void **state)
{
    struct fixture *f = *state;
    const struct meta_session_gpu gpus[] = {{"GPU-1", "H200", NULL}, {"GPU-2", "H200", NULL}};
    struct meta_session s = {.id = "s1", .app = "train", .host = "a", .pid = 1, .started = 5};
    struct meta_running *rows = NULL;
    struct meta_host_now host;
    struct meta_gpu_now gpu;
    size_t n = 0;
    people_make(f);
    OK(meta_host_put(f->m, "w1", &(struct meta_host){.name = "a", .seen = 5}, &f->e));
    OK(meta_gpu_put(f->m, "w1", &(struct meta_gpu){.uuid = "GPU-1", .host = "a", .seen = 5},
                    &f->e));
    OK(meta_session_put(f->m, "w1", &s, &(struct meta_session_gpus){gpus, 2}, NULL, &f->e));
    s.id = "s2";
    s.app = "infer";
    OK(meta_session_put(f->m, "w1", &s, &(struct meta_session_gpus){gpus, 1}, NULL, &f->e));
    s.id = "s3"; /* knows no GPU yet */
    s.host = "b";
    OK(meta_session_put(f->m, "w1", &s, NULL, NULL, &f->e));
    OK(meta_running_list(ASK(f, "w1"), NULL, NULL, NULL, &rows, &n));
    assert_int_equal(n, 4);
    assert_string_equal(rows[1].gpu, "GPU-2");
    assert_string_equal(rows[3].session, "s3");
    assert_string_equal(rows[3].gpu, "");
    OK(meta_running_list(ASK(f, "w1"), "a", "train", "GPU-2", &rows, &n));
    assert_int_equal(n, 1);
    OK(meta_host_get(ASK(f, "w1"), "a", &host));
    assert_int_equal(host.sessions, 2);
    assert_int_equal(host.gpus, 1);
    OK(meta_session_end(f->m, "w1", "s1", "ended", 9, &f->e));
    OK(meta_gpu_get(ASK(f, "w1"), "GPU-1", &gpu));
    assert_int_equal(gpu.sessions, 1);
    OK(meta_running_list(ASK(f, "w1"), "a", NULL, NULL, &rows, &n));
    assert_int_equal(n, 1);
}

/* A whole day as one row, page by page, and for one name. */
static void check_whole_days(struct fixture *f)
{
    struct meta_usage_sum *rows = NULL;
    struct meta_fleet_sum *sums = NULL;
    struct meta_page page = {.limit = 1};
    size_t n = 0;
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_DAY, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].name, "");
    assert_int_equal(rows[0].day, 10);
    page.after = page.next;
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_DAY, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 1);
    assert_int_equal(rows[0].day, 11);
    page = (struct meta_page){0};
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_APP, 0, 100, "infer"}, &page,
                       &rows, &n));
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].name, "infer");
    FAILS(INVAL, meta_fleet_sums(ASK(f, "w1"), &(struct meta_days){META_BY_DAY, 0, 1, NULL},
                                 &(struct meta_page){0}, &sums, &n));
}

static void test_days(void **state)
{
    struct fixture *f = *state;
    struct meta_usage_sum *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    people_make(f);
    session_make(f, "w1", "s1", "train", "node-a", 100);
    OK(meta_usage_put(f->m, "w1", "s1", usage_of_s1, 3, &f->e));
    OK(meta_usage_put(f->m, "w1", "s1", usage_of_s1, 3, &f->e)); /* once more: counts once */
    OK(meta_usage_put(f->m, "w1", "s2", usage_of_s2, 1, &f->e));
    OK(meta_session_drop(f->m, "w1", "s1", 900, &f->e)); /* its days stay */
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_HOST, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].name, "node-a");
    assert_int_equal(rows[0].day, 10);
    assert_int_equal(rows[0].sessions, 2);
    assert_int_equal(rows[0].gpus, 2);
    assert_int_equal(rows[0].wall, 240);
    assert_int_equal(rows[0].known, 240);
    assert_int_equal(rows[0].busy, 115);
    assert_int_equal(rows[0].kernels, 10);
    assert_int_equal(rows[0].sampled, 140);
    assert_int_equal(rows[0].utilized, 90);
    assert_int_equal(rows[0].energy, 7);
    assert_int_equal(rows[1].energy, META_NONE);
    assert_int_equal(rows[1].wall, 200);
    assert_int_equal(rows[1].known, 0);
    assert_int_equal(rows[1].busy, META_NONE); /* unknown, which is not 0 */
    assert_int_equal(rows[1].kernels, META_NONE);
    assert_int_equal(rows[1].counted, 0);
    assert_int_equal(rows[0].counted, 2);
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_APP, 10, 11, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 2);
    assert_string_equal(rows[0].name, "infer");
    page.limit = 1;
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_GPU, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].name, "GPU-1");
    page.after = page.next;
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_GPU, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 1);
    assert_int_equal(rows[0].day, 11);
    check_whole_days(f);
    page = (struct meta_page){0};
    FAILS(INVAL, meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_ENGINE, 0, 1, NULL},
                                 &page, &rows, &n));
    FAILS(NOENT, meta_usage_put(f->m, "w9", "s1", usage_of_s1, 3, &f->e));
    OK(meta_usage_put(f->m, "w1", "s1", NULL, 0, &f->e));
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_APP, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 1);
}

/* No session of that name knows its kernels: their number is unknown, not 0. */
static void unknown_sum(const struct meta_fleet_sum *row, const char *name)
{
    assert_string_equal(row->name, name);
    assert_int_equal(row->kernels, META_NONE);
    assert_int_equal(row->counted, 0);
    assert_true(isnan(row->busy));
}

static const int64_t hour = 3600000000000;

/* Two sessions with usage and findings, and one with usage alone. */
static void put_usage(struct fixture *f)
{
    const struct meta_usage one[] = {
        {10, "GPU-1", "a", "train", hour, hour / 2, 7, hour, hour / 4, 5000},
        {11, "GPU-1", "a", "train", hour, META_NONE, 8, 0, 0, META_NONE},
        {11, "GPU-2", "a", "train", 2 * hour, hour / 2, 8, hour, hour, 7000},
        {40, "GPU-3", "z", "later", hour, 0, 8, 0, 0, META_NONE}};
    const struct meta_usage two[] = {
        {11, "GPU-1", "b", "infer", hour, 0, 9, 0, 0, META_NONE},
        {12, "GPU-1", "c", "watch", hour / 2, META_NONE, META_NONE, 0, 0, META_NONE}};
    const struct meta_finding mild = {
        .session = "s2", .rule = "copies_small", .severity = 0, .gives_back = 9, .title = "Small"};
    const struct meta_finding bad[] = {
        {.session = "s1", .rule = "spills", .severity = 1, .gives_back = 5, .gpu = "GPU-2"},
        {.session = "s1",
         .number = 1,
         .rule = "sync",
         .severity = 2,
         .share = 0.25,
         .title = "Waits"}};
    const struct meta_analysis a1 = {.session = "s1", .kind = "report", .body = {"x", 1}};
    const struct meta_analysis a2 = {.session = "s2", .kind = "report", .body = {"x", 1}};
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    session_make(f, "w1", "s2", "infer", "b", 100);
    OK(meta_usage_put(f->m, "w1", "s1", one, 4, &f->e));
    OK(meta_usage_put(f->m, "w1", "s3", two + 1, 1, &f->e));
    OK(meta_analysis_put(f->m, "w1", &a1, bad, 2, &f->e));
    OK(meta_analysis_put(f->m, "w1", &a2, &mild, 1, &f->e)); /* findings first, or usage first */
    OK(meta_usage_put(f->m, "w1", "s2", two, 1, &f->e));
}

static void check_apps(const struct meta_fleet_sum *rows, size_t n)
{
    assert_int_equal(n, 3); /* longest first */
    unknown_sum(&rows[2], "watch");
    assert_int_equal(rows[0].counted, 1);
    assert_int_equal(rows[0].known, 3 * hour);
    assert_string_equal(rows[0].name, "train");
    assert_int_equal(rows[0].sessions, 1);
    assert_int_equal(rows[0].gpus, 2);
    assert_int_equal(rows[0].days, 2);
    assert_int_equal(rows[0].wall, 4 * hour);
    assert_true(fabs(rows[0].hours - 4) < 1e-12);
    assert_true(fabs(rows[0].busy - 1.0 / 3) < 1e-12); /* of the three hours that are known */
    assert_true(fabs(rows[0].utilization - 0.625) < 1e-12);
    assert_int_equal(rows[0].energy, 12000);
    assert_int_equal(rows[0].kernels, 23);
    assert_int_equal(rows[0].findings, 2);
    assert_string_equal(rows[0].rule, "sync");
    assert_string_equal(rows[0].session, "s1");
    assert_int_equal(rows[0].severity, 2);
    assert_true(fabs(rows[0].share - 0.25) < 1e-12);
    assert_string_equal(rows[1].rule, "copies_small");
    assert_true(isnan(rows[1].utilization));
    assert_int_equal(rows[1].energy, META_NONE);
}

static void check_pages_of_gpus(struct fixture *f)
{
    struct meta_fleet_sum *rows = NULL;
    struct meta_page page = {.limit = 1};
    size_t n = 0;
    OK(meta_fleet_sums(ASK(f, "w1"), &(struct meta_days){META_BY_GPU, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 1);
    assert_string_equal(rows[0].name, "GPU-1"); /* 3 hours, GPU-2 has 2 */
    assert_int_equal(rows[0].sessions, 3);
    assert_int_equal(rows[0].counted, 2);  /* the sum of kernels is of these */
    assert_int_equal(rows[0].findings, 2); /* not that of GPU-2 */
    page.after = page.next;
    OK(meta_fleet_sums(ASK(f, "w1"), &(struct meta_days){META_BY_GPU, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_string_equal(rows[0].name, "GPU-2");
    assert_int_equal(rows[0].findings, 2);
}

/* All days are summed, with the worst finding of the sessions that still exist. */
static void test_sums(void **state)
{
    struct fixture *f = *state;
    struct meta_fleet_sum *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    put_usage(f);
    OK(meta_fleet_sums(ASK(f, "w1"), &(struct meta_days){META_BY_APP, 0, 30, NULL}, &page, &rows,
                       &n));
    check_apps(rows, n);
    check_pages_of_gpus(f);
    OK(meta_session_drop(f->m, "w1", "s1", 900, &f->e)); /* its hours stay */
    OK(meta_fleet_sums(ASK(f, "w1"), &(struct meta_days){META_BY_HOST, 0, 30, NULL}, &page, &rows,
                       &n));
    assert_string_equal(rows[0].name, "a");
    assert_int_equal(rows[0].findings, 0);
    assert_int_equal(rows[0].severity, META_NONE);
    assert_string_equal(rows[0].rule, "");
    OK(meta_fleet_sums(ASK(f, "w1"), &(struct meta_days){META_BY_HOST, 100, 200, NULL}, &page,
                       &rows, &n));
    assert_int_equal(n, 0);
    FAILS(INVAL, meta_fleet_sums(ASK(f, "w1"), &(struct meta_days){META_BY_ENGINE, 0, 1, NULL},
                                 &page, &rows, &n));
}

static void test_audit(void **state)
{
    struct fixture *f = *state;
    struct meta_audited *rows = NULL;
    struct meta_page page = {.limit = 3};
    size_t n = 0;
    int64_t last = INT64_MAX;
    people_make(f);
    for (int i = 0; i < 7; i++) {
        const struct meta_audit a = {
            .at = 100 - i, .actor = "u1", .kind = "user", .action = "key.create"};
        OK(meta_audit_add(f->m, i == 3 ? "" : "w1", &a, &f->e));
    }
    OK(meta_workspace_remove(f->m, "w1", 900, &f->e)); /* its log stays */
    for (size_t want = 3; page.limit; want = 3) {
        OK(meta_audit_list(ASK(f, "w1"), &page, &rows, &n));
        assert_int_equal(n, want);
        for (size_t i = 0; i < n; i++) {
            assert_true(rows[i].number < last); /* by arrival, not by clocks */
            last = rows[i].number;
        }
        if (!page.next)
            break;
        page.after = page.next;
    }
    page = (struct meta_page){0};
    OK(meta_audit_list(ASK(f, ""), &page, &rows, &n));
    assert_int_equal(n, 1);
    assert_int_equal(rows[0].at, 97);
    FAILS(INVAL, meta_audit_list(ASK(f, "not/an/id"), &page, &rows, &n));
}

static void test_settings_and_leases(void **state)
{
    struct fixture *f = *state;
    struct meta_retention r;
    struct meta_setting s, *list = NULL;
    size_t n = 0;
    bool mine = false;
    people_make(f);
    OK(meta_retention_get(f->m, "w1", &r, &f->e));
    assert_int_equal(r.sessions, 0);
    OK(meta_retention_put(f->m, "w1", &(struct meta_retention){5, 6, 7}, &f->e));
    OK(meta_retention_put(f->m, "w1", &(struct meta_retention){8, 9, 10}, &f->e));
    FAILS(INVAL, meta_retention_put(f->m, "w1", &(struct meta_retention){-1, 0, 0}, &f->e));
    FAILS(NOENT, meta_retention_put(f->m, "w9", &(struct meta_retention){1, 0, 0}, &f->e));
    OK(meta_retention_get(f->m, "w1", &r, &f->e));
    assert_int_equal(r.sessions, 8);
    assert_int_equal(r.bytes, 9);
    assert_int_equal(r.metrics, 10);
    FAILS(NOENT, meta_setting_get(ASK(f, NULL), "x", &s));
    OK(meta_setting_put(f->m, &(struct meta_setting){"x", "1", 5}, &f->e));
    OK(meta_setting_put(f->m, &(struct meta_setting){"x", "2", 6}, &f->e));
    OK(meta_setting_get(ASK(f, NULL), "x", &s));
    assert_string_equal(s.value, "2");
    OK(meta_setting_list(ASK(f, NULL), &list, &n));
    assert_int_equal(n, 1);
    OK(meta_lease(f->m,
                  &(struct meta_lease){.name = "alerts", .holder = "A", .now = 100, .until = 200},
                  &mine, &f->e));
    assert_true(mine);
    OK(meta_lease(f->m,
                  &(struct meta_lease){.name = "alerts", .holder = "B", .now = 150, .until = 250},
                  &mine, &f->e));
    assert_false(mine);
    OK(meta_lease(f->m,
                  &(struct meta_lease){.name = "alerts", .holder = "A", .now = 150, .until = 300},
                  &mine, &f->e));
    assert_true(mine);
    OK(meta_lease(f->m,
                  &(struct meta_lease){.name = "alerts", .holder = "B", .now = 250, .until = 350},
                  &mine, &f->e));
    assert_false(mine);
    OK(meta_lease(f->m,
                  &(struct meta_lease){.name = "alerts", .holder = "B", .now = 300, .until = 400},
                  &mine, &f->e));
    assert_true(mine);
    OK(meta_ping(f->m, &f->e));
    OK(meta_check(f->m, &f->e));
}

/* One holder at a time has a turn; then it goes to the one who asked, then to anybody. */
static void test_turns(void **state)
{
    struct fixture *f = *state;
    struct meta_turn t;
#define TAKE(who, at, is_mine, is_seized)                                                          \
    do {                                                                                           \
        t = (struct meta_turn){"s", who, at, (at) + 100, (at) + 10, false, false};                 \
        OK(meta_turn_take(f->m, "w1", &t, &f->e));                                                 \
        assert_int_equal(t.mine, is_mine);                                                         \
        assert_int_equal(t.seized, is_seized);                                                     \
    } while (0)
#define GIVE(who, at, is_mine)                                                                     \
    do {                                                                                           \
        t = (struct meta_turn){.session = "s", .holder = who, .now = at};                          \
        OK(meta_turn_give(f->m, "w1", &t, &f->e));                                                 \
        assert_int_equal(t.mine, is_mine);                                                         \
    } while (0)
#define KEEP(who, to, is_mine)                                                                     \
    do {                                                                                           \
        t = (struct meta_turn){.session = "s", .holder = who, .until = to};                        \
        OK(meta_turn_keep(f->m, "w1", &t, &f->e));                                                 \
        assert_int_equal(t.mine, is_mine);                                                         \
    } while (0)
    TAKE("A", 1000, true, false);
    GIVE("A", 1010, true);
    GIVE("A", 1010, false);
    TAKE("B", 1020, true, false); /* nobody asked */
    TAKE("A", 1030, false, false);
    TAKE("C", 1035, false, false); /* A is next */
    GIVE("A", 1036, false);
    GIVE("B", 1038, true);
    TAKE("B", 1039, false, false);
    TAKE("A", 1039, true, true);
    GIVE("A", 1051, true); /* B did not ask again */
    TAKE("C", 1052, true, false);
    TAKE("A", 1151, false, false);
    KEEP("C", 1160, true);
    TAKE("A", 1159, false, false);
    TAKE("A", 1160, true, true); /* C hangs */
    KEEP("C", 1300, false);
    GIVE("C", 1170, false);
    OK(meta_turn_expire(f->m, 1259, &f->e));
    TAKE("C", 1200, false, false);
    OK(meta_turn_expire(f->m, 1260, &f->e));
    TAKE("C", 1260, true, false);
    GIVE("C", 1260, true);
#undef TAKE
#undef GIVE
#undef KEEP
}

static void test_rows_as_json(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 1 << 16);
    const struct meta_key k = {
        .id = "k1", .name = "a\"b", .hash = "secret", .scopes = 3, .created = 1700000000000000001};
    meta_json(&b, META_ROW_key, &k);
    assert_string_equal(buf_cstr(&b),
                        "{\"id\":\"k1\",\"name\":\"a\\\"b\",\"prefix\":\"\",\"scopes\":3,"
                        "\"created\":\"1700000000000000001\",\"creator\":\"\",\"expires\":null,"
                        "\"used\":null,\"revoked\":null}");
    buf_clear(&b);
    const struct meta_gpu g = {.uuid = "G", .memory = META_NONE, .state = "{\"t\":1}"};
    meta_json(&b, META_ROW_gpu, &g);
    assert_non_null(strstr(buf_cstr(&b), "\"memory\":null"));
    assert_non_null(strstr(buf_cstr(&b), "\"state\":{\"t\":1}"));
    buf_clear(&b);
    const struct meta_finding f = {.share = NAN, .measured = 1};
    meta_json(&b, META_ROW_finding, &f);
    assert_non_null(strstr(buf_cstr(&b), "\"measured\":true"));
    assert_non_null(strstr(buf_cstr(&b), "\"share\":null"));
    buf_fini(&b);
}

int meta_fleet_cases(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_hosts_and_gpus),
        CASE(test_a_fleet),
        CASE(test_running),
        CASE(test_days),
        CASE(test_sums),
        CASE(test_audit),
        CASE(test_settings_and_leases),
        CASE(test_turns),
        cmocka_unit_test(test_rows_as_json),
    };
    return cmocka_run_group_tests_name("fleet", tests, NULL, NULL);
}
