/* select.c - see select.h. The answer comes as text with tabs, which every version writes. It is
 * turned into JSON here, and cut at the caller's limits. */
#include "store/clickhouse/select.h"

#include "base/clock.h"
#include "base/json.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { COLUMNS_MAX = 1024 };

/* JSON readers represent whole numbers up to this exactly. */
static const long long EXACT = 1LL << 53;

/* ---- cells ----------------------------------------------------------------------------------- */

enum form { FORM_TEXT, FORM_WHOLE, FORM_REAL };

static bool begins(struct store_text t, const char *text)
{
    return t.len >= strlen(text) && memcmp(t.at, text, strlen(text)) == 0;
}

/* Returns the type inside "Nullable(…)". */
static struct store_text bare_type(struct store_text t)
{
    static const char *const around[] = {"Nullable(", "LowCardinality("};
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < 2; i++)
            if (begins(t, around[i]) && t.at[t.len - 1] == ')') {
                t.at += strlen(around[i]);
                t.len -= strlen(around[i]) + 1;
            }
    return t;
}

static enum form form_of(struct store_text type)
{
    if (begins(type, "Int") || begins(type, "UInt"))
        return begins(type, "Interval") ? FORM_TEXT : FORM_WHOLE;
    return begins(type, "Float") || begins(type, "Decimal") ? FORM_REAL : FORM_TEXT;
}

/* Turns escapes of tabs, line ends and other bytes back into bytes. */
static void put_text(struct buf *out, struct buf *room, struct store_text t)
{
    static const char from[] = "bfrnt0'\\", to[] = "\b\f\r\n\t\0'\\";
    buf_clear(room);
    for (size_t i = 0; i < t.len; i++) {
        const char *escaped =
            t.at[i] == '\\' && i + 1 < t.len ? memchr(from, t.at[i + 1], sizeof from - 1) : NULL;
        buf_char(room, escaped ? to[escaped - from] : t.at[i]);
        i += escaped != NULL;
    }
    buf_json(out, room->data, room->len);
}

