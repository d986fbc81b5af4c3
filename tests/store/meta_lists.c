/* meta_lists.c - cases of lists: every order and filter compared with a plain walk over the same
 * rows, page by page. */
#include "meta_place.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 60 };

static const char *const APPS[] = {"train", "infer", "Bench"};
static const char *const HOSTS[] = {"node-a", "node-b"};

/* Sessions with many ties, two GPUs, some labels. */
static void sessions_fill(struct fixture *f)
{
    people_make(f);
    for (int i = 0; i < SESSIONS; i++) {
        char id[16], run[16];
        snprintf(id, sizeof id, "s%02d", i);
        snprintf(run, sizeof run, "%d", i % 4);
        const struct meta_session_gpu gpus[] = {
            {i % 2 ? "GPU-1" : "GPU-2", i % 2 ? "H200" : "A100", NULL}, {"GPU-3", "L4", NULL}};
        const struct meta_pair labels[] = {{"run", run}, {"team", "Vision Ärzte"}};
        const struct meta_session s = {.id = id,
                                       .app = APPS[i % 3],
                                       .host = HOSTS[i % 2],
                                       .pid = i,
                                       .account = i % 5 ? "ada" : "ben",
                                       .engine = i % 7 ? "Trace" : "Monitor",
                                       .started = 1000 + i / 3 * 10,
                                       .received = 2000 + i,
                                       .created = 1};
        OK(meta_session_put(f->m, "w1", &s, &(struct meta_session_gpus){gpus, i % 10 ? 1 : 2},
                            &(struct meta_pairs){labels, i % 6 ? 1 : 2}, &f->e));
        OK(meta_session_grow(f->m, "w1", id,
                             &(struct meta_growth){.records = i * 37 % 50,
                                                   .kernels = i % 7 ? i * 11 % 20 : META_NONE,
                                                   .bytes = i * 100,
                                                   .busy = i % 4 ? (i % 8) / 8.0 : NAN,
                                                   .received = 2000 + i},
                             &f->e));
        if (i % 3 == 0)
            OK(meta_session_end(f->m, "w1", id, i % 2 ? "ended" : "aborted", 1900 - i, &f->e));
    }
}

static double order_number(const struct meta_session *s, enum meta_session_sort sort)
{
    switch (sort) {
    case META_SORT_started:
        return (double)s->started;
    case META_SORT_duration:
        return (double)((s->ended ? s->ended : s->received) - s->started);
    case META_SORT_kernels:
        return s->kernels == META_NONE ? -1 : (double)s->kernels;
    case META_SORT_records:
        return (double)s->records;
    case META_SORT_bytes:
        return (double)s->bytes;
    case META_SORT_busy:
        return isnan(s->busy) ? -1 : s->busy;
    default:
        return 0;
    }
}

static int order_compare(const struct meta_session *a, const struct meta_session *b,
                         enum meta_session_sort sort)
{
    double x = order_number(a, sort), y = order_number(b, sort);
    int c = x < y ? -1 : x > y;
    if (sort == META_SORT_app)
        c = strcmp(a->app, b->app);
    if (sort == META_SORT_host)
        c = strcmp(a->host, b->host);
    return c ? c : strcmp(a->id, b->id);
}

/* Reads all pages of a query into out. Returns the number of rows. */
static size_t pages_read(struct fixture *f, const struct meta_session_query *q, unsigned limit,
                         struct meta_session *out, size_t most)
{
    struct meta_page page = {.limit = limit};
    size_t total = 0;
    do {
        struct meta_session *rows = NULL;
        size_t n = 0;
        OK(meta_session_list(ASK(f, "w1"), q, &page, &rows, &n));
        assert_true(n <= limit);
        assert_true(total + n <= most);
        assert_true(!page.next || n == limit);
        if (n)
            memcpy(out + total, rows, n * sizeof *rows);
        total += n;
        page.after = page.next;
    } while (page.next);
    return total;
}

static void test_every_order(void **state)
{
    struct fixture *f = *state;
    struct meta_session rows[SESSIONS];
    sessions_fill(f);
    for (int sort = 0; sort < META_SORT_COUNT; sort++)
        for (int up = 0; up < 2; up++) {
            const struct meta_session_query q = {.sort = (enum meta_session_sort)sort,
                                                 .ascending = up};
            const unsigned limits[] = {1, 7, 20, 60, 1000};
            for (size_t l = 0; l < 5; l++) {
                assert_int_equal(pages_read(f, &q, limits[l], rows, SESSIONS), SESSIONS);
                for (size_t i = 1; i < SESSIONS; i++) {
                    int c = order_compare(&rows[i - 1], &rows[i], q.sort);
                    assert_true(up ? c < 0 : c > 0); /* strictly: none twice */
                }
            }
        }
}

