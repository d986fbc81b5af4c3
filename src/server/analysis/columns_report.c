/* columns_report.c - scans columns in the order in which files are read; see columns_report.h.
 *
 * First what others refer to: headers, names, dictionaries. Then the events, channel by channel as
 * analyze/read/discover.h orders them. Within a record the rows come as they were logged. */
#include "server/analysis/columns_report.h"

#include "analyze/compare/digest.h"
#include "base/json.h"
#include "server/intake/loader/loader.h"
#include "wire/decode.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const struct store_ops *ops;
    struct store_session *ss;
    struct model *model;
    struct load_stats *stats;
    struct decoder *decoder; /* of header lines; NULL: none yet */
    uint64_t rows;
    const _Atomic bool *stop;
    const struct columns_place *place; /* NULL: no other session can be read */
};

static int take_header(void *arg, const struct wire_header *h)
{
    struct reading *r = arg;
    return model_header(r->model, h);
}

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct reading *r = arg;
    return model_name(r->model, id, text, len);
}

static int take_batch(void *arg, const struct wire_batch *b)
{
    struct reading *r = arg;
    r->rows += b->rows;
    if (r->stop && atomic_load_explicit(r->stop, memory_order_relaxed))
        return GPUFL_E_STATE;
    return model_batch(r->model, b);
}

/* ---- lines that the loader keeps in addition to the records ---------------------------------- */

static bool add_count(struct json *j, const char *key, struct json_value v, void *to)
{
    struct load_stats *s = to;
    const struct {
        const char *key;
        uint64_t *sum;
    } sums[] = {{"lines", &s->lines.lines},
                {"damaged", &s->lines.damaged},
                {"unknown_records", &s->lines.unknown_records},
                {"unknown_columns", &s->lines.unknown_columns},
                {"foreign", &s->lines.foreign},
                {"foreign_unmapped", &s->lines.foreign_unmapped},
                {"foreign_orphans", &s->lines.foreign_orphans},
                {"too_long", &s->files.too_long}};
    for (size_t i = 0; v.type == JSON_INT && i < sizeof sums / sizeof *sums; i++)
        if (strcmp(key, sums[i].key) == 0 && v.integer > 0)
            *sums[i].sum += (uint64_t)v.integer;
    return json_skip(j, v);
}

static bool is_channel(const struct store_text *t, const char *name)
{
    return t->len == strlen(name) && memcmp(t->at, name, t->len) == 0;
}

static int take_lines(void *arg, const struct store_chunk *c)
{
    struct reading *r = arg;
    const struct wire_visitor v = {.arg = r, .header = take_header};
    int rc = 0;
    for (size_t i = 0; !rc && i < c->rows; i++) {
        const struct store_text *channel = &c->columns[0].texts[i], *line = &c->columns[1].texts[i];
        if (is_channel(channel, LOADER_COUNTS))
            json_document(line->at, line->len, add_count, r->stats);
        if (!is_channel(channel, LOADER_HEADERS))
            continue;
        rc = r->decoder ? 0 : decoder_open(&r->decoder);
        if (rc == 0)
            rc = decoder_feed(r->decoder, line->at, line->len, &v);
    }
    return rc;
}

/* ---- records --------------------------------------------------------------------------------- */

static int scan_kind(struct reading *r, enum record_kind kind, enum channel channel, struct err *e)
{
    const struct wire_visitor v = {.arg = r, .batch = take_batch};
    int rc = 0;
    for (int i = 0; !rc && i < RECORD_COUNT; i++)
        if (records[i].kind == kind && (kind == RECORD_KIND_DICT || records[i].channel == channel))
            rc = r->ops->scan(r->ss, (enum record_type)i, INT64_MIN, INT64_MAX, &v, e);
    return rc;
}

/* Makes all scans of a report read one state of the session. */
static int hold(struct reading *r, struct store_session *ss, struct err *e)
{
    r->ss = ss;
    return r->ops->hold ? r->ops->hold(ss, &r->ss, e) : 0;
}

static void release(struct reading *r)
{
    if (r->ops->release)
        r->ops->release(r->ss);
}

