/* scope.c - reads scopes of the public client's format, and paths of scopes.
 *
 * Two things name scopes in that format: begin and end rows, which have an instance and a
 * depth but neither thread nor parent, and the user_scope text of a kernel's
 * detail, outer|inner, which has no instance. The two are not joined by time,
 * because with several threads that would be a guess. Instead
 * - an end makes a `scope` row; its parent is the open scope one level up where
 *   there is one such; if there are several with the same path (threads that
 *   do the same), that path; else unknown;
 * - a path that kernels or parents refer to becomes a `scope` row of its own with
 *   neither start nor duration (see the record's description), nested like the
 *   path. So GPU time is summed under the right names, and calls and wall time are
 *   those of real openings only.
 * A scope that goes on in the session's next segment is a `scope_open` row here
 * and ends there, with its first start. */
#include "base/alloc.h"
#include "base/err.h"
#include "wire/peer/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists the cells of an open scope in peer.scopes, found by their instance id. */
enum {
    OPEN_ID,
    OPEN_INSTANCE, /* ours */
    OPEN_START,
    OPEN_NAME,
    OPEN_PARENT,
    OPEN_DEPTH,
    OPEN_REPEAT,
    OPEN_WARMUP,
    OPEN_NODE, /* its path's instance; 0: unknown */
    OPEN_CELLS
};

/* Lists the cells of a path in peer.paths, found by the first two. */
enum { PATH_PARENT, PATH_NAME, PATH_INSTANCE, PATH_CELLS };

_Static_assert((int)OPEN_CELLS == PEER_OPEN_CELLS && (int)PATH_CELLS == PEER_PATH_CELLS,
               "reader.h");

/* ---- paths ----------------------------------------------------------------------------------- */

/* Returns the instance of the path parent|name; a new path gets one. 0: there is no room. */
static int64_t path_node(struct peer *p, int64_t parent, int64_t name)
{
    const int64_t key[2] = {parent, name};
    bool added;
    int64_t *found = peer_set_put(p, &p->paths, key, &added);
    if (!found)
        return 0;
    if (!added)
        return found[PATH_INSTANCE];
    found[PATH_INSTANCE] = ++p->instances;
    if (name > 0 && !peer_dict_reserve(p, &p->named_paths, (uint32_t)name)) {
        uint32_t *named = &p->named_paths.ids[name];
        *named = *named || p->instances >= PEER_SEVERAL ? PEER_SEVERAL : (uint32_t)p->instances;
    }
    UNKNOWN(scope, row);
    row.instance = p->instances;
    row.parent = parent;
    row.name = name;
    row.tag = 0;
    peer_add(p, RECORD_scope, &row);
    return p->instances;
}

/* Returns the instance of a path, or CELL_NULL if there is no room for it. */
static int64_t split_path(struct peer *p, struct span path)
{
    int64_t node = 0;
    size_t len, mark = p->text.len;
    const char *text = peer_unescape(p, path, &len), *end = text + len;
    for (int depth = 0; text < end && depth < PEER_DEPTHS && !p->code; depth++) {
        const char *bar = memchr(text, '|', (size_t)(end - text));
        const char *stop = bar ? bar : end;
        if (stop > text)
            node = path_node(p, node, peer_name(p, text, (size_t)(stop - text)));
        if (stop > text && !node) {
            node = CELL_NULL; /* the rest must not become the child of another path */
            break;
        }
        text = stop + 1;
    }
    p->text.len = mark;
    return node;
}

/* Returns the only path that ends with that name, else a path of this name alone. */
int64_t peer_scope_named(struct peer *p, int64_t name_id)
{
    int64_t name = peer_dict_name(&p->scope_names, name_id);
    if (!name)
        return 0;
    int64_t known = peer_dict_name(&p->named_paths, name);
    return known && known != PEER_SEVERAL ? known : path_node(p, 0, name);
}

