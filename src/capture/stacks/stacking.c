/* stacking.c - see stacking.h.
 *
 * Modules, code objects and stacks have dense numbers in the process, so arrays map them
 * to the session's rows. Frames and the tree's nodes are found by a key of two words with
 * everything that distinguishes them: (parent, frame) for a node, the fields in frame_key
 * for a frame. */
#include "capture/stacks/stacking.h"

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/file/spelling.h"
#include "base/keyed.h"
#include "base/printable.h"
#include "base/tick.h"
#include "capture/log/messages.h"
#include "capture/stacks/folders.h"
#include "capture/stacks/keep.h"
#include "capture/threads/gate.h"
#include "capture/threads/names.h"
#include "capture/threads/threads.h"
#include "stack/simulated.h"
#include "stack/stack.h"

#include <string.h>

enum {
    ROWS_MOST = 1 << 22, /* frames, or nodes of the tree */
    KEY = 2 * sizeof(uint64_t),
    NUMBERS_MOST = 1 << 20,
    KEEP_FLUSH_NS = 20 * 1000 * 1000, /* time for keeping files at a flush ... */
    KEEP_LAST_NS = 500 * 1000 * 1000, /* ... and when the session ends */
};

_Static_assert((int)STACK_DISTINCT <= (int)SINK_STACK_MOST, "backends keep ids in that many bits");

_Atomic uint32_t stacking_where;

/* Holds a frame, or a node of the tree, and the id of its row. */
struct row_entry {
    uint64_t a, b; /* the key */
    uint32_t id;   /* 0: it has no row yet */
};

/* Maps a number to a row id; 0: no row yet. */
struct row_numbers {
    uint32_t *id; /* owned */
    size_t cap;
};

/* Holds what the collector alone uses. */
static struct {
    struct keyed frames, nodes; /* of struct row_entry */
    struct row_numbers modules, stacks;
    uint32_t frame_count, node_count, module_count, stack_count; /* of rows */
    bool ends;                  /* a message has named a file in which stacks end */
    uint64_t unwritten;         /* uses of a captured stack that got no row for lack of memory */
    struct stacks_stats before; /* the process's counts when the session began */
} tables = {.frames = {.item_size = sizeof(struct row_entry), .key_size = KEY, .max = ROWS_MOST},
            .nodes = {.item_size = sizeof(struct row_entry), .key_size = KEY, .max = ROWS_MOST}};

/* ---- capturing ------------------------------------------------------------------------------- */

void stacking_begin(const struct options *o, enum gpufl_engine engine)
{
    struct err e = {0};
    atomic_store_explicit(&stacking_where, STACKING_OFF, memory_order_relaxed);
    if (!o->enable_stack_trace || engine == GPUFL_ENGINE_MONITOR)
        return;
    int rc = stacks_open(true, &e);
    if (rc) {
        const char *why = *e.text ? e.text : err_text(rc);
        feature_set("stacks", true, "failed", why);
        message_say(SEVERITY_WARNING, "stacks_failed", "no stacks are captured: %s", why);
        return;
    }
    folders_begin();
    keep_begin();
    stacks_stats(&tables.before);
    atomic_store_explicit(&stacking_where,
                          STACKING_WAITS | (o->launch_stacks ? STACKING_LAUNCHES : 0u),
                          memory_order_relaxed);
}

void stacking_some(bool on)
{
    if (on)
        atomic_fetch_or_explicit(&stacking_where, STACKING_SOME, memory_order_release);
    else
        atomic_fetch_and_explicit(&stacking_where, ~(uint32_t)STACKING_SOME, memory_order_relaxed);
}

uint32_t stacking_capture(struct thread_state *t)
{
    uint64_t began = tick_now();
    uint32_t id = stacks_capture(NULL);
    counter_add(&t->counters.stack_ticks, tick_now() - began);
    return id;
}

uint32_t stacking_at_wait(void)
{
    if (atomic_load_explicit(&stacking_where, memory_order_relaxed) == STACKING_OFF ||
        !gate_is_on() || atomic_load_explicit(&capture_gate.floor, memory_order_relaxed))
        return 0;
    struct thread_state *t = thread_self();
    if (!t)
        return 0;
    uint32_t stack = stacking_capture(t);
    threads_note_python(t);
    threads_wait(t, true); /* until op_wait */
    return stack;
}

