/* state.c - says which rows of a session count: its last row in table `commits` says that.
 *
 * That row is the whole commit: the number of rows of each table, the positions, and ranges of the
 * numbers of commits that count. Numbers ascend; every new writer starts a new range, since the
 * last writer may have left rows that do not count. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { RANGES_MAX = 4096, STATE_TEXT_MAX = 256 << 10 };

void state_init(struct state *t)
{
    memset(t, 0, sizeof *t);
}

void state_fini(struct state *t)
{
    mem_free(t->ranges);
    memset(t, 0, sizeof *t);
}

int state_copy(struct state *to, const struct state *from)
{
    struct state_range *ranges = to->ranges;
    size_t cap = to->range_cap;
    if (mem_grow(&ranges, &cap, from->range_count, sizeof *ranges, RANGES_MAX)) {
        to->ranges = ranges;
        to->range_cap = cap;
        return GPUFL_E_NOMEM;
    }
    *to = *from;
    to->ranges = ranges;
    to->range_cap = cap;
    if (from->range_count)
        memcpy(ranges, from->ranges, from->range_count * sizeof *ranges);
    return 0;
}

int state_count(struct state *t, int64_t number)
{
    struct state_range *last = t->range_count ? &t->ranges[t->range_count - 1] : NULL;
    if (last && last->last + 1 == number) {
        last->last = number;
        return 0;
    }
    int rc = mem_grow(&t->ranges, &t->range_cap, t->range_count + 1, sizeof *t->ranges, RANGES_MAX);
    if (!rc)
        t->ranges[t->range_count++] = (struct state_range){number, number};
    return rc;
}

/* The number is made from the time in ms and random bits, so that a clock that was set back does
 * not repeat a number. */
int64_t state_number(const struct state *t)
{
    uint32_t random = 0;
    int64_t now = clock_real() / 1000000, least = (t->commit >> NUMBER_SHIFT) + 1;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (uint32_t)clock_mono();
    return ((now > least ? now : least) << NUMBER_SHIFT) + (random >> (32 - NUMBER_SHIFT + 1));
}

void state_where(struct buf *b, const struct store_session *ss, const struct state *t)
{
    buf_printf(b, "session = %" PRIu64 " AND ", ss->key);
    if (!t->range_count)
        buf_char(b, '0');
    for (size_t i = 0; i < t->range_count; i++)
        buf_printf(b, "%scommit BETWEEN %" PRId64 " AND %" PRId64 "%s",
                   i                    ? " OR "
                   : t->range_count > 1 ? "("
                                        : "",
                   t->ranges[i].first, t->ranges[i].last, i && i + 1 == t->range_count ? ")" : "");
}

/* The inner table is local to each server, since a session's rows are on one server. */
void state_where_last(struct buf *b, const struct store_session *ss, const struct state *t,
                      unsigned table)
{
    state_where(b, ss, t);
    if (!place_completed(table))
        return;
    buf_str(b, " AND (rowid, commit) IN (SELECT rowid, max(commit) FROM ");
    small_put_place(b, ss, t, table, false);
    buf_str(b, " WHERE ");
    state_where(b, ss, t);
    buf_str(b, " GROUP BY rowid)");
}

/* ---- as text --------------------------------------------------------------------------------- */

static const char small_line[] = "small"; /* no table of the session has that name */

void state_add_rows(const struct state *t, int64_t rows[TABLE_COUNT])
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        rows[t->small ? TABLE_about : place_of(i)] += t->rows[i];
}

static void put_counts(struct buf *b, const struct state *t)
{
    bool any = false;
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        any |= t->rows[i] > 0;
    if (t->small && any)
        buf_printf(b, "%s 1\n", small_line);
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (t->rows[i])
            buf_printf(b, "%s %" PRId64 "\n", store_table(i)->name, t->rows[i]);
}

static void put_positions(struct buf *b, const struct state *t)
{
    for (unsigned i = 0; i < t->position_count; i++)
        buf_printf(b, "%.*s %" PRId64 "\n", (int)sizeof t->positions[i].channel,
                   t->positions[i].channel, t->positions[i].offset);
}

static void put_ranges(struct buf *b, const struct state *t)
{
    for (size_t i = 0; i < t->range_count; i++)
        buf_printf(b, "%" PRId64 " %" PRId64 "\n", t->ranges[i].first, t->ranges[i].last);
}

/* Cuts a line "name number" off the text's front. False: there is none. */
static bool next_line(struct store_text *text, struct store_text *name, int64_t *number)
{
    char digits[32];
    const char *end = memchr(text->at, '\n', text->len);
    const char *space = end ? memrchr(text->at, ' ', (size_t)(end - text->at)) : NULL;
    if (!space || (size_t)(end - space) >= sizeof digits)
        return false;
    memcpy(digits, space + 1, (size_t)(end - space) - 1);
    digits[end - space - 1] = '\0';
    *number = strtoll(digits, NULL, 10);
    *name = (struct store_text){text->at, (size_t)(space - text->at)};
    text->len -= (size_t)(end + 1 - text->at);
    text->at = end + 1;
    return true;
}

void state_get_counts(struct state *t, struct store_text text)
{
    struct store_text name;
    int64_t number;
    t->small = false;
    while (next_line(&text, &name, &number)) {
        int table = store_table_find(name.at, name.len);
        t->small |= name.len == sizeof small_line - 1 &&
                    memcmp(name.at, small_line, sizeof small_line - 1) == 0;
        if (table >= 0) /* other tables are of a newer version */
            t->rows[table] = number;
    }
}

