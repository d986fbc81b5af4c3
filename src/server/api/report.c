/* report.c - a session's report, parts of it, and its flame data.
 *
 * The report is made when a session ends, and now and then while it runs (analysis.h), and
 * stored as gzip. A part is cut out of it by its keys (docs/report.md), so that a page loads
 * what it shows; large members that the part does not have are not inflated (gzip_doc.h). */
#include "server/request/handlers.h"
#include "server/request/parts.h"

#include "analyze/report/stacks/stack_files.h"
#include "base/alloc.h"
#include "base/json.h"
#include "server/analysis/analysis.h"
#include "server/analysis/gzip_doc.h"

#include <stdio.h>
#include <string.h>

enum { DOCUMENT_MAX = 256 << 20, PACKED_MEMORY = META_BODY_MAX + (1 << 20) };

/* Lists the parts: keys of the report in their order. of: "key" or "key-member", which leaves one
 * member of the key's object out. */
static const struct {
    const char *name, *keys;
} SECTIONS[] = {
    {"summary",
     "answer simulated time summary session run sessions idle kernels-by_name copies fills memory "
     "managed_memory graphs devices host windows"},
    {"ledger", "ledger log settings settings_more capabilities known options messages "
               "vendor_overhead windows"},
    {"sync", "host_time synchronization_lines synchronizations"},
    {"scopes", "marks scope_paths more_scope_paths scopes outside_scopes"},
    {"steps", "steps"},
    {"insights", "answer caveats time summary idle insights insights_left_out"},
    {"kernels", "kernels devices"},
    {"profile", "samples instructions counters code code_left_out external_correlation"},
};

/* ---- documents ------------------------------------------------------------------------------- */

/* Reads the document of a session. false: the answer is made. */
static bool fetch(struct call *c, const char *session, const char *kind, struct region *mem,
                  struct meta_analysis *out)
{
    struct meta_session row;
    struct err e = {0};
    const struct meta_ask ask = call_ask(c, mem, &e);
    int rc = meta_session_get(&ask, session, &row);
    if (rc) {
        call_fail_named(c, rc, "session", &e);
        return false;
    }
    rc = meta_analysis_get(&ask, session, kind, out);
    if (rc == GPUFL_E_NOENT) {
        http_problem(c->http, 404, "This session has no %s%s.", kind,
                     strcmp(row.state, "live") == 0 ? " yet; ask again in a moment" : "");
        http_set(c->http, "Retry-After", "1");
    } else if (rc) {
        call_fail(c, rc, "report", &e);
    }
    return rc == 0;
}

/* Sets the document's tag. True: the client has this document, and 304 is the answer. */
static bool unchanged(struct call *c, const struct meta_analysis *a, char tag[32])
{
    snprintf(tag, 32, "W/\"%llx-%s\"", (unsigned long long)a->made, GPUFL_VERSION);
    return call_unchanged(c, tag);
}

/* Sends the document as it is stored, or uncompressed for clients that accept no gzip. */
static void send_whole(struct call *c, const char *session, const char *kind, const char *type)
{
    struct meta_analysis a;
    struct region mem;
    char tag[32];
    int rc = 0;
    region_init(&mem, PACKED_MEMORY);
    if (fetch(c, session, kind, &mem, &a) && !unchanged(c, &a, tag)) {
        bool packed = strcmp(a.encoding, "gzip") == 0;
        bool takes = http_field_has(c->http, "Accept-Encoding", "gzip");
        struct buf *body = http_body(c->http, DOCUMENT_MAX);
        if (packed && !takes)
            rc = gzip_doc_open(&a.body, body);
        else
            buf_put(body, a.body.data, a.body.len);
        http_send(c->http, 200, type);
        http_set(c->http, "ETag", tag);
        http_set(c->http, "Vary", "Accept-Encoding");
        if (packed && takes)
            http_set(c->http, "Content-Encoding", "gzip");
        if (rc)
            call_fail(c, rc, "report", NULL);
    }
    region_fini(&mem);
}

void api_report(struct call *c)
{
    send_whole(c, ARG(c, report, session)->text, ANALYSIS_REPORT, "application/json");
}

void api_flame(struct call *c)
{
    send_whole(c, ARG(c, flame, session)->text, ANALYSIS_FLAME, "text/plain; charset=utf-8");
}

void api_timeline(struct call *c)
{
    send_whole(c, ARG(c, timeline, session)->text, ANALYSIS_TIMELINE, "application/json");
}

/* ---- stacks in other tools' files ------------------------------------------------ */

static void send_stacks(struct call *c, const char *session, const char *type,
                        int (*put)(const char *, size_t, struct buf *))
{
    struct meta_analysis a;
    struct region mem;
    struct buf stacks;
    char tag[32];
    region_init(&mem, PACKED_MEMORY);
    buf_init(&stacks, DOCUMENT_MAX);
    if (fetch(c, session, ANALYSIS_FLAME, &mem, &a) && !unchanged(c, &a, tag)) {
        int rc = 0;
        if (strcmp(a.encoding, "gzip") == 0)
            rc = gzip_doc_open(&a.body, &stacks);
        else
            buf_put(&stacks, a.body.data, a.body.len);
        rc = rc ? rc : buf_error(&stacks);
        rc = rc ? rc : put(buf_cstr(&stacks), stacks.len, http_body(c->http, DOCUMENT_MAX));
        http_send(c->http, 200, type);
        http_set(c->http, "ETag", tag);
        if (rc)
            call_fail(c, rc, "stacks", NULL);
    }
    buf_fini(&stacks);
    region_fini(&mem);
}

