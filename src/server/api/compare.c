/* compare.c - compares two sides of sessions, from the documents that their analysis left: no
 * session is opened, so that ten million kernels are compared as fast as ten. */
#include "server/request/handlers.h"
#include "server/request/parts.h"

#include "analyze/compare/compare.h"
#include "analyze/compare/trees.h"
#include "base/alloc.h"
#include "server/analysis/analysis.h"
#include "server/analysis/gzip_doc.h"
#include "server/request/ids_list.h"

#include <string.h>

enum { DOCUMENT_MAX = 256 << 20, SESSION_MEMORY = META_BODY_MAX + (1 << 20) };

struct side {
    struct digest digests[COMPARE_SESSIONS];
    const struct digest *list[COMPARE_SESSIONS];
    size_t count;
};

/* Appends a document that the analysis stored. 0, or NOENT: it stored none of the kind. */
static int read_document(struct call *c, const char *id, const char *kind, struct region *mem,
                         struct buf *text, struct err *e)
{
    struct meta_analysis a;
    const struct meta_ask ask = call_ask(c, mem, e);
    int rc = meta_analysis_get(&ask, id, kind, &a);
    rc = rc ? rc : gzip_doc_open(&a.body, text);
    if (rc && rc != GPUFL_E_NOENT && !e->code)
        err_set(e, rc, "the %s of session %s cannot be read: %s", kind, id, err_text(rc));
    return rc;
}

/* Reads the digest that the analysis stored. 0, or NOENT: nothing yet. */
static int read_digest(struct call *c, const char *id, struct region *mem, struct digest *out,
                       struct err *e)
{
    struct buf text;
    memset(out, 0, sizeof *out);
    buf_init(&text, DOCUMENT_MAX);
    int rc = read_document(c, id, ANALYSIS_DIGEST, mem, &text, e);
    if (rc == 0 && (rc = digest_read(out, text.data, text.len)))
        err_set(e, rc, "the digest of session %s cannot be read: %s", id, err_text(rc));
    buf_fini(&text);
    return rc;
}

/* Adds a session to a side; false: the call was answered. */
static bool add(struct call *c, struct side *s, const char *parameter, const char *id)
{
    struct meta_session row;
    struct region mem;
    struct err e = {0};
    if (s->count == COMPARE_SESSIONS) {
        http_problem_of(c->http, 400, parameter, "A side has %d sessions at most.",
                        COMPARE_SESSIONS);
        return false;
    }
    region_init(&mem, SESSION_MEMORY);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_session_get(&ask, id, &row);
    if (rc) {
        call_fail_named(c, rc, "session", &e);
    } else if ((rc = read_digest(c, id, &mem, &s->digests[s->count], &e)) == GPUFL_E_NOENT) {
        http_problem_of(c->http, 409, parameter,
                        "Session %s has not been summed up yet; ask again in a moment.", id);
        http_set(c->http, "Retry-After", "1");
    } else if (rc) {
        call_fail(c, rc, "session", &e);
    }
    if (!rc)
        s->list[s->count] = &s->digests[s->count];
    s->count += !rc;
    region_fini(&mem);
    return rc == 0;
}

static bool read_side(struct call *c, struct side *s, const char *parameter, const char *list)
{
    char id[META_ID_MAX];
    bool bad = false;
    while (ids_next(&list, id, &bad))
        if (!add(c, s, parameter, id))
            return false;
    if (bad || !s->count)
        ids_bad(c, parameter);
    return !bad && s->count;
}

static void send(struct call *c, const struct side *a, const struct side *b)
{
    struct comparison comparison;
    struct json_out j;
    int rc =
        compare_open(&comparison, a->list, a->count, b->list, b->count, ARG(c, compare, least)->r);
    if (rc) {
        call_fail(c, rc, "comparison", NULL);
    } else {
        call_json(c, &j);
        json_out_object(&j, NULL);
        compare_put(&comparison, &j, (size_t)ARG(c, compare, top)->i);
        json_out_close_object(&j);
        call_json_send(c, &j, 200);
    }
    compare_close(&comparison);
}

static void close_side(struct side *s)
{
    for (size_t i = 0; i < s->count; i++)
        digest_close(&s->digests[i]);
}

