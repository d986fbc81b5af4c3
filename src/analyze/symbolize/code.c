/* code.c - finds instructions and lines for the device code that was sampled, or that ran.
 *
 * The traced program kept its device code in the session's directory. The vendor's program
 * disassembles the functions that the session names (symbol/code_reader.h), each once: a function
 * whose instructions have text is skipped. If that program is missing or fails, functions get at
 * least their lines, from the code's own table. Only files in the session's directory are opened,
 * by plain names. */
#include "analyze/symbolize/inside.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/file/spelling.h"
#include "symbol/code_reader.h"
#include "symbol/device/symbols.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FUNCTIONS_AT_ONCE = 256,  /* functions of one run of the disassembler */
    OBJECTS_AT_ONCE = 4,      /* runs at the same time, on as many cores: each takes memory */
    GROUP_ROWS = 2048,        /* rows in a line of the log */
    ROWS_MOST = 1 << 20,      /* rows of a session */
    TIME_MOST_MS = 60 * 1000, /* for the whole session */
};

/* Describes one run over an object: its functions, and the rows that wait to be put into a line. */
struct run {
    struct symbolize *z;
    const int64_t *object;
    const int64_t *functions[FUNCTIONS_AT_ONCE]; /* rows of the session */
    uint32_t numbers[FUNCTIONS_AT_ONCE];         /* numbers of their symbols */
    struct code_symbols symbols;                 /* of the object; empty until they are needed */
    bool looked;                                 /* symbols were read */
    size_t count;
    int64_t (*rows)[COL_instruction_COUNT]; /* owned: GROUP_ROWS */
    size_t row_count;
    int64_t total; /* instructions of the session */
    int64_t given; /* instructions that the disassembler gave for the object */
};

static const char *function_name(const struct symbolize *z, const int64_t *function)
{
    return symbolize_text(z, symbolize_name_number(z, function[COL_function_name]));
}

/* Puts the dictionary rows that the rows refer to, so that their part can be read alone. */
static void put_dictionary(struct run *r)
{
    struct symbolize *z = r->z;
    int64_t object[COL_code_object_COUNT];
    static const unsigned names[] = {COL_code_object_module, COL_code_object_arch,
                                     COL_code_object_file};
    memcpy(object, r->object, sizeof object);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        object[names[i]] = symbolize_put_name(z, symbolize_name_number(z, r->object[names[i]]));
    encode_rows(&z->lines, RECORD_code_object, object, 1);
    for (size_t i = 0; i < r->count; i++) {
        int64_t row[COL_function_COUNT];
        memcpy(row, r->functions[i], sizeof row);
        row[COL_function_name] =
            symbolize_put_name(z, symbolize_name_number(z, row[COL_function_name]));
        row[COL_function_file] =
            symbolize_put_name(z, symbolize_name_number(z, row[COL_function_file]));
        encode_rows(&z->lines, RECORD_function, row, 1);
    }
}

static void put_rows(struct run *r)
{
    if (!r->row_count)
        return;
    put_dictionary(r);
    encode_rows(&r->z->lines, RECORD_instruction, *r->rows, r->row_count);
    r->row_count = 0;
    symbolize_end_batch(r->z, false);
}

static const int64_t *wanted(const struct run *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(function_name(r->z, r->functions[i]), name) == 0)
            return r->functions[i];
    return NULL;
}

static uint32_t text_number(struct symbolize *z, const char *text)
{
    uint32_t number = *text ? symbolize_text_number(z, text, strlen(text)) : 0;
    if (*text && (!number || intern_overflows(z->texts)))
        z->code = GPUFL_E_FULL;
    return number;
}

