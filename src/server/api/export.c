/* export.c - sends a session read back from the store: its log as NDJSON, its rows as Parquet.
 *
 * NDJSON is made while it is sent, by a worker of a separate pool: batches are encoded as the
 * columns are walked, so that memory does not grow with the session. */
#include "server/intake/loader/loader.h"
#include "server/request/handlers.h"
#include "server/request/parts.h"
#include "server/request/session_ref.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "net/server/http_pipe.h"
#include "server/common/logs.h"
#include "wire/encode.h"
#include "wire/record.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int64_t PATIENCE_NS = 60000000000;

/* ---- NDJSON --------------------------------------------------------------------------------- */

/* This is an export that is being sent. It outlives the handler, and so the call. */
struct export
{
    const struct store_ops *ops;
    struct store_session *columns;
    struct http_pipe *pipe;
    struct buf line;
    int64_t *rows;    /* owned: WIRE_MAX_ROWS rows of the widest record */
    bool header_only; /* of the stored lines: the first header, else the unknown ones */
    bool header_sent;
    char id[HTTP_ID_SIZE]; /* the request's, for the log */
};

static void export_free(void *arg)
{
    struct export *x = arg;
    if (x->columns)
        x->ops->put(x->columns);
    buf_fini(&x->line);
    mem_free(x->rows);
    mem_free(x);
}

static int flush(struct export *x)
{
    int rc = buf_error(&x->line);
    if (rc == 0)
        rc = http_pipe_write(x->pipe, x->line.data, x->line.len);
    buf_clear(&x->line);
    return rc;
}

static int put_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct export *x = arg;
    encode_names(&x->line, &id, &text, &len, 1);
    return x->line.len > 64 << 10 ? flush(x) : buf_error(&x->line);
}

/* Converts columns to rows for the encoder. */
static int put_batch(void *arg, const struct wire_batch *b)
{
    struct export *x = arg;
    unsigned columns = b->record->column_count;
    int rc = 0;
    for (size_t from = 0; from < b->rows && rc == 0; from += WIRE_MAX_ROWS) {
        size_t n = b->rows - from < WIRE_MAX_ROWS ? b->rows - from : WIRE_MAX_ROWS;
        for (unsigned i = 0; i < columns; i++)
            for (size_t row = 0; row < n; row++)
                x->rows[row * columns + i] = b->col[i] ? b->col[i][from + row] : CELL_NULL;
        encode_rows(&x->line, b->type, x->rows, n);
        rc = flush(x);
    }
    return rc;
}

static bool is_channel(struct store_text t, const char *name)
{
    return t.len == strlen(name) && memcmp(t.at, name, t.len) == 0;
}

/* Writes lines that were kept unchanged. */
static int put_lines(void *arg, const struct store_chunk *chunk)
{
    struct export *x = arg;
    int rc = 0;
    for (size_t row = 0; row < chunk->rows && rc == 0; row++) {
        const struct store_text channel = chunk->columns[0].texts[row];
        const struct store_text line = chunk->columns[1].texts[row];
        bool header = is_channel(channel, LOADER_HEADERS);
        if (header != x->header_only || is_channel(channel, LOADER_COUNTS) ||
            (header && x->header_sent))
            continue;
        x->header_sent = x->header_sent || header;
        buf_put(&x->line, line.at, line.len);
        buf_char(&x->line, '\n');
        rc = flush(x);
    }
    return rc;
}

static int produce(void *arg, struct http_pipe *p)
{
    struct export *x = arg;
    struct err e = {0};
    const struct store_visitor lines = {.arg = x, .chunk = put_lines};
    const struct wire_visitor rows = {.arg = x, .name = put_name, .batch = put_batch};
    x->pipe = p;
    x->header_only = true;
    int rc = x->ops->scan_unknown(x->columns, &lines, &e);
    if (rc == 0)
        rc = x->ops->scan_names(x->columns, &rows, &e);
    if (rc == 0)
        rc = flush(x);
    for (int type = 0; type < RECORD_COUNT && rc == 0; type++)
        rc = x->ops->scan(x->columns, (enum record_type)type, INT64_MIN, INT64_MAX, &rows, &e);
    x->header_only = false;
    if (rc == 0)
        rc = x->ops->scan_unknown(x->columns, &lines, &e);
    if (rc && rc != GPUFL_E_STATE && rc != GPUFL_E_TIMEOUT) /* these: the client */
        logs_say(LOG_ERROR, "export", "request %s broke off: %s", x->id,
                 e.text[0] ? e.text : err_text(rc));
    return rc;
}

