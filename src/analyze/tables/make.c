/* make.c - makes columns of tables from cells of records: see tables.def. */
#include "analyze/tables/inside.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "symbol/names/demangle.h"
#include "wire/decimal.h"
#include "wire/limits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Holds what a column is made from. */
struct source {
    struct gpufl_tables *t;
    const struct field *f;
    const struct cells *cells, *second; /* second: see how_has_second */
    int64_t rows;
};

/* Returns the dictionary that a kind of column needs; RECORD_NONE: none. */
static int dict_of(enum field_how how)
{
    switch (how) {
    case HOW_KERNEL:
    case HOW_CONFIG:
    case HOW_CONFIG_TEXT:
    case HOW_DIM:
    case HOW_OCCUPANCY:
    case HOW_LIMIT:
        return RECORD_config;
    case HOW_STREAM:
        return RECORD_stream;
    case HOW_FUNCTION:
        return RECORD_function;
    case HOW_REASON:
        return RECORD_stall_reason;
    case HOW_FRAME:
    case HOW_FRAME_TEXT:
        return RECORD_frame;
    default:
        return RECORD_NONE;
    }
}

static bool is_text(enum field_how how)
{
    return how == HOW_TEXT || how == HOW_KERNEL || how == HOW_CONFIG_TEXT || how == HOW_DIM ||
           how == HOW_SCOPE || how == HOW_FUNCTION || how == HOW_SYMBOL || how == HOW_REASON ||
           how == HOW_FRAME_TEXT;
}

/* Returns true for shares, whose precision a float exceeds. */
static bool is_float(enum field_how how)
{
    return how == HOW_OCCUPANCY || how == HOW_LIMIT;
}

static bool is_double(enum field_how how)
{
    return how == HOW_MS || how == HOW_MIB || how == HOW_PERCENT || how == HOW_RATE ||
           how == HOW_DECIMAL;
}

static int column_of(int record, const char *name)
{
    return record_column(&records[record], name, strlen(name));
}

/* ---- texts ---------------------------------------------------------------------------------- */

static const char *name_of(const struct gpufl_tables *t, int64_t id)
{
    const int64_t *row = id > 0 ? rowset_find(&t->names, &id) : NULL;
    return row && row[1] ? intern_text(t->intern, (uint32_t)row[1], NULL) : NULL;
}

static int make_scopes(struct gpufl_tables *t)
{
    static const enum record_type types[] = {RECORD_scope_open, RECORD_scope};
    if (t->scopes_made)
        return 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct kept *k = &t->kept[types[i]];
        const struct cells *instance = &k->cells[column_of(types[i], "instance")];
        const struct cells *name = &k->cells[column_of(types[i], "name")];
        bool added;
        for (int64_t row = 0; row < k->rows; row++) {
            int64_t key = cells_at(instance, row), *put = rowset_put(&t->scopes, &key, &added);
            if (!put)
                return GPUFL_E_NOMEM;
            put[1] = cells_at(name, row);
        }
    }
    t->scopes_made = true;
    return 0;
}

static void put_dim(struct buf *b, const int64_t *row, const char *first)
{
    int at = column_of(RECORD_config, first);
    if (row[at] == CELL_NULL || row[at + 1] == CELL_NULL || row[at + 2] == CELL_NULL)
        return;
    buf_printf(b, "(%" PRId64 ",%" PRId64 ",%" PRId64 ")", row[at], row[at + 1], row[at + 2]);
}

/* Puts the text of a dictionary's row. */
static void put_row_text(struct buf *b, const struct source *s, int record, const int64_t *row)
{
    const char *column = "name", *text;
    if (s->f->how == HOW_DIM) {
        put_dim(b, row, s->f->argument);
        return;
    }
    if (s->f->how == HOW_CONFIG_TEXT || s->f->how == HOW_FRAME_TEXT)
        column = s->f->argument;
    text = name_of(s->t, row[column_of(record, column)]);
    if (text && (s->f->how == HOW_KERNEL || s->f->how == HOW_FUNCTION))
        demangle_put(b, text);
    else if (text)
        buf_str(b, text);
}

