/* test_analysis.c - the stored sums of ended and of running sessions equal their report. */
#include "analyze/report/kernels/view.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "server/analysis/columns_report.h"
#include "server/analysis/outcome.h"
#include "tests/test.h"
#include "tests/unit/support/intake_fixture.h"
#include "tests/unit/support/tmpdir.h"
#include "wire/encode.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

enum { EVERY_NS = 20000000 };

static struct analysis *analysis;

static void start_on(const struct store_ops *ops, int64_t first_ns, int64_t every_ns)
{
    struct err e = {0};
    const struct analysis_config c = {.ops = ops,
                                      .store = fix.store,
                                      .meta = fix.meta,
                                      .first_ns = first_ns,
                                      .every_ns = every_ns};
    if (analysis_open(&analysis, &c, &e))
        fail_msg("%s", e.text);
}

static void start(int64_t first_ns, int64_t every_ns)
{
    start_on(&store_duckdb, first_ns, every_ns);
}

static void report(void *arg, const struct loader_news *n)
{
    (void)arg;
    if (analysis)
        analysis_news(analysis, n);
}

static int begin(void **state)
{
    int rc = fixture_begin(state);
    fix.config.news = report;
    if (!rc)
        fixture_up(&fix, tmpdir);
    return rc;
}

static int end(void **state)
{
    intake_close(&fix.intake); /* after that, no news come */
    analysis_close(analysis);
    analysis = NULL;
    fixture_down(&fix);
    return fixture_end(state);
}

/* ---- what is stored -------------------------------------------------------------------------- */

/* Returns the document, inflated; NULL: none. malloc'ed. */
static char *document(const char *session, const char *kind, struct region *mem,
                      struct meta_analysis *row)
{
    region_init(mem, 64 << 20);
    if (meta_analysis_get(&(struct meta_ask){fix.meta, "w", mem, NULL}, session, kind, row))
        return NULL;
    assert_string_equal(row->encoding, "gzip");
    assert_string_equal(row->rules, analysis_rules());
    z_stream z = {0};
    size_t room = 16 << 20;
    char *out = calloc(1, room);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)row->body.data;
    z.avail_in = (uInt)row->body.len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room - 1;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    return out;
}

static void check_report(const char *session)
{
    struct gpufl_report_options o;
    struct store_session *ss;
    struct meta_analysis row;
    struct region mem;
    struct report r;
    struct err e = {0};
    char *text, *stored;
    size_t len, count;
    gpufl_report_options_init(&o, sizeof o);
    o.format = GPUFL_REPORT_JSON;
    o.kernel = KERNEL_VIEW_ALL;
    o.top = OUTCOME_ROWS;
    assert_int_equal(store_duckdb.get(fix.store, "w", session, false, &ss, &e), 0);
    static const _Atomic bool stopped = true;
    assert_int_equal(
        columns_report(&r, &(struct columns_source){&store_duckdb, ss, NULL, session, &stopped}, &o,
                       &e),
        GPUFL_E_STATE);
    e = (struct err){0};
    assert_int_equal(
        columns_report(&r, &(struct columns_source){&store_duckdb, ss, NULL, session, NULL}, &o,
                       &e),
        0);
    assert_int_equal(columns_report_json(&r, &text, &len), 0);
    stored = document(session, ANALYSIS_REPORT, &mem, &row);
    assert_non_null(stored);
    assert_string_equal(stored, text);
    assert_true(row.final);
    struct meta_finding *findings;
    assert_int_equal(
        meta_finding_list(&(struct meta_ask){fix.meta, "w", &mem, &e}, session, &findings, &count),
        0);
    assert_int_equal(count, r.insights.count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(findings[i].rule, r.insights.items[i].rule->id);
        assert_string_equal(findings[i].title, r.insights.items[i].title);
        assert_int_equal(findings[i].gives_back, r.insights.items[i].gives_back);
    }
    free(stored);
    free(text);
    region_fini(&mem);
    report_close(&r);
    store_duckdb.put(ss);
}

/* ---- tests ----------------------------------------------------------------------------------- */

struct history {
    int64_t rows, calls;
    double share;
    char shape[64];
};

static int take_history(void *arg, const struct store_chunk *c)
{
    struct history *h = arg;
    for (size_t i = 0; i < c->rows; i++) {
        h->rows++;
        h->calls += c->columns[7].ints[i];
        h->share += c->columns[13].reals[i];
        snprintf(h->shape, sizeof h->shape, "%.*s", (int)c->columns[6].texts[i].len,
                 c->columns[6].texts[i].at);
    }
    return 0;
}