static void take_instruction(void *arg, const struct disassembled *d)
{
    struct run *r = arg;
    struct symbolize *z = r->z;
    const int64_t *function = wanted(r, d->function);
    size_t levels = d->place_count ? d->place_count : 1;
    bool added;
    if (!function || z->code)
        return;
    r->given++;
    if (!rowset_put(&z->lined, &function[COL_function_id], &added))
        z->code = GPUFL_E_NOMEM;
    if (r->total + (int64_t)levels > ROWS_MOST)
        return;
    if (r->row_count + levels > GROUP_ROWS)
        put_rows(r);
    for (size_t i = 0; i < levels; i++) {
        const struct disassembled_place *at = i < d->place_count ? &d->places[i] : NULL;
        char text[SPELLING_ROOM];
        uint32_t file = at ? text_number(z, spelling_of(at->file, text)) : 0;
        struct instruction_row row = {
            .function = function[COL_function_id],
            .offset = (int64_t)d->offset,
            .level = (int64_t)i,
            .text = i ? 0 : symbolize_put_name(z, text_number(z, d->text)),
            .file = symbolize_put_name(z, file),
            .line = at && at->line > 0 ? at->line : CELL_NULL,
        };
        symbolize_want(z, file, FOLD_NATIVE);
        memcpy(r->rows[r->row_count++], &row, sizeof row);
        r->total++;
    }
}

const struct vendor *symbolize_kept_code(const struct symbolize *z, const int64_t *object,
                                         char *path, size_t size)
{
    const char *name = symbolize_text(z, symbolize_name_number(z, object[COL_code_object_file]));
    size_t digits = strspn(name, "0123456789abcdef"), stem = 0;
    const struct vendor *v = code_reader_vendor(name, &stem);
    return v && digits && digits == stem && path_join(path, size, z->session->dir, name) == 0
               ? v
               : NULL;
}

/* Returns the number of a function's symbol, as recorded, else by its name. 0: it has none: no
 * function has symbol 0, although SASS metrics of CUDA 13.0 have it. */
static uint32_t symbol_number(struct run *r, const char *path, const int64_t *function,
                              struct err *e)
{
    int64_t index = function[COL_function_index];
    if (index > 0 && index <= UINT32_MAX)
        return (uint32_t)index;
    if (!r->looked)
        code_symbols_open(&r->symbols, path, e);
    r->looked = true;
    return code_symbols_find(&r->symbols, function_name(r->z, function));
}

/* Collects the next functions of an object, from *at on, that are not in `have`. */
static void gather(struct run *r, const struct rowset *have, const char *path, uint32_t *at,
                   struct err *e)
{
    struct symbolize *z = r->z;
    r->count = 0;
    for (; *at < z->functions.row_count && r->count < FUNCTIONS_AT_ONCE; ++*at) {
        const int64_t *f = z->functions.rows + (size_t)*at * z->functions.width;
        bool wants = f[COL_function_object] == r->object[0] && !rowset_find(have, f);
        uint32_t number = wants ? symbol_number(r, path, f, e) : 0;
        if (!number)
            continue;
        r->numbers[r->count] = number;
        r->functions[r->count++] = f;
    }
}

/* Returns true if some function of the object has its instructions. */
static bool any_disassembled(const struct run *r)
{
    const struct symbolize *z = r->z;
    for (uint32_t i = 0; i < z->functions.row_count; i++) {
        const int64_t *f = z->functions.rows + (size_t)i * z->functions.width;
        if (f[COL_function_object] == r->object[0] && rowset_find(&z->disassembled, f))
            return true;
    }
    return false;
}

/* Puts instructions with their text and lines. */
static int disassemble_file(struct run *r, const struct vendor *v, const char *program,
                            const char *path, int64_t deadline, struct err *e)
{
    uint32_t at = 0;
    bool asked = false;
    int rc = 0;
    r->given = 0;
    for (gather(r, &r->z->disassembled, path, &at, e); r->count && !rc;
         gather(r, &r->z->disassembled, path, &at, e)) {
        asked = true;
        const struct disassemble_request q = {.file = path,
                                              .functions = r->numbers,
                                              .count = r->count,
                                              .fn = take_instruction,
                                              .arg = r};
        rc = code_reader_disassemble(v, program, &q, deadline, e);
        put_rows(r);
    }
    if (!rc && !e->code && asked && !r->given && !any_disassembled(r))
        return err_set(e, GPUFL_E_CORRUPT, "%.64s knows no instruction of %.100s: %s",
                       path_base(program), path_base(path), code_reader_advice(v));
    return rc ? rc : e->code;
}

