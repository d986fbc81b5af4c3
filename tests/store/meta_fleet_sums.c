/* meta_fleet_sums.c - sums of usage by day and span against a recount: random sessions are put, put
 * again, dropped and forgotten, and every answer over random days must be what a walk over all rows
 * of all sessions gives; also of a store whose rows were made by an older version, and if
 * threads change sessions of the same names at once. */
#include "meta_place.h"

#include "base/alloc.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 40, ROWS = 240, FINDINGS = 3, DAYS = 170, LONGEST = 70, NAMES = 5, STEPS = 260 };

/* A session as the test knows it: its usage, and its findings while it exists. */
struct model_session {
    char id[16];
    bool exists;
    struct meta_usage rows[ROWS];
    size_t row_count;
    struct meta_finding findings[FINDINGS];
    size_t finding_count;
};

struct model {
    struct model_session of[SESSIONS];
    uint32_t seed;
};

static unsigned draw(struct model *m, unsigned n)
{
    m->seed ^= m->seed << 13;
    m->seed ^= m->seed >> 17;
    m->seed ^= m->seed << 5;
    return m->seed % n;
}

/* ---- random rows ---------------------------------------------------------------------------- */

static const char *const apps[NAMES] = {"train", "infer", "eval", "export", "tune"};
static const char *const hosts[NAMES] = {"node-a", "node-b", "node-c", "node-d", "node-e"};
static const char *const gpus[NAMES] = {"GPU-1", "GPU-2", "GPU-3", "GPU-4", "GPU-5"};

/* Days without a gap, on one to three GPUs; kernels of a GPU are known on all days or on none. */
static void draw_usage(struct model *m, struct model_session *s)
{
    unsigned length = draw(m, 4) ? 1 + draw(m, 3) : 1 + draw(m, LONGEST);
    unsigned first = draw(m, DAYS - length), most = 1 + draw(m, 3), gpu = draw(m, NAMES);
    unsigned app = draw(m, NAMES), host = draw(m, NAMES);
    s->row_count = 0;
    for (unsigned g = 0; g < most; g++) {
        bool known = draw(m, 4) != 0, sampled = draw(m, 3) != 0;
        for (unsigned day = first; day < first + length; day++)
            s->rows[s->row_count++] =
                (struct meta_usage){.day = day,
                                    .gpu = gpus[(gpu + g) % NAMES],
                                    .host = hosts[host],
                                    .app = apps[app],
                                    .wall = draw(m, 1000),
                                    .busy = known ? (int64_t)draw(m, 1000) : META_NONE,
                                    .kernels = known ? (int64_t)draw(m, 1000) : META_NONE,
                                    .sampled = sampled ? draw(m, 1000) : 0,
                                    .utilized = sampled ? draw(m, 1000) : 0,
                                    .energy = sampled ? (int64_t)draw(m, 1000) : META_NONE};
    }
}

static void draw_findings(struct model *m, struct model_session *s)
{
    static const char *const rules[] = {"sync", "copies", "spills"};
    s->finding_count = draw(m, FINDINGS + 1);
    for (size_t i = 0; i < s->finding_count; i++)
        s->findings[i] = (struct meta_finding){.session = s->id,
                                               .number = (int64_t)i,
                                               .rule = rules[i],
                                               .severity = draw(m, 3),
                                               .gives_back = draw(m, 50),
                                               .gpu = draw(m, 2) ? gpus[draw(m, NAMES)] : "",
                                               .title = rules[i]};
}

static void put_findings(struct fixture *f, const struct model_session *s)
{
    const struct meta_analysis a = {
        .session = s->id, .kind = "report", .final = true, .body = {"x", 1}};
    OK(meta_analysis_put(f->m, "w1", &a, s->findings, s->finding_count, &f->e));
}

static void put_usage(struct fixture *f, const struct model_session *s)
{
    OK(meta_usage_put(f->m, "w1", s->id, s->rows, s->row_count, &f->e));
}

/* ---- the recount ---------------------------------------------------------------------------- */

static const char *by_name(enum meta_by by, const struct meta_usage *u)
{
    return by == META_BY_APP    ? u->app
           : by == META_BY_HOST ? u->host
           : by == META_BY_GPU  ? u->gpu
                                : "";
}

/* Everything that is counted of one name over some days. */
struct count {
    struct meta_usage_sum sum;
    bool gpus[NAMES], days[DAYS];
    int64_t findings;
    const struct meta_finding *worst;
};