struct filter_case {
    struct meta_session_query q;
    const char *what;
    bool (*fits)(int i);
};

static bool fits_app(int i)
{
    return i % 3 == 1;
}
static bool fits_host(int i)
{
    return i % 2 == 0;
}
static bool fits_engine(int i)
{
    return i % 7 == 0;
}
static bool fits_live(int i)
{
    return i % 3 != 0;
}
static bool fits_ended(int i)
{
    return i % 3 == 0 && i % 2;
}
static bool fits_ben(int i)
{
    return i % 5 == 0;
}
static bool fits_gpu(int i)
{
    return i % 2 == 1;
}
static bool fits_two(int i)
{
    return i % 10 == 0;
}
static bool fits_run(int i)
{
    return i % 4 == 2;
}
static bool fits_team(int i)
{
    return i % 6 == 0;
}
static bool fits_time(int i)
{
    return i / 3 >= 5 && i / 3 < 8;
}
static bool fits_bench(int i)
{
    return i % 3 == 2;
}
static bool fits_two_words(int i)
{
    return i % 3 == 0 && i % 2 == 1;
}
static bool fits_id(int i)
{
    return i == 17;
}
static bool fits_all(int i)
{
    return i >= 0;
}
static bool fits_none(int i)
{
    return i < 0;
}
static bool fits_many(int i)
{
    return i % 3 == 0 && i % 2 == 0 && i % 4 == 2 && i % 5 != 0;
}

static const struct filter_case FILTERS[] = {
    {{.app = "infer"}, "app", fits_app},
    {{.host = "node-a"}, "host", fits_host},
    {{.engine = "Monitor"}, "engine", fits_engine},
    {{.state = "live"}, "live", fits_live},
    {{.state = "ended"}, "ended", fits_ended},
    {{.account = "ben"}, "account", fits_ben},
    {{.gpu = "GPU-1"}, "gpu uuid", fits_gpu},
    {{.gpu = "L4"}, "gpu name", fits_two},
    {{.label = "run", .label_value = "2"}, "label", fits_run},
    {{.label = "team"}, "label key", fits_team},
    {{.label = "run", .label_value = "' OR '1'='1"}, "quotes", fits_none},
    {{.from = 1050, .to = 1080}, "time", fits_time},
    {{.text = "BENCH"}, "case", fits_bench},
    {{.text = "  train   node-B "}, "two words", fits_two_words},
    {{.text = "s17"}, "id", fits_id},
    {{.text = "h200"}, "gpu in text", fits_gpu},
    {{.text = "run=2"}, "label in text", fits_run},
    {{.text = "vision"}, "label value in text", fits_team},
    {{.text = "\xc3\x84rzte"}, "not ASCII", fits_team},
    {{.text = "%"}, "percent", fits_none},
    {{.text = "_"}, "underscore", fits_none},
    {{.text = "uuid"}, "JSON's own words", fits_none},
    {{.text = "'; DROP TABLE sessions; --"}, "injection", fits_none},
    {{.text = ""}, "empty", fits_all},
    {{.app = "train", .host = "node-a", .label = "run", .label_value = "2", .account = "ada"},
     "several",
     fits_many},
};

static void test_every_filter(void **state)
{
    struct fixture *f = *state;
    struct meta_session rows[SESSIONS];
    sessions_fill(f);
    for (size_t c = 0; c < sizeof FILTERS / sizeof FILTERS[0]; c++) {
        const struct filter_case *filter = &FILTERS[c];
        bool got[SESSIONS] = {false};
        size_t n = pages_read(f, &filter->q, 7, rows, SESSIONS), want = 0;
        int64_t count = 0;
        for (size_t i = 0; i < n; i++)
            got[atoi(rows[i].id + 1)] = true;
        for (int i = 0; i < SESSIONS; i++) {
            want += filter->fits(i);
            if (got[i] != filter->fits(i))
                fail_msg("filter %s: session %d", filter->what, i);
        }
        assert_int_equal(n, want);
        OK(meta_session_count(f->m, "w1", &filter->q, &count, &f->e));
        assert_int_equal(count, want);
    }
}