uint32_t stacking_simulated(const struct sink_frame *frames, unsigned depth)
{
    struct simulated_frame given[SIMULATED_DEPTH];
    if (atomic_load_explicit(&stacking_where, memory_order_relaxed) == STACKING_OFF ||
        !gate_is_on() || atomic_load_explicit(&capture_gate.floor, memory_order_relaxed) ||
        depth > SIMULATED_DEPTH)
        return 0;
    for (unsigned i = 0; i < depth; i++)
        given[i] = (struct simulated_frame){frames[i].function, frames[i].file, frames[i].line};
    return simulated_stack(given, depth);
}

void stacking_refresh(void)
{
    if (atomic_load_explicit(&stacking_where, memory_order_relaxed) != STACKING_OFF)
        stacks_refresh();
}

const char *stacking_python(void)
{
    return stacks_python();
}

void stacking_counts(struct stacking_counts *out)
{
    struct stacks_stats now;
    stacks_stats(&now);
    *out = (struct stacking_counts){
        .captured = now.captured - tables.before.captured,
        .distinct = tables.stack_count,
        .lost = now.lost - tables.before.lost + tables.unwritten,
        .cut = now.cut - tables.before.cut,
    };
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Returns the entry of a key, with id 0 if it is new; NULL: no room. */
static struct row_entry *entry_of(struct keyed *rows, uint64_t a, uint64_t b)
{
    const uint64_t key[] = {a, b};
    uint32_t at;
    return keyed_put(rows, key, &at, NULL) || !at ? NULL : keyed_at(rows, at);
}

static uint32_t *number_at(struct row_numbers *n, uint32_t number)
{
    size_t before = n->cap;
    if (number >= n->cap &&
        mem_grow(&n->id, &n->cap, (size_t)number + 1, sizeof *n->id, NUMBERS_MOST))
        return NULL;
    if (n->cap > before)
        memset(n->id + before, 0, (n->cap - before) * sizeof *n->id);
    return &n->id[number];
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t module_row(struct writer *w, const struct stack_module *m)
{
    char text[SPELLING_ROOM];
    uint32_t *id = m ? number_at(&tables.modules, m->number) : NULL;
    if (!id || *id)
        return id ? *id : 0;
    struct module_row row = {
        .id = tables.module_count + 1,
        .path = intern_str(names_table(), spelling_of(m->path, text)),
        .build_id = *m->build_id ? intern_str(names_table(), m->build_id) : 0,
        .kind = m->kind,
        .base = (int64_t)m->base,
        .size = m->size,
        .mtime = m->mtime,
    };
    if (writer_define(w, RECORD_module, (const int64_t *)&row))
        return 0;
    *id = ++tables.module_count;
    keep_module(*id, m);
    return *id;
}

/* Computes the key of a frame. b's low bits are the frame's kind. */
static void frame_key(const struct stack_place *p, uint64_t *a, uint64_t *b)
{
    switch (p->kind) {
    case STACK_NATIVE:
        *a = p->offset;
        *b = (uint64_t)(p->module ? p->module->number : 0) << 2 | STACK_NATIVE;
        break;
    case STACK_PYTHON:
        *a = (uint64_t)(uint32_t)p->line;
        *b = (uint64_t)p->code->number << 2 | STACK_PYTHON;
        break;
    case STACK_MARK:
        *a = (uintptr_t)p->mark;
        *b = STACK_MARK;
        break;
    }
}

static void frame_fill(struct writer *w, const struct stack_place *p, struct frame_row *row)
{
    struct intern *names = names_table();
    char path[PATH_MAX], text[SPELLING_ROOM];
    row->kind = p->kind;
    row->line = row->first_line = CELL_NULL;
    row->offset = CELL_NULL;
    switch (p->kind) {
    case STACK_NATIVE:
        row->module = module_row(w, p->module);
        row->offset = (int64_t)p->offset;
        break;
    case STACK_PYTHON:
        row->function = intern_str(names, p->code->name);
        row->file = intern_str(names, spelling_of(folders_find(p->code->file, path), text));
        row->line = p->line > 0 ? p->line : CELL_NULL;
        row->first_line = p->code->first_line;
        break;
    case STACK_MARK:
        row->function = intern_str(names, p->mark);
        break;
    }
}

static uint32_t frame_row(struct writer *w, const struct stack_place *p)
{
    uint64_t a = 0, b = 0;
    frame_key(p, &a, &b);
    struct row_entry *e = entry_of(&tables.frames, a, b);
    if (!e || e->id)
        return e ? e->id : 0;
    struct frame_row row = {.id = tables.frame_count + 1};
    frame_fill(w, p, &row);
    if (writer_define(w, RECORD_frame, (const int64_t *)&row))
        return 0;
    e->id = ++tables.frame_count;
    return e->id;
}

static uint32_t node_row(struct writer *w, uint32_t parent, uint32_t frame, unsigned depth)
{
    struct row_entry *e = entry_of(&tables.nodes, parent, frame);
    if (!e || e->id)
        return e ? e->id : 0;
    struct stack_row row = {tables.node_count + 1, parent, frame, depth};
    if (writer_define(w, RECORD_stack, (const int64_t *)&row))
        return 0;
    e->id = ++tables.node_count;
    return e->id;
}

/* Says once why stacks end in a file: its callers cannot be found. */
static void say_where_it_ends(const struct stack *s)
{
    char path[sizeof((struct stack_module *)0)->path];
    const struct stack_place *last = s->depth > 1 ? &s->places[s->depth - 2] : NULL;
    if (tables.ends || !last || s->places[s->depth - 1].kind != STACK_MARK ||
        last->kind != STACK_NATIVE || !last->module || last->module->unwinds)
        return;
    tables.ends = true;
    printable_copy(path, sizeof path, last->module->path, strlen(last->module->path));
    message_say(
        SEVERITY_NOTE, "stacks_end",
        "stacks end in %s: the file has no unwind tables that can be read (.eh_frame); build it "
        "with -fasynchronous-unwind-tables or -fno-omit-frame-pointer",
        path);
}

uint32_t stacking_row(struct writer *w, uint32_t stack)
{
    const struct stack *s = stack ? stacks_get(stack) : NULL;
    uint32_t *row = s ? number_at(&tables.stacks, stack) : NULL;
    if (row && *row)
        return *row;
    uint32_t node = 0;
    for (unsigned depth = 1; row && depth <= s->depth; depth++) { /* outermost first */
        uint32_t frame = frame_row(w, &s->places[s->depth - depth]);
        node = frame ? node_row(w, node, frame, depth) : 0;
        if (!node)
            break;
    }
    if (node) {
        *row = node;
        tables.stack_count++;
        say_where_it_ends(s);
    } else if (stack) {
        tables.unwritten++;
    }
    return node;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void tables_clear(void)
{
    keyed_init(&tables.frames, sizeof(struct row_entry), KEY, ROWS_MOST);
    keyed_init(&tables.nodes, sizeof(struct row_entry), KEY, ROWS_MOST);
    memset(&tables.modules, 0, sizeof tables.modules);
    memset(&tables.stacks, 0, sizeof tables.stacks);
    tables.frame_count = tables.node_count = tables.module_count = tables.stack_count = 0;
    tables.unwritten = 0;
    tables.ends = false;
}

void stacking_keep(struct writer *w, bool last)
{
    keep_waiting(w, last ? KEEP_LAST_NS : KEEP_FLUSH_NS, last);
}

void stacking_end(void)
{
    atomic_store_explicit(&stacking_where, STACKING_OFF, memory_order_relaxed);
    keyed_fini(&tables.frames);
    keyed_fini(&tables.nodes);
    mem_free(tables.modules.id);
    mem_free(tables.stacks.id);
    tables_clear();
    keep_end();
}

void stacking_forget(void)
{
    atomic_store_explicit(&stacking_where, STACKING_OFF, memory_order_relaxed);
    tables_clear(); /* not freed, because they may be half changed */
    keep_forget();
    stacks_forget();
}