/* "global" means no scope; older logs begin every path with it. */
int64_t peer_scope_of(struct peer *p, struct span user_scope)
{
    static const char process[] = "process:", global[] = "global|";
    if (user_scope.len >= sizeof global && !memcmp(user_scope.at, global, sizeof global - 1)) {
        user_scope.at += sizeof global - 1;
        user_scope.len -= sizeof global - 1;
    }
    bool none = user_scope.len == 0 || span_is(user_scope, "global") ||
                (user_scope.len >= sizeof process - 1 &&
                 !memcmp(user_scope.at, process, sizeof process - 1) &&
                 !memchr(user_scope.at, '|', user_scope.len));
    if (none)
        return 0;
    if (p->path.len == user_scope.len && !memcmp(p->path.data, user_scope.at, user_scope.len))
        return p->path_instance;
    buf_clear(&p->path);
    p->path_instance = split_path(p, user_scope);
    buf_put(&p->path, user_scope.at, user_scope.len);
    if (buf_error(&p->path))
        peer_fail(p, buf_error(&p->path));
    if (p->code)
        buf_clear(&p->path);
    return p->path_instance;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int64_t scope_name(struct peer *p, int64_t id)
{
    char text[40];
    if (id <= 0)
        return 0;
    if ((uint64_t)id < p->scope_names.cap && p->scope_names.ids[id])
        return p->scope_names.ids[id];
    snprintf(text, sizeof text, "scope#%lld", (long long)id);
    return peer_name_str(p, text);
}

/* Returns what an open scope adds to the sum of hashes of its depth: equal for equal paths only. */
static uint64_t path_hash(const int64_t *open)
{
    uint64_t h = open[OPEN_NODE] ? (uint64_t)open[OPEN_NODE] : (uint64_t)open[OPEN_INSTANCE] << 32;
    h = (h + 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return (h ^ h >> 32) * 0xc4ceb9fe1a85ec53ull;
}

/* Finds parent and path of a scope that opens. */
static void place_scope(struct peer *p, int64_t *open)
{
    int64_t depth = open[OPEN_DEPTH], above = -1; /* path of the parent; -1: unknown */
    const struct peer_depth *up = depth > 0 && depth <= PEER_DEPTHS ? &p->depths[depth - 1] : NULL;
    open[OPEN_PARENT] = CELL_NULL;
    if (depth == 0) {
        open[OPEN_PARENT] = above = 0;
    } else if (up && up->open == 1) {
        open[OPEN_PARENT] = up->instances;
        above = up->nodes ? up->nodes : -1;
    } else if (up && up->open > 1 && up->node &&
               up->hashes == path_hash((int64_t[OPEN_CELLS]){[OPEN_NODE] = up->node}) * up->open) {
        open[OPEN_PARENT] = above = up->node;
    }
    open[OPEN_NODE] = above < 0 || !open[OPEN_NAME] ? 0 : path_node(p, above, open[OPEN_NAME]);
}

/* Adds a scope to those open at its depth, or takes it away. */
static void count_open(struct peer *p, const int64_t *open, bool opens)
{
    if (open[OPEN_DEPTH] < 0 || open[OPEN_DEPTH] >= PEER_DEPTHS)
        return;
    struct peer_depth *d = &p->depths[open[OPEN_DEPTH]];
    d->open += opens ? 1 : -1u;
    d->instances ^= open[OPEN_INSTANCE];
    d->nodes ^= open[OPEN_NODE];
    d->hashes += opens ? path_hash(open) : -path_hash(open);
    if (opens)
        d->node = open[OPEN_NODE];
}

static int64_t scope_cell(const struct peer *p, size_t row, unsigned column)
{
    return peer_cell(&p->rows, row, column);
}

/* Returns the open scope of a row; a new one gets the row's values. */
static int64_t *open_scope(struct peer *p, size_t row, int64_t start)
{
    int64_t id = scope_cell(p, row, PEER_scope_scope_instance_id);
    int64_t made[OPEN_CELLS] = {
        [OPEN_ID] = id,
        [OPEN_INSTANCE] = ++p->instances,
        [OPEN_START] = start,
        [OPEN_NAME] = scope_name(p, scope_cell(p, row, PEER_scope_name_id)),
        [OPEN_DEPTH] = scope_cell(p, row, PEER_scope_depth),
        [OPEN_REPEAT] = scope_cell(p, row, PEER_scope_repeat),
        [OPEN_WARMUP] = scope_cell(p, row, PEER_scope_warmup),
    };
    bool added;
    place_scope(p, made);
    int64_t *open = peer_set_put(p, &p->scopes, &id, &added);
    if (added) {
        memcpy(open, made, sizeof made);
        count_open(p, open, true);
    }
    return open;
}

static void forget_scope(struct peer *p, int64_t *open)
{
    count_open(p, open, false);
    rowset_remove(&p->scopes, open);
}

/* Fills the cells that scope and scope_open rows share. */
#define FILL_SCOPE(row, open)                                                                      \
    do {                                                                                           \
        (row).start = (open)[OPEN_START];                                                          \
        (row).instance = (open)[OPEN_INSTANCE];                                                    \
        (row).parent = (open)[OPEN_PARENT];                                                        \
        (row).name = (open)[OPEN_NAME];                                                            \
        (row).depth = (open)[OPEN_DEPTH];                                                          \
        (row).repeat = (open)[OPEN_REPEAT];                                                        \
        (row).warmup = (open)[OPEN_WARMUP];                                                        \
    } while (0)

static void add_open_row(struct peer *p, const int64_t *open)
{
    UNKNOWN(scope_open, row);
    FILL_SCOPE(row, open);
    peer_add(p, RECORD_scope_open, &row);
}

static void add_ended_row(struct peer *p, const int64_t *open, int64_t end)
{
    int64_t start = open[OPEN_START];
    bool timed = start != CELL_NULL && end != CELL_NULL && end >= start;
    UNKNOWN(scope, row);
    FILL_SCOPE(row, open);
    row.duration = timed ? end - start : CELL_NULL;
    peer_add(p, RECORD_scope, &row);
}

/* Ends a scope, or cuts it at the end of a segment. If the begin is missing (a lost part of the
 * log), the row's original_start_ns is used, if it has one; repeat and warm-up are then unknown. */
static void close_scope(struct peer *p, size_t row, int64_t time, bool goes_on)
{
    int64_t id = scope_cell(p, row, PEER_scope_scope_instance_id);
    int64_t *open = rowset_find(&p->scopes, &id);
    if (!open) {
        int64_t start = null_if_zero(scope_cell(p, row, PEER_scope_original_start_ns));
        if (peer_time(start, 0) == CELL_NULL) {
            p->stats->foreign_orphans++;
            return;
        }
        open = open_scope(p, row, start);
        if (!open)
            return;
        open[OPEN_REPEAT] = open[OPEN_WARMUP] = CELL_NULL;
    }
    if (goes_on)
        add_open_row(p, open);
    else
        add_ended_row(p, open, time);
    forget_scope(p, open);
}

void peer_scopes(struct peer *p)
{
    for (size_t i = 0; i < p->rows.count && !p->code; i++) {
        int64_t time = peer_time(p->rows.base, scope_cell(p, i, PEER_scope_dt_ns));
        int64_t first = null_if_zero(scope_cell(p, i, PEER_scope_original_start_ns));
        switch (scope_cell(p, i, PEER_scope_event_type)) {
        case PEER_SCOPE_BEGIN:
            open_scope(p, i, time);
            break;
        case PEER_SCOPE_CONTINUES:
            open_scope(p, i, peer_time(first, 0) == CELL_NULL ? time : first);
            break;
        case PEER_SCOPE_END:
            close_scope(p, i, time, false);
            break;
        case PEER_SCOPE_CONTINUED:
            close_scope(p, i, time, true);
            break;
        default:
            p->stats->foreign_orphans++;
        }
    }
}

static int compare_instances(const void *a, const void *b)
{
    const struct scope_open_row *x = a, *y = b;
    return (x->instance > y->instance) - (x->instance < y->instance);
}

void peer_open_scopes(struct peer *p)
{
    struct peer_queue *q = &p->queues[RECORD_scope_open];
    for (size_t i = 0; i < p->scopes.slot_count; i++)
        if (p->scopes.slots[i])
            add_open_row(p, p->scopes.rows + (size_t)(p->scopes.slots[i] - 1) * OPEN_CELLS);
    if (q->count)
        qsort(q->rows, q->count, sizeof(struct scope_open_row), compare_instances);
    rowset_fini(&p->scopes);
    memset(p->depths, 0, sizeof p->depths);
}
