/* decode.c - lines to headers, names and batches; see decode.h.
 *
 * A line is parsed into column arrays that are reused from line to line. It is
 * delivered only when the whole line was sound, so that a damaged line costs nothing
 * but itself. Arrays of short integers, which make up nearly all of a log, are read a
 * word at a time (digits.h); all other values are read by scan.h.
 *
 * Rules beyond encode.h: a column given twice, arrays of unequal length, a
 * number that is not a 64-bit integer or a value that a column cannot hold makes a
 * line damaged. In a difference-coded column a null does not advance the base,
 * and sums are modulo 2^64, so that any 64-bit id survives. */
#include "wire/decode.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/json.h"
#include "wire/digits.h"
#include "wire/header.h"
#include "wire/limits.h"
#include "wire/peer.h"
#include "wire/scan.h"

struct cells {
    int64_t *at;   /* owned: cap cells */
    size_t cap;    /* cells allocated */
    size_t filled; /* leading cells known to hold `value`; spares filling them again */
    int64_t value;
};

enum given { GIVEN_NOT, GIVEN_NULL, GIVEN_SCALAR, GIVEN_ARRAY };

struct given_column {
    enum given how;
    int64_t scalar; /* GIVEN_SCALAR */
    size_t count;   /* GIVEN_ARRAY: elements */
};

struct decode_room {
    struct cells columns[RECORD_MAX_COLUMNS];      /* by column index, for all record types */
    struct given_column given[RECORD_MAX_COLUMNS]; /* of the present line */
    struct buf text;                               /* unescaped strings of the present line */
};

struct decoder {
    struct decode_room *room; /* of the present line */
    struct decode_room *own;  /* owned; NULL: the room is the caller's */
    struct peer *peer;        /* owned; NULL until its first line */
    struct decode_stats stats;
};

int decode_room_open(struct decode_room **out)
{
    *out = mem_zalloc(sizeof **out);
    if (!*out)
        return GPUFL_E_NOMEM;
    buf_init(&(*out)->text, (size_t)WIRE_MAX_LINE * 4);
    return 0;
}

void decode_room_close(struct decode_room *r)
{
    if (!r)
        return;
    for (int i = 0; i < RECORD_MAX_COLUMNS; i++)
        mem_free(r->columns[i].at);
    buf_fini(&r->text);
    mem_free(r);
}

int decoder_open_in(struct decoder **out, struct decode_room *room)
{
    *out = mem_zalloc(sizeof **out);
    if (!*out)
        return GPUFL_E_NOMEM;
    (*out)->room = room;
    return 0;
}

int decoder_open(struct decoder **out)
{
    struct decode_room *own;
    *out = NULL;
    if (decode_room_open(&own))
        return GPUFL_E_NOMEM;
    if (decoder_open_in(out, own)) {
        decode_room_close(own);
        return GPUFL_E_NOMEM;
    }
    (*out)->own = own;
    return 0;
}

void decoder_close(struct decoder *d)
{
    if (!d)
        return;
    decode_room_close(d->own);
    peer_close(d->peer);
    mem_free(d);
}

const struct decode_stats *decoder_stats(const struct decoder *d)
{
    return &d->stats;
}

/* Turns a failed parse into the feed's result: damage is counted, other failures are returned. */
static int line_failed(struct decoder *d, int code)
{
    if (code != GPUFL_E_CORRUPT)
        return code;
    d->stats.damaged++;
    return 0;
}

/* ---- arrays of cells ------------------------------------------------------------------- */

/* Holds the position in an array while it is read. */
struct run {
    size_t n;     /* cells read */
    uint64_t sum; /* difference coding: the last value */
    bool bad;     /* a value that the column cannot hold */
};

