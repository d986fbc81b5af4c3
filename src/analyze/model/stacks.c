/* stacks.c - keeps rows by id while they come in, and then makes tables by content. */
#include "analyze/model/stacks.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"
#include "symbol/fold.h"

#include <stdlib.h>
#include <string.h>

enum {
    MODULES_MAX = 1 << 16, /* largest id that is taken, and items of a table */
    FRAMES_MAX = 1 << 20,
    NODES_MAX = 1 << 22,
    PLACES_MAX = 1 << 20,
    SYMBOLS_MAX = 1 << 22, /* rows */
};

#define KEY(type, first_other) offsetof(struct type, first_other)

/* ---- rows by the log's ids -------------------------------------------------------------- */

struct raw_node {
    uint32_t parent, frame; /* ids of the log; frame 0: not defined */
};

struct raw_symbol {
    uint32_t frame, level; /* frame: the log's id; level: from 0 */
    struct stacks_symbol is;
};

/* Holds the arrays by id, which grow on demand; an item of zeros is not defined. */
struct stacks_raw {
    struct stacks_module *modules;
    size_t module_count, module_cap;
    struct stacks_frame *frames; /* module: the log's id */
    size_t frame_count, frame_cap;
    struct raw_node *nodes;
    size_t node_count, node_cap;
    struct raw_symbol *symbols; /* in the order they came */
    size_t symbol_count, symbol_cap;
};

static void drop_raw(struct stacks *s)
{
    if (!s->raw)
        return;
    mem_free(s->raw->modules);
    mem_free(s->raw->frames);
    mem_free(s->raw->nodes);
    mem_free(s->raw->symbols);
    mem_free(s->raw);
    s->raw = NULL;
}

void stacks_init(struct model *m)
{
    struct stacks *s = &m->stacks;
    memset(s, 0, sizeof *s);
    keyed_init(&s->modules, sizeof(struct stacks_module), sizeof(struct stacks_module),
               MODULES_MAX);
    keyed_init(&s->frames, sizeof(struct stacks_frame), KEY(stacks_frame, symbol), FRAMES_MAX);
    keyed_init(&s->nodes, sizeof(struct stacks_node), KEY(stacks_node, place), NODES_MAX);
    keyed_init(&s->places, sizeof(struct stacks_place), KEY(stacks_place, function), PLACES_MAX);
}

void stacks_fini(struct model *m)
{
    struct stacks *s = &m->stacks;
    drop_raw(s);
    keyed_fini(&s->modules);
    keyed_fini(&s->frames);
    keyed_fini(&s->nodes);
    keyed_fini(&s->places);
    mem_free(s->symbols);
    mem_free(s->ids);
    mem_free(s->merged);
    mem_free(s->room);
    stacks_init(m);
}

/* Extends *items up to id; new items are zeros. */
static int reach(void *items, size_t *count, size_t *cap, int64_t id, size_t size, size_t max)
{
    size_t need = (size_t)id + 1;
    if (need <= *count)
        return 0;
    int rc = mem_grow(items, cap, need, size, max);
    char *bytes;
    if (rc)
        return rc;
    memcpy(&bytes, items, sizeof bytes); /* items points to some T * */
    memset(bytes + *count * size, 0, (need - *count) * size);
    *count = need;
    return 0;
}

/* Returns a cell as an id below max, or 0. */
static uint32_t id_cell(const struct wire_batch *b, unsigned column, size_t i, int64_t max)
{
    int64_t v = cells_or(b, column, i, 0);
    return v > 0 && v < max ? (uint32_t)v : 0;
}

/* Returns a line of a source; 0: unknown. */
static int64_t line_cell(const struct wire_batch *b, unsigned column, size_t i)
{
    int64_t v = cells_or(b, column, i, 0);
    return v > 0 && v <= INT32_MAX ? v : 0;
}

static int take_module(struct model *m, const struct wire_batch *b, size_t i)
{
    struct stacks_raw *r = m->stacks.raw;
    uint32_t id = id_cell(b, COL_module_id, i, MODULES_MAX);
    int rc = id ? reach(&r->modules, &r->module_count, &r->module_cap, id, sizeof *r->modules,
                        MODULES_MAX)
                : 0;
    if (!id || rc)
        return rc;
    int64_t kind = cells_or(b, COL_module_kind, i, 0);
    r->modules[id] =
        (struct stacks_module){.path = model_name_cell(m, cells_get(b, COL_module_path, i)),
                               .build_id = model_name_cell(m, cells_get(b, COL_module_build_id, i)),
                               .kind = kind > 0 && kind < 256 ? (uint32_t)kind : 0};
    return 0;
}

