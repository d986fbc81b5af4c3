/* short_names.c - lists the kernels by their demangled names, and shortens them together. */
#include "analyze/model/kernels/short_names.h"

#include "analyze/model/model.h"
#include "base/alloc.h"
#include "base/err.h"
#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"

#include <string.h>

enum { TEXTS_MAX = 1 << 30 };

struct short_name {
    uint32_t name;
    /* not of the key: */
    uint32_t row; /* of the table that is shortened */
    size_t at;    /* place in texts */
};

/* Lists the names that are shortened: demangled, each once. */
struct listed {
    struct model *m;
    struct buf text;
    const char **rows; /* owned; texts of model.names */
    size_t count, cap;
};

static struct short_name *item(const struct sum_short_names *s, uint32_t index)
{
    return keyed_at(&s->by_name, index);
}

void sum_short_names_init(struct model *m)
{
    struct sum_short_names *s = &m->short_names;
    keyed_init(&s->by_name, sizeof(struct short_name), sizeof(uint32_t), SIZE_MAX / 64);
    buf_init(&s->texts, TEXTS_MAX);
}

void sum_short_names_fini(struct model *m)
{
    keyed_fini(&m->short_names.by_name);
    buf_fini(&m->short_names.texts);
}

/* Puts a name into the list. *index: the item of a name. *added: the item is new. */
static int put_name(struct listed *l, uint32_t name, uint32_t *index, bool *added)
{
    struct sum_short_names *s = &l->m->short_names;
    int rc = keyed_put(&s->by_name, &name, index, added);
    return rc ? rc : *index ? 0 : GPUFL_E_NOMEM;
}

static int list(struct listed *l, uint32_t name)
{
    struct sum_short_names *s = &l->m->short_names;
    uint32_t index, plain;
    bool added;
    int rc = name ? put_name(l, name, &index, &added) : 0;
    if (rc || !name || !added)
        return rc;
    buf_clear(&l->text);
    demangle_put(&l->text, model_text(l->m, name));
    uint32_t shown = buf_error(&l->text) ? 0 : intern_id(l->m->names, l->text.data, l->text.len);
    if (!shown)
        return GPUFL_E_NOMEM;
    plain = index;
    if (shown != name) {
        rc = put_name(l, shown, &plain, &added);
        if (rc)
            return rc;
    }
    if (added) {
        rc = mem_grow(&l->rows, &l->cap, l->count + 1, sizeof *l->rows, SIZE_MAX / 64);
        if (rc)
            return rc;
        item(s, plain)->row = (uint32_t)l->count;
        l->rows[l->count++] = intern_text(l->m->names, shown, NULL);
    }
    item(s, index)->row = item(s, plain)->row;
    return 0;
}

static int list_all(struct listed *l)
{
    const struct model *m = l->m;
    int rc = 0;
    for (size_t i = 0; !rc && i < m->kernels.name_count; i++)
        rc = list(l, m->kernels.names[i].name);
    for (size_t i = 1; !rc && i < m->code.functions.count; i++)
        rc = list(l, device_code_at(&m->code, (uint32_t)i)->name);
    for (size_t i = 1; !rc && i < m->counters.items.count; i++)
        rc = list(l, sum_counters_at(&m->counters, i)->kernel);
    return rc;
}

int sum_short_names_make(struct model *m)
{
    struct sum_short_names *s = &m->short_names;
    struct listed l = {.m = m};
    size_t *at = NULL;
    sum_short_names_fini(m);
    sum_short_names_init(m);
    buf_init(&l.text, DEMANGLE_ROOM);
    int rc = list_all(&l);
    rc = rc ? rc : shorten_rows(&s->texts, l.rows, l.count, SHORT_COLUMNS);
    if (!rc && l.count && !(at = mem_array(l.count, sizeof *at)))
        rc = GPUFL_E_NOMEM;
    for (size_t i = 0, from = 0; !rc && i < l.count; i++) {
        at[i] = from;
        from += strlen(s->texts.data + from) + 1;
    }
    for (uint32_t i = 1; !rc && i < s->by_name.count; i++)
        item(s, i)->at = at[item(s, i)->row];
    mem_free(at);
    mem_free(l.rows);
    buf_fini(&l.text);
    return rc;
}

void sum_short_name_put(const struct model *m, uint32_t name, struct buf *out)
{
    const struct sum_short_names *s = &m->short_names;
    uint32_t index = name ? keyed_find(&s->by_name, &name) : 0;
    struct buf full;
    if (index) {
        buf_str(out, s->texts.data + item(s, index)->at);
        return;
    }
    if (!name)
        return;
    buf_init(&full, DEMANGLE_ROOM);
    demangle_put(&full, model_text(m, name));
    shorten_kernel(out, buf_cstr(&full), SHORT_COLUMNS);
    if (buf_error(&full))
        out->error = buf_error(&full);
    buf_fini(&full);
}

bool sum_short_name_holds(const struct model *m, uint32_t name, const char *text)
{
    const struct sum_short_names *s = &m->short_names;
    uint32_t index = name ? keyed_find(&s->by_name, &name) : 0;
    return index && strstr(s->texts.data + item(s, index)->at, text);
}
