/* rows_scope.c - writes scopes as begins and ends of the public client's format.
 *
 * In that format the parent of a scope is the scope that is open one level up when the
 * scope begins, in the order of the rows. Our rows come when a scope ends, inner scopes
 * first. So before a scope's begin is written, the begins of the enclosing scopes are
 * written; their ends are written when their own rows come. */
#include "base/alloc.h"
#include "base/err.h"
#include "wire/limits.h"
#include "wire/peer/state.h"

#include <stdlib.h>

struct scope_event {
    int64_t time;
    size_t order; /* place in the list: keeps a begin before its end */
    int64_t cells[PEER_COLUMNS_MAX];
};

struct scope_list {
    struct scope_event *events; /* owned */
    size_t count, cap;
};

/* Says where scope and scope_open have their common columns. */
struct scope_columns {
    uint8_t cells[SCOPE_CELL_BEGUN]; /* the column of each learnt cell */
};

static const struct scope_columns ended_columns = {{
    [SCOPE_CELL_INSTANCE] = COL_scope_instance,
    [SCOPE_CELL_NAME] = COL_scope_name,
    [SCOPE_CELL_PARENT] = COL_scope_parent,
    [SCOPE_CELL_START] = COL_scope_start,
    [SCOPE_CELL_DEPTH] = COL_scope_depth,
    [SCOPE_CELL_REPEAT] = COL_scope_repeat,
    [SCOPE_CELL_WARMUP] = COL_scope_warmup,
}};

static const struct scope_columns open_columns = {{
    [SCOPE_CELL_INSTANCE] = COL_scope_open_instance,
    [SCOPE_CELL_NAME] = COL_scope_open_name,
    [SCOPE_CELL_PARENT] = COL_scope_open_parent,
    [SCOPE_CELL_START] = COL_scope_open_start,
    [SCOPE_CELL_DEPTH] = COL_scope_open_depth,
    [SCOPE_CELL_REPEAT] = COL_scope_open_repeat,
    [SCOPE_CELL_WARMUP] = COL_scope_open_warmup,
}};

static const struct scope_columns *columns_of(enum record_type type)
{
    return type == RECORD_scope_open ? &open_columns : &ended_columns;
}

int peer_learn_scope(struct peer_encoder *e, const struct wire_batch *b, size_t row)
{
    const struct scope_columns *from = columns_of(b->type);
    int64_t instance = cell(b, from->cells[SCOPE_CELL_INSTANCE], row);
    bool added;
    int64_t *s = rowset_put(&e->scopes, &instance, &added);
    if (!s)
        return GPUFL_E_NOMEM;
    for (int c = SCOPE_CELL_NAME; c < SCOPE_CELL_BEGUN; c++)
        s[c] = cell(b, from->cells[c], row);
    return 0;
}

static int add_event(struct peer_encoder *e, struct scope_list *l, const int64_t *s, int64_t time,
                     int64_t type)
{
    if (mem_grow(&l->events, &l->cap, l->count + 1, sizeof *l->events, SIZE_MAX / 1024))
        return GPUFL_E_NOMEM;
    bool begins = type == PEER_SCOPE_BEGIN;
    l->events[l->count] = (struct scope_event){
        .time = time,
        .order = l->count,
        .cells = {[PEER_scope_scope_instance_id] = s[SCOPE_CELL_INSTANCE],
                  [PEER_scope_name_id] = peer_scope_name_id(e, s[SCOPE_CELL_NAME]),
                  [PEER_scope_event_type] = type,
                  [PEER_scope_depth] = s[SCOPE_CELL_DEPTH],
                  [PEER_scope_repeat] = begins ? s[SCOPE_CELL_REPEAT] : 0,
                  [PEER_scope_warmup] = begins ? s[SCOPE_CELL_WARMUP] : 0,
                  [PEER_scope_original_start_ns] = peer_epoch(e, s[SCOPE_CELL_START])},
    };
    l->count++;
    return 0;
}

/* Writes the begins of the enclosing scopes and then that of the scope, each once. */
static int add_begins(struct peer_encoder *e, struct scope_list *l, int64_t instance)
{
    int64_t *around[PEER_PATH_DEPTH], *s;
    int depth = 0, rc = 0;
    while (depth < PEER_PATH_DEPTH && instance > 0 && (s = rowset_find(&e->scopes, &instance)) &&
           !s[SCOPE_CELL_BEGUN] && wire_time_ok(s[SCOPE_CELL_START])) {
        around[depth++] = s;
        instance = s[SCOPE_CELL_PARENT];
    }
    while (depth && !rc) {
        s = around[--depth];
        if (s[SCOPE_CELL_BEGUN])
            continue; /* damage: a scope encloses itself */
        s[SCOPE_CELL_BEGUN] = 1;
        rc = add_event(e, l, s, s[SCOPE_CELL_START], PEER_SCOPE_BEGIN);
    }
    return rc;
}

/* Remembers that a scope ended, and forgets the scope that ended scopes_kept ends ago. */
static int retire(struct peer_encoder *e, int64_t instance)
{
    size_t kept = e->config.scopes_kept;
    if (!kept)
        return 0;
    if (!e->ended && !(e->ended = mem_array(kept, sizeof *e->ended)))
        return GPUFL_E_NOMEM;
    int64_t *oldest = &e->ended[e->ended_count++ % kept];
    int64_t *s = e->ended_count > kept ? rowset_find(&e->scopes, oldest) : NULL;
    if (s)
        rowset_remove(&e->scopes, s);
    *oldest = instance;
    return 0;
}

static int add_row(struct peer_encoder *e, struct scope_list *l, const struct wire_batch *b,
                   size_t row)
{
    int64_t instance = cell(b, columns_of(b->type)->cells[SCOPE_CELL_INSTANCE], row);
    int64_t duration = b->type == RECORD_scope ? cell(b, COL_scope_duration, row) : CELL_NULL;
    int rc = add_begins(e, l, instance);
    int64_t end, *s = rowset_find(&e->scopes, &instance);
    if (rc || !s || !s[SCOPE_CELL_BEGUN] || duration == CELL_NULL)
        return rc;
    if (__builtin_add_overflow(s[SCOPE_CELL_START], duration, &end) || !wire_time_ok(end))
        return 0;
    rc = add_event(e, l, s, end, PEER_SCOPE_END);
    return rc ? rc : retire(e, instance);
}

static int compare_events(const void *a, const void *b)
{
    const struct scope_event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

int peer_put_scopes(struct peer_encoder *e, const struct wire_batch *b)
{
    struct rows_line l = rows_begin(e, PEER_scope);
    struct scope_list list = {NULL, 0, 0};
    int rc = 0;
    for (size_t i = 0; i < b->rows && !rc; i++)
        rc = peer_learn_scope(e, b, i);
    for (size_t i = 0; i < b->rows && !rc; i++)
        rc = add_row(e, &list, b, i);
    if (list.count)
        qsort(list.events, list.count, sizeof *list.events, compare_events);
    for (size_t i = 0; i < list.count; i++)
        rows_put(&l, list.events[i].time, list.events[i].cells);
    rows_send(&l, PEER_SCOPE);
    mem_free(list.events);
    return rc;
}
