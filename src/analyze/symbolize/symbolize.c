/* symbolize.c - collects a session's frames, names and options, and writes its answers.
 *
 * Texts are kept once, in a table of their own, with the id that the session has for
 * each: a file that a stack of Python names is referred to by that id, a function that
 * is new gets the next one. */
#include "analyze/symbolize/inside.h"

#include "analyze/common/cells.h"
#include "analyze/read/feed.h"
#include "analyze/symbolize/code_part.h"
#include "base/alloc.h"
#include "base/process/alive.h"
#include "symbol/source_file.h"
#include "wire/header.h"

#include <gpufl/analysis.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TEXTS_MAX = 1 << 22,
    NAME_IDS_MAX = 1 << 24, /* readers skip higher ids */
    ROWS_MAX = 1 << 20,     /* rows of a dictionary */
    BATCH_BYTES = 1 << 20,  /* size at which a batch of lines ends */
    BATCHES_MAX = 1 << 16,
    QUIET_SECONDS = 15, /* a running program writes every 10 s */
};

#define TEXTS_BYTES ((size_t)1 << 30)
#define LINES_MAX   ((size_t)256 << 20)

/* ---- collecting ------------------------------------------------------------------------ */

/* Copies the texts of a header, and frees those of the previous header. */
static int keep_header(struct symbolize *z, const struct wire_header *h)
{
    struct wire_header kept = *h;
    int rc = 0;
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++) {
        const struct header_field *f = &header_fields[i];
        if (f->kind != HEADER_TEXT)
            continue;
        char **own = (char **)((char *)&z->header + f->offset);
        const char *text = *(const char *const *)((const char *)h + f->offset);
        char *copy = mem_strdup(text ? text : "");
        mem_free(*own);
        *own = NULL;
        memcpy((char *)&kept + f->offset, &copy, sizeof copy);
        rc = copy ? rc : GPUFL_E_NOMEM;
    }
    z->header = kept;
    return rc;
}

int symbolize_header(struct symbolize *z, const struct wire_header *h)
{
    int rc = z->has_header ? 0 : keep_header(z, h);
    z->has_header = true;
    return rc;
}

uint32_t symbolize_text_number(struct symbolize *z, const char *text, size_t len)
{
    uint32_t number = intern_id(z->texts, text, len);
    size_t before = z->text_count;
    if (!number || number < before)
        return number;
    if (mem_grow(&z->text, &z->text_cap, (size_t)number + 1, sizeof *z->text, TEXTS_MAX + 2))
        return 0;
    for (size_t i = before; i <= number; i++)
        z->text[i] = (struct symbolize_text){.number = (uint32_t)i};
    z->text_count = (size_t)number + 1;
    return number;
}

int symbolize_name(struct symbolize *z, uint32_t id, const char *text, size_t len)
{
    size_t before = z->name_count;
    if (!id || id >= NAME_IDS_MAX || !len)
        return 0;
    uint32_t number = symbolize_text_number(z, text, len);
    if (!number)
        return GPUFL_E_NOMEM;
    if (id >= before) {
        int rc = mem_grow(&z->number_of, &z->name_cap, (size_t)id + 1, sizeof *z->number_of,
                          NAME_IDS_MAX);
        if (rc)
            return rc;
        memset(z->number_of + before, 0, (id + 1 - before) * sizeof *z->number_of);
        z->name_count = (size_t)id + 1;
    }
    if (id > z->last_id)
        z->last_id = id;
    z->number_of[id] = number;
    z->text[number].id = id;
    return 0;
}

uint32_t symbolize_name_number(const struct symbolize *z, int64_t id)
{
    return id > 0 && (uint64_t)id < z->name_count ? z->number_of[id] : 0;
}

const char *symbolize_text(const struct symbolize *z, uint32_t number)
{
    return number ? intern_text(z->texts, number, NULL) : "";
}

static const char *name_text(const struct symbolize *z, int64_t id)
{
    return symbolize_text(z, symbolize_name_number(z, id));
}

