/* compare.c - two sides of sessions, from the digests that their analysis left: no session is
 * opened, so that ten million kernels are compared as fast as ten. */
#include "server/api/api.h"
#include "server/api/parts.h"

#include "analyze/compare/compare.h"
#include "base/alloc.h"
#include "server/analysis/analysis.h"
#include "server/api/ids_list.h"
#include "server/common/gzip_doc.h"

#include <string.h>

enum { DOCUMENT_MAX = 64 << 20, SESSION_MEMORY = META_BODY_MAX + (1 << 20) };

struct side {
    struct digest digests[COMPARE_SESSIONS];
    const struct digest *list[COMPARE_SESSIONS];
    size_t count;
};

/* Reads the digest that the analysis stored. 0, or NOENT: nothing yet. */
static int read_digest(struct call *c, const char *id, struct region *mem, struct digest *out,
                       struct err *e)
{
    struct meta_analysis a;
    struct buf text;
    const struct meta_ask ask = call_ask(c, mem, e);
    int rc = meta_analysis_get(&ask, id, ANALYSIS_DIGEST, &a);
    memset(out, 0, sizeof *out);
    if (rc)
        return rc;
    buf_init(&text, DOCUMENT_MAX);
    rc = gzip_doc_open(&a.body, &text);
    if (rc == 0)
        rc = digest_read(out, text.data, text.len);
    if (rc)
        err_set(e, rc, "the digest of session %s cannot be read: %s", id, err_text(rc));
    buf_fini(&text);
    return rc;
}

/* false: answered. */
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
        call_fail(c, rc, "session", rc == GPUFL_E_NOENT ? NULL : &e);
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
