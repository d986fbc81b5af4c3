/* device_code.c - see device_code.h. */
#include "analyze/model/kernels/device_code.h"

#include "analyze/common/cells.h"
#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/order.h"
#include "symbol/names/demangle.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES_MAX = 1 << 18, OBJECTS_MAX = 1 << 20 };

void device_code_init(struct model *m)
{
    struct device_code *c = &m->code;
    keyed_init(&c->functions, sizeof(struct code_function), offsetof(struct code_function, file),
               DEVICE_CODE_FUNCTIONS);
    keyed_init(&c->lines, sizeof(struct code_line), offsetof(struct code_line, line),
               DEVICE_CODE_LINES);
    keyed_init(&c->sources, sizeof(struct code_source), offsetof(struct code_source, hash),
               PIECES_MAX);
}

void device_code_drop_ids(struct device_code *c)
{
    mem_free(c->ids);
    mem_free(c->objects);
    c->ids = NULL;
    c->objects = NULL;
    c->id_count = c->id_cap = c->object_count = c->object_cap = 0;
}

void device_code_fini(struct model *m)
{
    struct device_code *c = &m->code;
    keyed_fini(&c->functions);
    keyed_fini(&c->lines);
    keyed_fini(&c->sources);
    device_code_drop_ids(c);
    mem_free(c->merged);
    c->merged = NULL;
}

static struct code_function *function_at(const struct device_code *c, uint32_t index)
{
    return keyed_at(&c->functions, index);
}

const struct code_function *device_code_at(const struct device_code *c, uint32_t index)
{
    return index && index < c->functions.count ? function_at(c, index) : NULL;
}

/* ---- rows -------------------------------------------------------------------------------- */

static int take_object(struct model *m, const struct wire_batch *b, size_t i)
{
    struct device_code *c = &m->code;
    int64_t id = cells_get(b, COL_code_object_id, i);
    if (id <= 0 || id >= OBJECTS_MAX)
        return 0;
    size_t n = (size_t)id + 1;
    int rc = mem_grow(&c->objects, &c->object_cap, n, sizeof *c->objects, OBJECTS_MAX);
    if (rc)
        return rc;
    for (; c->object_count < n; c->object_count++)
        c->objects[c->object_count] = (struct code_object){CELL_NULL, 0};
    c->objects[id].crc = cells_get(b, COL_code_object_crc, i);
    c->objects[id].arch = model_name_cell(m, cells_get(b, COL_code_object_arch, i));
    return 0;
}

static int take_function(struct model *m, const struct wire_batch *b, size_t i)
{
    struct device_code *c = &m->code;
    int64_t object = cells_get(b, COL_function_object, i);
    bool known = object > 0 && (uint64_t)object < c->object_count;
    struct code_function key;
    uint32_t index;
    memset(&key, 0, sizeof key);
    key.crc = known ? c->objects[object].crc : CELL_NULL;
    key.name = model_name_cell(m, cells_get(b, COL_function_name, i));
    int rc = key.name ? keyed_put(&c->functions, &key, &index, NULL) : 0;
    if (rc || !key.name || !index)
        return rc;
    struct code_function *f = function_at(c, index);
    uint32_t file = model_name_cell(m, cells_get(b, COL_function_file, i));
    f->file = file ? file : f->file;
    f->arch = known && c->objects[object].arch ? c->objects[object].arch : f->arch;
    return model_ref_put(&c->ids, &c->id_count, &c->id_cap, cells_get(b, COL_function_id, i),
                         index);
}

static void add_line(struct code_line *to, const struct code_line *from)
{
    to->text = from->text ? from->text : to->text;
    to->inlined = from->inlined ? from->inlined : to->inlined;
    to->file = from->file ? from->file : to->file;
    to->line = from->line ? from->line : to->line;
}

static int put_line(struct device_code *c, const struct code_line *l)
{
    uint32_t index;
    int rc = keyed_put(&c->lines, l, &index, NULL);
    if (!rc && index)
        add_line(keyed_at(&c->lines, index), l);
    return rc;
}

static int take_instruction(struct model *m, const struct wire_batch *b, size_t i)
{
    int64_t level = cells_or(b, COL_instruction_level, i, 0);
    int64_t line = cells_or(b, COL_instruction_line, i, 0);
    struct code_line l;
    memset(&l, 0, sizeof l);
    l.function = device_code_function(&m->code, cells_get(b, COL_instruction_function, i));
    l.offset = cells_get(b, COL_instruction_offset, i);
    if (!l.function || l.offset < 0 || level < 0 || level >= DEVICE_CODE_LEVELS)
        return 0;
    l.level = (uint32_t)level;
    l.text = model_name_cell(m, cells_get(b, COL_instruction_text, i));
    l.file = model_name_cell(m, cells_get(b, COL_instruction_file, i));
    l.inlined = model_name_cell(m, cells_get(b, COL_instruction_inlined, i));
    l.line = line > 0 ? line : 0;
    return put_line(&m->code, &l);
}

