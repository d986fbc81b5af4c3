/* model.c - has the table of parts, and passes a batch through them. */
#include "analyze/model/model.h"

#include "analyze/common/cells.h"
#include "analyze/common/words.h"
#include "base/alloc.h"
#include "base/err.h"

#include <string.h>

enum { IDS_MAX = 1 << 24 }; /* largest id of a name or stream that is taken */

static const struct model_part parts[] = {
#define PART(name, prefix, takes, gives)                                                           \
    {#name,          takes,          prefix##_init,   prefix##_fini,                               \
     prefix##_batch, prefix##_merge, prefix##_finish, gives},
#include "analyze/model/parts.def"
};

enum { PARTS = sizeof parts / sizeof *parts };

_Static_assert(RECORD_COUNT <= 64, "model_part.takes has a bit for each record type");

void model_init(struct model *m, struct intern *names)
{
    memset(m, 0, sizeof *m);
    m->names = names;
    for (int i = 0; i < PARTS; i++)
        parts[i].init(m);
    sum_short_names_init(m);
    sum_definitions_init(m);
}

/* Frees the tables of the log's ids. */
static void drop_refs(struct model *m)
{
    stacks_drop_room(&m->stacks);
    sum_wait_lines_drop_waits(&m->wait_lines);
    device_code_drop_ids(&m->code);
    mem_free(m->refs.names);
    mem_free(m->refs.streams);
    mem_free(m->refs.devices);
    mem_free(m->refs.configs);
    memset(&m->refs, 0, sizeof m->refs);
}

void model_fini(struct model *m)
{
    sum_short_names_fini(m);
    sum_definitions_fini(m);
    for (int i = PARTS; i-- > 0;)
        parts[i].fini(m);
    drop_refs(m);
}

int model_ref_put(uint32_t **at, size_t *count, size_t *cap, int64_t id, uint32_t value)
{
    if (id <= 0 || id >= IDS_MAX)
        return 0;
    size_t i = (size_t)id;
    if (i >= *count) {
        int rc = mem_grow(at, cap, i + 1, sizeof **at, IDS_MAX);
        if (rc)
            return rc;
        memset(*at + *count, 0, (i + 1 - *count) * sizeof **at);
        *count = i + 1;
    }
    (*at)[i] = value;
    return 0;
}

int model_header(struct model *m, const struct wire_header *h)
{
    return sum_facts_header(m, h);
}

int model_name(struct model *m, uint32_t id, const char *text, size_t len)
{
    struct refs *r = &m->refs;
    uint32_t known = intern_id(m->names, text, len);
    if (!known && len)
        return GPUFL_E_NOMEM;
    return model_ref_put(&r->names, &r->name_count, &r->name_cap, id, known);
}

/* Takes streams, which are needed only to find the device of an activity. */
static int take_streams(struct model *m, const struct wire_batch *b)
{
    struct refs *r = &m->refs;
    int rc = 0;
    for (size_t i = 0; !rc && i < b->rows; i++) {
        uint32_t device = model_device_cell(m, cells_get(b, COL_stream_device, i));
        rc = model_ref_put(&r->streams, &r->stream_count, &r->stream_cap,
                           cells_get(b, COL_stream_id, i), device);
    }
    return rc;
}

int model_batch(struct model *m, const struct wire_batch *b)
{
    int rc = b->type == RECORD_stream ? take_streams(m, b) : 0;
    for (int i = 0; !rc && i < PARTS; i++)
        if (parts[i].takes & 1ull << b->type)
            rc = parts[i].batch(m, b);
    return rc;
}

int model_finish(struct model *m)
{
    int rc = 0;
    for (int i = 0; !rc && i < PARTS; i++)
        rc = parts[i].finish(m);
    drop_refs(m);
    return rc;
}

int model_merge(struct model *into, const struct model *from)
{
    int rc = 0;
    int64_t shift = sum_facts_epoch(from);
    for (int i = 0; !rc && i < PARTS; i++)
        rc = parts[i].merge(into, from, shift);
    return rc;
}

int model_merge_apart(struct model *into, const struct model *from)
{
    int64_t shift = sum_facts_epoch(from);
    int rc = sum_facts_merge_apart(into, from, shift);
    rc = rc ? rc : sum_devices_match(into, from, shift);
    rc = rc ? rc : sum_metrics_merge(into, from, shift);
    into->known.finished = into->windows.finished = true;
    return rc;
}

int model_merge_pass(struct model *into, const struct model *from, unsigned gives)
{
    int64_t shift = sum_facts_epoch(from);
    int rc = sum_facts_merge_pass(into, from, shift);
    rc = rc ? rc : sum_devices_match(into, from, shift);
    rc = rc ? rc : device_code_merge(into, from, shift);
    for (int i = 0; !rc && i < PARTS; i++)
        if (parts[i].gives & gives)
            rc = parts[i].merge(into, from, shift);
    return rc;
}

int model_settle(struct model *into)
{
    return model_finish(into);
}

/* Returns NULL if the log does not name the device's vendor. */
static const struct words *device_words(const struct model *m, const struct device_row *d)
{
    return words_of_device(d->vendor > 0 ? model_text(m, (uint32_t)d->vendor) : "",
                           d->arch > 0 ? model_text(m, (uint32_t)d->arch) : "");
}

const struct words *model_device_words(const struct model *m, const struct device_row *d)
{
    const struct words *w = device_words(m, d);
    return w ? w : words_of("");
}

const struct words *model_words(const struct model *m)
{
    const struct words *all = NULL, *w;
    for (uint32_t i = 0; i < m->devices.count; i++)
        if ((w = device_words(m, &m->devices.items[i].row)))
            all = words_join(all, w);
    return all ? all : words_of("");
}

const struct words *model_config_words(const struct model *m, const struct config_row *c)
{
    const struct device_row *d = &m->devices.items[sum_devices_resolve(m, c->device)].row;
    const struct words *w = device_words(m, d);
    return w ? w : model_words(m);
}

const struct words *model_kernel_words(const struct model *m, uint32_t name)
{
    const struct words *w = NULL;
    for (size_t n = 0; name && n < m->kernels.name_count; n++) {
        const struct kernel_name *k = &m->kernels.names[n];
        for (uint32_t c = 0; k->name == name && c < k->configs; c++)
            w = words_join(
                w, model_config_words(
                       m, &sum_kernels_config(&m->kernels, m->kernels.by_name[k->first + c])->row));
    }
    return w ? w : model_words(m);
}

const char *model_text(const struct model *m, uint32_t name)
{
    const char *text = name ? intern_text(m->names, name, NULL) : NULL;
    return text ? text : "";
}