/* Adds a difference or takes a value. Returns the value of the cell. */
static inline int64_t run_step(struct run *r, enum coding coding, int64_t v)
{
    if (coding == CODING_INT)
        return v;
    r->sum += (uint64_t)v;
    v = (int64_t)r->sum;
    r->bad |= coding == CODING_TIME ? !wire_time_ok(v) : v == CELL_NULL;
    return v;
}

/* Reads "123,-4,5," while elements have one to eight digits and a comma after them, there is room,
 * and whole blocks can be loaded. An element's word is loaded from before its comma: at least
 * eight bytes of line precede it. */
static inline __attribute__((always_inline)) void
run_short(struct scan *s, struct run *r, enum coding coding, int64_t *cells, size_t room)
{
    const char *p = s->at;
    struct run now = *r;
    bool plain = true;
    while (plain && s->end - p >= DIGITS_BLOCK) {
        const char *block = p;
        uint64_t commas = digits_commas(block);
        plain = commas != 0;
        for (; commas; commas &= commas - 1) {
            const char *comma = block + __builtin_ctzll(commas);
            uint64_t negative = *p == '-';
            size_t digits = (size_t)(comma - p) - negative;
            uint32_t v;
            plain = digits - 1 < 8 && now.n < room && digits_read(comma, digits, &v);
            if (!plain)
                break;
            cells[now.n++] = run_step(&now, coding, (int64_t)((v ^ -negative) + negative));
            p = comma + 1;
        }
    }
    s->at = p;
    *r = now;
}

static void run_fast(struct scan *s, struct run *r, enum coding coding, int64_t *cells, size_t room)
{
    if (coding == CODING_INT)
        run_short(s, r, CODING_INT, cells, room);
    else if (coding == CODING_TIME)
        run_short(s, r, CODING_TIME, cells, room);
    else if (coding == CODING_DELTA)
        run_short(s, r, CODING_DELTA, cells, room);
}

static bool read_hex(struct scan *s, int64_t *out)
{
    struct span text;
    uint64_t v = 0;
    if (!scan_string(s, &text) || text.len == 0 || text.len > 16)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i], low = c | 0x20;
        if (c >= '0' && c <= '9')
            v = v << 4 | (c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (unsigned)(low - 'a' + 10);
        else
            return false;
    }
    *out = (int64_t)v;
    return true;
}

/* Reads one element or scalar of any shape that the coding allows. */
static bool read_cell(struct scan *s, enum coding coding, int64_t *out, bool *null)
{
    scan_peek(s);
    *null = scan_null(s);
    *out = CELL_NULL;
    if (*null)
        return true;
    return coding == CODING_HEX ? read_hex(s, out) : scan_int(s, out);
}

/* Reads an array into c; *count gets its length. */
static int read_array(struct scan *s, enum coding coding, struct cells *c, size_t *count)
{
    struct run r = {0};
    bool first = true, more, null;
    c->filled = 0;
    while (true) {
        if (!scan_element(s, &first, &more))
            return GPUFL_E_CORRUPT;
        if (!more)
            break;
        if (r.n == WIRE_READ_ROWS)
            return GPUFL_E_CORRUPT;
        if (mem_grow(&c->at, &c->cap,
                     r.n + WIRE_MAX_ROWS <= WIRE_READ_ROWS ? r.n + WIRE_MAX_ROWS : WIRE_READ_ROWS,
                     sizeof *c->at, WIRE_READ_ROWS))
            return GPUFL_E_NOMEM;
        if (r.n)
            run_fast(s, &r, coding, c->at, c->cap - 1);
        int64_t v;
        if (!read_cell(s, coding, &v, &null))
            return GPUFL_E_CORRUPT;
        if (coding == CODING_INT)
            r.bad |= !null && v == CELL_NULL;
        c->at[r.n++] = null ? CELL_NULL : coding == CODING_HEX ? v : run_step(&r, coding, v);
    }
    *count = r.n;
    return r.bad ? GPUFL_E_CORRUPT : 0;
}