static int keep_row(struct rowset *set, const struct wire_batch *b, size_t i)
{
    int64_t id = cells_get(b, 0, i);
    bool added;
    if (id <= 0 || set->row_count >= ROWS_MAX)
        return 0;
    int64_t *row = rowset_put(set, &id, &added);
    if (!row)
        return GPUFL_E_NOMEM;
    for (unsigned c = 1; c < set->width; c++)
        row[c] = cells_get(b, c, i);
    return 0;
}

static int take_symbol(struct symbolize *z, const struct wire_batch *b, size_t i)
{
    int64_t frame = cells_get(b, COL_symbol_frame, i);
    uint32_t function = symbolize_name_number(z, cells_get(b, COL_symbol_function, i));
    uint32_t file = symbolize_name_number(z, cells_get(b, COL_symbol_file, i));
    bool added;
    symbolize_want(z, file, FOLD_NATIVE);
    const int64_t level[SYMBOLIZE_LEVEL_CELLS] = {frame, cells_get(b, COL_symbol_level, i),
                                                  function, file, cells_get(b, COL_symbol_line, i)};
    if (symbolize_level(z, level))
        return GPUFL_E_NOMEM;
    if (frame <= 0 || z->known.row_count >= ROWS_MAX)
        return 0;
    return rowset_put(&z->known, &frame, &added) ? 0 : GPUFL_E_NOMEM;
}

static int take_disassembled(struct symbolize *z, const struct wire_batch *b, size_t i)
{
    int64_t function = cells_get(b, COL_instruction_function, i);
    bool added;
    symbolize_want(z, symbolize_name_number(z, cells_get(b, COL_instruction_file, i)), FOLD_NATIVE);
    if (function <= 0 || z->lined.row_count >= ROWS_MAX)
        return 0;
    if (cells_or(b, COL_instruction_text, i, 0) > 0 &&
        !rowset_put(&z->disassembled, &function, &added))
        return GPUFL_E_NOMEM;
    return rowset_put(&z->lined, &function, &added) ? 0 : GPUFL_E_NOMEM;
}

static void take_source(struct symbolize *z, const struct wire_batch *b, size_t i)
{
    uint32_t path = symbolize_name_number(z, cells_get(b, COL_source_path, i));
    int64_t size = cells_or(b, COL_source_size, i, 0);
    if (!path || z->text[path].kept)
        return;
    z->text[path].kept = true;
    z->source_bytes += size > 0 && size <= SOURCE_MAX ? (uint64_t)size : SOURCE_MAX;
}

static void take_option(struct symbolize *z, const struct wire_batch *b, size_t i)
{
    if (!strcmp(name_text(z, cells_get(b, COL_option_name, i)), "enable_source_collection"))
        z->sources = !strcmp(name_text(z, cells_get(b, COL_option_value, i)), "true");
}

static int take_row(struct symbolize *z, const struct wire_batch *b, size_t i)
{
    switch (b->type) {
    case RECORD_module:
        return keep_row(&z->modules, b, i);
    case RECORD_frame:
        return keep_row(&z->frames, b, i);
    case RECORD_stack:
        return keep_row(&z->stacks, b, i);
    case RECORD_symbol:
        return take_symbol(z, b, i);
    case RECORD_code_object:
        return keep_row(&z->objects, b, i);
    case RECORD_function:
        return keep_row(&z->functions, b, i);
    case RECORD_instruction:
        return take_disassembled(z, b, i);
    case RECORD_source:
        take_source(z, b, i);
        return 0;
    case RECORD_option:
        take_option(z, b, i);
        return 0;
    case RECORD_message:
        if (!strcmp(name_text(z, cells_get(b, COL_message_code, i)), SYMBOLIZE_ENDING))
            z->ending_known = true;
        return 0;
    case RECORD_end:
        z->over = z->ended = true;
        return 0;
    default:
        return 0;
    }
}