static void count_row(struct count *c, const struct meta_usage *u)
{
    struct meta_usage_sum *s = &c->sum;
    for (int g = 0; g < NAMES; g++)
        c->gpus[g] = c->gpus[g] || strcmp(gpus[g], u->gpu) == 0;
    c->days[u->day] = true;
    s->wall += u->wall;
    s->sampled += u->sampled;
    s->utilized += u->utilized;
    s->known += u->busy != META_NONE ? u->wall : 0;
    if (u->busy != META_NONE)
        s->busy = (s->busy == META_NONE ? 0 : s->busy) + u->busy;
    if (u->kernels != META_NONE)
        s->kernels = (s->kernels == META_NONE ? 0 : s->kernels) + u->kernels;
    if (u->energy != META_NONE)
        s->energy = (s->energy == META_NONE ? 0 : s->energy) + u->energy;
}

static bool is_worse(const struct meta_finding *f, const struct meta_finding *than)
{
    if (!than || f->severity != than->severity)
        return !than || f->severity > than->severity;
    if (f->gives_back != than->gives_back)
        return f->gives_back > than->gives_back;
    if (f->number != than->number)
        return f->number < than->number;
    return strcmp(f->session, than->session) > 0;
}

static void count_session(struct count *c, const struct model_session *s, const struct meta_days *d,
                          const char *name)
{
    bool here = false, counted = false;
    for (size_t i = 0; i < s->row_count; i++) {
        const struct meta_usage *u = &s->rows[i];
        if (u->day < d->from || u->day >= d->to || strcmp(by_name(d->by, u), name) != 0)
            continue;
        here = true;
        counted = counted || u->kernels != META_NONE;
        count_row(c, u);
    }
    c->sum.sessions += here;
    c->sum.counted += counted;
    for (size_t i = 0; here && s->exists && i < s->finding_count; i++) {
        const struct meta_finding *f = &s->findings[i];
        if (d->by == META_BY_GPU && *f->gpu && strcmp(f->gpu, name) != 0)
            continue;
        c->findings++;
        c->worst = is_worse(f, c->worst) ? f : c->worst;
    }
}

static struct count recount(const struct model *m, const struct meta_days *d, const char *name)
{
    struct count c = {
        .sum = {.busy = META_NONE, .kernels = META_NONE, .energy = META_NONE, .name = name}};
    for (int i = 0; i < SESSIONS; i++)
        count_session(&c, &m->of[i], d, name);
    for (int g = 0; g < NAMES; g++)
        c.sum.gpus += c.gpus[g];
    return c;
}

/* ---- answers -------------------------------------------------------------------------------- */

#define SAME(got, want)                                                                            \
    do {                                                                                           \
        if ((got) != (want))                                                                       \
            fail_msg("%s of '%s', days %d to %d: %lld, not %lld", #got, c->sum.name, (int)d->from, \
                     (int)d->to, (long long)(got), (long long)(want));                             \
    } while (0)

static void same_share(double got, int64_t part, int64_t whole)
{
    if (part == META_NONE || whole == 0)
        assert_true(isnan(got));
    else
        assert_true(fabs(got - (double)part / (double)whole) < 1e-9);
}

static void check_fleet_row(const struct meta_fleet_sum *row, const struct count *c,
                            const struct meta_days *d)
{
    int64_t days = 0;
    for (int i = 0; i < DAYS; i++)
        days += c->days[i];
    SAME(row->sessions, c->sum.sessions);
    SAME(row->counted, c->sum.counted);
    SAME(row->gpus, c->sum.gpus);
    SAME(row->days, days);
    SAME(row->wall, c->sum.wall);
    SAME(row->known, c->sum.known);
    SAME(row->kernels, c->sum.kernels);
    SAME(row->energy, c->sum.energy);
    SAME(row->findings, c->findings);
    same_share(row->busy, c->sum.busy, c->sum.known);
    same_share(row->utilization, c->sum.utilized, c->sum.sampled);
    SAME(row->severity, c->worst ? c->worst->severity : META_NONE);
    assert_string_equal(row->rule, c->worst ? c->worst->rule : "");
    assert_string_equal(row->session, c->worst ? c->worst->session : "");
}