static void get_positions(struct state *t, struct store_text text)
{
    struct store_text name;
    int64_t number;
    t->position_count = 0;
    while (t->position_count < STORE_POSITIONS_MAX && next_line(&text, &name, &number)) {
        struct store_position *p = &t->positions[t->position_count];
        if (name.len >= sizeof p->channel)
            continue;
        memset(p, 0, sizeof *p);
        memcpy(p->channel, name.at, name.len);
        p->offset = number;
        t->position_count++;
    }
}

static int get_ranges(struct state *t, struct store_text text)
{
    struct store_text first;
    int64_t number;
    int rc = 0;
    t->range_count = 0;
    while (!rc && next_line(&text, &first, &number)) {
        char digits[32];
        snprintf(digits, sizeof digits, "%.*s", (int)first.len, first.at);
        rc = mem_grow(&t->ranges, &t->range_cap, t->range_count + 1, sizeof *t->ranges, RANGES_MAX);
        if (!rc)
            t->ranges[t->range_count++] = (struct state_range){strtoll(digits, NULL, 10), number};
    }
    return rc;
}

/* ---- read and written ------------------------------------------------------------------------ */

struct reading {
    struct state *state;
    char name[STORE_ID_MAX];
    bool found;
};

static int take_state(void *arg, const struct page *p)
{
    struct reading *r = arg;
    struct state *t = r->state;
    struct store_text name = page_text(p, 2, 0);
    r->found = true;
    t->kind = (enum state_kind)page_int(p, 0, 0);
    t->commit = page_int(p, 1, 0);
    snprintf(r->name, sizeof r->name, "%.*s", (int)name.len, name.at);
    memset(t->rows, 0, sizeof t->rows);
    state_get_counts(t, page_text(p, 3, 0));
    get_positions(t, page_text(p, 4, 0));
    return get_ranges(t, page_text(p, 5, 0));
}

static int absent(const struct store_session *ss, struct err *e)
{
    return err_set(e, GPUFL_E_NOENT, "there is no session %.64s", ss->at.id);
}

int state_read(const struct store_session *ss, struct state *t, struct err *e)
{
    int rc;
    if (known_get(ss, t, &rc))
        return rc == GPUFL_E_NOENT ? absent(ss, e) : rc ? err_nomem(e) : 0;
    rc = state_read_before(ss, INT64_MAX, t, e);
    if (rc == 0)
        known_read(ss, t);
    return rc;
}

int state_read_before(const struct store_session *ss, int64_t before, struct state *t,
                      struct err *e)
{
    struct reading r = {.state = t};
    struct buf text;
    buf_init(&text, 4096);
    buf_str(&text, "SELECT kind, commit, name, counts, positions, ranges FROM ");
    place_put(&text, ss->store, ss->workspace->name, place_name(TABLE_position));
    buf_printf(&text,
               " PREWHERE session = %" PRIu64 " WHERE commit < %" PRId64
               " ORDER BY commit DESC LIMIT 1 FORMAT Native",
               ss->key, before);
    int rc = link_ask(&ss->store->links, ss->host,
                      &(struct link_question){text.data, text.len, take_state, &r, 0}, e);
    buf_fini(&text);
    if (rc)
        return rc == GPUFL_E_NOENT ? absent(ss, e) : rc;
    if (!r.found)
        return absent(ss, e);
    if (strcmp(r.name, ss->at.id) != 0)
        return err_set(e, GPUFL_E_STATE,
                       "session %.64s has the number of session %.64s in ClickHouse: give it "
                       "another id",
                       ss->at.id, r.name);
    return 0;
}

static void put_text(struct buf *body, const char *name, struct buf *text)
{
    native_column(body, name, "String");
    native_text(body, text->data, text->len);
}

static void put_number(struct buf *body, const char *name, const char *type, uint64_t v)
{
    native_column(body, name, type);
    buf_put(body, &v, sizeof v);
}

int state_put(struct buf *body, const struct store_session *ss, const struct state *t)
{
    struct buf text;
    buf_init(&text, STATE_TEXT_MAX);
    native_block(body, 7, 1);
    put_number(body, "session", "UInt64", ss->key);
    put_number(body, "commit", "Int64", (uint64_t)t->commit);
    put_number(body, "kind", "Int64", t->kind);
    native_column(body, "name", "String");
    native_text(body, ss->at.id, strlen(ss->at.id));
    put_counts(&text, t);
    put_text(body, "counts", &text);
    int rc = buf_error(&text);
    buf_clear(&text);
    put_positions(&text, t);
    put_text(body, "positions", &text);
    buf_clear(&text);
    put_ranges(&text, t);
    put_text(body, "ranges", &text);
    rc = rc || buf_error(&text) || buf_error(body) ? GPUFL_E_NOMEM : 0;
    buf_fini(&text);
    return rc;
}

int state_insert(const struct store_session *any, const struct buf *body, struct err *e)
{
    struct buf into;
    buf_init(&into, 4096);
    place_put(&into, any->store, any->workspace->name, place_name(TABLE_position));
    int rc = link_insert(&any->store->links, any->host, buf_cstr(&into), body->data, body->len, e);
    buf_fini(&into);
    return rc;
}

int state_write(const struct store_session *ss, const struct state *t, struct err *e)
{
    struct buf body;
    buf_init(&body, 2 * STATE_TEXT_MAX);
    int rc = state_put(&body, ss, t) ? err_nomem(e) : state_insert(ss, &body, e);
    known_written(ss, rc ? NULL : t);
    buf_fini(&body);
    return rc;
}