/* A text that is no cursor of this list is refused. */
static void test_cursors_of_others(void **state)
{
    struct fixture *f = *state;
    static const char *const bad[] = {
        "x",
        "i",
        "i5",
        "i5~",
        "i5~s1~",
        "i5~s1~0~",
        "i5~s 1~0",
        "i99999999999999999999~s1~0",
        "r3ff0000000000000~s1~0",
        "tzz~s1~0",
        "t6~s1~0",
        "i5~s1~0x",
        "' OR 1=1",
        "i5~'~0",
        "i5~aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa~0"};
    struct meta_session *rows = NULL;
    size_t n = 0;
    sessions_fill(f);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct meta_page page = {.after = bad[i]};
        const struct meta_session_query q = {0};
        if (meta_session_list(ASK(f, "w1"), &q, &page, &rows, &n) != GPUFL_E_INVAL)
            fail_msg("cursor %s", bad[i]);
    }
    struct meta_page page = {.after = "t00~s1~0"}; /* a NUL within */
    const struct meta_session_query by_app = {.sort = META_SORT_app};
    FAILS(INVAL, meta_session_list(ASK(f, "w1"), &by_app, &page, &rows, &n));
    page.after = "r7ff8000000000001~s1~0"; /* NAN */
    const struct meta_session_query by_busy = {.sort = META_SORT_busy};
    FAILS(INVAL, meta_session_list(ASK(f, "w1"), &by_busy, &page, &rows, &n));
    const struct meta_session_query no_sort = {.sort = META_SORT_COUNT};
    FAILS(INVAL, meta_session_list(ASK(f, "w1"), &no_sort, &page, &rows, &n));
}

static void test_choices_and_retention(void **state)
{
    struct fixture *f = *state;
    struct meta_name_count *names = NULL;
    struct meta_session *rows = NULL;
    size_t n = 0;
    int64_t bytes = 0;
    sessions_fill(f);
    OK(meta_session_names(ASK(f, "w1"), META_BY_APP, 10, &names, &n));
    assert_int_equal(n, 3);
    assert_string_equal(names[0].name, "Bench"); /* 20 each: by name */
    assert_int_equal(names[0].sessions, 20);
    OK(meta_session_names(ASK(f, "w1"), META_BY_GPU, 10, &names, &n));
    assert_int_equal(n, 3);
    assert_string_equal(names[2].name, "L4");
    assert_int_equal(names[2].sessions, 6);
    OK(meta_session_names(ASK(f, "w1"), META_BY_HOST, 1, &names, &n));
    assert_int_equal(n, 1);
    OK(meta_session_names(ASK(f, "w1"), META_BY_ENGINE, 10, &names, &n));
    assert_string_equal(names[1].name, "Monitor");
    FAILS(INVAL, meta_session_names(ASK(f, "w1"), META_BY_COUNT, 1, &names, &n));
    OK(meta_session_bytes(f->m, "w1", &bytes, &f->e));
    assert_int_equal(bytes, 100 * (SESSIONS * (SESSIONS - 1) / 2));
    OK(meta_session_bytes(f->m, "w2", &bytes, &f->e));
    assert_int_equal(bytes, 0);
    OK(meta_session_oldest(ASK(f, "w1"), INT64_MAX, 5, &rows, &n));
    assert_int_equal(n, 5);
    assert_string_equal(rows[0].id, "s57"); /* ends at 1900 - 57 */
    OK(meta_session_oldest(ASK(f, "w1"), 1900 - 54, 5, &rows, &n));
    assert_int_equal(n, 1);
    OK(meta_session_silent(ASK(f, "w1"), 2004, &rows, &n));
    assert_int_equal(n, 3 - 1); /* s01, s02; s03 has ended */
    assert_string_equal(rows[0].id, "s01");
    /* The age of a session whose clock was wrong counts from its sending. */
    const struct meta_session s = {
        .id = "future", .app = "a", .host = "h", .received = 500, .created = 1};
    OK(meta_session_put(f->m, "w2", &s, NULL, NULL, &f->e));
    OK(meta_session_end(f->m, "w2", "future", "ended", INT64_MAX - 1, &f->e));
    OK(meta_session_oldest(ASK(f, "w2"), 500, 5, &rows, &n));
    assert_int_equal(n, 0);
    OK(meta_session_oldest(ASK(f, "w2"), 501, 5, &rows, &n));
    assert_int_equal(n, 1);
}

/* Asks for findings in pages; puts the session and the number of each into text. */
static void findings_text(struct fixture *f, const struct meta_finding_query *q, struct buf *text)
{
    struct meta_found *rows = NULL;
    struct meta_page page = {.limit = 3};
    size_t n = 0;
    buf_clear(text);
    do {
        OK(meta_finding_search(ASK(f, "w1"), q, &page, &rows, &n));
        for (size_t i = 0; i < n; i++)
            buf_printf(text, "%s/%d ", rows[i].session, (int)rows[i].number);
        page.after = page.next;
    } while (page.next);
    assert_int_equal(buf_error(text), 0);
}