static void check_fleet(struct fixture *f, const struct model *m, const struct meta_days *d)
{
    const char *const *const names[] = {
        [META_BY_APP] = apps, [META_BY_HOST] = hosts, [META_BY_GPU] = gpus};
    struct meta_fleet_sum *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0, seen = 0;
    region_clear(&f->mem);
    OK(meta_fleet_sums(ASK(f, "w1"), d, &page, &rows, &n));
    for (int k = 0; k < NAMES; k++) {
        const struct count now = recount(m, d, names[d->by][k]), *c = &now;
        size_t i = 0;
        while (i < n && strcmp(rows[i].name, c->sum.name) != 0)
            i++;
        SAME(i<n, c->sum.sessions> 0);
        seen += i < n;
        if (i < n)
            check_fleet_row(&rows[i], c, d);
    }
    assert_int_equal(seen, n);
    for (size_t i = 1; i < n; i++)
        assert_true(rows[i - 1].wall >= rows[i].wall);
}

/* Day by day: all names, or one; pages are small, so that there are several. */
static void check_usage(struct fixture *f, const struct model *m, const struct meta_days *d)
{
    struct meta_usage_sum *rows = NULL;
    struct meta_page page = {.limit = 50};
    size_t n = 0, seen = 0, want = 0;
    region_clear(&f->mem);
    do {
        OK(meta_usage_days(ASK(f, "w1"), d, &page, &rows, &n));
        for (size_t i = 0; i < n; i++) {
            const struct meta_days one = {d->by, rows[i].day, rows[i].day + 1, NULL};
            const struct count now = recount(m, &one, rows[i].name), *c = &now;
            SAME(rows[i].sessions, c->sum.sessions);
            SAME(rows[i].gpus, c->sum.gpus);
            SAME(rows[i].wall, c->sum.wall);
            SAME(rows[i].known, c->sum.known);
            SAME(rows[i].busy, c->sum.busy);
            SAME(rows[i].kernels, c->sum.kernels);
            SAME(rows[i].counted, c->sum.counted);
            SAME(rows[i].sampled, c->sum.sampled);
            SAME(rows[i].utilized, c->sum.utilized);
            SAME(rows[i].energy, c->sum.energy);
            assert_true(!d->name || strcmp(rows[i].name, d->name) == 0);
            seen += now.sum.sessions > 0;
        }
        page.after = page.next;
    } while (page.next);
    for (int64_t day = d->from; day < d->to && day < DAYS; day++)
        for (int k = 0; k < NAMES; k++) {
            const char *name = d->by == META_BY_APP    ? apps[k]
                               : d->by == META_BY_HOST ? hosts[k]
                               : d->by == META_BY_GPU  ? gpus[k]
                                                       : "";
            const struct meta_days one = {d->by, day, day + 1, NULL};
            if ((d->name && strcmp(name, d->name) != 0) || (d->by == META_BY_DAY && k))
                continue;
            want += recount(m, &one, name).sum.sessions > 0;
        }
    assert_int_equal(seen, want);
}

static void check_all(struct fixture *f, struct model *m, unsigned windows)
{
    static const enum meta_by all[] = {META_BY_APP, META_BY_HOST, META_BY_GPU};
    for (unsigned w = 0; w < windows; w++)
        for (int b = 0; b < 3; b++) {
            struct meta_days d = {.by = all[b], .from = draw(m, DAYS), .to = 1 + draw(m, DAYS + 9)};
            if (w == 0)
                d = (struct meta_days){.by = all[b], .to = 1000000};
            if (w == 1)
                d = (struct meta_days){.by = all[b], .from = 32, .to = 128};
            check_fleet(f, m, &d);
            d.to = d.from + draw(m, 12);
            check_usage(f, m, &d);
            d.name = by_name(
                d.by,
                &(struct meta_usage){.app = apps[w % 5], .host = hosts[w % 5], .gpu = gpus[w % 5]});
            check_usage(f, m, &d);
            d.name = NULL;
            d.by = META_BY_DAY;
            check_usage(f, m, &d);
        }
}

/* ---- random changes ------------------------------------------------------------------------- */

static void make_model(struct model *m, uint32_t seed)
{
    memset(m, 0, sizeof *m);
    m->seed = seed;
    for (int i = 0; i < SESSIONS; i++)
        snprintf(m->of[i].id, sizeof m->of[i].id, "s%02d", i);
}

