/* arrow.c - gives a table through Arrow's C stream interface.
 *
 * All objects that a consumer gets own the session together, so they may be released in any order
 * and on any thread. Children and dictionaries are part of the allocation of their parent; a
 * consumer may move them out, so each counts as an owner. */
#include "analyze/tables/arrow.h"
#include "analyze/tables/inside.h"
#include "base/alloc.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct stream {
    struct gpufl_tables *t; /* an owner */
    size_t first, count;    /* fields */
    bool done;              /* the batch was taken */
    const char *error;
};

/* Schemas and arrays have different types, but are released alike. child may be NULL. */
#define RELEASE_CHILD(child)                                                                       \
    do {                                                                                           \
        if ((child) && (child)->release)                                                           \
            (child)->release(child);                                                               \
        mem_free(child);                                                                           \
    } while (0)

/* Adds a zeroed child, for which `children` has room; false: out of memory. */
#define ADD_CHILD(parent)                                                                          \
    ((parent)->children[(parent)->n_children] = mem_zalloc(sizeof **(parent)->children),           \
     (parent)->children[(parent)->n_children] && ++(parent)->n_children)

/* ---- schema: all texts are static, so only pointers are owned -------------------------------- */

static void schema_release(struct ArrowSchema *s)
{
    for (int64_t i = 0; s->children && i < s->n_children; i++)
        RELEASE_CHILD(s->children[i]);
    mem_free(s->children);
    RELEASE_CHILD(s->dictionary);
    s->release = NULL;
}

