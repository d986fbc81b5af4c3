/* intake_fixture.c - see intake_fixture.h. */
#include "tests/unit/support/intake_fixture.h"

#include "base/clock.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"
#include "wire/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>
#include <zstd.h>

#define WORKSPACE "w"

struct fixture fix;

int fixture_begin(void **state)
{
    fix = (struct fixture){0};
    return tmpdir_open(state);
}

int fixture_end(void **state)
{
    return tmpdir_close(state);
}

void fixture_up(struct fixture *f, const char *dir)
{
    char db[512];
    struct err e = {0};
    snprintf(db, sizeof db, "%s/meta.db", dir);
    const struct store_config store = {.data = dir, .memory_limit = f->memory};
    const struct meta_config meta = {.path = db, .migrate = true};
    if (store_duckdb.open(&f->store, &store, &e) || meta_open(&f->meta, &meta, &e))
        fail_msg("%s", e.text);
    int rc = meta_workspace_add(
        f->meta, &(struct meta_workspace){.id = WORKSPACE, .name = "W", .created = 1}, &e);
    if (rc && rc != GPUFL_E_STATE)
        fail_msg("%s", e.text);
    f->config.data = dir;
    f->config.ops = f->config.ops ? f->config.ops : &store_duckdb;
    f->config.store = f->store;
    f->config.meta = f->meta;
    f->config.keep_free = 1;
    f->config.segment_bytes = f->config.segment_bytes ? f->config.segment_bytes : 1 << 20;
    if (intake_open(&f->intake, &f->config, &e))
        fail_msg("%s", e.text);
}

void fixture_down(struct fixture *f)
{
    intake_close(&f->intake);
    store_duckdb.close(f->store);
    meta_close(f->meta);
}

int fixture_open(void **state)
{
    int rc = fixture_begin(state);
    if (!rc)
        fixture_up(&fix, tmpdir);
    return rc;
}

int fixture_close(void **state)
{
    fixture_down(&fix);
    return fixture_end(state);
}

/* ---- the columns ----------------------------------------------------------------------------- */

struct sum {
    const char *channel;
    int64_t n;
    struct fixture_kernels kernels;
};

static struct store_session *open_session(struct fixture *f, const char *session)
{
    struct store_session *ss;
    struct err e = {0};
    int rc = store_duckdb.get(f->store, WORKSPACE, session, false, &ss, &e);
    if (rc && rc != GPUFL_E_NOENT)
        fail_msg("%s", e.text);
    return rc ? NULL : ss;
}

static int add_batch(void *arg, const struct wire_batch *b)
{
    struct sum *s = arg;
    s->n += (int64_t)b->rows;
    for (size_t i = 0; b->type == RECORD_kernel && i < b->rows; i++) {
        s->kernels.count++;
        s->kernels.duration += b->col[COL_kernel_duration][i];
        s->kernels.correlation += b->col[COL_kernel_correlation][i];
    }
    return 0;
}

static struct sum scan(struct fixture *f, const char *session, int record)
{
    struct sum s = {0};
    struct err e = {0};
    struct store_session *ss = open_session(f, session);
    if (!ss) {
        s.n = -1;
        return s;
    }
    const struct wire_visitor v = {.arg = &s, .batch = add_batch};
    if (store_duckdb.scan(ss, (enum record_type)record, INT64_MIN, INT64_MAX, &v, &e))
        fail_msg("%s", e.text);
    store_duckdb.put(ss);
    return s;
}

int64_t fixture_rows(struct fixture *f, const char *session, const char *record)
{
    return scan(f, session, record_find(record, strlen(record))).n;
}

struct fixture_kernels fixture_kernels(struct fixture *f, const char *session)
{
    return scan(f, session, RECORD_kernel).kernels;
}

static int add_unknown(void *arg, const struct store_chunk *c)
{
    struct sum *s = arg;
    for (size_t i = 0; i < c->rows; i++) {
        const struct store_text *t = &c->columns[0].texts[i];
        s->n += t->len == strlen(s->channel) && memcmp(t->at, s->channel, t->len) == 0;
    }
    return 0;
}

int64_t fixture_unknown(struct fixture *f, const char *session, const char *channel)
{
    struct sum s = {.channel = channel};
    struct err e = {0};
    struct store_session *ss = open_session(f, session);
    if (!ss)
        return -1;
    if (store_duckdb.scan_unknown(ss, &(struct store_visitor){.arg = &s, .chunk = add_unknown}, &e))
        fail_msg("%s", e.text);
    store_duckdb.put(ss);
    return s.n;
}

/* ---- the small tables ------------------------------------------------------------------------ */

struct meta_session fixture_entry(const char *session, struct region *mem)
{
    struct meta_session row = {.state = "none"};
    region_init(mem, 1 << 20);
    meta_session_get(&(struct meta_ask){fix.meta, WORKSPACE, mem, NULL}, session, &row);
    return row;
}