static int take_frame(struct model *m, const struct wire_batch *b, size_t i)
{
    struct stacks_raw *r = m->stacks.raw;
    uint32_t id = id_cell(b, COL_frame_id, i, FRAMES_MAX);
    int rc =
        id ? reach(&r->frames, &r->frame_count, &r->frame_cap, id, sizeof *r->frames, FRAMES_MAX)
           : 0;
    int64_t kind = cells_or(b, COL_frame_kind, i, 0);
    if (!id || rc || kind < STACKS_NATIVE || kind > STACKS_MARK)
        return rc;
    struct stacks_frame f = {.kind = (uint32_t)kind};
    if (kind == STACKS_NATIVE) {
        f.module = id_cell(b, COL_frame_module, i, MODULES_MAX);
        f.offset = cells_or(b, COL_frame_offset, i, 0);
    }
    f.function = model_name_cell(m, cells_get(b, COL_frame_function, i));
    f.file = model_name_cell(m, cells_get(b, COL_frame_file, i));
    f.line = line_cell(b, COL_frame_line, i);
    f.first_line = line_cell(b, COL_frame_first_line, i);
    r->frames[id] = f;
    return 0;
}

static int take_stack(struct model *m, const struct wire_batch *b, size_t i)
{
    struct stacks_raw *r = m->stacks.raw;
    uint32_t id = id_cell(b, COL_stack_id, i, NODES_MAX);
    int rc =
        id ? reach(&r->nodes, &r->node_count, &r->node_cap, id, sizeof *r->nodes, NODES_MAX) : 0;
    if (id && !rc)
        r->nodes[id] = (struct raw_node){id_cell(b, COL_stack_parent, i, NODES_MAX),
                                         id_cell(b, COL_stack_frame, i, FRAMES_MAX)};
    return rc;
}

static int take_symbol(struct model *m, const struct wire_batch *b, size_t i)
{
    struct stacks_raw *r = m->stacks.raw;
    uint32_t frame = id_cell(b, COL_symbol_frame, i, FRAMES_MAX);
    int64_t level = cells_or(b, COL_symbol_level, i, 0),
            status = cells_or(b, COL_symbol_status, i, 0);
    if (!frame || level < 0 || level > UINT16_MAX || r->symbol_count >= SYMBOLS_MAX)
        return 0;
    int rc =
        mem_grow(&r->symbols, &r->symbol_cap, r->symbol_count + 1, sizeof *r->symbols, SYMBOLS_MAX);
    if (rc)
        return rc;
    r->symbols[r->symbol_count++] = (struct raw_symbol){
        .frame = frame,
        .level = (uint32_t)level,
        .is = {.function = model_name_cell(m, cells_get(b, COL_symbol_function, i)),
               .file = model_name_cell(m, cells_get(b, COL_symbol_file, i)),
               .line = line_cell(b, COL_symbol_line, i),
               .status = status >= 0 && status < STACKS_NOT_LOOKED_UP ? (uint32_t)status
                                                                      : STACKS_NOT_LOOKED_UP}};
    return 0;
}

int stacks_batch(struct model *m, const struct wire_batch *b)
{
    int (*take)(struct model *, const struct wire_batch *, size_t) =
        b->type == RECORD_module  ? take_module
        : b->type == RECORD_frame ? take_frame
        : b->type == RECORD_stack ? take_stack
                                  : take_symbol;
    int rc = 0;
    if (!m->stacks.raw && !(m->stacks.raw = mem_zalloc(sizeof *m->stacks.raw)))
        return GPUFL_E_NOMEM;
    for (size_t i = 0; !rc && i < b->rows; i++)
        rc = take(m, b, i);
    return rc;
}

/* ---- from ids to content ---------------------------------------------------------------- */

static int place_modules(struct stacks *s, uint32_t *twins)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < s->raw->module_count; i++)
        if (s->raw->modules[i].kind || s->raw->modules[i].path)
            rc = keyed_put(&s->modules, &s->raw->modules[i], &twins[i], NULL);
    return rc;
}

