/* native.c - see native.h. Reading continues where the last bytes ended; finished parts of a block
 * are not read again. */
#include "store/clickhouse/native.h"

#include "base/alloc.h"

#include <string.h>

/* ---- out ----------------------------------------------------------------------------------- */

static void put_number(struct buf *b, uint64_t v)
{
    while (v >= 0x80) {
        buf_char(b, (char)(v | 0x80));
        v >>= 7;
    }
    buf_char(b, (char)v);
}

void native_text(struct buf *b, const char *at, size_t len)
{
    put_number(b, len);
    buf_put(b, at, len);
}

void native_block(struct buf *b, unsigned columns, size_t rows)
{
    put_number(b, columns);
    put_number(b, rows);
}

void native_column(struct buf *b, const char *name, const char *type)
{
    native_text(b, name, strlen(name));
    native_text(b, type, strlen(type));
}

/* ---- in ------------------------------------------------------------------------------------ */

enum { MORE = 0x6d6f7265 /* more bytes are needed; not a code of a visitor */ };

void native_in_init(struct native_in *n)
{
    memset(n, 0, sizeof *n);
    buf_init(&n->in, NATIVE_BLOCK_MAX);
    buf_init(&n->failure, NATIVE_FAILURE_MAX);
}

void native_in_fini(struct native_in *n)
{
    for (unsigned i = 0; i < PAGE_COLUMNS_MAX; i++) {
        mem_free(n->cells[i]);
        mem_free(n->nulls[i]);
        mem_free(n->ends[i]);
    }
    buf_fini(&n->in);
    buf_fini(&n->failure);
    memset(n, 0, sizeof *n);
}

void native_in_clear(struct native_in *n)
{
    buf_clear(&n->in);
    buf_clear(&n->failure);
    n->at = 0;
    n->begun = false;
    n->page.rows = n->page.columns = 0;
}

bool native_in_whole(const struct native_in *n)
{
    return !n->begun && n->in.len == 0;
}

static int get_number(struct native_in *n, uint64_t *v)
{
    *v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (n->at == n->in.len)
            return MORE;
        unsigned char c = (unsigned char)n->in.data[n->at++];
        *v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return 0;
    }
    return GPUFL_E_CORRUPT;
}

static int get_text(struct native_in *n, struct store_text *out)
{
    uint64_t len;
    int rc = get_number(n, &len);
    if (rc)
        return rc;
    if (len > NATIVE_BLOCK_MAX)
        return GPUFL_E_CORRUPT;
    if (n->in.len - n->at < len)
        return MORE;
    *out = (struct store_text){n->in.data + n->at, len};
    n->at += len;
    return 0;
}

static int set_type(struct native_in *n, struct store_text t)
{
    static const char nullable[] = "Nullable(", list[] = "Array(";
    static const struct {
        const char *name;
        enum native_type type;
        unsigned width;
    } types[] = {
        {"Int64", NATIVE_INT, 8},   {"UInt64", NATIVE_UINT, 8}, {"Float64", NATIVE_REAL, 8},
        {"String", NATIVE_TEXT, 0}, {"UInt8", NATIVE_UINT, 1},  {"UInt16", NATIVE_UINT, 2},
        {"UInt32", NATIVE_UINT, 4}, {"Int8", NATIVE_INT, 1},    {"Int16", NATIVE_INT, 2},
        {"Int32", NATIVE_INT, 4},
    };
    n->nullable = t.len > sizeof nullable && !memcmp(t.at, nullable, sizeof nullable - 1);
    if (n->nullable)
        t = (struct store_text){t.at + sizeof nullable - 1, t.len - sizeof nullable};
    n->list = t.len > sizeof list && !memcmp(t.at, list, sizeof list - 1);
    if (n->list && n->nullable)
        return GPUFL_E_CORRUPT;
    if (n->list)
        t = (struct store_text){t.at + sizeof list - 1, t.len - sizeof list};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (t.len == strlen(types[i].name) && !memcmp(t.at, types[i].name, t.len)) {
            n->type = types[i].type;
            n->width = types[i].width;
            return 0;
        }
    return GPUFL_E_CORRUPT;
}