/* Notes the ids that occur, which are in use even if the line that defines them is damaged. */
static void note_ids(struct symbolize *z, const struct wire_batch *b)
{
    for (unsigned c = 0; c < b->record->column_count; c++)
        for (size_t i = 0; b->record->columns[c].ref == RECORD_name && b->col[c] && i < b->rows;
             i++)
            if (b->col[c][i] > z->last_id && b->col[c][i] < NAME_IDS_MAX)
                z->last_id = b->col[c][i];
}

static bool is_taken(enum record_type t)
{
    return t == RECORD_module || t == RECORD_frame || t == RECORD_stack || t == RECORD_symbol ||
           t == RECORD_source || t == RECORD_option || t == RECORD_message || t == RECORD_end ||
           t == RECORD_code_object || t == RECORD_function || t == RECORD_instruction;
}

int symbolize_batch(struct symbolize *z, const struct wire_batch *b)
{
    int rc = 0;
    note_ids(z, b);
    for (size_t i = 0; is_taken(b->type) && !rc && i < b->rows; i++)
        rc = take_row(z, b, i);
    return rc;
}

/* ---- answers --------------------------------------------------------------------------- */

/* Returns the next free id; 0: readers would not take it. */
static uint32_t new_id(struct symbolize *z)
{
    if (z->last_id + 1 < NAME_IDS_MAX)
        return (uint32_t)++z->last_id;
    z->code = GPUFL_E_FULL;
    return 0;
}

int64_t symbolize_put_piece(struct symbolize *z, const char *text, size_t len)
{
    uint32_t id = new_id(z);
    if (id)
        encode_names(&z->lines, &id, &text, &len, 1);
    return id;
}

int64_t symbolize_put_name(struct symbolize *z, uint32_t number)
{
    if (!number)
        return 0;
    struct symbolize_text *t = &z->text[number];
    if (!t->id)
        t->id = new_id(z);
    if (t->id && !t->written) {
        size_t len;
        const char *text = intern_text(z->texts, number, &len);
        encode_names(&z->lines, &t->id, &text, &len, 1);
        t->written = true;
    }
    return t->id;
}

void symbolize_end_batch(struct symbolize *z, bool last)
{
    size_t from = z->end_count ? z->ends[z->end_count - 1] : 0;
    if (z->lines.len - from < (last ? 1 : BATCH_BYTES))
        return;
    int rc = mem_grow(&z->ends, &z->end_cap, z->end_count + 1, sizeof *z->ends, BATCHES_MAX);
    if (rc)
        z->code = rc;
    else
        z->ends[z->end_count++] = z->lines.len;
}

static bool is_this_host(const struct symbolize *z)
{
    char name[HOST_NAME_MAX + 1] = "";
    return z->has_header && gethostname(name, sizeof name - 1) == 0 && *name &&
           !strcmp(name, z->header.host);
}

/* Returns true for a log without an end whose program is gone: killed, or ended by _exit. Without
 * such a pid here the program may run in a container with this host's name; such a program would
 * still be writing. */
static bool has_died(const struct symbolize *z)
{
    struct stat st;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (z->header.pid <= 0 || process_runs(z->header.pid, z->header.start))
        return false;
    for (size_t i = 0; i < z->session->count; i++)
        if (stat(z->session->parts[i].path, &st) || now.tv_sec - st.st_mtime < QUIET_SECONDS)
            return false;
    return true;
}

/* Returns why the answers are not written to the session; NULL: they are. */
static const char *reason_not_to_write(const struct symbolize *z, bool here)
{
    if (!z->has_header || z->session->parts[0].channel == DISCOVER_OTHER)
        return "only a part of the session was read";
    if (!here)
        return "the session was written on another host";
    if (!z->over)
        return "the session has not ended";
    if (z->lock < 0)
        return "another report is at it, or the directory cannot be locked";
    return NULL;
}

/* Sets the note if there is none yet. */
static void note(struct symbolize_stats *s, const char *text)
{
    if (!*s->note)
        snprintf(s->note, sizeof s->note, "%s", text);
}