static void name_file(struct call *c, const char *session, const char *ending)
{
    char text[192];
    snprintf(text, sizeof text, "attachment; filename=\"%.128s.%s\"", session, ending);
    http_set(c->http, "Content-Disposition", text);
}

void api_export_pprof(struct call *c)
{
    const char *session = ARG(c, export_pprof, session)->text;
    send_stacks(c, session, "application/octet-stream", stack_file_pprof);
    name_file(c, session, "pb");
}

void api_export_speedscope(struct call *c)
{
    const char *session = ARG(c, export_speedscope, session)->text;
    send_stacks(c, session, "application/json", stack_file_speedscope);
    name_file(c, session, "speedscope.json");
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Skips a value that was just read; its text is from .. j->at. */
static bool value_end(struct json *j, struct json_value v, const char **from)
{
    *from = v.type == JSON_STRING ? v.raw - 1 : v.raw; /* with its quote */
    return json_skip(j, v);
}

struct splice {
    struct json_out *out;
    const char *keys, *without; /* of a section; of an object: the member that is left out */
};

/* Writes the members of an object except one, as they are in the report. */
static bool put_member(struct json *j, const char *key, struct json_value v, void *to)
{
    const struct splice *s = to;
    const char *from;
    if (!value_end(j, v, &from))
        return false;
    if (strcmp(key, s->without) != 0)
        json_out_raw(s->out, key, from, (size_t)(j->at - from));
    return true;
}

/* Returns true if a section has a key; `without` gets the member of the key's object that is left
 * out. */
static bool wanted(const char *keys, const char *key, char without[64])
{
    size_t n = strlen(key);
    for (const char *k = keys; *k; k += strspn(k, " ")) {
        size_t len = strcspn(k, " "), name = strcspn(k, " -");
        without[0] = '\0';
        if (name == n && memcmp(k, key, n) == 0) {
            if (name < len)
                snprintf(without, 64, "%.*s", (int)(len - name - 1), k + name + 1);
            return true;
        }
        k += len;
    }
    return false;
}

static bool put_key(struct json *j, const char *key, struct json_value v, void *to)
{
    const struct splice *s = to;
    char without[64];
    const char *from;
    if (!wanted(s->keys, key, without))
        return json_skip(j, v);
    if (without[0] && v.type == JSON_OBJECT) {
        struct splice inner = {.out = s->out, .without = without};
        json_out_object(s->out, key);
        bool whole = json_members(j, put_member, &inner);
        json_out_close_object(s->out);
        return whole;
    }
    if (!value_end(j, v, &from))
        return false;
    json_out_raw(s->out, key, from, (size_t)(j->at - from));
    return true;
}

/* Returns true if the section `keys` needs a member of the report. */
static bool section_has(const char *key, const void *keys)
{
    char without[64];
    return wanted(keys, key, without);
}

static int put_section(struct json_out *out, const char *keys, const struct buf *report)
{
    struct splice s = {.out = out, .keys = keys};
    return json_document(report->data, report->len, put_key, &s) ? 0 : GPUFL_E_CORRUPT;
}

static void send_section(struct call *c, const struct meta_analysis *a, const char *keys,
                         const char *tag)
{
    struct buf report;
    struct json_out j;
    char number[24];
    int rc = 0;
    buf_init(&report, DOCUMENT_MAX);
    if (strcmp(a->encoding, "gzip") == 0)
        rc = gzip_doc_open_members(&a->body, section_has, keys, &report);
    else
        buf_put(&report, a->body.data, a->body.len);
    call_json(c, &j);
    json_out_object(&j, NULL);
    snprintf(number, sizeof number, "%lld", (long long)a->made);
    json_out_text(&j, "made", number);
    json_out_bool(&j, "final", a->final != 0);
    json_out_int(&j, "records", a->records);
    json_out_text(&j, "rules", a->rules);
    if (rc == 0)
        rc = buf_error(&report);
    if (rc == 0)
        rc = put_section(&j, keys, &report);
    json_out_close_object(&j);
    buf_fini(&report);
    if (rc) {
        buf_fini(&j.buf);
        call_fail(c, rc, "report", NULL);
        return;
    }
    call_json_send(c, &j, 200);
    if (c->http->answer.status == 200)
        http_set(c->http, "ETag", tag);
}

void api_section(struct call *c)
{
    struct meta_analysis a;
    struct region mem;
    char tag[32];
    const char *keys = "";
    for (size_t i = 0; i < sizeof SECTIONS / sizeof SECTIONS[0]; i++)
        if (strcmp(SECTIONS[i].name, c->route->of) == 0)
            keys = SECTIONS[i].keys;
    region_init(&mem, PACKED_MEMORY);
    /* Every route of a section has the session as its first parameter. */
    if (fetch(c, c->values[0].text, ANALYSIS_REPORT, &mem, &a) && !unchanged(c, &a, tag))
        send_section(c, &a, keys, tag);
    region_fini(&mem);
}