/* Puts the text that a cell means; nothing if it is unknown. */
static void put_text(struct buf *b, const struct source *s, int64_t cell)
{
    struct gpufl_tables *t = s->t;
    int record = dict_of(s->f->how);
    const int64_t *row = NULL;
    const char *text = NULL;
    if (record != RECORD_NONE) {
        row = rowset_find(&t->dicts[record], &cell);
        if (row)
            put_row_text(b, s, record, row);
        return;
    }
    if (s->f->how == HOW_SCOPE) {
        row = cell > 0 ? rowset_find(&t->scopes, &cell) : NULL;
        text = row ? name_of(t, row[1]) : NULL;
    } else {
        text = name_of(t, cell);
    }
    if (text && s->f->how == HOW_SYMBOL)
        demangle_put(b, text);
    else if (text)
        buf_str(b, text);
}

/* Holds codes of texts: one for each different text; a cell that was seen is found again. */
struct coder {
    struct rowset cells;  /* cell to code */
    struct intern *texts; /* different texts: code + 1 */
    struct buf text, all; /* the text of one cell; all texts */
    int32_t *offsets;     /* owned: count + 1 */
    size_t cap, count;
    int32_t *near; /* owned: code + 2 by cell, of small cells; 0: not seen */
};

enum { CELLS_NEAR = 1 << 22 };

static int code_new(struct coder *c, const struct source *s, int64_t cell, int64_t *code)
{
    buf_clear(&c->text);
    put_text(&c->text, s, cell);
    if (buf_error(&c->text))
        return buf_error(&c->text);
    *code = -1;
    if (!c->text.len)
        return 0;
    uint32_t id = intern_id(c->texts, c->text.data, c->text.len);
    if (!id)
        return GPUFL_E_NOMEM;
    *code = (int64_t)id - 1;
    if (id <= c->count)
        return 0;
    buf_put(&c->all, c->text.data, c->text.len);
    int rc = buf_error(&c->all);
    rc = rc ? rc : mem_grow(&c->offsets, &c->cap, c->count + 2, sizeof *c->offsets, INT32_MAX / 2);
    if (rc)
        return rc;
    c->offsets[0] = 0;
    c->offsets[++c->count] = (int32_t)c->all.len;
    return 0;
}

static int code_far(struct coder *c, const struct source *s, int64_t cell, int32_t *code)
{
    bool added = false;
    int64_t *row = rowset_put(&c->cells, &cell, &added);
    if (!row)
        return GPUFL_E_NOMEM;
    int rc = added ? code_new(c, s, cell, &row[1]) : 0;
    *code = (int32_t)row[1];
    return rc;
}

static inline int code_of(struct coder *c, const struct source *s, int64_t cell, int32_t *code)
{
    if (cell < 0 || cell >= CELLS_NEAR)
        return code_far(c, s, cell, code);
    if (c->near[cell]) {
        *code = c->near[cell] - 2;
        return 0;
    }
    int64_t new_code = -1;
    int rc = code_new(c, s, cell, &new_code);
    *code = (int32_t)new_code;
    c->near[cell] = *code + 2;
    return rc;
}

