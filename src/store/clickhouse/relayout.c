/* relayout.c - turns tables with a partition for each session, as 0.1.0 made them, into tables with
 * a partition for each week.
 *
 * Before a workspace's tables are first used, each such table is copied to `.week_TABLE`, some
 * sessions with each statement. Then the two tables swap names, and the old one is dropped. If the
 * process is killed, there remains either the copy, which is made again, or a complete copy and the
 * old table under the name `.before_TABLE`. Of several processes, the one with the write lease of
 * LEASE copies; others get GPUFL_E_BUSY. Processes of the old version must have ended. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEASE "relayout" /* instead of a session's id, which is longer */

/* This is the number of rows that a statement copies, which takes a few seconds of the lease. */
enum { STEP_ROWS = 2000000 };

struct moving {
    struct store *store;
    const struct workspace *workspace;
    unsigned host;
    /* The table is there; it has a partition for each session. */
    bool there[TABLE_COUNT], old[TABLE_COUNT];
    bool copied[TABLE_COUNT]; /* `.before_TABLE` is there */
    uint64_t *keys;           /* owned: sessions of a table */
    int64_t *rows;            /* owned */
    size_t count, keys_cap, rows_cap;
    struct buf text;
};

static void put_name(struct moving *m, const char *lead, unsigned place)
{
    char name[LINK_NAME_MAX];
    snprintf(name, sizeof name, "%s%s", lead, place_name(place));
    place_put(&m->text, m->store, m->workspace->name, name);
}

static int run(struct moving *m, struct err *e)
{
    int rc = buf_error(&m->text) ? err_nomem(e)
                                 : link_do(&m->store->links, m->host, buf_cstr(&m->text), e);
    buf_clear(&m->text);
    return rc;
}

static int drop(struct moving *m, const char *lead, unsigned place, struct err *e)
{
    buf_str(&m->text, "DROP TABLE IF EXISTS ");
    put_name(m, lead, place);
    return run(m, e);
}

static int ask(struct moving *m, ask_take take, struct err *e)
{
    const struct link_question q = {m->text.data, m->text.len, take, m, 0};
    int rc = link_ask(&m->store->links, m->host, &q, e);
    buf_clear(&m->text);
    return rc;
}

/* ---- what there is --------------------------------------------------------------------------- */

static int take_tables(void *arg, const struct page *p)
{
    static const char before[] = ".before_";
    struct moving *m = arg;
    for (size_t i = 0; i < p->rows; i++) {
        struct store_text name = page_text(p, 0, i);
        size_t lead = sizeof before - 1;
        bool is_before = name.len > lead && !memcmp(name.at, before, lead);
        int place =
            place_find(is_before ? (struct store_text){name.at + lead, name.len - lead} : name);
        if (place < 0)
            continue;
        if (is_before) {
            m->copied[place] = true;
            continue;
        }
        m->there[place] = true;
        m->old[place] = page_int(p, 1, i) != 0;
    }
    return 0;
}

static void put_database_text(struct moving *m)
{
    char name[2 * STORE_ID_MAX + 16];
    snprintf(name, sizeof name, "%s_%s", m->store->links.place.prefix, m->workspace->name);
    literal_text(&m->text, name, strlen(name));
}

static int find_tables(struct moving *m, struct err *e)
{
    buf_str(&m->text, "SELECT name, toInt64(position(engine_full, 'PARTITION BY session ORDER')) "
                      "FROM system.tables WHERE database = ");
    put_database_text(m);
    buf_str(&m->text, " FORMAT Native");
    return ask(m, take_tables, e);
}

static int take_sessions(void *arg, const struct page *p)
{
    struct moving *m = arg;
    size_t all = m->count + p->rows;
    if (mem_grow(&m->keys, &m->keys_cap, all, sizeof *m->keys, SIZE_MAX / 16) ||
        mem_grow(&m->rows, &m->rows_cap, all, sizeof *m->rows, SIZE_MAX / 16))
        return GPUFL_E_NOMEM;
    for (size_t i = 0; i < p->rows; i++, m->count++) {
        m->keys[m->count] = (uint64_t)page_int(p, 0, i);
        m->rows[m->count] = page_int(p, 1, i);
    }
    return 0;
}

static int find_sessions(struct moving *m, unsigned place, struct err *e)
{
    m->count = 0;
    buf_str(&m->text, "SELECT toUInt64(partition), sum(rows) FROM system.parts WHERE active AND "
                      "database = ");
    put_database_text(m);
    buf_printf(&m->text, " AND table = '%s' GROUP BY partition FORMAT Native", place_name(place));
    return ask(m, take_sessions, e);
}

/* ---- copied ---------------------------------------------------------------------------------- */

static int keep_lease(struct moving *m, struct err *e)
{
    const struct store_turns *turns = m->store->turns;
    return turns ? turns->keep(turns->arg, m->workspace->name, LEASE, e) : 0;
}

/* Returns GPUFL_E_BUSY if a statement of a killed process is still running. */
static int check_quiet(struct moving *m, struct err *e)
{
    int64_t running = 0;
    char name[2 * STORE_ID_MAX + 48];
    snprintf(name, sizeof name, "INSERT INTO `%s_%s`.`.week_", m->store->links.place.prefix,
             m->workspace->name);
    buf_str(&m->text, "SELECT count(), count() FROM system.processes WHERE position(query, ");
    literal_text(&m->text, name, strlen(name));
    buf_str(&m->text, ") = 1 FORMAT Native");
    int rc = click_ask_number(m->store, m->host, &m->text, &running, e);
    buf_clear(&m->text);
    if (!rc && running)
        return err_set(e, GPUFL_E_BUSY,
                       "the tables of workspace %.64s are being copied for this version; try again "
                       "later",
                       m->workspace->name);
    return rc;
}

