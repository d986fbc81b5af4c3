/* answer.c - see answer.h. */
#include "store/answer.h"

#include "base/alloc.h"
#include "wire/event_name.h"

#include <string.h>

enum { CHUNK_ROWS = 1024, NOT_KNOWN = -1 };

#define TEXTS_MAX ((size_t)256 << 20)

void answer_init(struct answer *a, const struct store_query_def *def)
{
    memset(a, 0, sizeof *a);
    a->def = def;
    buf_init(&a->texts, TEXTS_MAX);
    rowset_init(&a->names, 1, 2);
}

void answer_fini(struct answer *a)
{
    mem_free(a->cells);
    buf_fini(&a->texts);
    rowset_fini(&a->names);
    memset(a, 0, sizeof *a);
}

int64_t *answer_row(struct answer *a)
{
    unsigned n = a->def->column_count;
    a->error =
        mem_grow(&a->cells, &a->cap, a->rows + 1, n * sizeof *a->cells, ANSWER_CELLS_MAX / n);
    if (a->error)
        return NULL;
    int64_t *row = a->cells + a->rows++ * n;
    for (unsigned i = 0; i < n; i++)
        row[i] = CELL_NULL;
    return row;
}

int64_t answer_text(struct answer *a, struct store_text text)
{
    int64_t at = (int64_t)a->texts.len;
    uint64_t len = text.len;
    buf_put(&a->texts, &len, sizeof len);
    buf_put(&a->texts, text.at, text.len);
    return at;
}

static struct store_text text_at(const struct answer *a, int64_t at)
{
    uint64_t len;
    memcpy(&len, a->texts.data + at, sizeof len);
    return (struct store_text){a->texts.data + at + sizeof len, len};
}

/* The bits of -0.0 are CELL_NULL, so -0.0 becomes 0.0. */
int64_t answer_real(double v)
{
    int64_t bits;
    v += 0.0;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

enum store_type answer_stored(const struct answer *a, unsigned column)
{
    enum store_type type = a->def->columns[column].type;
    return type == STORE_NAME && a->def->of_workspace ? STORE_TEXT : type;
}

/* ---- names ----------------------------------------------------------------------------------- */

int answer_take_name(struct answer *a, int64_t id, struct store_text text)
{
    int64_t *row = rowset_find(&a->names, &id);
    if (row && row[1] == NOT_KNOWN)
        row[1] = answer_text(a, text);
    return buf_error(&a->texts);
}

/* Lists the ids in cells of names, each once. */
static int collect_names(struct answer *a)
{
    unsigned n = a->def->column_count;
    for (unsigned c = 0; c < n; c++) {
        if (answer_stored(a, c) != STORE_NAME)
            continue;
        for (size_t i = 0; i < a->rows; i++) {
            int64_t id = a->cells[i * n + c];
            bool added = false;
            int64_t *row = id > 0 ? rowset_put(&a->names, &id, &added) : NULL;
            if (id > 0 && !row)
                return GPUFL_E_NOMEM;
            if (added)
                row[1] = NOT_KNOWN;
        }
    }
    return 0;
}

static int find_names(struct answer *a, const struct answer_names *names, struct err *e)
{
    int rc = collect_names(a);
    size_t n = a->names.row_count;
    if (rc || !n)
        return rc;
    int64_t *ids = mem_array(n, sizeof *ids);
    if (!ids)
        return GPUFL_E_NOMEM;
    size_t count = 0; /* ids to read from the session */
    for (size_t i = 0; !rc && i < n; i++) {
        int64_t id = a->names.rows[i * a->names.width];
        const char *text = event_name_text(id);
        if (text)
            rc = answer_take_name(a, id, (struct store_text){text, strlen(text)});
        else
            ids[count++] = id;
    }
    if (!rc && count)
        rc = names->fetch(names->arg, ids, count, a, e);
    mem_free(ids);
    return rc;
}

/* ---- delivering ------------------------------------------------------------------------------ */

/* This is memory for the columns of a chunk that cannot point into the answer. */
struct pages {
    int64_t ints[STORE_COLUMNS_MAX][CHUNK_ROWS];
    struct store_text texts[STORE_COLUMNS_MAX][CHUNK_ROWS];
    uint64_t valid[STORE_COLUMNS_MAX][CHUNK_ROWS / 64];
    struct store_vec vectors[STORE_COLUMNS_MAX];
};

/* Returns false if the cell is unknown. */
static bool fill_cell(const struct answer *a, struct pages *p, unsigned column, size_t at,
                      int64_t cell)
{
    p->ints[column][at] = cell;
    p->texts[column][at] = (struct store_text){"", 0};
    if (cell == CELL_NULL) {
        p->ints[column][at] = 0;
        return false;
    }
    if (answer_stored(a, column) == STORE_TEXT)
        p->texts[column][at] = text_at(a, cell);
    if (answer_stored(a, column) == STORE_NAME) {
        const int64_t *row = rowset_find(&a->names, &cell);
        if (!row || row[1] == NOT_KNOWN)
            return false;
        p->texts[column][at] = text_at(a, row[1]);
    }
    return true;
}

static void fill_column(const struct answer *a, struct pages *p, unsigned column, size_t first,
                        size_t n)
{
    enum store_type type = a->def->columns[column].type;
    bool all = true;
    memset(p->valid[column], 0, sizeof p->valid[column]);
    for (size_t i = 0; i < n; i++) {
        int64_t cell = a->cells[(first + i) * a->def->column_count + column];
        bool known = fill_cell(a, p, column, i, cell);
        p->valid[column][i / 64] |= (uint64_t)known << (i % 64);
        all &= known;
    }
    p->vectors[column] = (struct store_vec){.type = type, .valid = all ? NULL : p->valid[column]};
    if (type == STORE_INT)
        p->vectors[column].ints = p->ints[column];
    else if (type == STORE_REAL) /* doubles in the room of 64-bit integers, put there by memcpy */
        p->vectors[column].reals = (const double *)(const void *)p->ints[column];
    else
        p->vectors[column].texts = p->texts[column];
}

int answer_deliver(struct answer *a, const struct answer_names *names,
                   const struct store_visitor *v, struct err *e)
{
    int rc = find_names(a, names, e);
    if (!rc && buf_error(&a->texts))
        rc = buf_error(&a->texts);
    struct pages *p = rc ? NULL : mem_alloc(sizeof *p);
    if (!rc && !p)
        rc = GPUFL_E_NOMEM;
    if (rc == GPUFL_E_NOMEM)
        return err_set(e, rc, "%s", err_text(rc));
    for (size_t first = 0, n; !rc && first < a->rows; first += n) {
        n = a->rows - first < CHUNK_ROWS ? a->rows - first : CHUNK_ROWS;
        for (unsigned c = 0; c < a->def->column_count; c++)
            fill_column(a, p, c, first, n);
        const struct store_chunk chunk = {n, a->def->column_count, p->vectors};
        rc = v->chunk(v->arg, &chunk);
    }
    mem_free(p);
    return rc;
}
