/* layout.c - has the tables of a workspace's database: their names, columns and order.
 *
 * A table is made when its first row comes, and gets the columns of a newer version of this program
 * before that version uses the table; both cost ClickHouse only a line in a file. A column is never
 * removed, so that an older version can run concurrently.
 *
 * A partition has the rows of one week (ADR 34), by the numbers of their commits. In a partition
 * the rows of a session are together, since each table's order begins with the session. */
#include "store/clickhouse/engine.h"

#include "base/alloc.h"
#include "store/batches.h"
#include "store/clickhouse/literal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* By default ClickHouse keeps merged or changed parts for 8 minutes, in case the machine loses
 * power; 30 s are enough, since Linux writes a file within that time. Sessions of one week share a
 * partition, which may have more parts for a moment than 18.16 allows by default. */
#define KEPT "old_parts_lifetime = 30, parts_to_delay_insert = 600, parts_to_throw_insert = 1200"

#define UNKNOWN "toInt64('-9223372036854775808')"

/* ---- places -------------------------------------------------------------------------------- */

unsigned place_of(unsigned table)
{
    if (table >= TABLE_tile_0 && table <= TABLE_tile_7)
        return TABLE_tile_0;
    if (table >= TABLE_span_0 && table <= TABLE_span_7)
        return TABLE_span_0;
    return table;
}

int place_level(unsigned table)
{
    return (int)(table - place_of(table));
}

/* Place TABLE_position is table `commits`, whose rows have the positions. Place TABLE_about, which
 * only DuckDB's files need, is table `small`. */
const char *place_name(unsigned place)
{
    switch (place) {
    case TABLE_tile_0:
        return "tile";
    case TABLE_span_0:
        return "span";
    case TABLE_position:
        return "commits";
    case TABLE_about:
        return "small";
    default:
        return store_table(place)->name;
    }
}

bool place_numbered(unsigned place)
{
    return place < RECORD_COUNT || place == TABLE_unknown;
}

bool place_levelled(unsigned place)
{
    return place == TABLE_tile_0 || place == TABLE_span_0;
}

bool place_completed(unsigned place)
{
    return record_is_completed((int)place);
}

/* Computes the hash FNV-1a. The number is stored in tables, so this function never changes. */
uint64_t place_key(const char *session)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *session; session++)
        h = (h ^ (unsigned char)*session) * 0x100000001b3u;
    return h;
}

/* The numbers of ids that differ only in their last letter differ in few bits, so the bits are
 * mixed first. Like place_key, this function never changes. */
unsigned place_host(uint64_t key, unsigned count)
{
    key ^= key >> 33;
    key *= 0xff51afd7ed558ccdu;
    key ^= key >> 33;
    return (unsigned)(key % count);
}

static void put_database(struct buf *b, const struct store *s, const char *workspace,
                         const char *suffix)
{
    char name[2 * STORE_ID_MAX + 16];
    snprintf(name, sizeof name, "%s_%s%s", s->links.place.prefix, workspace, suffix);
    literal_name(b, name);
}

void place_put(struct buf *b, const struct store *s, const char *workspace, const char *table)
{
    put_database(b, s, workspace, "");
    buf_char(b, '.');
    literal_name(b, table);
}

void place_put_all(struct buf *b, const struct store *s, const char *workspace, const char *table)
{
    put_database(b, s, workspace, *s->links.place.cluster ? "_all" : "");
    buf_char(b, '.');
    literal_name(b, table);
}

/* ---- their columns ------------------------------------------------------------------------- */

struct place_column {
    const char *name, *type;
};

static const struct place_column commits[] = {
    {"session", "UInt64"}, {"commit", "Int64"},     {"kind", "Int64"},    {"name", "String"},
    {"counts", "String"},  {"positions", "String"}, {"ranges", "String"}, {NULL, NULL},
};

static const struct place_column small[] = {
    {"session", "UInt64"},     {"commit", "Int64"},        {"in_table", "String"},
    {"in_level", "Int64"},     {"run", "Int64"},           {"rowid", "Int64"},
    {"cells", "Array(Int64)"}, {"texts", "Array(String)"}, {NULL, NULL},
};