static int place_frames(struct stacks *s, const uint32_t *modules, uint32_t *twins)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < s->raw->frame_count; i++) {
        struct stacks_frame f = s->raw->frames[i];
        f.module = f.module < s->raw->module_count ? modules[f.module] : 0;
        if (f.kind)
            rc = keyed_put(&s->frames, &f, &twins[i], NULL);
    }
    return rc;
}

/* Sorts by frame, then from the innermost level; of one level the row with more facts comes
 * first. */
static int compare_symbols(const void *a, const void *b)
{
    const struct raw_symbol *x = a, *y = b;
    if (x->frame != y->frame)
        return x->frame < y->frame ? -1 : 1;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    if (x->is.status != y->is.status)
        return x->is.status < y->is.status ? -1 : 1;
    if (x->is.line != y->is.line)
        return x->is.line > y->is.line ? -1 : 1;
    return x->is.function != y->is.function ? (x->is.function < y->is.function ? -1 : 1)
                                            : ORDER(x->is.file, y->is.file);
}

/* Appends symbols of a frame that has none yet. */
static int add_symbol(struct stacks *s, uint32_t frame, const struct stacks_symbol *is)
{
    struct stacks_frame *f = keyed_at(&s->frames, frame);
    int rc =
        mem_grow(&s->symbols, &s->symbol_cap, s->symbol_count + 1, sizeof *s->symbols, SYMBOLS_MAX);
    if (rc)
        return rc == GPUFL_E_FULL ? 0 : rc;
    if (!f->symbols)
        f->symbol = (uint32_t)s->symbol_count;
    f->symbols++;
    s->symbols[s->symbol_count++] = *is;
    return 0;
}

/* After the sort the rows of one frame are consecutive; the first of each level is taken. */
static int place_symbols(struct stacks *s, const uint32_t *frames)
{
    struct stacks_raw *r = s->raw;
    int rc = 0;
    if (r->symbol_count)
        qsort(r->symbols, r->symbol_count, sizeof *r->symbols, compare_symbols);
    for (size_t i = 0; !rc && i < r->symbol_count; i++) {
        const struct raw_symbol *row = &r->symbols[i];
        bool again = i && row[-1].frame == row->frame && row[-1].level == row->level;
        uint32_t frame = row->frame < r->frame_count ? frames[row->frame] : 0;
        const struct stacks_frame *f = frame ? keyed_at(&s->frames, frame) : NULL;
        /* Two ids may have equal frames; the first id's rows are enough. */
        bool other = f && f->symbols && f->symbol + f->symbols != s->symbol_count;
        bool first = !i || row[-1].frame != row->frame;
        if (f && !again && !other && !(first && f->symbols))
            rc = add_symbol(s, frame, &row->is);
    }
    return rc;
}

static int put_node(struct stacks *s, uint32_t parent, uint32_t frame, uint32_t *at)
{
    struct stacks_node node = {.parent = parent, .frame = frame};
    bool added;
    int rc = keyed_put(&s->nodes, &node, at, &added);
    if (!rc && added) {
        uint32_t depth = parent ? stacks_node_at(s, parent)->depth + 1 : 1;
        ((struct stacks_node *)keyed_at(&s->nodes, *at))->depth = depth;
    }
    return rc;
}

/* A caller must have a smaller id, so that there are no cycles. Walks skip an unknown frame. */
static int place_nodes(struct stacks *s, const uint32_t *frames)
{
    int rc = 0;
    for (uint32_t i = 1; !rc && i < s->raw->node_count; i++) {
        const struct raw_node *r = &s->raw->nodes[i];
        uint32_t parent = r->parent < i ? s->ids[r->parent] : 0;
        bool deep = parent && stacks_node_at(s, parent)->depth >= STACKS_DEPTH;
        if (!r->frame)
            continue;
        s->cut += deep || r->parent >= i;
        rc = put_node(s, deep ? 0 : parent, r->frame < s->raw->frame_count ? frames[r->frame] : 0,
                      &s->ids[i]);
    }
    return rc;
}

/* ---- places ----------------------------------------------------------------------------- */