static int make_text(const struct source *s, struct made *m)
{
    struct coder c = {.near = mem_array(CELLS_NEAR, sizeof *c.near)};
    int32_t *codes = m->data;
    rowset_init(&c.cells, 1, 2);
    buf_init(&c.text, DEMANGLE_ROOM);
    buf_init(&c.all, INT32_MAX);
    uint32_t most = s->rows < UINT32_MAX / 4 ? (uint32_t)s->rows : UINT32_MAX / 4;
    int rc = c.near ? intern_open(&c.texts, most, INT32_MAX) : GPUFL_E_NOMEM;
    rc = rc ? rc : mem_grow(&c.offsets, &c.cap, 1, sizeof *c.offsets, 1 << 20);
    if (!rc)
        c.offsets[0] = 0;
    for (int64_t i = 0; i < s->rows && !rc; i++) {
        rc = code_of(&c, s, cells_at(s->cells, i), &codes[i]);
        m->nulls += codes[i] < 0;
    }
    m->offsets = c.offsets;
    m->texts = c.all.data;
    c.all.data = NULL;
    m->as.text_count = (int64_t)c.count;
    m->as.text_offsets = m->offsets;
    m->as.texts = m->texts ? m->texts : "";
    buf_fini(&c.text);
    if (c.texts)
        intern_close(c.texts);
    rowset_fini(&c.cells);
    mem_free(c.near);
    return rc;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static int64_t shifted(const struct source *s, int64_t cell)
{
    int64_t out;
    return cell == CELL_NULL || __builtin_add_overflow(cell, s->t->offset, &out) ? CELL_NULL : out;
}

static int64_t end_of(const struct source *s, int64_t start, int64_t duration)
{
    return wire_event_ok(start, duration) ? shifted(s, start + duration) : CELL_NULL;
}

/* Holds what ids of a dictionary mean, by id, since most ids are small. */
enum { NEAR = 1 << 16 };

struct lookup {
    int64_t value[NEAR];
    bool seen[NEAR];
};

/* Returns the driver's ordinal of a device. */
static int64_t device_index(const struct gpufl_tables *t, int64_t device)
{
    const int64_t *row = rowset_find(&t->dicts[RECORD_device], &device);
    return row ? row[column_of(RECORD_device, "index")] : CELL_NULL;
}

static int64_t through(const struct source *s, int64_t cell)
{
    int record = dict_of(s->f->how);
    if (s->f->how == HOW_DEVICE)
        return device_index(s->t, cell);
    const int64_t *row = rowset_find(&s->t->dicts[record], &cell);
    if (!row)
        return CELL_NULL;
    int64_t value = row[column_of(record, s->f->argument)];
    return s->f->how == HOW_STREAM && strcmp(s->f->argument, "device") == 0
               ? device_index(s->t, value)
               : value;
}

/* Returns what the cell of a row means. */
static inline int64_t looked_up(struct lookup *known, const struct source *s, int64_t row)
{
    int64_t cell = cells_at(s->cells, row);
    if (cell < 0 || cell >= NEAR)
        return through(s, cell);
    if (!known->seen[cell]) {
        known->value[cell] = through(s, cell);
        known->seen[cell] = true;
    }
    return known->value[cell];
}

/* Makes a column of 32-bit numbers, which take half the memory: the first use of memory is most of
 * a column's cost. *fits false: a number is too large, and the column is not made. */
static int make_small(const struct source *s, struct made *m, bool *fits)
{
    struct lookup *known = mem_zalloc(sizeof *known);
    int32_t *out = m->data;
    if (!known)
        return GPUFL_E_NOMEM;
    *fits = true;
    for (int64_t i = 0; i < s->rows && *fits; i++) {
        int64_t value = looked_up(known, s, i);
        bool unknown = value == CELL_NULL;
        *fits = unknown || (value > INT32_MIN && value <= INT32_MAX);
        out[i] = unknown ? GPUFL_UNKNOWN_INT32 : (int32_t)value;
        m->nulls += unknown;
    }
    mem_free(known);
    return 0;
}

static int make_through(const struct source *s, int64_t *out)
{
    struct lookup *known = mem_zalloc(sizeof *known);
    if (!known)
        return GPUFL_E_NOMEM;
    for (int64_t i = 0; i < s->rows; i++)
        out[i] = looked_up(known, s, i);
    mem_free(known);
    return 0;
}

static int make_int(const struct source *s, struct made *m)
{
    int rc = 0;
    int64_t *out = m->data;
    switch (s->f->how) {
    case HOW_TIME:
        for (int64_t i = 0; i < s->rows; i++)
            out[i] = shifted(s, cells_at(s->cells, i));
        break;
    case HOW_END:
        for (int64_t i = 0; i < s->rows; i++)
            out[i] = end_of(s, cells_at(s->cells, i), cells_at(s->second, i));
        break;
    case HOW_INT:
        for (int64_t i = 0; i < s->rows; i++)
            out[i] = cells_at(s->cells, i);
        break;
    default:
        rc = make_through(s, out);
    }
    for (int64_t i = 0; i < s->rows && !rc; i++)
        m->nulls += out[i] == CELL_NULL;
    return rc;
}

static double occupancy(const struct gpufl_tables *t, int64_t config)
{
    const int64_t *row = rowset_find(&t->dicts[RECORD_config], &config);
    if (!row)
        return NAN;
    int64_t warps = row[column_of(RECORD_config, "occ_warps")];
    int64_t most = row[column_of(RECORD_config, "occ_max_warps")];
    return warps == CELL_NULL || most == CELL_NULL || most <= 0 ? NAN
                                                                : (double)warps / (double)most;
}

/* Returns the occupancy that one resource allows: its blocks x warps of a block / warp slots, at
 * most 1. For a resource that sets no limit, the limit of the warp slots counts. */
static double limit(const struct gpufl_tables *t, int64_t config, const char *resource)
{
    const int64_t *row = rowset_find(&t->dicts[RECORD_config], &config);
    if (!row)
        return NAN;
    int64_t blocks = row[column_of(RECORD_config, "occ_blocks")];
    int64_t warps = row[column_of(RECORD_config, "occ_warps")];
    int64_t slots = row[column_of(RECORD_config, "occ_max_warps")];
    int64_t allowed = row[column_of(RECORD_config, resource)];
    if (allowed == CELL_NULL)
        allowed = row[column_of(RECORD_config, "occ_limit_warps")];
    if (blocks <= 0 || warps <= 0 || slots <= 0 || allowed < 0)
        return NAN;
    double share = (double)allowed * ((double)warps / (double)blocks) / (double)slots;
    return share < 1 ? share : 1;
}

static double config_share(const struct source *s, int64_t config)
{
    return s->f->how == HOW_OCCUPANCY ? occupancy(s->t, config)
                                      : limit(s->t, config, s->f->argument);
}

/* Makes a column of shares of configurations, each of which is computed once. */
static int make_shares(const struct source *s, struct made *m)
{
    float *known = mem_array(NEAR, sizeof *known), *out = m->data;
    if (!known)
        return GPUFL_E_NOMEM;
    for (int64_t i = 0; i < NEAR; i++)
        known[i] = -1; /* not computed yet */
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t cell = cells_at(s->cells, i);
        bool near = cell >= 0 && cell < NEAR;
        float share = near ? known[cell] : -1;
        if (share == -1)
            share = (float)config_share(s, cell);
        if (near)
            known[cell] = share;
        out[i] = share;
        m->nulls += isnan(share) != 0;
    }
    mem_free(known);
    return 0;
}