static const char *type_of(unsigned place, enum cell_type type)
{
    switch (type) {
    case CELL_INT:
        return "Int64 DEFAULT " UNKNOWN;
    case CELL_REAL:
        return "Float64 DEFAULT reinterpretAsFloat64(reinterpretAsString(" UNKNOWN "))";
    default:
        return place == TABLE_history ? "Nullable(String)" : "String";
    }
}

/* Fills in all columns of a place, and a NULL name after the last. */
static void columns_of(unsigned place, struct place_column out[PLACE_COLUMNS_MAX + 1])
{
    const struct table *t = store_table(place);
    unsigned n = 0;
    if (place == TABLE_position) {
        memcpy(out, commits, sizeof commits);
        return;
    }
    if (place == TABLE_about) {
        memcpy(out, small, sizeof small);
        return;
    }
    if (place == TABLE_history) {
        out[n++] = (struct place_column){"version", "Int64"};
        out[n++] = (struct place_column){"gone", "Int64"};
        out[n++] = (struct place_column){"session", "String"};
    } else {
        out[n++] = (struct place_column){"session", "UInt64"};
        out[n++] = (struct place_column){"commit", "Int64"};
    }
    if (place_levelled(place))
        out[n++] = (struct place_column){"level", "Int64"};
    if (place_numbered(place)) {
        out[n++] = (struct place_column){"run", "Int64"};
        out[n++] = (struct place_column){"rowid", "Int64"};
    }
    for (unsigned i = place == TABLE_history; i < t->column_count; i++)
        out[n++] = (struct place_column){t->columns[i].name, type_of(place, t->columns[i].type)};
    out[n] = (struct place_column){NULL, NULL};
}

/* Puts, after the session, the columns that the table's questions search by, the most important
 * first; a time comes after the run. */
static void put_order(struct buf *b, unsigned place)
{
    int time = place < RECORD_COUNT ? batches_time(place) : -1;
    if (place != TABLE_history)
        buf_str(b, "session");
    if (place == TABLE_position)
        return;
    buf_str(b, place == TABLE_history ? "" : ", ");
    if (place == TABLE_about)
        buf_str(b, "in_table, in_level, rowid");
    else if (place == TABLE_tile_0)
        buf_str(b, "level, bucket, lane");
    else if (place == TABLE_span_0)
        buf_str(b, "level, start, lane");
    else if (place == TABLE_names ||
             (place < RECORD_COUNT && records[place].kind == RECORD_KIND_DICT))
        buf_str(b, "id");
    else if (place == TABLE_lane)
        buf_str(b, "lane");
    else if (place == TABLE_kernel_slice)
        buf_str(b, "slice");
    else if (place == TABLE_kernel_sum)
        buf_str(b, "slice, config, stream");
    else if (place == TABLE_kernel_bin)
        buf_str(b, "config, slice, bin");
    else if (place == TABLE_history)
        buf_str(b, "started, session");
    else if (time < 0)
        buf_str(b, "run, rowid");
    else {
        buf_str(b, "run, ");
        literal_name(b, records[place].columns[time].name);
        buf_str(b, ", rowid");
    }
}

void place_put_create(struct buf *b, const struct store *s, const char *workspace, unsigned place,
                      const char *name)
{
    struct place_column columns[PLACE_COLUMNS_MAX + 1];
    columns_of(place, columns);
    buf_str(b, "CREATE TABLE IF NOT EXISTS ");
    place_put(b, s, workspace, name);
    for (unsigned i = 0; columns[i].name; i++) {
        buf_str(b, i ? ", " : " (");
        literal_name(b, columns[i].name);
        buf_printf(b, " %s", columns[i].type);
    }
    /* Only the last commit of a session matters, so merges drop the others. */
    buf_str(b, place == TABLE_position ? ") ENGINE = ReplacingMergeTree(commit)"
                                       : ") ENGINE = MergeTree");
    if (place != TABLE_history && place != TABLE_position)
        buf_printf(b, " PARTITION BY intDiv(commit, %" PRId64 ")", PLACE_WEEK);
    buf_str(b, " ORDER BY (");
    put_order(b, place);
    buf_str(b, ") SETTINGS " KEPT);
    /* A question about a session reads one row of `commits`, and a few thousand of `small`. */
    if (place == TABLE_position)
        buf_str(b, ", index_granularity = 128");
    if (place == TABLE_about)
        buf_str(b, ", index_granularity = 1024");
}