/* Writes the answers. first: the first batch to write. */
static void write_answers(struct symbolize *z, bool here, size_t first)
{
    const char *why = reason_not_to_write(z, here);
    char text[sizeof z->stats.note];
    z->stats.unwritten = first > 0;
    if (first == z->end_count)
        return;
    if (!why) {
        size_t skipped = first ? z->ends[first - 1] : 0;
        int rc = code_part_append(z->session, &z->header, &z->lines, skipped, z->ends + first,
                                  z->end_count - first);
        why = rc ? strerror(-rc) : NULL;
    }
    if (!why)
        return;
    z->stats.unwritten = true;
    snprintf(text, sizeof text, "names and lines are not kept with the session: %s", why);
    note(&z->stats, text);
}

void symbolize_stats_add(struct symbolize_stats *a, const struct symbolize_stats *b)
{
    a->frames += b->frames;
    a->known += b->known;
    a->lines += b->lines;
    a->functions += b->functions;
    a->unknown += b->unknown;
    a->sources += b->sources;
    a->unwritten |= b->unwritten;
    note(a, b->note);
    if (!*a->code_note)
        memcpy(a->code_note, b->code_note, sizeof a->code_note);
}

int symbolize_finish(struct symbolize *z, struct symbolize_stats *stats, const struct buf **lines)
{
    char lacks[sizeof z->stats.note] = "", code_lacks[sizeof z->stats.note] = "";
    bool here = is_this_host(z);
    z->over |= here && has_died(z);
    symbolize_progress_begin(z);
    int rc = intern_overflows(z->texts) ? GPUFL_E_FULL : symbolize_frames(z, lacks);
    symbolize_end_batch(z, true);
    size_t frames_end = z->end_count;
    if (*lacks) /* these lines are not written: their names have to be put again */
        for (size_t i = 0; i < z->text_count; i++)
            z->text[i].written = false;
    if (!rc)
        symbolize_ending(z);
    if (!rc)
        rc = symbolize_code(z, here, code_lacks);
    symbolize_end_batch(z, true);
    if (!rc && here && z->sources)
        rc = symbolize_sources(z);
    if (!rc && here && z->sources && z->over)
        symbolize_ptx(z);
    symbolize_end_batch(z, true);
    rc = rc ? rc : z->code ? z->code : buf_error(&z->lines);
    if (rc) { /* all or nothing: ids must agree */
        buf_clear(&z->lines);
        z->stats.lines = z->stats.functions = z->stats.unknown = z->stats.sources = 0;
        note(&z->stats, "there are too many frames or names to look them up");
    } else {
        note(&z->stats, lacks);
        note(&z->stats, code_lacks);
        write_answers(z, here, *lacks ? frames_end : 0);
    }
    symbolize_progress_end(z);
    *stats = z->stats;
    if (lines)
        *lines = &z->lines;
    return rc == GPUFL_E_NOMEM ? rc : 0;
}

/* ---- a session alone ------------------------------------------------------------------- */

struct alone {
    struct symbolize *z;
    struct decoder *decoder;
    struct wire_visitor visitor;
};

enum { OTHER_FORMAT = 1 };

static int alone_header(void *arg, const struct wire_header *h)
{
    return symbolize_header(((struct alone *)arg)->z, h);
}

static int alone_name(void *arg, uint32_t id, const char *text, size_t len)
{
    return symbolize_name(((struct alone *)arg)->z, id, text, len);
}

static int alone_batch(void *arg, const struct wire_batch *b)
{
    return symbolize_batch(((struct alone *)arg)->z, b);
}

static bool names_something(enum record_type t)
{
    for (unsigned c = 0; c < records[t].column_count; c++)
        if (records[t].columns[c].ref == RECORD_name)
            return true;
    return is_taken(t);
}

/* Returns false for most lines of a large session, which have no name and no frame and are not
 * decoded. */