static int read_columns(void *arg, struct model *m, struct load_stats *stats, struct err *e)
{
    static const enum channel order[] = {CHANNEL_SYSTEM, CHANNEL_SCOPE, CHANNEL_DEVICE,
                                         CHANNEL_CODE};
    struct reading *r = arg;
    const struct wire_visitor names = {.arg = r, .name = take_name};
    r->model = m;
    r->stats = stats;
    int rc = r->ops->scan_unknown(r->ss, &(struct store_visitor){.arg = r, .chunk = take_lines}, e);
    if (rc == 0)
        rc = r->ops->scan_names(r->ss, &names, e);
    if (rc == 0)
        rc = scan_kind(r, RECORD_KIND_DICT, CHANNEL_COUNT, e);
    for (size_t i = 0; !rc && i < sizeof order / sizeof *order; i++)
        rc = scan_kind(r, RECORD_KIND_EVENT, order[i], e);
    decoder_close(r->decoder);
    r->decoder = NULL;
    if (rc && e && !*e->text)
        err_set(e, rc, "%s", err_text(rc));
    if (!rc && !r->rows && !m->facts.header)
        rc = err_set(e, GPUFL_E_NOENT, "the session has nothing yet");
    return rc;
}

/* Reads from the system channel of another session the samples that it took for this one. */
static int read_samples(void *arg, const char *session, struct model *m)
{
    const struct reading *of = arg;
    struct load_stats stats = {0};
    struct reading r = {.ops = of->ops, .model = m, .stats = &stats, .stop = of->stop};
    const struct wire_visitor names = {.arg = &r, .name = take_name};
    struct store_session *ss;
    struct err e;
    if (!of->place || strlen(session) >= STORE_ID_MAX ||
        r.ops->get(of->place->store, of->place->workspace, session, false, &ss, &e))
        return GPUFL_E_NOENT;
    int rc = hold(&r, ss, &e);
    if (rc) {
        r.ops->put(ss);
        return rc == GPUFL_E_NOMEM ? rc : GPUFL_E_NOENT;
    }
    rc = r.ops->scan_unknown(r.ss, &(struct store_visitor){.arg = &r, .chunk = take_lines}, &e);
    if (rc == 0)
        rc = r.ops->scan_names(r.ss, &names, &e);
    if (rc == 0)
        rc = scan_kind(&r, RECORD_KIND_DICT, CHANNEL_COUNT, &e);
    if (rc == 0)
        rc = scan_kind(&r, RECORD_KIND_EVENT, CHANNEL_SYSTEM, &e);
    if (rc == 0)
        rc = model_finish(m);
    decoder_close(r.decoder);
    release(&r);
    r.ops->put(ss);
    return rc == 0 || rc == GPUFL_E_NOMEM ? rc : GPUFL_E_NOENT;
}

int columns_report(struct report *r, const struct columns_source *from,
                   const struct gpufl_report_options *o, struct err *e)
{
    struct reading reading = {.ops = from->ops, .stop = from->stop, .place = from->place};
    const struct report_source source = {
        .arg = &reading, .dir = from->dir, .read = read_columns, .samples = read_samples};
    int rc = hold(&reading, from->session, e);
    if (rc)
        return rc;
    rc = report_open_source(r, &source, o, e);
    release(&reading);
    return rc;
}

/* ---- documents ------------------------------------------------------------------------------- */

static int write_document(const struct report *r, int (*write)(const struct report *, FILE *),
                          char **text, size_t *len)
{
    *text = NULL;
    *len = 0;
    FILE *out = open_memstream(text, len);
    if (!out)
        return GPUFL_E_NOMEM;
    int rc = write(r, out);
    if (fclose(out) && !rc)
        rc = GPUFL_E_NOMEM;
    if (rc) {
        free(*text); /* NOLINT: stdio's own */
        *text = NULL;
    }
    return rc;
}

int columns_report_json(const struct report *r, char **text, size_t *len)
{
    return write_document(r, report_json, text, len);
}

int columns_report_flame(const struct report *r, char **text, size_t *len)
{
    return write_document(r, report_flame, text, len);
}

int columns_report_timeline(const struct report *r, char **text, size_t *len)
{
    return write_document(r, report_timeline, text, len);
}

static int write_digest(const struct report *r, FILE *out)
{
    struct digest d;
    struct json_out j;
    int rc = digest_open(&d, &r->model);
    json_out_init(&j, out);
    if (!rc)
        digest_put(&d, &j);
    int failed = json_out_finish(&j);
    digest_close(&d);
    return rc ? rc : failed;
}

int columns_report_digest(const struct report *r, char **text, size_t *len)
{
    return write_document(r, write_digest, text, len);
}
