/* tidy.c - brings a session into its final form: rows that no commit counts are taken out, small
 * parts become one.
 *
 * Such rows are left by rollbacks and by processes that were killed. A partition is written
 * without them to a second table and replaced in one step. When none are left, and nobody is
 * sending any, the numbers that count become one range again. */
#include "store/clickhouse/write.h"

#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Larger ones ClickHouse merges by itself when it has time. */
#define MERGE_MAX (INT64_C(256) << 20)

static int take_number(void *arg, const struct page *p)
{
    *(int64_t *)arg = page_int(p, 0, 0);
    return 0;
}

static int ask_number(const struct store_session *ss, const struct buf *text, int64_t *out,
                      struct err *e)
{
    *out = 0;
    return link_ask(&ss->store->links, ss->host,
                    &(struct link_question){text->data, text->len, take_number, out, 0}, e);
}

static int run(const struct store_session *ss, struct buf *text, struct err *e)
{
    int rc = link_do(&ss->store->links, ss->host, buf_cstr(text), e);
    buf_clear(text);
    return rc;
}

/* Somebody is adding rows to the workspace's tables. */
static int is_busy(const struct store_session *ss, struct buf *text, int64_t *busy, struct err *e)
{
    char name[2 * STORE_ID_MAX + 32];
    buf_clear(text);
    snprintf(name, sizeof name, "INSERT INTO `%s_%s`.", ss->store->links.place.prefix,
             ss->workspace->name);
    buf_str(text, "SELECT count() FROM system.processes WHERE position(query, ");
    literal_text(text, name, strlen(name));
    buf_str(text, ") = 1 FORMAT Native");
    return ask_number(ss, text, busy, e);
}

static int count_left(const struct store_session *ss, const struct state *t, unsigned place,
                      struct buf *text, int64_t *left, struct err *e)
{
    buf_clear(text);
    buf_str(text, "SELECT count() FROM ");
    place_put(text, ss->store, ss->workspace->name, place_name(place));
    buf_printf(text, " WHERE session = %" PRIu64 " AND NOT (", ss->key);
    state_where(text, ss, t);
    buf_str(text, ") FORMAT Native");
    return ask_number(ss, text, left, e);
}

static int rewrite(const struct store_session *ss, const struct state *t, unsigned place,
                   struct buf *text, struct err *e)
{
    const struct store *s = ss->store;
    const char *workspace = ss->workspace->name, *table = place_name(place);
    char other[LINK_NAME_MAX + 32];
    snprintf(other, sizeof other, ".tidy_%s_%" PRIu64, table, ss->key);
    buf_clear(text);
    buf_str(text, "DROP TABLE IF EXISTS ");
    place_put(text, s, workspace, other);
    int rc = run(ss, text, e);
    buf_str(text, "CREATE TABLE ");
    place_put(text, s, workspace, other);
    buf_str(text, " AS ");
    place_put(text, s, workspace, table);
    if (rc == 0)
        rc = run(ss, text, e);
    buf_clear(text);
    buf_str(text, "INSERT INTO ");
    place_put(text, s, workspace, other);
    buf_str(text, " SELECT * FROM ");
    place_put(text, s, workspace, table);
    buf_str(text, " WHERE ");
    state_where(text, ss, t);
    if (rc == 0)
        rc = run(ss, text, e);
    if (rc == 0)
        rc = turn_keep(ss, e); /* nobody has added rows since */
    buf_clear(text);
    buf_str(text, "ALTER TABLE ");
    place_put(text, s, workspace, table);
    buf_printf(text, " REPLACE PARTITION %" PRIu64 " FROM ", ss->key);
    place_put(text, s, workspace, other);
    if (rc == 0)
        rc = run(ss, text, e);
    buf_clear(text);
    buf_str(text, "DROP TABLE IF EXISTS ");
    place_put(text, s, workspace, other);
    int dropped = run(ss, text, rc ? NULL : e);
    return rc ? rc : dropped;
}

/* Makes one range of several ranges of numbers. */
static int join_ranges(struct store_session *ss, struct state *t, struct err *e)
{
    int64_t was = t->commit;
    t->ranges[0].last = t->ranges[t->range_count - 1].last;
    t->range_count = 1;
    t->commit = state_number(t);
    int rc = state_write(ss, t, e);
    if (!rc && __atomic_load_n(&ss->seen, __ATOMIC_RELAXED) == was)
        __atomic_store_n(&ss->seen, t->commit, __ATOMIC_RELAXED);
    return rc;
}

static int take_out(struct store_session *ss, struct state *t, struct buf *text, struct err *e)
{
    bool done[TABLE_COUNT] = {false};
    int64_t busy = 0;
    if (t->range_count < 2)
        return 0;
    int rc = is_busy(ss, text, &busy, e);
    if (rc || busy)
        return rc; /* another time */
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++) {
        unsigned place = place_of(i);
        int64_t left = 0;
        if (!atomic_load_explicit(&ss->workspace->ready[place], memory_order_acquire) ||
            done[place] || place == TABLE_history || place == TABLE_position)
            continue;
        done[place] = true;
        rc = count_left(ss, t, place, text, &left, e);
        if (!rc && left)
            rc = rewrite(ss, t, place, text, e);
    }
    return rc ? rc : join_ranges(ss, t, e);
}

/* ---- parts ----------------------------------------------------------------------------------- */

struct merges {
    char tables[TABLE_COUNT][LINK_NAME_MAX];
    unsigned count;
};

static int take_merges(void *arg, const struct page *p)
{
    struct merges *m = arg;
    for (size_t i = 0; i < p->rows && m->count < TABLE_COUNT; i++) {
        struct store_text name = page_text(p, 0, i);
        snprintf(m->tables[m->count++], LINK_NAME_MAX, "%.*s", (int)name.len, name.at);
    }
    return 0;
}

static int merge(const struct store_session *ss, struct buf *text, struct err *e)
{
    struct merges m = {.count = 0};
    char name[2 * STORE_ID_MAX + 16];
    snprintf(name, sizeof name, "%s_%s", ss->store->links.place.prefix, ss->workspace->name);
    buf_clear(text);
    buf_str(text, "SELECT table FROM system.parts WHERE active AND database = ");
    literal_text(text, name, strlen(name));
    buf_printf(text,
               " AND partition = '%" PRIu64 "' GROUP BY table HAVING count() > 1 AND "
               "sum(bytes_on_disk) < %" PRId64 " FORMAT Native",
               ss->key, MERGE_MAX);
    int rc = link_ask(&ss->store->links, ss->host,
                      &(struct link_question){text->data, text->len, take_merges, &m, 0}, e);
    for (unsigned i = 0; !rc && i < m.count; i++) {
        buf_clear(text);
        buf_str(text, "OPTIMIZE TABLE ");
        place_put(text, ss->store, ss->workspace->name, m.tables[i]);
        buf_printf(text, " PARTITION %" PRIu64 " FINAL", ss->key);
        rc = run(ss, text, e);
    }
    return rc;
}

int click_tidy_session(struct store_session *ss, struct err *e)
{
    struct state t;
    struct buf text;
    state_init(&t);
    buf_init(&text, 1 << 20);
    int rc = state_read(ss, &t, e);
    if (rc || (rc = take_out(ss, &t, &text, e)))
        goto done;
    rc = merge(ss, &text, e);
done:
    buf_fini(&text);
    state_fini(&t);
    return rc;
}
