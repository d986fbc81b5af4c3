/* shown.c - has the table function small_rows; see shown.h.
 *
 * The library calls bind in the thread that prepares a statement, and the other functions in that
 * thread or in a thread of its own, but never two at once for one use of the function. State
 * between calls is written and read with the list's lock held: ThreadSanitizer cannot see the
 * library's own locks, and a statement that outlives its image must find that it is gone. */
#include "store/duckdb/shown.h"

#include "base/alloc.h"

#include <string.h>

/* Holds what one use of the function in a statement reads. */
struct bound {
    struct shown_list *list;
    int64_t number;
    unsigned table;
};

/* Says how far that use has read. */
struct reading {
    size_t row;
    unsigned column_count;
    unsigned columns[RECORD_MAX_COLUMNS + 1]; /* columns of the table; column_count means rowid */
};

void shown_init(struct shown_list *l, const struct duck *d)
{
    *l = (struct shown_list){.duck = d};
    pthread_mutex_init(&l->lock, NULL);
}

void shown_fini(struct shown_list *l)
{
    pthread_mutex_destroy(&l->lock);
}

void shown_add(struct shown_list *l, struct shown *s, const struct image *image)
{
    pthread_mutex_lock(&l->lock);
    *s = (struct shown){image, ++l->numbers, l->first};
    l->first = s;
    pthread_mutex_unlock(&l->lock);
}

void shown_remove(struct shown_list *l, struct shown *s)
{
    pthread_mutex_lock(&l->lock);
    struct shown **at = &l->first;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    pthread_mutex_unlock(&l->lock);
}

/* Returns the image with that number; NULL: it is not shown. [lock held] */
static const struct image *find_image(const struct shown_list *l, int64_t number)
{
    const struct shown *s = l->first;
    while (s && s->number != number)
        s = s->next;
    return s ? s->image : NULL;
}

void shown_table(struct buf *b, const struct shown *s, unsigned table)
{
    buf_str(b, "small_rows(");
    buf_i64(b, s->number);
    buf_printf(b, ", %u)", table);
}

/* ---- binding --------------------------------------------------------------------------------- */

/* Returns a parameter, or -1, which is no number, for NULL, which get_int64 does not take. */
static int64_t take_parameter(const struct duck *d, struct duck_bind *info, unsigned number)
{
    struct duck_value *v = d->bind_get_parameter(info, number);
    int64_t value = d->is_null_value(v) ? -1 : d->get_int64(v);
    d->destroy_value(&v);
    return value;
}

static void add_column(const struct duck *d, struct duck_bind *info, const char *name,
                       enum cell_type type)
{
    static const int types[] = {[CELL_INT] = DUCK_TYPE_BIGINT,
                                [CELL_REAL] = DUCK_TYPE_DOUBLE,
                                [CELL_TEXT] = DUCK_TYPE_VARCHAR,
                                [CELL_BYTES] = DUCK_TYPE_BLOB};
    struct duck_type *t = d->create_logical_type(types[type]);
    d->bind_add_result_column(info, name, t);
    d->destroy_logical_type(&t);
}

static void bind(struct duck_bind *info)
{
    const struct duck *d = duck_open(NULL);
    struct shown_list *l = d->bind_get_extra_info(info);
    int64_t number = take_parameter(d, info, 0), table = take_parameter(d, info, 1);
    struct bound *b = mem_alloc(sizeof *b);
    pthread_mutex_lock(&l->lock);
    const struct image *image = find_image(l, number);
    bool there = b && image && table >= 0 && table < TABLE_COUNT;
    if (there)
        *b = (struct bound){l, number, (unsigned)table};
    pthread_mutex_unlock(&l->lock);
    if (!there) {
        mem_free(b);
        d->bind_set_error(info, b ? "no such rows" : "out of memory");
        return;
    }
    const struct table *t = store_table((unsigned)table);
    for (unsigned i = 0; i < t->column_count; i++)
        add_column(d, info, t->columns[i].name, t->columns[i].type);
    add_column(d, info, "rowid", CELL_INT);
    d->bind_set_cardinality(info, image_rows(image, (unsigned)table), true);
    d->bind_set_bind_data(info, b, mem_free);
}

