/* meta_hard.c - has cases of bad input, little memory, many concurrent calls and killed
 * processes. */
#include "meta_place.h"

#include "base/alloc.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const HOSTILE[] = {"'; DROP TABLE users; --",
                                      "\"",
                                      "`",
                                      "\\",
                                      "\\'",
                                      "%s%n",
                                      "?1",
                                      "$1",
                                      "{user}",
                                      "<script>x</script>",
                                      "\x01\x1f\x7f",
                                      "\xf0\x9f\xa6\x84\xe2\x80\xae",
                                      "NULL",
                                      "\r\n",
                                      "   ",
                                      "a\tb",
                                      "0x00",
                                      "1e309"};

static void test_hostile_texts(void **state)
{
    struct fixture *f = *state;
    people_make(f);
    for (size_t i = 0; i < sizeof HOSTILE / sizeof HOSTILE[0]; i++) {
        const char *x = HOSTILE[i];
        char id[16];
        struct meta_session s;
        struct meta_user u;
        struct meta_host_now *hosts = NULL;
        struct meta_page all = {0};
        struct meta_session *rows = NULL;
        struct meta_page page = {0};
        struct meta_finding *findings = NULL;
        size_t n = 0;
        snprintf(id, sizeof id, "h%zu", i);
        const struct meta_session put = {
            .id = id, .app = x, .host = x, .pid = 1, .account = x, .engine = x, .client = x};
        OK(meta_session_put(f->m, "w1", &put,
                            &(struct meta_session_gpus){&(struct meta_session_gpu){x, x, x}, 1},
                            &(struct meta_pairs){&(struct meta_pair){x, x}, 1}, &f->e));
        OK(meta_session_get(ASK(f, "w1"), id, &s));
        assert_string_equal(s.app, x);
        assert_string_equal(s.client, x);
        const struct meta_session_query q = {.app = x, .label = x, .label_value = x, .gpu = x};
        OK(meta_session_list(ASK(f, "w1"), &q, &page, &rows, &n));
        assert_int_equal(n, 1);
        const struct meta_session_query sorted = {.sort = META_SORT_app, .ascending = true};
        page.limit = 1;
        for (page.after = NULL, n = 1; n; page.after = page.next) { /* its cursors are valid */
            OK(meta_session_list(ASK(f, "w1"), &sorted, &page, &rows, &n));
            if (!page.next)
                break;
        }
        OK(meta_user_add(f->m, &(struct meta_user){.id = id, .email = x, .name = x, .password = x},
                         &f->e));
        OK(meta_user_by_email(ASK(f, NULL), x, &u));
        assert_string_equal(u.password, x);
        OK(meta_host_put(f->m, "w1", &(struct meta_host){.name = x, .system = x, .state = x},
                         &f->e));
        OK(meta_host_list(ASK(f, "w1"), &all, &hosts, &n));
        assert_int_equal(n, i + 1);
        const struct meta_analysis a = {.session = id, .kind = x, .rules = x};
        OK(meta_analysis_put(f->m, "w1", &a, &(struct meta_finding){.rule = x, .file = x}, 1,
                             &f->e));
        OK(meta_finding_list(ASK(f, "w1"), id, &findings, &n));
        assert_string_equal(findings[0].file, x);
    }
}