/* Reads the value of a known column: an array, or one value for all rows. */
static int read_column(struct scan *s, enum coding coding, struct cells *c, struct given_column *g)
{
    if (scan_peek(s) == '[') {
        g->how = GIVEN_ARRAY;
        return read_array(s, coding, c, &g->count);
    }
    bool null;
    if (!read_cell(s, coding, &g->scalar, &null))
        return GPUFL_E_CORRUPT;
    g->how = null ? GIVEN_NULL : GIVEN_SCALAR;
    bool bad = coding == CODING_TIME ? !wire_time_ok(g->scalar)
                                     : coding != CODING_HEX && g->scalar == CELL_NULL;
    return bad && !null ? GPUFL_E_CORRUPT : 0;
}

/* Makes the first n cells hold v. */
static int fill_cells(struct cells *c, int64_t v, size_t n)
{
    if (mem_grow(&c->at, &c->cap, n, sizeof *c->at, WIRE_READ_ROWS))
        return GPUFL_E_NOMEM;
    if (c->value != v)
        c->filled = 0;
    for (; c->filled < n; c->filled++)
        c->at[c->filled] = v;
    c->value = v;
    return 0;
}

/* ---- a line of rows -------------------------------------------------------------------- */

/* Returns the column index of a key; *next is tried first, because writers keep the table's
 * order. */
static int find_column(const struct record *r, struct span key, unsigned *next)
{
    int i = *next < r->column_count && span_is(key, r->columns[*next].name)
                ? (int)*next
                : record_column(r, key.at, key.len);
    if (i >= 0)
        *next = (unsigned)i + 1;
    return i;
}

/* Reads the members of a line into d->room->given and d->room->columns; sets *rows and *unknown. */
static int parse_members(struct decoder *d, const struct record *r, struct scan *s, int64_t *rows,
                         uint64_t *unknown)
{
    bool first = true, more;
    unsigned next = 0;
    *rows = -1;
    for (unsigned i = 0; i < r->column_count; i++)
        d->room->given[i].how = GIVEN_NOT;
    while (true) {
        struct span key;
        if (!scan_member(s, &first, &key, &more))
            return GPUFL_E_CORRUPT;
        if (!more)
            return scan_done(s) ? 0 : GPUFL_E_CORRUPT;
        int column = find_column(r, key, &next);
        bool sound = true;
        if (column >= 0) {
            if (d->room->given[column].how != GIVEN_NOT)
                return GPUFL_E_CORRUPT;
            int rc = read_column(s, r->columns[column].coding, &d->room->columns[column],
                                 &d->room->given[column]);
            if (rc)
                return rc;
        } else if (span_is(key, "rows")) {
            sound = *rows < 0 && scan_int(s, rows) && *rows >= 0 && *rows <= WIRE_READ_ROWS;
        } else {
            sound = scan_value(s, NULL);
            *unknown += !span_is(key, "type");
        }
        if (!sound)
            return GPUFL_E_CORRUPT;
    }
}

static int parse_rows(struct decoder *d, enum record_type type, struct scan *s,
                      struct wire_batch *out)
{
    int64_t rows;
    uint64_t unknown = 0;
    *out = (struct wire_batch){.type = type, .record = &records[type]};
    int rc = parse_members(d, out->record, s, &rows, &unknown);
    if (!rc && rows < 0)
        rc = GPUFL_E_CORRUPT;
    if (rc)
        return rc;
    out->rows = (size_t)rows;
    for (unsigned i = 0; i < out->record->column_count; i++) {
        const struct given_column *g = &d->room->given[i];
        if (g->how == GIVEN_ARRAY && g->count != out->rows)
            return GPUFL_E_CORRUPT;
        if (g->how == GIVEN_SCALAR && fill_cells(&d->room->columns[i], g->scalar, out->rows))
            return GPUFL_E_NOMEM;
        if (g->how == GIVEN_SCALAR || g->how == GIVEN_ARRAY)
            out->col[i] = d->room->columns[i].at;
    }
    d->stats.unknown_columns += unknown;
    return 0;
}