static bool is_worth_decoding(const char *line, size_t len)
{
    static const char start[] = "{\"type\":\"";
    size_t skip = sizeof start - 1;
    if (len < skip || memcmp(line, start, skip) != 0)
        return true;
    const char *end = memchr(line + skip, '"', len - skip);
    int type = end ? record_find(line + skip, (size_t)(end - line) - skip) : RECORD_NONE;
    return type < 0 || names_something((enum record_type)type);
}

static int alone_line(void *arg, char *line, size_t len, bool complete)
{
    struct alone *a = arg;
    (void)complete;
    if (!is_worth_decoding(line, len))
        return 0;
    int rc = decoder_feed(a->decoder, line, len, &a->visitor);
    return rc || !decoder_stats(a->decoder)->foreign ? rc : OTHER_FORMAT;
}

int symbolize_session(const struct discover_session *s, int flags, struct symbolize_stats *stats)
{
    struct alone a = {0};
    struct feed f = {.arg = &a, .line = alone_line};
    struct feed_stats read;
    a.visitor = (struct wire_visitor){
        .arg = &a, .header = alone_header, .name = alone_name, .batch = alone_batch};
    memset(stats, 0, sizeof *stats);
    int rc = symbolize_open(&a.z, s, flags & GPUFL_SYMBOLIZE_ENDED);
    if (!rc)
        a.z->flags = flags;
    if (!rc && (flags & GPUFL_SYMBOLIZE_PROGRESS))
        symbolize_progress(a.z);
    rc = rc ? rc : decoder_open(&a.decoder);
    rc = rc ? rc : feed_session(s, &f, &read);
    if (!rc)
        rc = symbolize_finish(a.z, stats, NULL);
    if (a.decoder)
        decoder_close(a.decoder);
    symbolize_close(a.z);
    return rc == OTHER_FORMAT ? 0 : rc;
}

/* ---- open and close -------------------------------------------------------------------- */

int symbolize_open(struct symbolize **out, const struct discover_session *s, bool over)
{
    struct symbolize *z = mem_zalloc(sizeof *z);
    *out = NULL;
    if (!z)
        return GPUFL_E_NOMEM;
    z->session = s;
    z->over = over;
    z->lock = code_part_lock(s->dir);
    rowset_init(&z->modules, 1, COL_module_COUNT);
    rowset_init(&z->frames, 1, COL_frame_COUNT);
    rowset_init(&z->known, 1, 1);
    rowset_init(&z->stacks, 1, COL_stack_COUNT);
    rowset_init(&z->levels, 2, SYMBOLIZE_LEVEL_CELLS);
    rowset_init(&z->objects, 1, COL_code_object_COUNT);
    rowset_init(&z->functions, 1, COL_function_COUNT);
    rowset_init(&z->disassembled, 1, 1);
    rowset_init(&z->lined, 1, 1);
    buf_init(&z->lines, LINES_MAX);
    int rc = intern_open(&z->texts, TEXTS_MAX, TEXTS_BYTES);
    if (rc) {
        symbolize_close(z);
        return rc;
    }
    *out = z;
    return 0;
}

void symbolize_close(struct symbolize *z)
{
    if (!z)
        return;
    for (unsigned i = 0; i < HEADER_FIELD_COUNT; i++)
        if (header_fields[i].kind == HEADER_TEXT)
            mem_free(*(char **)((char *)&z->header + header_fields[i].offset));
    rowset_fini(&z->modules);
    rowset_fini(&z->frames);
    rowset_fini(&z->known);
    rowset_fini(&z->stacks);
    rowset_fini(&z->levels);
    rowset_fini(&z->objects);
    rowset_fini(&z->functions);
    rowset_fini(&z->disassembled);
    rowset_fini(&z->lined);
    buf_fini(&z->lines);
    mem_free(z->ends);
    mem_free(z->number_of);
    mem_free(z->text);
    if (z->texts)
        intern_close(z->texts);
    if (z->lock >= 0)
        close(z->lock);
    mem_free(z);
}