/* Puts the lines of functions that have no instructions yet. */
static int take_lines(struct run *r, const struct vendor *v, const char *path, int64_t deadline,
                      struct err *e)
{
    uint32_t at = 0;
    int rc = 0;
    for (gather(r, &r->z->lined, path, &at, e); r->count && !rc;
         gather(r, &r->z->lined, path, &at, e)) {
        const struct disassemble_request q = {.file = path,
                                              .functions = r->numbers,
                                              .count = r->count,
                                              .fn = take_instruction,
                                              .arg = r};
        rc = code_reader_lines(v, &q, deadline, e);
        put_rows(r);
    }
    return rc ? rc : e->code;
}

/* Describes the disassembler of a vendor, which is looked for once. */
struct program {
    const struct vendor *vendor; /* NULL: not looked for yet */
    bool found;
    char path[PATH_MAX];
    struct err lacks;
};

enum { PROGRAMS = 4 }; /* vendors of one session's code */

static const struct program *program_of(struct program *all, const struct vendor *v)
{
    size_t i = 0;
    while (i < PROGRAMS - 1 && all[i].vendor && all[i].vendor != v)
        i++;
    struct program *p = &all[i];
    if (p->vendor == v)
        return p;
    *p = (struct program){.vendor = v};
    p->found = code_reader_find(v, p->path, sizeof p->path, &p->lacks) == 0;
    return p;
}

/* The first failure is reported. */
static int run_object(struct run *r, struct program *programs, int64_t deadline, struct err *e)
{
    char path[PATH_MAX];
    struct err unread = {0};
    int rc = 0;
    const struct vendor *v = symbolize_kept_code(r->z, r->object, path, sizeof path);
    if (!v || !file_exists(path))
        return 0;
    const struct program *p = program_of(programs, v);
    r->looked = false;
    if (p->found)
        rc = disassemble_file(r, v, p->path, path, deadline, e);
    int lines = take_lines(r, v, path, deadline, rc ? &unread : e);
    code_symbols_close(&r->symbols);
    return rc ? rc : lines;
}

/* Starts the disassembler for the first functions of an object that will be read later. */
static void look_ahead(struct symbolize *z, struct program *programs, const int64_t *object)
{
    struct run r = {.z = z, .object = object};
    struct err e = {0};
    char path[PATH_MAX];
    uint32_t at = 0;
    const struct vendor *v = symbolize_kept_code(z, object, path, sizeof path);
    const struct program *p = v && file_exists(path) ? program_of(programs, v) : NULL;
    if (!p || !p->found)
        return;
    gather(&r, &z->disassembled, path, &at, &e);
    if (r.count)
        code_reader_ahead(
            v, p->path,
            &(struct disassemble_request){.file = path, .functions = r.numbers, .count = r.count});
    code_symbols_close(&r.symbols);
}

/* Returns how many objects are disassembled at once. */
static uint32_t objects_at_once(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > OBJECTS_AT_ONCE ? OBJECTS_AT_ONCE : cores > 1 ? (uint32_t)cores : 1;
}

/* Counts the number of functions without instructions, and of those whose code was kept. */
struct lacking {
    size_t all, kept;
};

static struct lacking count_lacking(const struct symbolize *z)
{
    struct lacking n = {0};
    for (uint32_t i = 0; i < z->functions.row_count; i++) {
        const int64_t *f = z->functions.rows + (size_t)i * z->functions.width;
        const int64_t *o = rowset_find(&z->objects, &f[COL_function_object]);
        if (rowset_find(&z->disassembled, f))
            continue;
        n.all++;
        n.kept += o && o[COL_code_object_file] > 0;
    }
    return n;
}