static void put_cell(struct buf *out, struct buf *room, enum form form, struct store_text t)
{
    char text[64];
    if (t.len == 2 && memcmp(t.at, "\\N", 2) == 0) {
        buf_str(out, "null");
        return;
    }
    if (form == FORM_TEXT || t.len >= sizeof text) {
        put_text(out, room, t);
        return;
    }
    memcpy(text, t.at, t.len);
    text[t.len] = '\0';
    long long whole = strtoll(text, NULL, 10);
    bool number = form == FORM_WHOLE ? whole <= EXACT && whole >= -EXACT
                                     : strpbrk(text, "nN") == NULL; /* nan, inf */
    const char *word = strstr(text, "nan")    ? "NaN"
                       : strstr(text, "-inf") ? "-Infinity"
                       : strstr(text, "inf")  ? "Infinity"
                                              : text;
    if (number)
        buf_str(out, text);
    else
        buf_json_str(out, word);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Cuts a part off the front; false: there is none. */
static bool next_part(struct store_text *t, char end, struct store_text *out)
{
    if (!t->at)
        return false;
    const char *found = memchr(t->at, end, t->len);
    *out = (struct store_text){t->at, found ? (size_t)(found - t->at) : t->len};
    t->len -= out->len + (found != NULL);
    t->at = found ? found + 1 : NULL;
    return true;
}

static unsigned put_columns(struct buf *out, struct store_text names, struct store_text types,
                            enum form *forms, struct buf *room)
{
    struct store_text name, type;
    unsigned n = 0;
    buf_str(out, "{\"columns\":[");
    while (n < COLUMNS_MAX && next_part(&names, '\t', &name) && next_part(&types, '\t', &type)) {
        type = bare_type(type);
        forms[n] = form_of(type);
        buf_str(out, n++ ? ",{\"name\":" : "{\"name\":");
        put_text(out, room, name);
        buf_str(out, ",\"type\":");
        buf_json(out, type.at, type.len);
        buf_char(out, '}');
    }
    buf_str(out, "],\"rows\":[");
    return n;
}

/* Writes the answer. cut: the text may end inside a row. most: rows at which the server cuts. */
static int put_answer(struct buf *out, struct store_text text, bool cut, int64_t most,
                      const struct store_select *q, struct err *e)
{
    static __thread enum form forms[COLUMNS_MAX];
    struct store_text names, types, line, cell;
    struct buf room;
    int64_t rows = 0;
    bool truncated = false;
    if (!next_part(&text, '\n', &names) || !next_part(&text, '\n', &types))
        return err_set(e, GPUFL_E_IO, "ClickHouse answers without the names of columns");
    buf_init(&room, 64 << 20);
    unsigned columns = put_columns(out, names, types, forms, &room);
    while (next_part(&text, '\n', &line) && (text.at || line.len)) {
        size_t before = out->len;
        unsigned n = 0;
        truncated = rows == q->rows_most || (cut && !text.at);
        if (truncated)
            break;
        buf_str(out, rows ? ",[" : "[");
        while (n < columns && next_part(&line, '\t', &cell)) {
            buf_str(out, n ? "," : "");
            put_cell(out, &room, forms[n++], cell);
        }
        buf_char(out, ']');
        rows++;
        if ((int64_t)out->len > q->bytes_most) {
            out->len = before;
            truncated = true;
            break;
        }
    }
    truncated |= cut || rows >= most;
    buf_printf(out, "],\"truncated\":%s}", truncated ? "true" : "false");
    int rc = buf_error(&room) || buf_error(out) ? GPUFL_E_NOMEM : 0;
    buf_fini(&room);
    return rc ? err_set(e, rc, "%s", err_text(rc)) : 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Makes a unique id, with which a statement that takes too long is killed. */
static void make_id(char id[40])
{
    uint64_t random[2] = {0};
    if (getrandom(random, sizeof random, 0) != sizeof random)
        random[0] = (uint64_t)clock_mono();
    snprintf(id, 40, "gpufl%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

static void stop(struct store *s, unsigned host, const char *id)
{
    char text[128];
    snprintf(text, sizeof text, "KILL QUERY WHERE query_id = '%s' ASYNC", id);
    link_do(&s->links, host, text, NULL); /* if that fails, the user's profile ends it */
}

/* The client sees an error of its statement, but not an error of the server. */
static int explain(int rc, const struct err *why, const struct store_select *q, struct err *e)
{
    if (rc == GPUFL_E_TIMEOUT)
        return err_set(e, rc, "it took longer than %" PRId64 " ms", q->time_most / 1000000);
    if (rc == GPUFL_E_NOMEM || rc == GPUFL_E_UNAVAILABLE || rc == GPUFL_E_BUSY)
        return err_set(e, rc, "%s", why->text);
    return err_set(e, GPUFL_E_INVAL, "%s", why->text);
}

static int run(const struct select_tables *t, const struct buf *text, int64_t most,
               struct buf *answer, struct err *e)
{
    char name[2 * STORE_ID_MAX + 2], id[40];
    struct store *s = t->store;
    const struct link_login who = select_login(s, t->workspace, name);
    const struct store_select *q = t->q;
    struct err why = {0};
    struct buf said;
    make_id(id);
    buf_init(&said, (size_t)q->bytes_most);
    const struct link_text asked = {id, text, clock_mono() + q->time_most, &said};
    int rc = link_text_as(&s->links, t->host, &who, &asked, &why);
    bool cut = rc == GPUFL_E_FULL;
    if (rc == GPUFL_E_TIMEOUT)
        stop(s, t->host, id);
    rc = cut ? 0 : rc;
    rc = rc ? explain(rc, &why, q, e)
            : put_answer(answer, (struct store_text){said.data ? said.data : "", said.len}, cut,
                         most, q, e);
    buf_fini(&said);
    return rc;
}

int click_select_ask(struct store *s, const char *workspace, const struct store_select *q,
                     struct buf *answer, struct err *e)
{
    struct select_tables t;
    struct buf text;
    int64_t most = 0;
    int rc = select_tables_open(&t, s, workspace, q, e);
    buf_init(&text, SELECT_TEXT_MAX);
    if (rc == 0)
        rc = select_words(&text, q->sql, select_tables_put, &t, e);
    buf_str(&text, "\nFORMAT TabSeparatedWithNamesAndTypes");
    if (!rc && buf_error(&text))
        rc = err_set(e, GPUFL_E_INVAL, "the statement names tables too often");
    if (rc == 0)
        rc = select_user_check(s, workspace, t.host, &most, e);
    if (rc == 0)
        rc = run(&t, &text, most, answer, e);
    buf_fini(&text);
    select_tables_close(&t);
    return rc;
}