/* Newer servers put a line with this mark before a message. No block begins like that: its first
 * column would have a name of 95 bytes. */
static int marker(const struct native_in *n)
{
    static const char mark[] = "\r\n_";
    size_t len = n->in.len - n->at < sizeof mark - 1 ? n->in.len - n->at : sizeof mark - 1;
    if (memcmp(n->in.data + n->at, mark, len) != 0)
        return 0;
    return len < sizeof mark - 1 ? MORE : GPUFL_E_CORRUPT;
}

/* Reads the numbers of columns and rows; impossible numbers mean that a message begins. */
static int begin(struct native_in *n)
{
    uint64_t columns, rows;
    int rc = marker(n);
    if (rc == 0)
        rc = get_number(n, &columns);
    if (rc == 0)
        rc = get_number(n, &rows);
    if (!rc && (columns > PAGE_COLUMNS_MAX || rows > NATIVE_ROWS_MAX))
        return GPUFL_E_CORRUPT;
    if (rc)
        return rc;
    n->page.columns = (unsigned)columns;
    n->page.rows = rows;
    n->column = 0;
    n->named = false;
    n->begun = true;
    return 0;
}

static int name_column(struct native_in *n)
{
    struct store_text name, type;
    int rc = get_text(n, &name);
    if (rc == 0)
        rc = get_text(n, &type);
    if (rc == 0)
        rc = set_type(n, type);
    if (rc)
        return rc;
    bool text = n->type == NATIVE_TEXT;
    if (n->is_text[n->column] != text) { /* the column's cells had another size */
        mem_free(n->cells[n->column]);
        n->cells[n->column] = NULL;
        n->cells_cap[n->column] = 0;
        n->is_text[n->column] = text;
    }
    n->named = true;
    n->nulls_done = false;
    n->ends_done = false;
    n->row = 0;
    return 0;
}

/* Reads where the lists of a column end. */
static int read_ends(struct native_in *n)
{
    size_t rows = n->page.rows;
    if (n->in.len - n->at < rows * 8)
        return MORE;
    int rc =
        mem_grow(&n->ends[n->column], &n->ends_cap[n->column], rows + 1, 8, NATIVE_ROWS_MAX + 1);
    if (rc)
        return rc;
    int64_t *ends = n->ends[n->column];
    memcpy(ends, n->in.data + n->at, rows * 8);
    for (size_t i = 0; i < rows; i++)
        if (ends[i] < (i ? ends[i - 1] : 0) || ends[i] > NATIVE_CELLS_MAX)
            return GPUFL_E_CORRUPT;
    n->at += rows * 8;
    n->count = rows ? (size_t)ends[rows - 1] : 0;
    return 0;
}

/* Makes room for the column's cells, once their number is known. */
static int make_room(struct native_in *n)
{
    n->count = n->page.rows;
    n->page.ends[n->column] = NULL;
    int rc = n->list ? read_ends(n) : 0;
    if (rc)
        return rc;
    if (n->list)
        n->page.ends[n->column] = n->ends[n->column];
    n->counts[n->column] = n->count;
    return mem_grow(&n->cells[n->column], &n->cells_cap[n->column], n->count + 1,
                    n->type == NATIVE_TEXT ? sizeof(struct store_text) : 8, NATIVE_CELLS_MAX + 1);
}

static int read_nulls(struct native_in *n)
{
    size_t rows = n->page.rows, words = rows / 64 + 1;
    n->page.valid[n->column] = NULL;
    if (!n->nullable)
        return 0;
    if (n->in.len - n->at < rows)
        return MORE;
    int rc = mem_grow(&n->nulls[n->column], &n->nulls_cap[n->column], words, 8,
                      NATIVE_ROWS_MAX / 64 + 1);
    if (rc)
        return rc;
    memset(n->nulls[n->column], 0, words * 8);
    for (size_t i = 0; i < rows; i++)
        n->nulls[n->column][i / 64] |= (uint64_t)!n->in.data[n->at + i] << (i % 64);
    n->at += rows;
    n->page.valid[n->column] = n->nulls[n->column];
    return 0;
}