static void test_bad_texts(void **state)
{
    struct fixture *f = *state;
    static const char *const bad[] = {"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf"};
    char *longest = mem_alloc(META_TEXT_MAX + 2);
    struct meta_setting s;
    struct meta_session *rows = NULL;
    struct meta_page page = {0};
    size_t n = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct meta_session_query q = {.app = bad[i]}, text = {.text = bad[i]};
        FAILS(INVAL, meta_setting_put(f->m, &(struct meta_setting){"a", bad[i], 0}, &f->e));
        FAILS(INVAL, meta_setting_get(ASK(f, NULL), bad[i], &s));
        FAILS(INVAL, meta_session_list(ASK(f, "w1"), &q, &page, &rows, &n));
        FAILS(INVAL, meta_session_list(ASK(f, "w1"), &text, &page, &rows, &n));
    }
    memset(longest, 'x', META_TEXT_MAX + 1);
    longest[META_TEXT_MAX + 1] = '\0';
    FAILS(INVAL, meta_setting_put(f->m, &(struct meta_setting){"a", longest, 0}, &f->e));
    assert_non_null(strstr(f->e.text, "value"));
    const struct meta_session_query q = {.text = longest};
    FAILS(INVAL, meta_session_list(ASK(f, "w1"), &q, &page, &rows, &n));
    longest[META_TEXT_MAX] = '\0';
    OK(meta_setting_put(f->m, &(struct meta_setting){"a", longest, 0}, &f->e));
    OK(meta_setting_get(ASK(f, NULL), "a", &s));
    assert_int_equal(strlen(s.value), META_TEXT_MAX);
    mem_free(longest);
}

/* A region that is too small, and memory that ends anywhere: an error, and the next call works. */
static void test_little_memory(void **state)
{
    struct fixture *f = *state;
    struct meta_page page = {0};
    struct meta_session *rows = NULL;
    struct region small;
    size_t n = 0;
    people_make(f);
    for (int i = 0; i < 40; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        session_make(f, "w1", id, "train", "a", 100 + i);
    }
    for (size_t max = 0; max < 20000; max += 997) {
        region_init(&small, max);
        FAILS(FULL, meta_session_list(&(struct meta_ask){f->m, "w1", &small, &f->e},
                                      &(struct meta_session_query){0}, &page, &rows, &n));
        region_fini(&small);
    }
    int failures = 0;
    for (int64_t at = 0;; at++) {
        const struct meta_session s = {.id = "s1", .app = "train", .host = "a", .pid = 7};
        region_init(&small, 16 << 20);
        mem_fail_at(at);
        int rc = meta_session_put(f->m, "w1", &s, NULL, NULL, &f->e);
        if (rc == 0)
            rc = meta_session_list(&(struct meta_ask){f->m, "w1", &small, &f->e},
                                   &(struct meta_session_query){0}, &page, &rows, &n);
        mem_fail_at(-1);
        region_fini(&small);
        if (rc == 0)
            break;
        assert_true(rc == GPUFL_E_NOMEM || rc == GPUFL_E_FULL);
        failures++;
    }
    assert_true(failures >= 5);
}

/* ---- many at once -------------------------------------------------------------------------- */

enum { WRITERS = 4, STEPS = 40 };

struct worker {
    struct meta *m;
    int rc, number;
    struct err e;
    atomic_bool *stop;
};

/* Takes steps of one counter, each only if nobody else has taken it. */
static void *stepper(void *arg)
{
    struct worker *w = arg;
    struct region mem;
    struct meta_upload u;
    region_init(&mem, 1 << 20);
    for (int done = 0; done < STEPS && w->rc == 0;) {
        region_clear(&mem);
        w->rc = meta_upload_get(&(struct meta_ask){w->m, "w1", &mem, &w->e}, "counter", &u);
        if (w->rc)
            break;
        int rc = meta_upload_advance(
            w->m, "w1", "counter",
            &(struct meta_advance){.from = u.received, .to = u.received + 1, .now = done}, &w->e);
        done += rc == 0;
        w->rc = rc == GPUFL_E_STATE ? 0 : rc;
    }
    region_fini(&mem);
    return NULL;
}

/* Reads lists meanwhile; what is read is whole. */
static void *reader(void *arg)
{
    struct worker *w = arg;
    struct region mem;
    region_init(&mem, 1 << 20);
    while (!atomic_load(w->stop) && w->rc == 0) {
        struct meta_page page = {0};
        struct meta_session *rows = NULL;
        size_t n = 0;
        region_clear(&mem);
        w->rc = meta_session_list(&(struct meta_ask){w->m, "w1", &mem, &w->e},
                                  &(struct meta_session_query){0}, &page, &rows, &n);
        for (size_t i = 0; i < n && w->rc == 0; i++)
            if (rows[i].kernels !=
                (rows[i].records ? rows[i].records : META_NONE)) /* unknown at first */
                w->rc = GPUFL_E_CORRUPT;
    }
    region_fini(&mem);
    return NULL;
}