bool fixture_reaches(const char *session, const char *state)
{
    for (int64_t until = clock_mono() + PATIENCE_NS; clock_mono() < until;) {
        struct region mem;
        bool there = strcmp(fixture_entry(session, &mem).state, state) == 0;
        region_fini(&mem);
        if (there)
            return true;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    return false;
}

/* ---- sending --------------------------------------------------------------------------------- */

struct ingest_request fixture_request(const char *session, const char *channel, int64_t offset)
{
    return (struct ingest_request){.workspace = WORKSPACE,
                                   .session = session,
                                   .channel = channel,
                                   .offset = channel ? offset : INGEST_NO_OFFSET,
                                   .size = -1,
                                   .window_sequence = INGEST_NO_SEQUENCE,
                                   .window_crc32 = -1};
}

void fixture_send(struct fixture *f, const struct ingest_request *r, const void *data, size_t n,
                  size_t piece, struct ingest_answer *a)
{
    struct ingest_body *b;
    if (ingest_open(f->intake.ingest, r, &b, a))
        return;
    piece = piece ? piece : n;
    for (size_t at = 0; at < n; at += piece) {
        /* The copy ends where its heap block ends, so that sanitizers see a read beyond it. */
        size_t len = n - at < piece ? n - at : piece;
        char *copy = malloc(len);
        memcpy(copy, (const char *)data + at, len);
        int stop = ingest_data(b, copy, len);
        free(copy);
        if (stop)
            break;
    }
    ingest_finish(b, a);
    ingest_close(b);
}

struct ingest_answer fixture_text(const struct ingest_request *r, const char *text, size_t n)
{
    struct ingest_answer a;
    fixture_send(&fix, r, text, n, 1000, &a);
    return a;
}

void fixture_drain(struct fixture *f)
{
    assert_int_equal(journal_wait(f->intake.journal, 0, NULL), 0);
    assert_true(loader_drain(f->intake.loader, 60000000000));
}

void fixture_check_kernels(const char *session, int64_t count)
{
    fixture_drain(&fix);
    struct fixture_kernels k = fixture_kernels(&fix, session);
    assert_int_equal(k.count, count);
    assert_int_equal(k.correlation, count * (count - 1) / 2);
}

struct loader_stats fixture_wait_for(bool (*done)(const struct loader_stats *))
{
    struct loader_stats st;
    for (int64_t until = clock_mono() + PATIENCE_NS; clock_mono() < until;) {
        loader_stats(fix.intake.loader, &st);
        if (done(&st))
            return st;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    fail_msg("it did not come to that");
    return st;
}

/* ---- text ------------------------------------------------------------------------------------ */

char *fixture_lines(const char *session, int64_t first, int batches, bool header, size_t *len)
{
    struct buf b;
    buf_init(&b, 256u << 20);
    if (header) {
        struct wire_header h = {.session = session,
                                .channel = "device",
                                .part = 1,
                                .app = "app",
                                .pid = 77,
                                .host = "host",
                                .run = "",
                                .command = "app --fast",
                                .engine = "Trace",
                                .backend = "sim",
                                .version = "1",
                                .system = "",
                                .start = 1000,
                                .clock_monotonic = 1000,
                                .clock_real = 1770000000000000000,
                                .clock_uncertainty = 10};
        encode_header(&b, &h);
    }
    for (int i = 0; i < batches; i++) {
        struct kernel_row rows[10];
        memset(rows, 0, sizeof rows);
        for (int k = 0; k < 10; k++)
            rows[k] = (struct kernel_row){.start = 1000 + 100 * (first + 10 * i + k),
                                          .duration = 50 + k,
                                          .config = 1,
                                          .stream = 1,
                                          .correlation = first + 10 * i + k};
        encode_rows(&b, RECORD_kernel, (const int64_t *)rows, 10);
    }
    assert_int_equal(buf_error(&b), 0);
    *len = b.len;
    return b.data ? b.data : malloc(1);
}

void fixture_send_rows(const char *session, int64_t first, int batches, int64_t *offset)
{
    size_t n;
    struct ingest_answer a;
    char *text = fixture_lines(session, first, batches, first == 0, &n);
    struct ingest_request r = fixture_request(session, "device", *offset);
    fixture_send(&fix, &r, text, n, 0, &a);
    if (a.status != 200)
        fail_msg("%s: %d %s", session, a.status, a.text);
    *offset = a.offset;
    free(text);
}

char *fixture_gzip(const char *text, size_t n, size_t *len)
{
    z_stream z = {0};
    size_t room = compressBound(n) + 64;
    char *out = malloc(room);
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    *len = room - z.avail_out;
    deflateEnd(&z);
    return out;
}

char *fixture_zstd(const char *text, size_t n, size_t *len)
{
    size_t room = ZSTD_compressBound(n);
    char *out = malloc(room);
    *len = ZSTD_compress(out, room, text, n, 3);
    assert_false(ZSTD_isError(*len));
    return out;
}