static int decode_rows(struct decoder *d, enum record_type type, struct scan *s,
                       const struct wire_visitor *v)
{
    struct wire_batch batch;
    int rc = parse_rows(d, type, s, &batch);
    if (rc)
        return line_failed(d, rc);
    return batch.rows && v->batch ? v->batch(v->arg, &batch) : 0;
}

/* ---- header and names ------------------------------------------------------------------ */

/* Unescapes a string to the end of d->room->text, where room was reserved; *len gets its length. */
static const char *unescape(struct decoder *d, struct span s, size_t *len)
{
    char *at = d->room->text.data + d->room->text.len;
    struct json_value v = {.type = JSON_STRING, .raw = s.at, .raw_len = s.len};
    size_t room = d->room->text.cap - d->room->text.len, n = json_text(v, at, room);
    if (n >= room)
        n = room ? strlen(at) : 0;
    d->room->text.len += n + 1;
    *len = n;
    return at;
}

/* Makes room for every string of a line. Unescaping only shortens a string, and the quotes leave
 * room for its NUL. */
static int reserve_text(struct decoder *d, size_t line)
{
    buf_clear(&d->room->text);
    return buf_reserve(&d->room->text, line + 64) ? GPUFL_E_NOMEM : 0;
}

static bool parse_header_field(struct decoder *d, struct scan *s, const struct header_field *f,
                               struct wire_header *h)
{
    void *at = (char *)h + f->offset;
    struct span text;
    size_t len;
    if (f->kind == HEADER_INT)
        return scan_int(s, at);
    if (f->kind == HEADER_TEXT) {
        if (!scan_string(s, &text))
            return false;
        const char *said = unescape(d, text, &len);
        json_text_no_nul((char *)(uintptr_t)said, len);
        *(const char **)at = said;
        return true;
    }
    if (!scan_value(s, &text))
        return false;
    *(bool *)at = span_is(text, "true");
    return *(bool *)at || span_is(text, "false");
}

static int parse_header(struct decoder *d, struct scan *s, struct wire_header *h)
{
    bool first = true, more;
    int rc = reserve_text(d, (size_t)(s->end - s->at));
    if (rc)
        return rc;
    header_clear(h);
    while (true) {
        struct span key;
        if (!scan_member(s, &first, &key, &more))
            return GPUFL_E_CORRUPT;
        if (!more)
            return scan_done(s) && *h->session ? 0 : GPUFL_E_CORRUPT;
        const struct header_field *f = NULL;
        for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++)
            if (span_is(key, header_fields[i].name))
                f = &header_fields[i];
        if (f ? !parse_header_field(d, s, f, h) : !scan_value(s, NULL))
            return GPUFL_E_CORRUPT;
    }
}

static int decode_header(struct decoder *d, struct scan *s, const struct wire_visitor *v)
{
    struct wire_header h;
    int rc = parse_header(d, s, &h);
    if (rc)
        return line_failed(d, rc);
    return v->header ? v->header(v->arg, &h) : 0;
}

/* Passes over an array of strings, counting them. */
static bool count_strings(struct scan *s, size_t *count)
{
    bool first = true, more;
    struct span text;
    for (*count = 0;; ++*count) {
        if (!scan_element(s, &first, &more))
            return false;
        if (!more)
            return true;
        if (!scan_string(s, &text))
            return false;
    }
}