void place_put_columns(struct buf *b, unsigned place)
{
    struct place_column columns[PLACE_COLUMNS_MAX + 1];
    columns_of(place, columns);
    for (unsigned i = 0; columns[i].name; i++) {
        buf_str(b, i ? ", " : "");
        literal_name(b, columns[i].name);
    }
}

/* ---- making them --------------------------------------------------------------------------- */

static int column_find(const struct place_column *columns, struct store_text name)
{
    for (int i = 0; columns[i].name; i++)
        if (strlen(columns[i].name) == name.len && !memcmp(columns[i].name, name.at, name.len))
            return i;
    return -1;
}

struct lookup {
    struct workspace *workspace;
    unsigned host;
};

int place_find(struct store_text name)
{
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        if (place_of(i) == i && strlen(place_name(i)) == name.len &&
            !memcmp(place_name(i), name.at, name.len))
            return (int)i;
    return -1;
}

static int take_tables(void *arg, const struct page *p)
{
    const struct lookup *k = arg;
    for (size_t i = 0; i < p->rows; i++) {
        struct place_column columns[PLACE_COLUMNS_MAX + 1];
        struct store_text name = page_text(p, 1, i);
        int place = place_find(page_text(p, 0, i));
        if (place < 0)
            continue;
        columns_of((unsigned)place, columns);
        k->workspace->have[k->host][place] += column_find(columns, name) >= 0;
    }
    return 0;
}

/* Finds which tables a server has; makes the database if it is missing. [workspace.lock held] */
static int look_up(struct store *s, struct workspace *w, unsigned host, struct err *e)
{
    struct lookup k = {w, host};
    struct buf text;
    char name[2 * STORE_ID_MAX + 16];
    buf_init(&text, 4096);
    buf_str(&text, "CREATE DATABASE IF NOT EXISTS ");
    put_database(&text, s, w->name, "");
    int rc = link_do(&s->links, host, buf_cstr(&text), e);
    if (rc == 0)
        rc = relayout(s, w, host, e);
    buf_clear(&text);
    snprintf(name, sizeof name, "%s_%s", s->links.place.prefix, w->name);
    buf_str(&text, "SELECT table, name FROM system.columns WHERE database = ");
    literal_text(&text, name, strlen(name));
    buf_str(&text, " FORMAT Native");
    memset(w->have[host], 0, sizeof w->have[host]);
    if (rc == 0)
        rc = link_ask(&s->links, host,
                      &(struct link_question){text.data, text.len, take_tables, &k, 0}, e);
    if (!rc && *s->links.place.cluster) {
        buf_clear(&text);
        buf_str(&text, "CREATE DATABASE IF NOT EXISTS ");
        put_database(&text, s, w->name, "_all");
        rc = link_do(&s->links, host, buf_cstr(&text), e);
    }
    buf_fini(&text);
    return rc;
}

struct names {
    const struct place_column *columns;
    bool there[PLACE_COLUMNS_MAX];
};

static int take_columns(void *arg, const struct page *p)
{
    struct names *n = arg;
    for (size_t i = 0; i < p->rows; i++) {
        int column = column_find(n->columns, page_text(p, 0, i));
        if (column >= 0)
            n->there[column] = true;
    }
    return 0;
}

int place_complete(struct store *s, const struct workspace *w, unsigned host, unsigned place,
                   struct err *e)
{
    struct place_column columns[PLACE_COLUMNS_MAX + 1];
    struct names n = {.columns = columns};
    char name[2 * STORE_ID_MAX + 16];
    struct buf text;
    columns_of(place, columns);
    buf_init(&text, 64 << 10);
    snprintf(name, sizeof name, "%s_%s", s->links.place.prefix, w->name);
    buf_str(&text, "SELECT name FROM system.columns WHERE database = ");
    literal_text(&text, name, strlen(name));
    buf_str(&text, " AND table = ");
    literal_text(&text, place_name(place), strlen(place_name(place)));
    buf_str(&text, " FORMAT Native");
    int rc = link_ask(&s->links, host,
                      &(struct link_question){text.data, text.len, take_columns, &n, 0}, e);
    for (unsigned i = 0; !rc && columns[i].name; i++) {
        if (n.there[i])
            continue;
        buf_clear(&text);
        buf_str(&text, "ALTER TABLE ");
        place_put(&text, s, w->name, place_name(place));
        buf_str(&text, " ADD COLUMN ");
        literal_name(&text, columns[i].name);
        buf_printf(&text, " %s", columns[i].type);
        rc = link_do(&s->links, host, buf_cstr(&text), e);
    }
    buf_fini(&text);
    return rc;
}