static void make_scaled(const struct source *s, double *out, double divisor)
{
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t cell = cells_at(s->cells, i);
        out[i] = cell == CELL_NULL ? NAN : (double)cell / divisor;
    }
}

static void make_rate(const struct source *s, double *out)
{
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t cell = cells_at(s->cells, i), ns = cells_at(s->second, i);
        out[i] = cell == CELL_NULL || ns == CELL_NULL || ns <= 0 ? NAN : (double)cell / (double)ns;
    }
}

static void make_decimal(const struct source *s, double *out)
{
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t cell = cells_at(s->cells, i), exponent = cells_at(s->second, i);
        struct decimal d = {cell, exponent == CELL_NULL ? 0 : exponent};
        out[i] = cell == CELL_NULL ? NAN : decimal_double(d);
    }
}

static void make_double(const struct source *s, struct made *m)
{
    double *out = m->data;
    switch (s->f->how) {
    case HOW_MS:
        make_scaled(s, out, 1e6);
        break;
    case HOW_MIB:
        make_scaled(s, out, 1 << 20);
        break;
    case HOW_PERCENT:
        make_scaled(s, out, 100);
        break;
    case HOW_DECIMAL:
        make_decimal(s, out);
        break;
    default:
        make_rate(s, out);
    }
    for (int64_t i = 0; i < s->rows; i++)
        m->nulls += isnan(out[i]) != 0;
}

/* ---- a column ------------------------------------------------------------------------------- */