/* Converts smaller integers to 64 bits. */
static void widen(const char *from, unsigned width, bool is_signed, int64_t *to, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        uint64_t v = 0;
        memcpy(&v, from + i * width, width);
        unsigned rest = 64 - 8 * width;
        to[i] = is_signed ? (int64_t)(v << rest) >> rest : (int64_t)v;
    }
}

static int read_numbers(struct native_in *n)
{
    size_t rows = n->count, bytes = rows * n->width;
    if (n->in.len - n->at < bytes)
        return MORE;
    if (n->width == 8)
        memcpy(n->cells[n->column], n->in.data + n->at, bytes);
    else
        widen(n->in.data + n->at, n->width, n->type == NATIVE_INT, n->cells[n->column], rows);
    n->at += bytes;
    return 0;
}

/* Reads texts. Until the block is complete they are offsets, since its bytes may move. */
static int read_texts(struct native_in *n)
{
    struct store_text *cells = n->cells[n->column], text;
    while (n->row < n->count) {
        size_t before = n->at;
        int rc = get_text(n, &text);
        if (rc) {
            n->at = before;
            return rc;
        }
        cells[n->row++] = (struct store_text){NULL, text.len};
        memcpy(&cells[n->row - 1].at, &(size_t){n->at - text.len}, sizeof(size_t));
    }
    return 0;
}

static int read_column(struct native_in *n)
{
    size_t before = n->at;
    int rc = n->named ? 0 : name_column(n);
    if (rc) {
        n->at = before;
        return rc;
    }
    if (!n->ends_done) {
        rc = make_room(n);
        if (rc)
            return rc;
        n->ends_done = true;
    }
    if (!n->nulls_done) {
        rc = read_nulls(n);
        if (rc)
            return rc;
        n->nulls_done = true;
    }
    rc = n->type == NATIVE_TEXT ? read_texts(n) : read_numbers(n);
    if (rc)
        return rc;
    n->page.data[n->column] = n->cells[n->column];
    n->column++;
    n->named = false;
    return 0;
}

static struct store_text text_of(const struct page *p, unsigned column, size_t row)
{
    return ((const struct store_text *)p->data[column])[row];
}

/* Turns the offsets of texts into addresses. */
static void settle_texts(struct native_in *n)
{
    n->page.text = text_of;
    for (unsigned c = 0; c < n->page.columns; c++) {
        struct store_text *cells = n->cells[c];
        for (size_t i = 0; n->is_text[c] && i < n->counts[c]; i++) {
            size_t at;
            memcpy(&at, &cells[i].at, sizeof at);
            cells[i].at = n->in.data + at;
        }
    }
}

/* Reads a block. 0, MORE, or an error. */
static int read_block(struct native_in *n)
{
    size_t before = n->at;
    int rc = n->begun ? 0 : begin(n);
    if (rc) {
        n->at = before;
        return rc;
    }
    while (!rc && n->column < n->page.columns)
        rc = read_column(n);
    return rc;
}

static void drop_done(struct native_in *n)
{
    memmove(n->in.data, n->in.data + n->at, n->in.len - n->at);
    n->in.len -= n->at;
    n->at = 0;
    n->begun = false;
}

int native_in_feed(struct native_in *n, const char *data, size_t len, ask_take take, void *arg)
{
    int rc = 0;
    if (n->failure.len) {
        buf_put(&n->failure, data, len);
        return 0;
    }
    buf_put(&n->in, data, len);
    if (buf_error(&n->in))
        return buf_error(&n->in);
    while (!rc && n->in.len) {
        rc = read_block(n);
        if (rc)
            break;
        settle_texts(n);
        if (n->page.rows && take)
            rc = take(arg, &n->page);
        drop_done(n);
    }
    if (rc == GPUFL_E_CORRUPT && !n->begun) { /* a message instead of a block */
        buf_put(&n->failure, n->in.data, n->in.len);
        buf_clear(&n->in);
        n->at = 0;
        return 0;
    }
    return rc == MORE ? 0 : rc;
}