static void forget(struct fixture *f, struct model *m, int64_t day)
{
    OK(meta_fleet_forget(f->m, "w1", day * INT64_C(86400000000000) + 5, &f->e));
    for (int i = 0; i < SESSIONS; i++) {
        struct model_session *s = &m->of[i];
        size_t kept = 0;
        for (size_t r = 0; r < s->row_count; r++)
            if (s->rows[r].day >= day)
                s->rows[kept++] = s->rows[r];
        s->row_count = kept;
    }
}

static void step(struct fixture *f, struct model *m)
{
    struct model_session *s = &m->of[draw(m, SESSIONS)];
    unsigned what = draw(m, 10);
    if (!s->exists && s->row_count == 0 && s->finding_count == 0) {
        session_make(f, "w1", s->id, "train", "a", 100);
        s->exists = true;
    }
    if (what < 5) {
        draw_usage(m, s);
        put_usage(f, s);
    } else if (what < 8 && s->exists) {
        draw_findings(m, s);
        put_findings(f, s);
    } else if (what == 8 && s->exists) {
        OK(meta_session_drop(f->m, "w1", s->id, 900, &f->e)); /* days of the session stay */
        s->exists = false;
        s->finding_count = 1; /* no session gets its name again */
    } else if (what == 9) {
        s->row_count = draw(m, 2) ? 0 : s->row_count; /* no rows any more; or equal ones again */
        put_usage(f, s);
    }
}

TEST(test_sums_are_a_recount)
{
    struct fixture *f = *state;
    struct model *m = mem_alloc(sizeof *m);
    people_make(f);
    make_model(m, 20261129);
    for (int i = 1; i <= STEPS; i++) {
        step(f, m);
        if (i % 13 == 0)
            check_all(f, m, 3);
        if (i == 150 || i == 190 || i == 191 || i == 240)
            forget(f, m, i == 150 ? 17 : i == 190 ? 64 : i == 191 ? 65 : 110);
    }
    check_all(f, m, 25);
    mem_free(m);
}

/* The days of a session may not have gaps: its sums could not be distinguished from those of two
 * sessions. */
TEST(test_days_have_no_gap)
{
    struct fixture *f = *state;
    const struct meta_usage gap[] = {{10, "GPU-1", "a", "train", 1, 1, 1, 0, 0, META_NONE},
                                     {12, "GPU-1", "a", "train", 1, 1, 1, 0, 0, META_NONE}};
    struct meta_usage_sum *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    people_make(f);
    FAILS(INVAL, meta_usage_put(f->m, "w1", "s1", gap, 2, &f->e));
    OK(meta_usage_days(ASK(f, "w1"), &(struct meta_days){META_BY_APP, 0, 100, NULL}, &page, &rows,
                       &n));
    assert_int_equal(n, 0);
}

/* ---- rows of an older version --------------------------------------------------------------- */

static void sql_number(struct buf *b, int64_t v)
{
    if (v == META_NONE)
        buf_str(b, ", NULL");
    else
        buf_printf(b, ", %lld", (long long)v);
}

static void sql_session(struct buf *b, const struct model_session *s)
{
    buf_printf(b,
               "INSERT INTO sessions (workspace, id, app, host, pid, account, engine, format, "
               "client, simulated, gpus, labels, started, ended, state, records, kernels, bytes, "
               "received, created, search) VALUES ('w1', '%s', 'train', 'a', 1, '', 'Trace', "
               "'gpufl', '', 0, '[]', '{}', 1, 2, 'ended', 0, 0, 0, 1, 1, '');",
               s->id);
    for (size_t i = 0; i < s->row_count; i++) {
        const struct meta_usage *u = &s->rows[i];
        buf_printf(b,
                   "INSERT INTO usages (workspace, session, gpu, host, app, day, wall, sampled, "
                   "utilized, busy, kernels, energy) VALUES ('w1', '%s', '%s', '%s', '%s', %d, %d, "
                   "%d, %d",
                   s->id, u->gpu, u->host, u->app, (int)u->day, (int)u->wall, (int)u->sampled,
                   (int)u->utilized);
        sql_number(b, u->busy);
        sql_number(b, u->kernels);
        sql_number(b, u->energy);
        buf_str(b, ");");
    }
    for (size_t i = 0; i < s->finding_count; i++) {
        const struct meta_finding *x = &s->findings[i];
        buf_printf(b,
                   "INSERT INTO findings VALUES ('w1', '%s', %d, '%s', 'SYNC', %d, 1, %d, NULL, "
                   "'%s', '', '', 0, '', '', '%s');",
                   s->id, (int)x->number, x->rule, (int)x->severity, (int)x->gives_back, x->title,
                   x->gpu);
    }
}