#define TABLE(table, record) [TABLE_##table] = RECORD_##record,
#define FIELD(...)
static const enum record_type table_record[] = {
#include "analyze/tables/tables.def"
};

enum record_type tables_record(enum table_id table)
{
    return table_record[table];
}

unsigned tables_column_of(enum record_type type, const char *name)
{
    return (unsigned)column_of((int)type, name);
}

#define TABLE(table, record)
#define FIELD(table, name, how, column, argument, unit)                                            \
    {TABLE_##table, #name, HOW_##how, #column, #argument, unit},
const struct field fields[] = {
#include "analyze/tables/tables.def"
};
const size_t field_count = sizeof fields / sizeof *fields;

void made_free(struct made *m)
{
    mem_free(m->data);
    mem_free(m->offsets);
    mem_free(m->texts);
    *m = (struct made){0};
}

static enum gpufl_column_type type_of(enum field_how how)
{
    if (is_text(how))
        return GPUFL_COLUMN_TEXT;
    if (is_float(how))
        return GPUFL_COLUMN_FLOAT;
    if (is_double(how))
        return GPUFL_COLUMN_DOUBLE;
    return how == HOW_DEVICE || dict_of(how) != RECORD_NONE ? GPUFL_COLUMN_INT32
                                                            : GPUFL_COLUMN_INT64;
}

static int room(struct made *m, int64_t rows, enum gpufl_column_type type)
{
    static const size_t sizes[] = {[GPUFL_COLUMN_INT64] = 8,
                                   [GPUFL_COLUMN_DOUBLE] = 8,
                                   [GPUFL_COLUMN_TEXT] = 4,
                                   [GPUFL_COLUMN_INT32] = 4,
                                   [GPUFL_COLUMN_FLOAT] = 4};
    mem_free(m->data);
    m->as.type = type;
    m->nulls = 0;
    m->data = mem_array((size_t)rows + 1, sizes[type]);
    return m->data ? 0 : GPUFL_E_NOMEM;
}

/* Fills a column that has its own memory. */
static int fill(struct source *s, struct made *m)
{
    enum gpufl_column_type type = type_of(s->f->how);
    bool fits = true;
    int rc = room(m, s->rows, type);
    if (!rc && s->f->how == HOW_SCOPE)
        rc = make_scopes(s->t);
    if (rc)
        return rc;
    switch (type) {
    case GPUFL_COLUMN_TEXT:
        return make_text(s, m);
    case GPUFL_COLUMN_FLOAT:
        return make_shares(s, m);
    case GPUFL_COLUMN_DOUBLE:
        make_double(s, m);
        return 0;
    case GPUFL_COLUMN_INT32:
        rc = make_small(s, m, &fits);
        if (rc || fits)
            return rc;
        rc = room(m, s->rows, GPUFL_COLUMN_INT64);
        return rc ? rc : make_int(s, m);
    default:
        return make_int(s, m);
    }
}

int tables_make(struct gpufl_tables *t, size_t field)
{
    const struct field *f = &fields[field];
    struct made *m = &t->made[field];
    enum record_type type = table_record[f->table];
    const struct kept *k = &t->kept[type];
    struct source s = {.t = t, .f = f, .rows = k->rows};
    int rc = 0;
    if (m->done)
        return 0;
    s.cells = &k->cells[column_of((int)type, f->column)];
    if (how_has_second(f->how))
        s.second = &k->cells[column_of((int)type, f->argument)];
    if (f->how == HOW_INT && s.cells->data) { /* no copy is needed */
        m->as.type = GPUFL_COLUMN_INT64;
        m->as.data = s.cells->data;
        for (int64_t i = 0; i < k->rows; i++)
            m->nulls += s.cells->data[i] == CELL_NULL;
    } else {
        rc = fill(&s, m);
        m->as.data = m->data;
    }
    if (rc) {
        made_free(m);
        return rc;
    }
    m->as.name = f->name;
    m->as.unit = f->unit;
    m->as.rows = k->rows;
    m->as.nulls = m->nulls;
    m->done = true;
    return 0;
}