/* Writes "attachment; filename=…": ids of sessions have no character that needs quoting. */
static void attachment(struct call *c, const char *session, const char *ending)
{
    char text[192];
    snprintf(text, sizeof text, "attachment; filename=\"%s.%s\"", session, ending);
    http_set(c->http, "Content-Disposition", text);
}

void api_export_ndjson(struct call *c)
{
    struct session_ref s;
    struct http_pipe *pipe = NULL;
    if (!session_ref_open(c, ARG(c, export_ndjson, session)->text, &s) ||
        !session_ref_answers(c, &s))
        return;
    struct export *x = s.columns ? mem_zalloc(sizeof *x) : NULL;
    if (!x) {
        call_fail(c, s.columns ? GPUFL_E_NOMEM : GPUFL_E_NOENT, "session", NULL);
        session_ref_close(c, &s);
        return;
    }
    x->ops = c->parts->ops;
    x->columns = s.columns; /* the export's from here on */
    s.columns = NULL;
    snprintf(x->id, sizeof x->id, "%s", c->http->id);
    buf_init(&x->line, 2 * (size_t)WIRE_MAX_LINE);
    x->rows = mem_array((size_t)WIRE_MAX_ROWS * RECORD_MAX_COLUMNS, sizeof *x->rows);
    int rc = x->rows
                 ? http_pipe_open(&pipe, c->parts->exports, PATIENCE_NS, produce, export_free, x)
                 : GPUFL_E_NOMEM;
    if (rc) {
        export_free(x);
        call_fail(c, rc, "session", NULL);
        return;
    }
    http_send_pipe(c->http, "application/x-ndjson", pipe);
    attachment(c, s.row.id, "ndjson");
}

/* ---- Parquet --------------------------------------------------------------------------------- */

/* Sends a file below the data folder that is gone when it is closed. */
static int send_parquet(struct call *c, struct session_ref *s, enum record_type type, struct err *e)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/export-%s.parquet", c->parts->data, c->http->id);
    if (n < 0 || (size_t)n >= sizeof path)
        return err_set(e, GPUFL_E_INVAL, "the name of the data folder is too long");
    int rc = c->parts->ops->parquet(s->columns, type, path, e);
    int fd = rc ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    int64_t size = rc ? -1 : file_size(path);
    unlink(path);
    if (rc)
        return rc;
    if (fd < 0 || size < 0) {
        if (fd >= 0)
            close(fd);
        return err_set(e, GPUFL_E_IO, "the file that was written cannot be read");
    }
    http_send_file(c->http, "application/vnd.apache.parquet", fd, (uint64_t)size);
    return 0;
}

void api_export_parquet(struct call *c)
{
    struct session_ref s;
    struct err e = {0};
    char ending[96];
    const char *name = ARG(c, export_parquet, record)->text;
    int type = record_find(name, strlen(name));
    if (type == RECORD_NONE) {
        http_problem_of(c->http, 400, "record",
                        "There is no record '%s'; docs/format.md lists them.", name);
        return;
    }
    if (!session_ref_open(c, ARG(c, export_parquet, session)->text, &s))
        return;
    int rc = s.columns ? send_parquet(c, &s, (enum record_type)type, &e) : GPUFL_E_NOENT;
    if (rc) {
        call_fail_named(c, rc, "record in this session", &e);
    } else {
        snprintf(ending, sizeof ending, "%.80s.parquet", name);
        attachment(c, s.row.id, ending);
    }
    session_ref_close(c, &s);
}