/* Makes a store with rows whose schema is the one before these sums, by that schema's
 * statements. */
static void older_store(struct fixture *f, const struct model *m)
{
    enum { BEFORE = 16 };
    static const char *sql[META_S_COUNT] = {[META_S_schema_set] =
                                                "UPDATE meta_schema SET version = ?1"};
    struct meta_conn *conn = NULL;
    struct buf rows;
    buf_init(&rows, 8 << 20);
    buf_str(&rows, "INSERT INTO workspaces VALUES ('w1', 'one', 5), ('w2', 'two', 5);"
                   "INSERT INTO usages (workspace, session, day, gpu, host, app, wall) "
                   "VALUES ('w2', 's01', 40, 'GPU-1', 'node-a', 'train', 7);");
    for (int i = 0; i < SESSIONS; i++)
        sql_session(&rows, &m->of[i]);
    place->make(&f->config);
    OK(place->engine->connect(&conn, &f->config, sql, true, &f->e));
    OK(meta_migrate(place->engine, conn, BEFORE, true, &f->e));
    OK(place->engine->script(conn, buf_cstr(&rows), &f->e));
    place->engine->disconnect(conn);
    buf_fini(&rows);
}

/* The sums of an older store are made when it is opened, and then follow what changes. */
TEST(test_sums_of_an_older_store)
{
    struct fixture fixture = {0}, *f = &fixture;
    struct model *m = mem_alloc(sizeof *m);
    (void)state;
    make_model(m, 7);
    for (int i = 0; i < SESSIONS; i++) {
        m->of[i].exists = true;
        draw_usage(m, &m->of[i]);
        draw_findings(m, &m->of[i]);
    }
    region_init(&f->mem, 16 << 20);
    older_store(f, m);
    OK(meta_open(&f->m, &f->config, &f->e));
    check_all(f, m, 12);
    for (int i = 0; i < 60; i++)
        step(f, m);
    forget(f, m, 45);
    check_all(f, m, 12);
    meta_close(f->m);
    region_fini(&f->mem);
    place->drop(&f->config);
    mem_free(m);
}

/* ---- at once -------------------------------------------------------------------------------- */

enum { THREADS = 4 };

struct changer {
    struct fixture *f;
    struct model *m;
    int number, failed;
};

/* Changes sessions of its own; their names are those of the others as well. */
static void *changer_run(void *arg)
{
    struct changer *c = arg;
    struct err e = {0};
    for (int round = 0; round < 3; round++)
        for (int i = c->number; i < SESSIONS && !c->failed; i += THREADS) {
            const struct model_session *s = &c->m[round].of[i];
            const struct meta_analysis a = {.session = s->id, .kind = "report", .body = {"x", 1}};
            c->failed = meta_usage_put(c->f->m, "w1", s->id, s->rows, s->row_count, &e) ||
                        meta_analysis_put(c->f->m, "w1", &a, s->findings, s->finding_count, &e);
            if (c->failed)
                print_error("%s: %s\n", s->id, e.text);
        }
    return NULL;
}

TEST(test_threads_change_the_same_sums)
{
    struct fixture *f = *state;
    struct model *m = mem_alloc(3 * sizeof *m); /* what each round puts */
    struct changer changers[THREADS];
    pthread_t threads[THREADS];
    people_make(f);
    for (int round = 0; round < 3; round++) {
        make_model(&m[round], 100 + (uint32_t)round);
        for (int i = 0; i < SESSIONS; i++) {
            m[round].of[i].exists = true;
            draw_usage(&m[round], &m[round].of[i]);
            draw_findings(&m[round], &m[round].of[i]);
        }
    }
    for (int i = 0; i < SESSIONS; i++)
        session_make(f, "w1", m[0].of[i].id, "train", "a", 100);
    for (int i = 0; i < THREADS; i++) {
        changers[i] = (struct changer){f, m, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, changer_run, &changers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(changers[i].failed, 0);
    check_all(f, &m[2], 12);
    mem_free(m);
}

int meta_fleet_sum_cases(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_sums_are_a_recount),
        CASE(test_days_have_no_gap),
        cmocka_unit_test(test_sums_of_an_older_store),
        CASE(test_threads_change_the_same_sums),
    };
    return cmocka_run_group_tests_name("sums by day", tests, NULL, NULL);
}