/* Copies the rows of some sessions, from *next on; *next becomes the first session that is left. */
static int copy_some(struct moving *m, unsigned place, size_t *next, struct err *e)
{
    int64_t rows = 0;
    size_t first = *next;
    buf_str(&m->text, "INSERT INTO ");
    put_name(m, ".week_", place);
    buf_str(&m->text, " (");
    place_put_columns(&m->text, place);
    buf_str(&m->text, ") SELECT ");
    place_put_columns(&m->text, place);
    buf_str(&m->text, " FROM ");
    put_name(m, "", place);
    buf_str(&m->text, " WHERE session IN (");
    for (; *next < m->count && (*next == first || rows + m->rows[*next] <= STEP_ROWS); ++*next) {
        buf_printf(&m->text, "%s%" PRIu64, *next > first ? "," : "", m->keys[*next]);
        rows += m->rows[*next];
    }
    buf_char(&m->text, ')');
    int rc = run(m, e);
    return rc ? rc : keep_lease(m, e);
}

static int count_rows(struct moving *m, const char *lead, unsigned place, int64_t *out,
                      struct err *e)
{
    buf_str(&m->text, "SELECT count(), count() FROM ");
    put_name(m, lead, place);
    buf_str(&m->text, " FORMAT Native");
    int rc = click_ask_number(m->store, m->host, &m->text, out, e);
    buf_clear(&m->text);
    return rc;
}

static int check_whole(struct moving *m, unsigned place, struct err *e)
{
    int64_t was = 0, is = 0;
    int rc = count_rows(m, "", place, &was, e);
    if (rc == 0)
        rc = count_rows(m, ".week_", place, &is, e);
    if (!rc && was != is)
        return err_set(e, GPUFL_E_STATE,
                       "table %s of workspace %.64s has %" PRId64 " rows, its copy %" PRId64
                       ": does a server of an older version still run?",
                       place_name(place), m->workspace->name, was, is);
    return rc;
}

static int swap(struct moving *m, unsigned place, struct err *e)
{
    buf_str(&m->text, "RENAME TABLE ");
    put_name(m, "", place);
    buf_str(&m->text, " TO ");
    put_name(m, ".before_", place);
    buf_str(&m->text, ", ");
    put_name(m, ".week_", place);
    buf_str(&m->text, " TO ");
    put_name(m, "", place);
    return run(m, e);
}

static int move(struct moving *m, unsigned place, struct err *e)
{
    char name[LINK_NAME_MAX];
    snprintf(name, sizeof name, ".week_%s", place_name(place));
    int rc = check_quiet(m, e);
    if (rc == 0)
        rc = place_complete(m->store, m->workspace, m->host, place, e);
    if (rc == 0)
        rc = drop(m, ".week_", place, e);
    place_put_create(&m->text, m->store, m->workspace->name, place, name);
    if (rc == 0)
        rc = run(m, e);
    buf_clear(&m->text);
    if (rc == 0)
        rc = find_sessions(m, place, e);
    for (size_t next = 0; !rc && next < m->count;)
        rc = copy_some(m, place, &next, e);
    if (rc == 0)
        rc = check_whole(m, place, e);
    if (rc == 0)
        rc = swap(m, place, e);
    return rc ? rc : drop(m, ".before_", place, e);
}

/* Goes on after a process that was killed when its copy was complete. */
static int resume(struct moving *m, unsigned place, struct err *e)
{
    int rc = 0;
    if (!m->there[place]) {
        buf_str(&m->text, "RENAME TABLE ");
        put_name(m, ".week_", place);
        buf_str(&m->text, " TO ");
        put_name(m, "", place);
        rc = run(m, e);
    }
    return rc ? rc : drop(m, ".before_", place, e);
}

static int move_all(struct moving *m, struct err *e)
{
    int rc = find_tables(m, e); /* look again, now with the lease */
    for (unsigned i = 0; !rc && i < TABLE_COUNT; i++) {
        if (m->copied[i])
            rc = resume(m, i, e);
        else if (m->old[i])
            rc = move(m, i, e);
    }
    return rc;
}

static bool has_work(const struct moving *m)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (m->old[i] || m->copied[i])
            return true;
    return false;
}

int relayout(struct store *s, const struct workspace *w, unsigned host, struct err *e)
{
    const struct store_turns *turns = s->turns;
    struct moving m = {.store = s, .workspace = w, .host = host};
    bool seized;
    buf_init(&m.text, STATE_STATEMENT_MAX);
    int rc = find_tables(&m, e);
    if (rc || !has_work(&m))
        goto done;
    if (turns && (rc = turns->take(turns->arg, w->name, LEASE, &seized, e)))
        goto done;
    rc = move_all(&m, e);
    if (turns)
        turns->give(turns->arg, w->name, LEASE, NULL); /* or it is seized after a while */
done:
    mem_free(m.keys);
    mem_free(m.rows);
    buf_fini(&m.text);
    return rc;
}