/* Reads the ids into columns[0]; *texts is positioned before the array of texts. */
static int parse_names(struct decoder *d, struct scan *s, struct scan *texts, size_t *count)
{
    bool first = true, more;
    size_t ids = SIZE_MAX, strings = SIZE_MAX;
    while (true) {
        struct span key;
        int rc = 0;
        if (!scan_member(s, &first, &key, &more))
            return GPUFL_E_CORRUPT;
        if (!more)
            break;
        if (span_is(key, "id")) {
            rc = read_array(s, CODING_INT, &d->room->columns[0], &ids);
        } else if (span_is(key, "text")) {
            *texts = *s;
            rc = count_strings(s, &strings) ? 0 : GPUFL_E_CORRUPT;
        } else {
            rc = scan_value(s, NULL) ? 0 : GPUFL_E_CORRUPT;
        }
        if (rc)
            return rc;
    }
    if (!scan_done(s) || ids != strings || ids == SIZE_MAX)
        return GPUFL_E_CORRUPT;
    for (size_t i = 0; i < ids; i++)
        if (d->room->columns[0].at[i] <= 0 || d->room->columns[0].at[i] > UINT32_MAX)
            return GPUFL_E_CORRUPT;
    *count = ids;
    return 0;
}

static int decode_names(struct decoder *d, struct scan *s, const struct wire_visitor *v)
{
    struct scan texts = {0};
    size_t count = 0, len;
    size_t line = (size_t)(s->end - s->at);
    int rc = parse_names(d, s, &texts, &count);
    if (rc)
        return line_failed(d, rc);
    if (reserve_text(d, line))
        return GPUFL_E_NOMEM;
    bool first = true, more;
    for (size_t i = 0; i < count && !rc && v->name; i++) {
        struct span text;
        scan_element(&texts, &first, &more); /* cannot fail: count_strings has read this array */
        scan_string(&texts, &text);
        buf_clear(&d->room->text);
        const char *at = unescape(d, text, &len);
        rc = v->name(v->arg, (uint32_t)d->room->columns[0].at[i], at, len);
    }
    return rc;
}

/* ---- dispatch -------------------------------------------------------------------------- */

/* Finds the value of a line's key "type"; *found is false if a sound line has no such key. */
static bool find_type(struct scan s, struct span *type, bool *found)
{
    bool first = true, more;
    struct span key;
    *found = false;
    while (scan_member(&s, &first, &key, &more)) {
        if (!more)
            return scan_done(&s);
        if (span_is(key, "type") && scan_peek(&s) == '"') {
            *found = true;
            return scan_string(&s, type);
        }
        if (!scan_value(&s, NULL))
            return false;
    }
    return false;
}

static int decode_foreign(struct decoder *d, int type, const char *line, size_t len,
                          const struct wire_visitor *v)
{
    d->stats.foreign++;
    if (!d->peer && peer_open(&d->peer, &d->stats))
        return GPUFL_E_NOMEM;
    return peer_feed(d->peer, type, line, len, v);
}

int decoder_feed(struct decoder *d, const char *line, size_t len, const struct wire_visitor *v)
{
    struct scan s = {line, line + len};
    struct span type;
    bool found;
    if (scan_done(&s))
        return 0;
    d->stats.lines++;
    if (!find_type(s, &type, &found))
        return line_failed(d, GPUFL_E_CORRUPT);
    int record = found ? record_find(type.at, type.len) : RECORD_NONE;
    int foreign = found && record < 0 ? peer_find(type.at, type.len) : -1;
    if (foreign >= 0)
        return decode_foreign(d, foreign, line, len, v);
    int rc = d->peer ? peer_flush(d->peer, v) : 0;
    if (rc)
        return rc;
    if (record >= 0)
        return decode_rows(d, (enum record_type)record, &s, v);
    if (found && span_is(type, "header"))
        return decode_header(d, &s, v);
    if (found && span_is(type, "names"))
        return decode_names(d, &s, v);
    if (!scan_value(&s, NULL) || !scan_done(&s))
        return line_failed(d, GPUFL_E_CORRUPT);
    d->stats.unknown_records++;
    return v->unknown ? v->unknown(v->arg, line, len) : 0;
}

int decoder_finish(struct decoder *d, const struct wire_visitor *v)
{
    return d->peer ? peer_finish(d->peer, v) : 0;
}
