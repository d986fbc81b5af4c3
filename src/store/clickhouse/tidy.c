/* tidy.c - brings a session into its final form: removes rows that no commit counts.
 *
 * Such rows are left by rollbacks and by processes that were killed. ClickHouse removes them in its
 * own time (sweep.c). When none are left, and no process is sending any, the numbers that count
 * become one range again. ClickHouse merges small parts by itself. */
#include "store/clickhouse/write.h"

#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Asks whether inserts run. *busy > 0: an insert into the workspace's tables is running. */
static int is_busy(const struct store_session *ss, struct buf *text, int64_t *busy, struct err *e)
{
    char name[2 * STORE_ID_MAX + 32];
    buf_clear(text);
    snprintf(name, sizeof name, "INSERT INTO `%s_%s`.", ss->store->links.place.prefix,
             ss->workspace->name);
    buf_str(text, "SELECT count(), count() FROM system.processes WHERE position(query, ");
    literal_text(text, name, strlen(name));
    buf_str(text, ") = 1 FORMAT Native");
    return click_ask_number(ss->store, ss->host, text, busy, e);
}

/* Rows from before the first commit that counts are not the session's: it was deleted, or set aside
 * (aside.c), and made again. */
static void put_left(struct buf *b, const struct store_session *ss, const struct state *t)
{
    buf_printf(
        b, " WHERE session = %" PRIu64 " AND commit BETWEEN %" PRId64 " AND %" PRId64 " AND NOT (",
        ss->key, t->ranges[0].first, t->commit);
    state_where(b, ss, t);
    buf_char(b, ')');
}

static int count_left(const struct store_session *ss, const struct state *t, unsigned place,
                      struct buf *text, int64_t *left, struct err *e)
{
    buf_clear(text);
    buf_str(text, "SELECT count(), count() FROM ");
    place_put(text, ss->store, ss->workspace->name, place_name(place));
    put_left(text, ss, t);
    buf_str(text, " FORMAT Native");
    return click_ask_number(ss->store, ss->host, text, left, e);
}

static int remove_left(const struct store_session *ss, const struct state *t, unsigned place,
                       struct buf *text, struct err *e)
{
    buf_clear(text);
    buf_str(text, "ALTER TABLE ");
    place_put(text, ss->store, ss->workspace->name, place_name(place));
    buf_str(text, " DELETE");
    put_left(text, ss, t);
    return link_do(&ss->store->links, ss->host, buf_cstr(text), e);
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
    bool done[TABLE_COUNT] = {false}, clean = true;
    int64_t busy = 0, pending = 0;
    if (t->range_count < 2)
        return 0;
    int rc = is_busy(ss, text, &busy, e);
    if (rc == 0)
        rc = sweep_pending(ss->store, ss->workspace, ss->host, &pending, e);
    if (rc || busy || pending)
        return rc; /* the next time */
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++) {
        unsigned place = place_of(i);
        int64_t left = 0;
        if (!atomic_load_explicit(&ss->workspace->ready[place], memory_order_acquire) ||
            done[place] || place == TABLE_history || place == TABLE_position)
            continue;
        done[place] = true;
        rc = count_left(ss, t, place, text, &left, e);
        if (!rc && left)
            rc = remove_left(ss, t, place, text, e);
        clean &= !left;
    }
    return rc || !clean ? rc : join_ranges(ss, t, e);
}

int click_tidy_session(struct store_session *ss, struct err *e)
{
    struct state t;
    struct buf text;
    state_init(&t);
    buf_init(&text, 1 << 20);
    int rc = state_read(ss, &t, e);
    if (rc == 0)
        rc = take_out(ss, &t, &text, e);
    buf_fini(&text);
    state_fini(&t);
    return rc;
}