static void send_file(char *session, const char *path)
{
    struct ingest_answer a;
    struct err e = {0};
    char *data;
    size_t n;
    struct ingest_request r = fixture_request(NULL, NULL, 0);
    r.encoding = INGEST_GZIP;
    if (file_read_all(path, 1u << 30, &data, &n, &e))
        fail_msg("%s", e.text);
    fixture_send(&fix, &r, data, n, 0, &a);
    assert_int_equal(a.status, 200);
    snprintf(session, STORE_ID_MAX, "%s", a.session);
    free(data);
}

/* The sums have all launches of the session, once, and the lines that GPUs waited for. */
static void check_rollups(int64_t calls)
{
    static const char *const kinds[] = {"kernel", "scope", "line"};
    struct region mem;
    region_init(&mem, 1 << 20);
    for (int i = 0; i < 3; i++) {
        struct meta_rollup_query q = {.kind = kinds[i], .to = 100000, .app = "train_loop"};
        struct meta_rollup_sum *rows;
        struct meta_page page = {0};
        struct err e = {0};
        int64_t sum = 0;
        size_t count;
        if (meta_rollup_sums(&(struct meta_ask){fix.meta, "w", &mem, &e}, &q, &page, &rows, &count))
            fail_msg("%s", e.text);
        assert_true(count > 0);
        for (size_t k = 0; k < count; k++) {
            assert_int_equal(rows[k].sessions, 1);
            sum += rows[k].calls == CELL_NULL ? 0 : rows[k].calls; /* lines without samples */
        }
        if (i == 0)
            assert_int_equal(sum, calls);
        if (i == 2)
            assert_non_null(strchr(rows[0].name, ':'));
    }
    region_fini(&mem);
}

/* Ends the session, and returns when it is loaded and analysed. */
static void finish(const char *session)
{
    struct ingest_answer a;
    ingest_complete(fix.intake.ingest, "w", session, &a);
    fixture_drain(&fix);
    assert_true(analysis_wait(analysis, PATIENCE_NS));
}

/* The recorded session of the examples: report, flame data, findings, history, use of the GPU. */
TEST(test_final)
{
    static const char *const parts[] = {"system", "scope", "device", "code"};
    char session[STORE_ID_MAX], path[4096];
    struct meta_analysis row;
    struct region mem;
    start(0, EVERY_NS);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path,
                 "%s/examples/data/train_loop/93a55c5d-90e8-4530-af02-a0335ad05a21/%s.1.log.gz",
                 getenv("GPUFL_SOURCE_DIR") ? getenv("GPUFL_SOURCE_DIR") : "../..", parts[i]);
        send_file(session, path);
    }
    finish(session);
    check_report(session);
    char *flame = document(session, ANALYSIS_FLAME, &mem, &row);
    assert_non_null(flame);
    assert_non_null(strchr(flame, ';'));
    free(flame);
    region_fini(&mem);
    char *timeline = document(session, ANALYSIS_TIMELINE, &mem, &row);
    assert_non_null(strstr(timeline, "train_loop.cu:235"));
    free(timeline);
    region_fini(&mem);
    struct history h = {0};
    const struct store_value all[8] = {{.null = true}, {.null = true}, {.null = true},
                                       {.null = true}, {.null = true}, {.i = 1000},
                                       {.null = true}, {.null = true}};
    assert_int_equal(store_duckdb.query(
                         fix.store, &(struct store_question){"w", NULL, QUERY_kernel_history, all},
                         &(struct store_visitor){.arg = &h, .chunk = take_history}, NULL),
                     0);
    assert_true(h.rows > 0);
    assert_int_equal(h.calls, fixture_rows(&fix, session, "kernel"));
    assert_true(h.share > 0.999 && h.share < 1.001);
    assert_non_null(strchr(h.shape, '/'));
    struct meta_session entry;
    region_init(&mem, 1 << 20);
    assert_int_equal(
        meta_session_get(&(struct meta_ask){fix.meta, "w", &mem, NULL}, session, &entry), 0);
    assert_true(entry.busy > 0 && entry.busy <= 1);
    assert_non_null(strstr(entry.gpus, "uuid"));
    struct meta_usage_sum *days;
    struct meta_page page = {0};
    size_t count;
    assert_int_equal(meta_usage_days(&(struct meta_ask){fix.meta, "w", &mem, NULL},
                                     &(struct meta_days){META_BY_GPU, 0, 100000, NULL}, &page,
                                     &days, &count),
                     0);
    assert_int_equal(count, 1);
    assert_int_equal(days[0].kernels, h.calls);
    region_fini(&mem);
    check_rollups(h.calls);
}