static int take_source(struct model *m, const struct wire_batch *b, size_t i)
{
    struct code_source s, *at;
    uint32_t index;
    memset(&s, 0, sizeof s);
    s.path = model_name_cell(m, cells_get(b, COL_source_path, i));
    s.offset = cells_get(b, COL_source_offset, i);
    if (!s.path || s.offset < 0)
        return 0;
    int rc = keyed_put(&m->code.sources, &s, &index, NULL);
    if (rc || !index)
        return rc;
    at = keyed_at(&m->code.sources, index);
    at->hash = (uint64_t)cells_or(b, COL_source_hash, i, 0);
    at->size = cells_or(b, COL_source_size, i, 0);
    at->text = model_name_cell(m, cells_get(b, COL_source_text, i));
    return 0;
}

int device_code_batch(struct model *m, const struct wire_batch *b)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++)
        rc = b->type == RECORD_code_object   ? take_object(m, b, i)
             : b->type == RECORD_function    ? take_function(m, b, i)
             : b->type == RECORD_instruction ? take_instruction(m, b, i)
                                             : take_source(m, b, i);
    return rc;
}

/* ---- merging ----------------------------------------------------------------------------- */

static int merge_functions(struct device_code *c, const struct device_code *o)
{
    int rc = 0;
    mem_free(c->merged);
    c->merged = mem_array(o->functions.count ? o->functions.count : 1, sizeof *c->merged);
    if (!c->merged)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; !rc && i < o->functions.count; i++) {
        const struct code_function *from = function_at(o, (uint32_t)i);
        rc = keyed_put(&c->functions, from, &c->merged[i], NULL);
        if (rc || !c->merged[i])
            continue;
        struct code_function *to = function_at(c, c->merged[i]);
        to->file = to->file ? to->file : from->file;
        to->arch = to->arch ? to->arch : from->arch;
    }
    return rc;
}

int device_code_merge(struct model *into, const struct model *from, int64_t shift)
{
    struct device_code *c = &into->code;
    const struct device_code *o = &from->code;
    int rc = merge_functions(c, o);
    (void)shift;
    for (size_t i = 1; !rc && i < o->lines.count; i++) {
        struct code_line l = *(const struct code_line *)keyed_at(&o->lines, i);
        l.function = c->merged[l.function];
        rc = l.function ? put_line(c, &l) : 0;
    }
    for (size_t i = 1; !rc && i < o->sources.count; i++) {
        const struct code_source *s = keyed_at(&o->sources, i);
        uint32_t index;
        bool added;
        rc = keyed_put(&c->sources, s, &index, &added);
        if (added)
            *(struct code_source *)keyed_at(&c->sources, index) = *s;
    }
    return rc;
}

/* ---- names ------------------------------------------------------------------------------- */

static int find_shown(struct model *m, uint32_t name, struct buf *text, uint32_t *shown)
{
    buf_clear(text);
    demangle_put(text, model_text(m, name));
    *shown = intern_id(m->names, text->data, text->len);
    return *shown && !buf_error(text) ? 0 : GPUFL_E_NOMEM;
}

/* Holds a name, and the function that has it. */
struct named {
    uint32_t name;
    uint32_t value;
};

/* Lists the names of kernel rows, mangled and demangled, with their index. */
static int list_kernels(struct model *m, struct buf *text, struct keyed *by_name)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < m->kernels.name_count; i++) {
        uint32_t names[2] = {m->kernels.names[i].name, 0}, index;
        bool added;
        if (!names[0])
            continue;
        rc = find_shown(m, names[0], text, &names[1]);
        for (int n = 0; !rc && n < 2; n++) {
            rc = keyed_put(by_name, &names[n], &index, &added);
            if (added)
                ((struct named *)keyed_at(by_name, index))->value = (uint32_t)i + 1;
        }
    }
    return rc;
}

static uint32_t value_of(const struct keyed *k, uint32_t name)
{
    uint32_t index = name ? keyed_find(k, &name) : 0;
    return index ? ((const struct named *)keyed_at(k, index))->value : 0;
}