void api_compare(struct call *c)
{
    struct side *sides = mem_array(COMPARE_SIDES, sizeof *sides);
    if (!sides) {
        call_fail(c, GPUFL_E_NOMEM, "comparison", NULL);
        return;
    }
    if (read_side(c, &sides[0], "a", ARG(c, compare, a)->text) &&
        read_side(c, &sides[1], "b", ARG(c, compare, b)->text))
        send(c, &sides[0], &sides[1]);
    close_side(&sides[0]);
    close_side(&sides[1]);
    mem_free(sides);
}

/* ---- flame graphs of differences ------------------------------------------------------------- */

/* Lists the trees in the order of the parameter's words. */
static const struct {
    const char *document, *root; /* root: the first frame of the stacks; NULL: no stacks */
} TREES[] = {
    {ANALYSIS_FLAME, "host blocked"},
    {ANALYSIS_FLAME, "GPU"},
    {ANALYSIS_DIGEST, NULL},
    {ANALYSIS_REPORT, NULL},
};

static int add_document(struct trees *t, unsigned side, size_t tree, const struct buf *text)
{
    struct digest d;
    int rc;
    if (TREES[tree].root)
        return trees_add_collapsed(t, side, TREES[tree].root, text->data, text->len);
    if (strcmp(TREES[tree].document, ANALYSIS_REPORT) == 0)
        return trees_add_idle(t, side, text->data, text->len);
    rc = digest_read(&d, text->data, text->len);
    rc = rc ? rc : trees_add_scopes(t, side, &d);
    digest_close(&d);
    return rc;
}

struct merging {
    struct trees trees;
    size_t tree;                   /* of TREES */
    size_t counts[COMPARE_SIDES];  /* sessions */
    size_t without[COMPARE_SIDES]; /* those that have no such tree */
};

/* Adds a session's tree. False: answered. */
static bool merge(struct call *c, struct merging *m, unsigned side, const char *id)
{
    struct meta_session row;
    struct region mem;
    struct buf text;
    struct err e = {0};
    region_init(&mem, SESSION_MEMORY);
    buf_init(&text, DOCUMENT_MAX);
    const struct meta_ask ask = call_ask(c, &mem, &e);
    int rc = meta_session_get(&ask, id, &row);
    if (rc) {
        call_fail_named(c, rc, "session", &e);
        goto done;
    }
    rc = read_document(c, id, TREES[m->tree].document, &mem, &text, &e);
    m->without[side] += rc == GPUFL_E_NOENT;
    rc = rc == GPUFL_E_NOENT ? 0 : rc ? rc : add_document(&m->trees, side, m->tree, &text);
    m->counts[side]++;
    if (rc)
        call_fail(c, rc, "comparison", e.code ? &e : NULL);
done:
    buf_fini(&text);
    region_fini(&mem);
    return rc == 0;
}

static bool merge_side(struct call *c, struct merging *m, unsigned side, const char *parameter,
                       const char *list)
{
    char id[META_ID_MAX];
    bool bad = false;
    while (ids_next(&list, id, &bad)) {
        if (m->counts[side] == COMPARE_SESSIONS) {
            http_problem_of(c->http, 400, parameter, "A side has %d sessions at most.",
                            COMPARE_SESSIONS);
            return false;
        }
        if (!merge(c, m, side, id))
            return false;
    }
    if (bad || !m->counts[side])
        ids_bad(c, parameter);
    return !bad && m->counts[side];
}

static void send_trees(struct call *c, const struct merging *m)
{
    struct json_out j;
    call_json(c, &j);
    json_out_object(&j, NULL);
    json_out_count(&j, "a_without", m->without[0]);
    json_out_count(&j, "b_without", m->without[1]);
    trees_put(&m->trees, m->counts, &j);
    json_out_close_object(&j);
    call_json_send(c, &j, 200);
}

void api_compare_flame(struct call *c)
{
    struct merging m = {.tree = (size_t)ARG(c, compare_flame, tree)->i};
    int rc = trees_open(&m.trees);
    if (rc)
        call_fail(c, rc, "comparison", NULL);
    else if (merge_side(c, &m, 0, "a", ARG(c, compare_flame, a)->text) &&
             merge_side(c, &m, 1, "b", ARG(c, compare_flame, b)->text))
        send_trees(c, &m);
    trees_close(&m.trees);
}