/* Makes the table over all servers, for questions across sessions. */
static int make_distributed(struct store *s, const struct workspace *w, unsigned host,
                            unsigned place, struct err *e)
{
    struct buf text;
    buf_init(&text, 16 << 10);
    buf_str(&text, "CREATE TABLE IF NOT EXISTS ");
    put_database(&text, s, w->name, "_all");
    buf_char(&text, '.');
    literal_name(&text, place_name(place));
    buf_str(&text, " AS ");
    place_put(&text, s, w->name, place_name(place));
    buf_printf(&text, " ENGINE = Distributed(%s, ", s->links.place.cluster);
    put_database(&text, s, w->name, "");
    buf_str(&text, ", ");
    literal_name(&text, place_name(place));
    buf_char(&text, ')');
    int rc = link_do(&s->links, host, buf_cstr(&text), e);
    buf_fini(&text);
    return rc;
}

/* Drops an older version's Distributed table, which has no rows and is made again. */
static int drop_distributed(struct store *s, const struct workspace *w, unsigned host,
                            unsigned place, struct err *e)
{
    struct buf text;
    buf_init(&text, 4096);
    buf_str(&text, "DROP TABLE IF EXISTS ");
    put_database(&text, s, w->name, "_all");
    buf_char(&text, '.');
    literal_name(&text, place_name(place));
    int rc = link_do(&s->links, host, buf_cstr(&text), e);
    buf_fini(&text);
    return rc;
}

static int make_place(struct store *s, struct workspace *w, unsigned host, unsigned place,
                      struct err *e)
{
    struct place_column columns[PLACE_COLUMNS_MAX + 1];
    struct buf text;
    unsigned count = 0;
    int rc = 0;
    columns_of(place, columns);
    while (columns[count].name)
        count++;
    if (w->have[host][place] && w->have[host][place] < count) {
        rc = place_complete(s, w, host, place, e);
        rc = rc || !*s->links.place.cluster ? rc : drop_distributed(s, w, host, place, e);
    }
    if (!w->have[host][place]) {
        buf_init(&text, 64 << 10);
        place_put_create(&text, s, w->name, place, place_name(place));
        rc = link_do(&s->links, host, buf_cstr(&text), e);
        buf_fini(&text);
    }
    if (!rc && *s->links.place.cluster)
        rc = make_distributed(s, w, host, place, e);
    if (!rc)
        w->have[host][place] = (unsigned char)count;
    return rc;
}

int place_ready(struct store *s, struct workspace *w, unsigned place, struct err *e)
{
    int rc = 0;
    if (atomic_load_explicit(&w->ready[place], memory_order_acquire))
        return 0;
    pthread_mutex_lock(&w->lock);
    for (unsigned i = 0; !rc && !w->known && i < s->links.place.host_count; i++)
        rc = look_up(s, w, i, e);
    if (!rc && !w->known) {
        w->known = true;
        sweep_ask(s, w); /* for rows that a killed process left */
    }
    for (unsigned i = 0; !rc && i < s->links.place.host_count; i++)
        rc = make_place(s, w, i, place, e);
    if (!rc)
        atomic_store_explicit(&w->ready[place], true, memory_order_release);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* ---- workspaces ---------------------------------------------------------------------------- */

struct workspace *workspace_of(struct store *s, const char *name)
{
    pthread_mutex_lock(&s->open.lock);
    struct workspace *w = s->workspaces;
    while (w && strcmp(w->name, name) != 0)
        w = w->next;
    if (!w && (w = mem_zalloc(sizeof *w))) {
        snprintf(w->name, sizeof w->name, "%s", name);
        pthread_mutex_init(&w->lock, NULL);
        pthread_mutex_init(&w->sizes_lock, NULL);
        w->next = s->workspaces;
        s->workspaces = w;
    }
    pthread_mutex_unlock(&s->open.lock);
    return w;
}

void workspaces_free(struct store *s)
{
    while (s->workspaces) {
        struct workspace *w = s->workspaces;
        s->workspaces = w->next;
        pthread_mutex_destroy(&w->lock);
        pthread_mutex_destroy(&w->sizes_lock);
        mem_free(w);
    }
}