/* Lists, by demangled name, the function with a checksum; 0 if there are several. */
static int list_known(struct device_code *c, struct keyed *known)
{
    int rc = 0;
    for (size_t i = 1; !rc && i < c->functions.count; i++) {
        const struct code_function *f = function_at(c, (uint32_t)i);
        uint32_t index;
        bool added;
        if (f->crc == CELL_NULL)
            continue;
        rc = keyed_put(known, &f->shown, &index, &added);
        if (!rc && index)
            ((struct named *)keyed_at(known, index))->value = added ? (uint32_t)i : 0;
    }
    return rc;
}

int device_code_finish(struct model *m)
{
    struct device_code *c = &m->code;
    struct keyed kernels, known;
    struct buf text;
    int rc = 0;
    mem_free(c->merged);
    c->merged = NULL;
    if (c->functions.count < 2)
        return 0;
    buf_init(&text, DEMANGLE_ROOM);
    keyed_init(&kernels, sizeof(struct named), sizeof(uint32_t), SIZE_MAX / 64);
    keyed_init(&known, sizeof(struct named), sizeof(uint32_t), SIZE_MAX / 64);
    rc = list_kernels(m, &text, &kernels);
    for (size_t i = 1; !rc && i < c->functions.count; i++) {
        struct code_function *f = function_at(c, (uint32_t)i);
        rc = find_shown(m, f->name, &text, &f->shown);
        f->kernel = value_of(&kernels, f->name);
        f->kernel = f->kernel ? f->kernel : value_of(&kernels, f->shown);
    }
    rc = rc ? rc : list_known(c, &known);
    for (size_t i = 1; !rc && i < c->functions.count; i++) {
        struct code_function *f = function_at(c, (uint32_t)i);
        uint32_t other = f->crc == CELL_NULL ? value_of(&known, f->shown) : 0;
        f->alias = other ? other : (uint32_t)i;
    }
    keyed_fini(&kernels);
    keyed_fini(&known);
    buf_fini(&text);
    return rc;
}

/* ---- answers ----------------------------------------------------------------------------- */

static const struct code_line *find_line(const struct device_code *c, uint32_t function,
                                         int64_t offset, uint32_t level)
{
    struct code_line key;
    memset(&key, 0, sizeof key);
    key.function = function;
    key.offset = offset;
    key.level = level;
    uint32_t index = keyed_find(&c->lines, &key);
    return index ? keyed_at(&c->lines, index) : NULL;
}

/* Lines may belong to the function itself and texts to its alias. */
const struct code_line *device_code_line(const struct device_code *c, uint32_t function,
                                         int64_t offset, uint32_t level)
{
    const struct code_function *f = device_code_at(c, function);
    const struct code_line *own = f ? find_line(c, function, offset, level) : NULL;
    const struct code_line *other =
        f && f->alias != function ? find_line(c, f->alias, offset, level) : NULL;
    if (own && (own->line || !other))
        return own;
    return other ? other : own;
}

struct listed {
    int64_t offset;
    uint32_t place;
};

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : ORDER(x->place, y->place);
}

uint32_t *device_code_list(const struct device_code *c, uint32_t function, size_t *count)
{
    const struct code_function *f = device_code_at(c, function);
    struct listed *list = mem_array(c->lines.count + 1, sizeof *list);
    uint32_t *out = mem_array(c->lines.count + 1, sizeof *out);
    size_t n = 0;
    *count = 0;
    for (size_t i = 1; list && f && i < c->lines.count; i++) {
        const struct code_line *l = keyed_at(&c->lines, i);
        if (!l->level && (l->function == function || l->function == f->alias))
            list[n++] = (struct listed){l->offset, (uint32_t)i};
    }
    if (n)
        qsort(list, n, sizeof *list, compare_listed);
    for (size_t i = 0; out && i < n; i++)
        if (!i || list[i].offset != list[i - 1].offset)
            out[(*count)++] = list[i].place;
    bool failed = !list || !out;
    mem_free(list);
    if (failed) {
        mem_free(out);
        return NULL;
    }
    return out;
}

bool device_code_source(const struct model *m, uint32_t path, struct buf *out)
{
    struct code_source key;
    size_t from = out->len;
    const struct code_source *s = NULL;
    memset(&key, 0, sizeof key);
    key.path = path;
    for (;;) {
        uint32_t index = path ? keyed_find(&m->code.sources, &key) : 0;
        size_t len = 0;
        if (!index)
            break;
        s = keyed_at(&m->code.sources, index);
        const char *text = s->text ? intern_text(m->names, s->text, &len) : NULL;
        if (!text || !len)
            break;
        buf_put(out, text, len);
        key.offset += (int64_t)len;
    }
    return s && (int64_t)(out->len - from) == s->size && !buf_error(out);
}