/* Everybody changes the same row. */
static void *grower(void *arg)
{
    struct worker *w = arg;
    for (int i = 1; i <= STEPS && w->rc == 0; i++)
        w->rc = meta_session_grow(
            w->m, "w1", "s1",
            &(struct meta_growth){
                .records = i, .kernels = i, .bytes = i, .busy = NAN, .received = i},
            &w->e);
    return NULL;
}

static void test_many_at_once(void **state)
{
    struct fixture *f = *state;
    void *(*const run[])(void *) = {stepper, grower, reader};
    struct worker workers[3 * WRITERS];
    pthread_t threads[3 * WRITERS];
    atomic_bool stop = false;
    struct meta_upload u;
    struct meta_session s;
    people_make(f);
    session_make(f, "w1", "s1", "train", "a", 100);
    OK(meta_upload_add(
        f->m, "w1", &(struct meta_upload){.id = "counter", .path = "p", .size = 1 << 20}, &f->e));
    for (int i = 0; i < 3 * WRITERS; i++) {
        workers[i] = (struct worker){.m = f->m, .number = i, .stop = &stop};
        assert_int_equal(pthread_create(&threads[i], NULL, run[i / WRITERS], &workers[i]), 0);
    }
    for (int i = 0; i < 3 * WRITERS; i++) {
        if (i == 2 * WRITERS)
            atomic_store(&stop, true);
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 3 * WRITERS; i++)
        if (workers[i].rc)
            fail_msg("worker %d: %d %s", i, workers[i].rc, workers[i].e.text);
    OK(meta_upload_get(ASK(f, "w1"), "counter", &u));
    assert_int_equal(u.received, WRITERS * STEPS);
    OK(meta_session_get(ASK(f, "w1"), "s1", &s));
    assert_int_equal(s.records, STEPS);
}

/* ---- sudden death ------------------------------------------------------------------------- */

/* Puts sessions, and reports each that is there. */
static void put_and_say(const struct meta_config *c, int to)
{
    struct meta *m = NULL;
    struct err e = {0};
    if (meta_open(&m, c, &e))
        _exit(2);
    for (int i = 0;; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        const struct meta_pair label = {"run", id};
        const struct meta_session s = {.id = id, .app = "train", .pid = 1, .started = i + 1};
        if (meta_session_put(m, "w1", &s, NULL, &(struct meta_pairs){&label, 1}, &e) ||
            write(to, &i, sizeof i) != sizeof i)
            _exit(3);
    }
}

static void test_killed_while_writing(void **state)
{
    struct fixture *f = *state;
    struct meta_config durable = f->config;
    durable.relaxed = false;
    people_make(f);
    for (int round = 0; round < 3; round++) {
        int ends[2], last = -1, i = 0, status = 0;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0)
            put_and_say(&durable, ends[1]);
        close(ends[1]);
        while (i < 20 * (round + 1) && read(ends[0], &i, sizeof i) == sizeof i)
            last = i;
        kill(child, SIGKILL);
        while (read(ends[0], &i, sizeof i) == sizeof i)
            last = i;
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_true(last >= 20 * (round + 1));
        for (int n = 0; n <= last; n++) {
            char id[16], labels[64];
            struct meta_session s;
            snprintf(id, sizeof id, "s%d", n);
            snprintf(labels, sizeof labels, "{\"run\":\"%s\"}", id);
            OK(meta_session_get(ASK(f, "w1"), id, &s));
            assert_string_equal(s.labels, labels);
        }
    }
    OK(meta_check(f->m, &f->e));
}

int meta_hard_cases(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_hostile_texts),        CASE(test_bad_texts),
        CASE(test_little_memory),        CASE(test_many_at_once),
        CASE(test_killed_while_writing),
    };
    return cmocka_run_group_tests_name("hard", tests, NULL, NULL);
}