/* Findings of few sessions are read session by session, those of many by weight: in one order. */
TEST(test_findings_of_few_sessions)
{
    static const char *const apps[] = {NULL, "train", "infer", "none"};
    static const char *const hosts[] = {NULL, "a", "b", "none"};
    const int64_t some = meta_some_sessions;
    struct fixture *f = *state;
    struct buf few, many;
    size_t longest = 0;
    buf_init(&few, 4096);
    buf_init(&many, 4096);
    people_make(f);
    for (int i = 0; i < 12; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        session_make(f, "w1", id, i % 3 ? "train" : "infer", i % 2 ? "b" : "a", 100 + i);
        const struct meta_analysis a = {.session = id, .kind = "report", .rules = "7"};
        const struct meta_finding findings[] = {
            {.rule = "sync_line", .severity = i % 3, .gives_back = 10 * (i % 5)},
            {.number = 1, .rule = "spills", .severity = 1, .gives_back = 10}};
        OK(meta_analysis_put(f->m, "w1", &a, findings, 2, &f->e));
    }
    for (int i = 0; i < 16; i++) {
        const struct meta_finding_query q = {
            .app = apps[i % 4], .host = hosts[i / 4], .from = 102, .to = 111};
        meta_some_sessions = some;
        findings_text(f, &q, &few);
        meta_some_sessions = i % 2 ? 1 : 4; /* of some choices both, one or none are few */
        findings_text(f, &q, &many);
        meta_some_sessions = some;
        assert_string_equal(buf_cstr(&few), buf_cstr(&many));
        assert_true(few.len == 0 || i % 4 != 3);
        longest = few.len > longest ? few.len : longest;
    }
    assert_true(longest > 80); /* 18 findings */
    buf_fini(&few);
    buf_fini(&many);
}

static void test_findings_across_sessions(void **state)
{
    struct fixture *f = *state;
    struct meta_found *rows = NULL;
    struct meta_page page = {.limit = 4};
    size_t n = 0, total = 0;
    int64_t last = INT64_MAX, severity = 2;
    people_make(f);
    for (int i = 0; i < 6; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        session_make(f, "w1", id, i % 2 ? "train" : "infer", "a", 100 + i);
        const struct meta_analysis a = {.session = id, .kind = "report", .rules = "7"};
        const struct meta_finding findings[] = {
            {.rule = "sync_line", .severity = 2, .gives_back = 100 * (i % 3), .file = "a.py"},
            {.rule = "spills", .severity = 0, .gives_back = 50, .kernel = "_Z4gemmPf"}};
        OK(meta_analysis_put(f->m, "w1", &a, findings, 2, &f->e));
    }
    const struct meta_finding_query all = {0};
    do {
        OK(meta_finding_search(ASK(f, "w1"), &all, &page, &rows, &n));
        for (size_t i = 0; i < n; i++) {
            assert_true(rows[i].severity <= severity); /* HIGH before LOW, whatever it could save */
            assert_true(rows[i].severity < severity || rows[i].gives_back <= last);
            last = rows[i].gives_back;
            severity = rows[i].severity;
        }
        total += n;
        page.after = page.next;
    } while (page.next);
    assert_int_equal(total, 12);
    page = (struct meta_page){0};
    const struct meta_finding_query high = {.severity = 1, .app = "train", .file = "a.py"};
    OK(meta_finding_search(ASK(f, "w1"), &high, &page, &rows, &n));
    assert_int_equal(n, 3);
    assert_string_equal(rows[0].session, "s5");
    assert_string_equal(rows[0].host, "a");
    assert_int_equal(rows[0].started, 105);
    const struct meta_finding_query gemm = {.kernel = "gemm", .from = 102, .to = 104};
    OK(meta_finding_search(ASK(f, "w1"), &gemm, &page, &rows, &n));
    assert_int_equal(n, 2);
    const struct meta_finding_query case_counts = {.kernel = "GEMM"};
    OK(meta_finding_search(ASK(f, "w1"), &case_counts, &page, &rows, &n));
    assert_int_equal(n, 0);
    OK(meta_finding_search(ASK(f, "w2"), &all, &page, &rows, &n));
    assert_int_equal(n, 0);
}

int meta_list_cases(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_every_order),
        CASE(test_every_filter),
        CASE(test_findings_of_few_sessions),
        CASE(test_cursors_of_others),
        CASE(test_choices_and_retention),
        CASE(test_findings_across_sessions),
    };
    return cmocka_run_group_tests_name("lists", tests, NULL, NULL);
}