/* Notes why instructions are missing; the first reason is kept. */
static void lack(struct symbolize *z, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void lack(struct symbolize *z, const char *fmt, ...)
{
    va_list args;
    if (*z->stats.code_note)
        return;
    va_start(args, fmt);
    vsnprintf(z->stats.code_note, sizeof z->stats.code_note, fmt, args);
    va_end(args);
}

/* Returns true if code can be looked up; else notes why not. */
static bool may_disassemble(struct symbolize *z, bool here)
{
    struct lacking n = count_lacking(z);
    if (!n.all)
        return false;
    if (!n.kept)
        lack(z, "none of their code was kept in the session");
    else if (!z->over)
        lack(z, "the session has not ended, and code is disassembled after that");
    else if (!here)
        lack(z,
             "the session was written on another host (%.64s), and code is disassembled on that "
             "one: run gpufl report there, with the vendor's disassembler installed",
             z->has_header ? z->header.host : "not known");
    return n.kept && z->over && here;
}

/* Notes a file that the session names and that is not in its directory any more. */
static void note_missing(struct symbolize *z, const int64_t *object)
{
    char path[PATH_MAX];
    if (object[COL_code_object_file] > 0 &&
        !(symbolize_kept_code(z, object, path, sizeof path) && file_exists(path)))
        lack(z, "the code that was kept is not in the session's directory any more: %.64s",
             symbolize_text(z, symbolize_name_number(z, object[COL_code_object_file])));
}

/* Finds the disassemblers for the kept code, and says which are missing. */
static void look_for_programs(struct symbolize *z, struct program *programs, char *lacks)
{
    char path[PATH_MAX];
    for (uint32_t i = 0; i < z->objects.row_count; i++) {
        const int64_t *object = z->objects.rows + (size_t)i * z->objects.width;
        const struct vendor *v = symbolize_kept_code(z, object, path, sizeof path);
        const struct program *p = v ? program_of(programs, v) : NULL;
        if (!p || p->found)
            continue;
        if (!*lacks)
            snprintf(lacks, sizeof z->stats.note, "%s", p->lacks.text);
        lack(z, "%s", p->lacks.text);
    }
}

int symbolize_code(struct symbolize *z, bool here, char *lacks)
{
    struct program *programs = NULL;
    struct run r = {.z = z};
    int64_t deadline = clock_mono() + TIME_MOST_MS * INT64_C(1000000);
    uint32_t started = 0, most = objects_at_once();
    int rc = 0;
    if (!may_disassemble(z, here))
        return 0;
    programs = mem_array(PROGRAMS, sizeof *programs);
    r.rows = mem_array(GROUP_ROWS, sizeof *r.rows);
    if (!r.rows || !programs) {
        rc = GPUFL_E_NOMEM;
        goto done;
    }
    look_for_programs(z, programs, lacks);
    for (uint32_t i = 0; i < z->objects.row_count && clock_mono() < deadline; i++) {
        struct err e = {0};
        r.object = z->objects.rows + (size_t)i * z->objects.width;
        symbolize_progress_say(z, "module of device code", i, z->objects.row_count);
        for (; most > 1 && started < z->objects.row_count && started < i + most; started++)
            look_ahead(z, programs, z->objects.rows + (size_t)started * z->objects.width);
        if (!run_object(&r, programs, deadline, &e)) {
            note_missing(z, r.object);
            continue;
        }
        if (!*lacks)
            snprintf(lacks, sizeof z->stats.note, "some device code has no instructions: %.300s",
                     e.text);
        lack(z, "%.300s", e.text);
    }
done:
    code_reader_forget();
    mem_free(r.rows);
    mem_free(programs);
    return rc;
}