static void send_lines(const char *session, int batches)
{
    size_t n;
    struct ingest_answer a;
    char *text = fixture_lines(session, 0, batches, true, &n);
    struct ingest_request r = fixture_request(session, "device", 0);
    fixture_send(&fix, &r, text, n, 0, &a);
    free(text);
}

/* Waits for a report of the session; false: none came. */
static bool await_report(const char *session, struct meta_analysis_head *head)
{
    bool there = false;
    for (int64_t until = clock_mono() + PATIENCE_NS; !there && clock_mono() < until;) {
        struct region mem;
        region_init(&mem, 1 << 20);
        there = !meta_analysis_head(&(struct meta_ask){fix.meta, "w", &mem, NULL}, session,
                                    ANALYSIS_REPORT, head);
        region_fini(&mem);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    return there;
}

static void put_device(struct buf *b, bool known, int64_t sm_count)
{
    struct device_row d;
    for (unsigned c = 0; c < COL_device_COUNT; c++)
        ((int64_t *)&d)[c] = records[RECORD_device].columns[c].ref == RECORD_name ? 0 : CELL_NULL;
    d.id = 1;
    d.index = 0;
    d.name = known ? 2 : 0;
    d.uuid = known ? 3 : 0;
    d.sm_count = sm_count;
    encode_rows(b, RECORD_device, (const int64_t *)&d, 1);
}

/* Sends the text in b after what was sent before, and waits until it is loaded. */
static void send_more(const char *session, struct buf *b, int64_t *offset)
{
    struct ingest_answer a;
    struct ingest_request r = fixture_request(session, "device", *offset);
    fixture_send(&fix, &r, b->data, b->len, 0, &a);
    assert_int_equal(a.status, 200);
    *offset += (int64_t)b->len;
    buf_clear(b);
    fixture_drain(&fix);
}

static int take_device(void *arg, const struct wire_batch *b)
{
    struct device_row *d = arg;
    assert_int_equal(b->rows, 1);
    assert_int_equal(d->id, 0); /* the GPU comes once */
    for (unsigned c = 0; c < COL_device_COUNT; c++)
        ((int64_t *)d)[c] = b->col[c][0];
    return 0;
}

/* A GPU's rows come again with more, load by load: what is known in the end counts. */
TEST(test_device_becomes_known)
{
    const struct config_row config = {.id = 1, .name = 1, .device = 1};
    const struct stream_row stream = {.id = 1, .device = 1, .context = 1, .number = 7};
    struct device_row stored = {0};
    struct meta_usage_sum *days;
    struct meta_session entry;
    struct meta_page page = {0};
    struct store_session *ss;
    struct region mem;
    struct buf b;
    size_t len, count;
    int64_t offset = 0;
    start(0, EVERY_NS);
    buf_init(&b, 1 << 20);
    char *kernels = fixture_lines("known", 0, 5, true, &len);
    const char *after = memchr(kernels, '\n', len);
    buf_put(&b, kernels, (size_t)(after + 1 - kernels)); /* the header */
    put_device(&b, false, CELL_NULL);
    encode_rows(&b, RECORD_stream, (const int64_t *)&stream, 1);
    send_more("known", &b, &offset);
    encode_names(&b, (const uint32_t[]){1, 2, 3}, (const char *const[]){"k", "Test GPU", "GPU-7"},
                 (const size_t[]){1, 8, 5}, 3);
    encode_rows(&b, RECORD_config, (const int64_t *)&config, 1);
    put_device(&b, true, CELL_NULL);
    buf_put(&b, after + 1, len - (size_t)(after + 1 - kernels));
    send_more("known", &b, &offset);
    put_device(&b, false, 132);
    send_more("known", &b, &offset);
    finish("known");
    check_report("known");
    assert_int_equal(store_duckdb.get(fix.store, "w", "known", false, &ss, NULL), 0);
    const struct wire_visitor rows = {.arg = &stored, .batch = take_device};
    assert_int_equal(store_duckdb.scan(ss, RECORD_device, INT64_MIN, INT64_MAX, &rows, NULL), 0);
    store_duckdb.put(ss);
    assert_int_equal(stored.name, 2);
    assert_int_equal(stored.uuid, 3);
    assert_int_equal(stored.sm_count, 132);
    region_init(&mem, 1 << 20);
    assert_int_equal(meta_usage_days(&(struct meta_ask){fix.meta, "w", &mem, NULL},
                                     &(struct meta_days){META_BY_GPU, 0, 100000, NULL}, &page,
                                     &days, &count),
                     0);
    assert_int_equal(count, 1);
    assert_int_equal(days[0].kernels, 50);
    assert_int_equal(
        meta_session_get(&(struct meta_ask){fix.meta, "w", &mem, NULL}, "known", &entry), 0);
    assert_non_null(strstr(entry.gpus, "GPU-7"));
    region_fini(&mem);
    buf_fini(&b);
    free(kernels);
}

/* A session of gpufl-monitor knows how busy its GPUs were, and holds none of them. */
TEST(test_monitor_holds_nothing)
{
    struct meta_usage_sum *days;
    struct meta_page page = {0};
    struct region mem;
    struct buf b;
    size_t len, count;
    int64_t offset = 0;
    start(0, EVERY_NS);
    buf_init(&b, 1 << 20);
    char *kernels = fixture_lines("watch", 0, 5, true, &len);
    const char *after = memchr(kernels, '\n', len);
    buf_put(&b, kernels, (size_t)(after + 1 - kernels)); /* the header */
    encode_names(&b, (const uint32_t[]){1, 2, 3}, (const char *const[]){"k", "Test GPU", "GPU-7"},
                 (const size_t[]){1, 8, 5}, 3);
    put_device(&b, true, CELL_NULL);
    for (int64_t i = 1; i <= 5; i++) {
        struct device_metric_row r;
        for (size_t c = 0; c < COL_device_metric_COUNT; c++)
            ((int64_t *)&r)[c] = CELL_NULL;
        r.time = i * 1000000000;
        r.device = 1;
        r.gpu_util = 40;
        encode_rows(&b, RECORD_device_metric, (const int64_t *)&r, 1);
    }
    const struct monitor_row counts = {.time = 5000000000, .rounds = 5};
    encode_rows(&b, RECORD_monitor, (const int64_t *)&counts, 1);
    send_more("watch", &b, &offset);
    finish("watch");
    region_init(&mem, 1 << 20);
    assert_int_equal(meta_usage_days(&(struct meta_ask){fix.meta, "w", &mem, NULL},
                                     &(struct meta_days){META_BY_GPU, 0, 100000, NULL}, &page,
                                     &days, &count),
                     0);
    assert_int_equal(count, 1);
    assert_int_equal(days[0].wall, 0);
    assert_true(days[0].sampled > 0);
    assert_int_equal(days[0].utilized * 100 / days[0].sampled, 40);
    region_fini(&mem);
    buf_fini(&b);
    free(kernels);
}

/* While it runs there is a report that is not final. */
TEST(test_live)
{
    struct meta_analysis_head head = {0};
    start(1000000, EVERY_NS);
    send_lines("live", 50);
    assert_true(await_report("live", &head) && !head.final && head.records == 500);
    finish("live");
    check_report("live");
}

/* A session that ended and will be analysed again later delays no other. */
TEST(test_turns)
{
    struct meta_analysis_head head = {0};
    start(1000000, INT64_C(3600000000000));
    send_lines("ended", 5);
    finish("ended");
    analysis_news(analysis,
                  &(struct loader_news){.workspace = "w", .session = "ended", .counts_only = true});
    assert_true(analysis_wait(analysis, PATIENCE_NS)); /* counts have nothing for a report */
    analysis_news(analysis, &(struct loader_news){.workspace = "w", .session = "ended"});
    send_lines("live", 50);
    assert_true(await_report("live", &head));
}

/* A session with much that waits to be loaded is left alone until that is done. */
TEST(test_after)
{
    struct meta_analysis_head head = {0};
    struct ingest_answer a;
    struct region mem;
    send_lines("behind", 5);
    fixture_drain(&fix);
    start(1000000, INT64_C(3600000000000));
    analysis_news(analysis,
                  &(struct loader_news){
                      .workspace = "w", .session = "behind", .rows = 50, .lag = 3000000000});
    send_lines("live", 50);
    assert_true(await_report("live", &head));
    region_init(&mem, 1 << 20);
    assert_int_not_equal(meta_analysis_head(&(struct meta_ask){fix.meta, "w", &mem, NULL}, "behind",
                                            ANALYSIS_REPORT, &head),
                         0);
    region_fini(&mem);
    ingest_complete(fix.intake.ingest, "w", "behind", &a);
    fixture_drain(&fix);
    assert_true(await_report("behind", &head));
    assert_true(head.final);
}

/* A session that ended while no analysis ran is found later. */
TEST(test_missing)
{
    struct ingest_answer a;
    struct analysis_stats st;
    send_lines("before", 5);
    ingest_complete(fix.intake.ingest, "w", "before", &a);
    fixture_drain(&fix);
    start(0, EVERY_NS);
    for (int64_t until = clock_mono() + PATIENCE_NS; clock_mono() < until;) {
        analysis_stats(analysis, &st);
        if (st.final)
            break;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    assert_int_equal(st.final, 1);
    check_report("before");
}

/* ---- results that are stored together -------------------------------------------------------- */

enum { MANY = 20 };

/* Holds what the history was asked to keep. Only the analysis's thread uses it until it waits. */
static struct {
    size_t calls, most;
    bool fails; /* the call fails if session "s03" is among them */
} kept;

static int count_kept(struct store *s, const char *workspace, const struct store_history *of,
                      size_t count, struct err *e)
{
    kept.calls++;
    kept.most = count > kept.most ? count : kept.most;
    for (size_t i = 0; i < count; i++)
        if (kept.fails && strcmp(of[i].session, "s03") == 0)
            return err_set(e, GPUFL_E_IO, "the test has no room for s03");
    return store_duckdb.put_history(s, workspace, of, count, e);
}

/* Ends many sessions while no analysis runs, and then analyses them until nothing is due. */
static void analyse_many(void)
{
    static struct store_ops ops;
    char session[STORE_ID_MAX];
    struct ingest_answer a;
    for (int i = 0; i < MANY; i++) {
        snprintf(session, sizeof session, "s%02d", i);
        send_lines(session, 5);
        ingest_complete(fix.intake.ingest, "w", session, &a);
    }
    fixture_drain(&fix);
    ops = store_duckdb;
    ops.put_history = count_kept;
    start_on(&ops, 0, EVERY_NS);
    for (int i = 0; i < MANY; i++) {
        snprintf(session, sizeof session, "s%02d", i);
        analysis_news(
            analysis,
            &(struct loader_news){.workspace = "w", .session = session, .rows = 50, .ended = true});
    }
    assert_true(analysis_wait(analysis, 60000000000));
}

TEST(test_stored_together)
{
    struct analysis_stats st;
    char session[STORE_ID_MAX];
    memset(&kept, 0, sizeof kept);
    analyse_many();
    analysis_stats(analysis, &st);
    assert_true(st.final >= MANY);
    assert_int_equal(st.failed, 0);
    assert_true(kept.most > 1 && kept.calls < MANY);
    for (int i = 0; i < MANY; i++) {
        snprintf(session, sizeof session, "s%02d", i);
        check_report(session);
    }
}

/* A session whose results cannot be stored does not prevent those of others, and is reported. */
TEST(test_one_cannot_be_stored)
{
    struct analysis_stats st;
    struct meta_analysis_head head;
    struct region mem;
    char session[STORE_ID_MAX];
    memset(&kept, 0, sizeof kept);
    kept.fails = true;
    analyse_many();
    analysis_stats(analysis, &st);
    assert_true(kept.most > 1 && st.failed > 0);
    region_init(&mem, 1 << 20);
    for (int i = 0; i < MANY; i++) {
        snprintf(session, sizeof session, "s%02d", i);
        if (i != 3)
            check_report(session);
    }
    assert_int_equal(meta_analysis_head(&(struct meta_ask){fix.meta, "w", &mem, NULL}, "s03",
                                        ANALYSIS_REPORT, &head),
                     GPUFL_E_NOENT);
    region_fini(&mem);
    kept.fails = false;
    analysis_news(analysis,
                  &(struct loader_news){.workspace = "w", .session = "s03", .ended = true});
    assert_true(analysis_wait(analysis, 60000000000));
    check_report("s03");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {T(test_final),
                                       T(test_live),
                                       T(test_turns),
                                       T(test_after),
                                       T(test_missing),
                                       T(test_device_becomes_known),
                                       T(test_monitor_holds_nothing),
                                       T(test_stored_together),
                                       T(test_one_cannot_be_stored)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