static void describe(const struct stacks_step *step, enum fold_kind kind, struct stacks_place *p)
{
    *p = (struct stacks_place){.user = kind == FOLD_USER || kind == FOLD_GENERATED,
                               .library = kind == FOLD_LIBRARY || kind == FOLD_STDLIB ||
                                          kind == FOLD_INTERPRETER,
                               .function = step->function};
    if (step->file && step->line) {
        p->file = step->file;
        p->line = step->line;
    } else if (step->function) {
        p->symbol = step->function;
        p->module = step->module;
        p->file = step->file;
    } else {
        p->module = step->module;
        p->offset = step->offset;
    }
}

enum { STEPS_MAX = 2 * STACKS_DEPTH };

/* This is memory for the functions of one stack. */
struct stacks_room {
    struct stacks_step steps[STEPS_MAX];
    struct fold_frame frames[STEPS_MAX];
};

static struct fold_frame as_frame(const struct model *m, const struct stacks_step *step)
{
    return (struct fold_frame){.language = (enum fold_language)step->kind,
                               .function = model_text(m, step->function),
                               .module = stacks_module_path(m, step->module),
                               .file = model_text(m, step->file),
                               .line = step->line};
}

static bool has_code_of_no_file(const struct fold_frame *frames, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (frames[i].language == FOLD_NATIVE && !*frames[i].module)
            return true;
    return false;
}

/* Finds the place by the rule of symbol/fold.h. If the stack has no such line, its mark, if any,
 * says why. *any false: the stack is empty. */
static int find_place(const struct model *m, struct stacks_room *room, uint32_t node,
                      struct stacks_place *p, bool *any)
{
    struct stacks_walk w = {.node = node};
    const struct stacks_step *mark = NULL;
    size_t n = 0;
    for (; n < STEPS_MAX && stacks_next(&m->stacks, &w, &room->steps[n]); n++) {
        room->frames[n] = as_frame(m, &room->steps[n]);
        if (room->steps[n].kind == STACKS_MARK && !mark)
            mark = &room->steps[n];
    }
    size_t at = fold_user(room->frames, n);
    *any = n > 0;
    if (at != FOLD_NONE) {
        describe(&room->steps[at], fold_classify(&room->frames[at]), p);
        for (size_t i = at + 1; p->library && i < n; i++)
            p->nameless |= fold_is_nameless_program(&room->frames[i]);
        return 0;
    }
    uint32_t text = mark ? mark->function : 0;
    *p = (struct stacks_place){
        .mark = text ? text
                     : intern_str(m->names, has_code_of_no_file(room->frames, n)
                                                ? "<unknown>" /* it may be the program's own */
                                                : "<driver-internal>")};
    return p->mark ? 0 : GPUFL_E_NOMEM;
}

/* Sets the function of the place. If a line has several functions (instances of a template), the
 * first in order counts. */
static void name_place(const struct model *m, struct stacks_place *at, uint32_t function)
{
    if (function &&
        (!at->function || strcmp(model_text(m, function), model_text(m, at->function)) < 0))
        at->function = function;
}

/* Places are found on demand, since most nodes are only callers of others. */
int stacks_find_place(struct model *m, uint32_t node, uint32_t *place)
{
    struct stacks *s = &m->stacks;
    struct stacks_place p;
    int rc = 0;
    *place = 0;
    if (!node || node >= s->nodes.count)
        return 0;
    struct stacks_node *n = keyed_at(&s->nodes, node);
    if (!n->placed) {
        if (!s->room && !(s->room = mem_alloc(sizeof *s->room)))
            return GPUFL_E_NOMEM;
        n->placed = true;
        bool any;
        rc = find_place(m, s->room, node, &p, &any);
        if (rc || !any)
            return rc;
        rc = keyed_put(&s->places, &p, &n->place, NULL);
        struct stacks_place *at = n->place ? keyed_at(&s->places, n->place) : NULL;
        if (at) {
            name_place(m, at, p.function);
            at->user |= p.user;
            at->library |= p.library;
            at->nameless |= p.nameless;
        }
    }
    *place = n->place;
    return rc;
}

static int place_all(struct stacks *s)
{
    struct stacks_raw *r = s->raw;
    uint32_t *modules = mem_array(r->module_count + 1, sizeof *modules),
             *frames = mem_array(r->frame_count + 1, sizeof *frames);
    int rc = GPUFL_E_NOMEM;
    s->ids = mem_array(r->node_count + 1, sizeof *s->ids);
    s->id_count = s->ids ? r->node_count : 0;
    if (modules && frames && s->ids)
        rc = place_modules(s, modules);
    rc = rc ? rc : place_frames(s, modules, frames);
    rc = rc ? rc : place_symbols(s, frames);
    rc = rc ? rc : place_nodes(s, frames);
    mem_free(modules);
    mem_free(frames);
    return rc;
}