static void init(struct duck_init *info)
{
    const struct duck *d = duck_open(NULL);
    struct bound *b = d->init_get_bind_data(info);
    struct reading *r = mem_zalloc(sizeof *r);
    uint64_t n = d->init_get_column_count(info);
    if (!r || n > RECORD_MAX_COLUMNS + 1) {
        mem_free(r);
        d->init_set_error(info, "out of memory");
        return;
    }
    pthread_mutex_lock(&b->list->lock);
    r->column_count = (unsigned)n;
    for (unsigned i = 0; i < n; i++) {
        uint64_t column = d->init_get_column_index(info, i);
        r->columns[i] = column <= RECORD_MAX_COLUMNS ? (unsigned)column : RECORD_MAX_COLUMNS + 1;
    }
    pthread_mutex_unlock(&b->list->lock);
    d->init_set_init_data(info, r, mem_free);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Names the rows of an image that fill a chunk. */
struct part {
    const struct duck *duck;
    const struct image *image;
    unsigned table;
    size_t from, rows;
};

static uint64_t *validity_of(const struct duck *d, struct duck_vector *v)
{
    d->vector_ensure_validity_writable(v);
    return d->vector_get_validity(v);
}

static void put_texts(const struct part *p, unsigned column, struct duck_vector *v)
{
    uint64_t *valid = NULL;
    for (size_t i = 0; i < p->rows; i++) {
        int64_t cell = image_cells(p->image, p->table, p->from + i)[column];
        struct store_text text = image_text(p->image, cell);
        if (cell != CELL_NULL) {
            p->duck->vector_assign_string_element_len(v, i, text.len ? text.at : "", text.len);
            continue;
        }
        valid = valid ? valid : validity_of(p->duck, v);
        valid[i / 64] &= ~(UINT64_C(1) << (i % 64));
    }
}

/* Puts integers, and reals by their bits: no known cell is -0.0, which would be CELL_NULL. */
static void put_numbers(const struct part *p, unsigned column, struct duck_vector *v)
{
    int64_t *out = p->duck->vector_get_data(v);
    uint64_t *valid = NULL;
    for (size_t i = 0; i < p->rows; i++) {
        out[i] = image_cells(p->image, p->table, p->from + i)[column];
        if (out[i] != CELL_NULL)
            continue;
        valid = valid ? valid : validity_of(p->duck, v);
        valid[i / 64] &= ~(UINT64_C(1) << (i % 64));
    }
}

static void put_places(const struct part *p, struct duck_vector *v)
{
    int64_t *out = p->duck->vector_get_data(v);
    for (size_t i = 0; i < p->rows; i++)
        out[i] = (int64_t)(p->from + i);
}

/* Fills a vector. A column that is not read, as for count(*), has another number and is not
 * filled. */
static void put_column(const struct part *p, unsigned column, struct duck_vector *v)
{
    const struct table *t = store_table(p->table);
    if (column < t->column_count) {
        enum cell_type type = t->columns[column].type;
        (type == CELL_TEXT || type == CELL_BYTES ? put_texts : put_numbers)(p, column, v);
    } else if (column == t->column_count) {
        put_places(p, v);
    }
}

static void read_rows(struct duck_scan *info, struct duck_chunk *out)
{
    const struct duck *d = duck_open(NULL);
    struct bound *b = d->function_get_bind_data(info);
    struct reading *r = d->function_get_init_data(info);
    struct part p = {.duck = d};
    pthread_mutex_lock(&b->list->lock);
    p.image = find_image(b->list, b->number);
    p.table = b->table;
    p.from = r->row;
    size_t left = p.image ? image_rows(p.image, p.table) - p.from : 0;
    p.rows = left < d->vector_size() ? left : d->vector_size();
    r->row += p.rows;
    pthread_mutex_unlock(&b->list->lock);
    if (!p.image)
        d->function_set_error(info, "these rows are no longer there");
    for (unsigned i = 0; p.rows && i < r->column_count; i++)
        put_column(&p, r->columns[i], d->data_chunk_get_vector(out, i));
    d->data_chunk_set_size(out, p.rows);
}

int shown_register(struct shown_list *l, struct duck_connection *c, struct err *e)
{
    const struct duck *d = l->duck;
    struct duck_function *f = d->create_table_function();
    struct duck_type *number = d->create_logical_type(DUCK_TYPE_BIGINT);
    d->table_function_set_name(f, "small_rows");
    d->table_function_add_parameter(f, number);
    d->table_function_add_parameter(f, number);
    d->table_function_set_extra_info(f, l, NULL);
    d->table_function_set_bind(f, bind);
    d->table_function_set_init(f, init);
    d->table_function_set_function(f, read_rows);
    d->table_function_supports_projection_pushdown(f, true);
    int rc = d->register_table_function(c, f);
    d->destroy_logical_type(&number);
    d->destroy_table_function(&f);
    return rc == DUCK_OK ? 0
                         : err_set(e, GPUFL_E_UNAVAILABLE, "DuckDB %s does not take a function",
                                   d->library_version());
}