static int schema_field(struct ArrowSchema *s, const struct gpufl_column *c)
{
    static const char *const formats[] = {[GPUFL_COLUMN_INT64] = "l",
                                          [GPUFL_COLUMN_DOUBLE] = "g",
                                          [GPUFL_COLUMN_TEXT] = "i",
                                          [GPUFL_COLUMN_INT32] = "i",
                                          [GPUFL_COLUMN_FLOAT] = "f"};
    *s = (struct ArrowSchema){.format = formats[c->type],
                              .name = c->name,
                              .flags = ARROW_FLAG_NULLABLE,
                              .release = schema_release};
    if (c->type != GPUFL_COLUMN_TEXT)
        return 0;
    s->dictionary = mem_zalloc(sizeof *s->dictionary);
    if (!s->dictionary)
        return ENOMEM;
    *s->dictionary = (struct ArrowSchema){.format = "u", .name = "", .release = schema_release};
    return 0;
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct stream *s = stream->private_data;
    *out = (struct ArrowSchema){.format = "+s", .name = "", .release = schema_release};
    out->children = mem_array(s->count, sizeof *out->children);
    int rc = out->children ? 0 : ENOMEM;
    for (size_t i = 0; i < s->count && !rc; i++)
        rc = ADD_CHILD(out) ? schema_field(out->children[i], &s->t->made[s->first + i].as) : ENOMEM;
    if (rc)
        schema_release(out);
    return rc;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Holds what an array owns besides its share of the session. */
struct part {
    struct gpufl_tables *t;
    const void *buffers[3];
    uint8_t *valid; /* owned; NULL: all cells are known */
};

static void array_release(struct ArrowArray *a)
{
    struct part *p = a->private_data;
    for (int64_t i = 0; a->children && i < a->n_children; i++)
        RELEASE_CHILD(a->children[i]);
    mem_free(a->children);
    RELEASE_CHILD(a->dictionary);
    gpufl_tables_close(p->t);
    mem_free(p->valid);
    mem_free(p);
    a->release = NULL;
}

/* Opens an array, which counts as an owner; the caller fills the buffers. */
static int array_open(struct ArrowArray *a, struct gpufl_tables *t, int64_t length, int64_t buffers)
{
    struct part *p = mem_zalloc(sizeof *p);
    if (!p)
        return ENOMEM;
    p->t = t;
    atomic_fetch_add_explicit(&t->owners, 1, memory_order_relaxed);
    *a = (struct ArrowArray){.length = length,
                             .n_buffers = buffers,
                             .buffers = p->buffers,
                             .release = array_release,
                             .private_data = p};
    return 0;
}

static bool is_known(const struct gpufl_column *c, int64_t row)
{
    switch (c->type) {
    case GPUFL_COLUMN_TEXT:
        return ((const int32_t *)c->data)[row] >= 0;
    case GPUFL_COLUMN_INT32:
        return ((const int32_t *)c->data)[row] != GPUFL_UNKNOWN_INT32;
    case GPUFL_COLUMN_INT64:
        return ((const int64_t *)c->data)[row] != GPUFL_UNKNOWN;
    case GPUFL_COLUMN_FLOAT:
        return !isnan(((const float *)c->data)[row]);
    default:
        return !isnan(((const double *)c->data)[row]);
    }
}

static int put_valid(struct part *p, const struct gpufl_column *c)
{
    if (!c->nulls)
        return 0;
    p->valid = mem_zalloc((size_t)(c->rows + 63) / 64 * 8);
    if (!p->valid)
        return ENOMEM;
    for (int64_t i = 0; i < c->rows; i++)
        p->valid[i / 8] |= (uint8_t)(is_known(c, i) << i % 8);
    p->buffers[0] = p->valid;
    return 0;
}

static int array_field(struct ArrowArray *a, struct gpufl_tables *t, const struct gpufl_column *c)
{
    int rc = array_open(a, t, c->rows, 2);
    if (rc)
        return rc;
    struct part *p = a->private_data;
    a->null_count = c->nulls;
    p->buffers[1] = c->data;
    rc = put_valid(p, c);
    if (rc || c->type != GPUFL_COLUMN_TEXT)
        return rc;
    a->dictionary = mem_zalloc(sizeof *a->dictionary);
    rc = a->dictionary ? array_open(a->dictionary, t, c->text_count, 3) : ENOMEM;
    if (rc)
        return rc;
    p = a->dictionary->private_data;
    p->buffers[1] = c->text_offsets;
    p->buffers[2] = c->texts;
    return 0;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *s = stream->private_data;
    *out = (struct ArrowArray){0};
    if (s->done)
        return 0;
    int rc = array_open(out, s->t, s->t->made[s->first].as.rows, 1);
    if (rc)
        return rc;
    out->children = mem_array(s->count, sizeof *out->children);
    rc = out->children ? 0 : ENOMEM;
    for (size_t i = 0; i < s->count && !rc; i++)
        rc = ADD_CHILD(out) ? array_field(out->children[i], s->t, &s->t->made[s->first + i].as)
                            : ENOMEM;
    if (rc)
        array_release(out);
    s->done = !rc;
    s->error = rc ? "out of memory" : NULL;
    return rc;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    return ((struct stream *)stream->private_data)->error;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    struct stream *s = stream->private_data;
    gpufl_tables_close(s->t);
    mem_free(s);
    stream->release = NULL;
}

int gpufl_tables_arrow(struct gpufl_tables *t, const char *table, struct ArrowArrayStream *stream)
{
    size_t first, count;
    if (!t || !stream || !tables_fields(table, &first, &count))
        return GPUFL_E_INVAL;
    for (size_t i = 0; i < count; i++) {
        int rc = tables_make(t, first + i);
        if (rc)
            return rc;
    }
    struct stream *s = mem_zalloc(sizeof *s);
    if (!s)
        return GPUFL_E_NOMEM;
    *s = (struct stream){.t = t, .first = first, .count = count};
    atomic_fetch_add_explicit(&t->owners, 1, memory_order_relaxed);
    *stream = (struct ArrowArrayStream){.get_schema = stream_schema,
                                        .get_next = stream_next,
                                        .get_last_error = stream_error,
                                        .release = stream_release,
                                        .private_data = s};
    return 0;
}