int stacks_finish(struct model *m)
{
    int rc = m->stacks.raw ? place_all(&m->stacks) : 0;
    drop_raw(&m->stacks);
    return rc;
}

void stacks_drop_room(struct stacks *s)
{
    mem_free(s->room);
    s->room = NULL;
}

/* ---- two sessions ----------------------------------------------------------------------- */

static int merge_modules(struct stacks *s, const struct stacks *o, uint32_t *twins)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < o->modules.count; i++)
        rc = keyed_put(&s->modules, keyed_at(&o->modules, i), &twins[i], NULL);
    return rc;
}

static int merge_frames(struct stacks *s, const struct stacks *o, const uint32_t *modules,
                        uint32_t *twins)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < o->frames.count; i++) {
        struct stacks_frame f = *(const struct stacks_frame *)keyed_at(&o->frames, i);
        f.module = modules[f.module];
        rc = keyed_put(&s->frames, &f, &twins[i], NULL);
        bool named = rc || !twins[i] ||
                     ((const struct stacks_frame *)keyed_at(&s->frames, twins[i]))->symbols;
        for (uint32_t k = 0; !rc && !named && k < f.symbols; k++)
            rc = add_symbol(s, twins[i], &o->symbols[f.symbol + k]);
    }
    return rc;
}

/* Merges nodes. Callers have smaller indexes than the nodes that they call. */
static int merge_nodes(struct stacks *s, const struct stacks *o, const uint32_t *frames)
{
    int rc = 0;
    for (uint32_t i = 1; !rc && i < o->nodes.count; i++) {
        const struct stacks_node *n = stacks_node_at(o, i);
        rc = put_node(s, s->merged[n->parent], frames[n->frame], &s->merged[i]);
    }
    return rc;
}

int stacks_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct stacks *s = &into->stacks;
    const struct stacks *o = &from->stacks;
    uint32_t *modules = mem_array(o->modules.count + 1, sizeof *modules),
             *frames = mem_array(o->frames.count + 1, sizeof *frames);
    int rc = modules && frames ? 0 : GPUFL_E_NOMEM;
    (void)shift;
    mem_free(s->merged);
    s->merged = mem_array(o->nodes.count + 1, sizeof *s->merged);
    rc = s->merged ? rc : GPUFL_E_NOMEM;
    rc = rc ? rc : merge_modules(s, o, modules);
    rc = rc ? rc : merge_frames(s, o, modules, frames);
    rc = rc ? rc : merge_nodes(s, o, frames);
    s->cut += o->cut;
    mem_free(modules);
    mem_free(frames);
    return rc;
}

/* ---- walking ---------------------------------------------------------------------------- */

static void fill_step(const struct stacks *s, const struct stacks_frame *f, uint32_t level,
                      struct stacks_step *step)
{
    *step = (struct stacks_step){.function = f->function,
                                 .file = f->file,
                                 .line = f->line,
                                 .module = f->module,
                                 .offset = f->offset,
                                 .kind = (enum stacks_kind)f->kind,
                                 .status = f->line       ? STACKS_LINE
                                           : f->function ? STACKS_FUNCTION_ONLY
                                                         : STACKS_NOT_LOOKED_UP};
    if (level >= f->symbols)
        return;
    const struct stacks_symbol *y = &s->symbols[f->symbol + level];
    step->function = y->function;
    step->file = y->file;
    step->line = y->line;
    step->status = (enum stacks_status)y->status;
    step->inlined = level + 1 < f->symbols;
}

bool stacks_next(const struct stacks *s, struct stacks_walk *w, struct stacks_step *step)
{
    while (w->node && w->node < s->nodes.count) {
        const struct stacks_node *n = stacks_node_at(s, w->node);
        if (!n->frame) {
            w->node = n->parent;
            continue;
        }
        const struct stacks_frame *f = keyed_at(&s->frames, n->frame);
        fill_step(s, f, w->level, step);
        w->level++;
        if (w->level >= f->symbols) {
            w->level = 0;
            w->node = n->parent;
        }
        return true;
    }
    return false;
}
