/* lines.c - see lines.h.
 *
 * A sequence of the table contains one function's code. Its addresses count from the symbol that a
 * relocation puts into DW_LNE_set_address. A row of inlined code has the number of the row of its
 * call, counted from 1 in its sequence. */
#include "symbol/cubin/lines.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/order.h"
#include "symbol/elf/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECTION_MOST = 256 << 20, /* bytes of a section that is read */
    ROWS_MOST = 1 << 22,      /* rows of a sequence */
    FILES_MOST = 1 << 16,     /* files of a unit, and its directories */
    INSTRUCTION_BYTES = 16,   /* since compute capability 7.0 */
    LOOKS = 8,                /* sequences that may cover one instruction */
    INLINED_CALL = 0x90, /* of NVIDIA: the row of the call, the function's name in .debug_str */
};

/* Lists the standard opcodes by number. */
enum { COPY = 1, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC = 8, FIXED_ADVANCE_PC };
enum { END_SEQUENCE = 1, SET_ADDRESS };

struct row {
    uint64_t address; /* from the sequence's symbol on */
    uint32_t file, line, call;
};

struct file {
    const char *name;
    uint64_t dir;
};

struct function {
    uint32_t section;
    uint64_t at, size; /* in the section; checked */
    const char *name;
};

struct table {
    char *lines, *names; /* owned */
    size_t lines_len, names_len;
    Elf64_Sym *symbols; /* owned */
    size_t symbol_count;
    Elf64_Rela *relocations; /* owned: by offset */
    size_t relocation_count;
    struct function *functions; /* owned: all, by section and offset */
    size_t function_count;
    struct function *wanted; /* owned: the requested ones, in the same order */
    size_t wanted_count;
    uint64_t
        budget; /* instructions that may still be read: at first a few times as many as exist */
    void (*fn)(void *arg, const struct disassembled *d);
    void *arg;
    const struct elf_file *elf;
    struct row *rows; /* owned: of the sequence */
    size_t row_count, row_cap;
    const char **dirs; /* owned: of the unit, from 1 on */
    size_t dir_count, dir_cap;
    struct file *files; /* owned: of the unit, from 1 on */
    size_t file_count, file_cap;
};

/* ---- reading, within bounds ---------------------------------------------------------------- */

struct reader {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t take(struct reader *r, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < bytes) {
        r->bad = true;
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, bytes);
    r->at += bytes;
    return value;
}

/* Reads seven bits a byte, the lowest first. *bits: how many bits; *sign: the last byte's sign
 * bit. */
static uint64_t take_leb(struct reader *r, unsigned *bits, bool *sign)
{
    uint64_t value = 0, byte;
    *bits = 0;
    do {
        byte = take(r, 1);
        value |= *bits < 64 ? (byte & 0x7f) << *bits : 0;
        *bits += 7;
    } while (byte & 0x80);
    *sign = byte & 0x40;
    return value;
}

static uint64_t take_uleb(struct reader *r)
{
    unsigned bits;
    bool sign;
    return take_leb(r, &bits, &sign);
}

static int64_t take_sleb(struct reader *r)
{
    unsigned bits;
    bool sign;
    uint64_t value = take_leb(r, &bits, &sign);
    return (int64_t)(sign && bits < 64 ? value | ~UINT64_C(0) << bits : value);
}

static const char *take_text(struct reader *r)
{
    const char *text = (const char *)r->at;
    const unsigned char *nul = memchr(r->at, 0, (size_t)(r->end - r->at));
    r->bad |= !nul;
    r->at = nul ? nul + 1 : r->end;
    return nul ? text : "";
}

/* ---- symbols ------------------------------------------------------------------------------- */

/* Reads a symbol. False: it is not a function, or is not within its section. */
static bool function_of(const struct table *t, uint64_t number, struct function *out)
{
    const Elf64_Sym *s = number < t->symbol_count ? &t->symbols[number] : NULL;
    if (!s || ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_name >= t->names_len || !s->st_shndx ||
        s->st_shndx >= t->elf->section_count)
        return false;
    uint64_t whole = t->elf->sections[s->st_shndx].sh_size;
    if (whole > (uint64_t)t->elf->size || s->st_value > whole || s->st_size > whole - s->st_value)
        return false;
    /* code that the compiler put after the first function of a section belongs to it, too */
    *out = (struct function){.section = s->st_shndx,
                             .at = s->st_value,
                             .size = s->st_value ? s->st_size : whole,
                             .name = t->names + s->st_name};
    return true;
}

static int compare_functions(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->section != y->section)
        return x->section < y->section ? -1 : 1;
    return ORDER(x->at, y->at);
}

/* Returns the first function at this offset or after it. */
static size_t find_function(const struct function *list, size_t count, uint32_t section,
                            uint64_t at)
{
    const struct function key = {.section = section, .at = at};
    return ORDER_PLACE(count, i, compare_functions(&list[i], &key) < 0);
}

static int compare_relocations(const void *a, const void *b)
{
    const Elf64_Rela *x = a, *y = b;
    return ORDER(x->r_offset, y->r_offset);
}

/* Returns the relocation at an offset of .debug_line; NULL: there is none. */
static const Elf64_Rela *relocation_at(const struct table *t, uint64_t offset)
{
    const Elf64_Rela key = {.r_offset = offset};
    return t->relocation_count
               ? bsearch(&key, t->relocations, t->relocation_count, sizeof key, compare_relocations)
               : NULL;
}

static int list_functions(struct table *t, const uint32_t *wanted, size_t count)
{
    t->functions = mem_array(t->symbol_count + 1, sizeof *t->functions);
    t->wanted = mem_array(count + 1, sizeof *t->wanted);
    if (!t->functions || !t->wanted)
        return GPUFL_E_NOMEM;
    for (size_t i = 1; i < t->symbol_count; i++)
        t->function_count += function_of(t, i, &t->functions[t->function_count]);
    for (size_t i = 0; i < count; i++)
        t->wanted_count += function_of(t, wanted[i], &t->wanted[t->wanted_count]);
    qsort(t->functions, t->function_count, sizeof *t->functions, compare_functions);
    qsort(t->wanted, t->wanted_count, sizeof *t->wanted, compare_functions);
    t->budget = 4096;
    for (size_t i = 0; i < t->wanted_count; i++)
        t->budget += t->wanted[i].size / INSTRUCTION_BYTES * LOOKS;
    return 0;
}

/* ---- telling ------------------------------------------------------------------------------- */

static void put_path(const struct table *t, uint32_t number, char *out, size_t size)
{
    const struct file *f = number && number < t->file_count ? &t->files[number] : NULL;
    const char *dir = f && f->dir && f->dir < t->dir_count ? t->dirs[f->dir] : "";
    *out = '\0';
    if (f && *dir && *f->name != '/')
        snprintf(out, size, "%s/%s", dir, f->name);
    else if (f)
        snprintf(out, size, "%s", f->name);
}

static void deliver(const struct table *t, const char *function, uint64_t offset, size_t row)
{
    static char paths[DISASSEMBLE_LEVELS][PATH_MAX];
    struct disassembled d = {.function = function, .offset = offset, .text = ""};
    size_t at = row + 1;
    for (int level = 0; at && level < DISASSEMBLE_LEVELS; level++) {
        const struct row *r = &t->rows[at - 1];
        if (r->line) {
            put_path(t, r->file, paths[d.place_count], sizeof *paths);
            d.places[d.place_count] = (struct disassembled_place){paths[d.place_count], r->line};
            d.place_count++;
        }
        at = r->call < at ? r->call : 0; /* the row of a call comes before the inlined rows */
    }
    if (d.place_count)
        t->fn(t->arg, &d);
}

/* Reports the lines of a function within a sequence, which is [from, to) of its section. A row does
 * not belong to a function that begins after it: routines that the compiler puts after a kernel
 * have no lines. */
static void deliver_function(struct table *t, const struct function *f, uint64_t from, uint64_t to)
{
    uint64_t end = f->at + f->size < to ? f->at + f->size : to;
    uint64_t at = f->at;
    if (at < from) /* its first instruction there */
        at += (from - at + INSTRUCTION_BYTES - 1) / INSTRUCTION_BYTES * INSTRUCTION_BYTES;
    size_t row = 0, next = find_function(t->functions, t->function_count, f->section, at + 1);
    uint64_t begin = next ? t->functions[next - 1].at : f->at; /* of the innermost function */
    for (; at < end && t->budget; at += INSTRUCTION_BYTES) {
        t->budget--;
        for (; next < t->function_count && t->functions[next].section == f->section &&
               t->functions[next].at <= at;
             next++)
            begin = t->functions[next].at;
        while (row + 1 < t->row_count && t->rows[row + 1].address <= at - from)
            row++;
        uint64_t address = t->rows[row].address;
        if (address <= at - from && from + address >= begin)
            deliver(t, f->name, at - f->at, row);
    }
}

/* The sequence is complete: reports its functions. It ends at an address of its own. */
static void deliver_sequence(struct table *t, const Elf64_Rela *place, uint64_t end)
{
    struct function of;
    if (!t->row_count || !function_of(t, ELF64_R_SYM(place->r_info), &of))
        return;
    uint64_t whole = t->elf->sections[of.section].sh_size, addend = (uint64_t)place->r_addend;
    uint64_t from = addend <= whole - of.at ? of.at + addend : whole;
    uint64_t to = end < whole - from ? from + end : whole;
    for (size_t i = find_function(t->wanted, t->wanted_count, of.section, 0);
         i < t->wanted_count && t->wanted[i].section == of.section; i++)
        deliver_function(t, &t->wanted[i], from, to);
}

/* ---- units --------------------------------------------------------------------------------- */

struct unit {
    uint64_t least; /* bytes of an instruction's address */
    int line_base;
    unsigned line_range, opcode_base;
    unsigned char operands[256]; /* of standard opcodes */
};

struct state {
    struct row now;
    const Elf64_Rela *place; /* the sequence's; NULL: unknown */
};

static int take_names(struct table *t, struct reader *r)
{
    t->dir_count = t->file_count = 1;
    for (const char *dir = take_text(r); *dir; dir = take_text(r)) {
        if (mem_grow(&t->dirs, &t->dir_cap, t->dir_count + 1, sizeof *t->dirs, FILES_MOST))
            return GPUFL_E_NOMEM;
        t->dirs[t->dir_count++] = dir;
    }
    for (const char *name = take_text(r); *name; name = take_text(r)) {
        if (mem_grow(&t->files, &t->file_cap, t->file_count + 1, sizeof *t->files, FILES_MOST))
            return GPUFL_E_NOMEM;
        t->files[t->file_count++] = (struct file){name, take_uleb(r)};
        take_uleb(r); /* time */
        take_uleb(r); /* size */
    }
    return 0;
}

static int put_row(struct table *t, const struct state *s)
{
    if (mem_grow(&t->rows, &t->row_cap, t->row_count + 1, sizeof *t->rows, ROWS_MOST))
        return GPUFL_E_NOMEM;
    t->rows[t->row_count++] = s->now;
    return 0;
}

static const struct state START = {.now = {.file = 1, .line = 1}};

static void run_extended(struct table *t, struct reader *r, struct state *s)
{
    uint64_t len = take_uleb(r);
    if (!len || len > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return;
    }
    struct reader one = {r->at, r->at + len, false};
    r->at += len;
    switch (take(&one, 1)) {
    case END_SEQUENCE:
        if (s->place)
            deliver_sequence(t, s->place, s->now.address);
        t->row_count = 0;
        *s = START;
        break;
    case SET_ADDRESS:
        s->place = relocation_at(t, (uint64_t)((const char *)one.at - t->lines));
        s->now.address = 0;
        break;
    case INLINED_CALL:
        s->now.call = (uint32_t)take_uleb(&one);
        break;
    default: /* skipped: its length is known */
        break;
    }
}

static int run_standard(struct table *t, const struct unit *u, struct reader *r, unsigned op,
                        struct state *s)
{
    switch (op) {
    case COPY:
        return put_row(t, s);
    case ADVANCE_PC:
        s->now.address += take_uleb(r) * u->least;
        return 0;
    case ADVANCE_LINE:
        s->now.line += (uint32_t)take_sleb(r);
        return 0;
    case SET_FILE:
        s->now.file = (uint32_t)take_uleb(r);
        return 0;
    case CONST_ADD_PC:
        s->now.address += (255 - u->opcode_base) / u->line_range * u->least;
        return 0;
    case FIXED_ADVANCE_PC:
        s->now.address += take(r, 2);
        return 0;
    default:
        for (unsigned i = 0; i < u->operands[op]; i++)
            take_uleb(r);
        return 0;
    }
}

static int run_program(struct table *t, const struct unit *u, struct reader *r)
{
    struct state s = START;
    int rc = 0;
    t->row_count = 0;
    while (!rc && !r->bad && r->at < r->end) {
        unsigned op = (unsigned)take(r, 1);
        if (!op) {
            run_extended(t, r, &s);
        } else if (op < u->opcode_base) {
            rc = run_standard(t, u, r, op, &s);
        } else {
            unsigned special = op - u->opcode_base;
            s.now.address += special / u->line_range * u->least;
            s.now.line =
                (uint32_t)((int64_t)s.now.line + u->line_base + (int)(special % u->line_range));
            rc = put_row(t, &s);
        }
    }
    return rc;
}

/* Runs a unit's program; r contains the unit after its length. A unit of an unknown version is
 * skipped. */
static int run_unit(struct table *t, struct reader *r, size_t offset_bytes)
{
    struct unit u = {0};
    uint64_t version = take(r, 2), header = take(r, offset_bytes);
    if (r->bad || version < 2 || version > 4)
        return 0;
    r->bad = header > (uint64_t)(r->end - r->at);
    struct reader program = {r->bad ? r->end : r->at + header, r->end, false};
    u.least = take(r, 1);
    take(r, version >= 4 ? 2 : 1); /* operations of an instruction; is_stmt */
    int base = (int)take(r, 1);    /* a signed byte */
    u.line_base = base < 128 ? base : base - 256;
    u.line_range = (unsigned)take(r, 1);
    u.opcode_base = (unsigned)take(r, 1);
    for (unsigned i = 1; i < u.opcode_base; i++)
        u.operands[i] = (unsigned char)take(r, 1);
    int rc = take_names(t, r);
    if (rc || r->bad || !u.line_range || !u.opcode_base) {
        r->bad = true;
        return rc;
    }
    rc = run_program(t, &u, &program);
    r->bad |= program.bad;
    return rc;
}

static int run_table(struct table *t, const char *cubin, struct err *e)
{
    struct reader r = {(unsigned char *)t->lines, (unsigned char *)t->lines + t->lines_len, false};
    int rc = 0;
    while (!rc && !r.bad && r.at < r.end) {
        uint64_t len = take(&r, 4);
        size_t offset_bytes = len == UINT32_MAX ? 8 : 4;
        len = offset_bytes == 8 ? take(&r, 8) : len;
        r.bad |= len > (uint64_t)(r.end - r.at);
        struct reader unit = {r.at, r.bad ? r.at : r.at + len, false};
        r.at = unit.end;
        rc = r.bad ? 0 : run_unit(t, &unit, offset_bytes);
        r.bad |= unit.bad;
    }
    if (rc)
        return err_set(e, rc, "%.200s has more lines than the memory limit allows",
                       path_base(cubin));
    if (r.bad || !t->budget)
        return err_set(e, GPUFL_E_CORRUPT, "the line table of %.200s is damaged", path_base(cubin));
    return 0;
}

/* ---- the file ------------------------------------------------------------------------------ */

static void *read_section(const struct elf_file *f, const Elf64_Shdr *s, size_t *len)
{
    *len = 0;
    return s ? elf_file_read(f, s, SECTION_MOST, len) : NULL;
}

/* Reads the sections. False: one that is needed is missing. */
static bool read_all(struct table *t)
{
    const struct elf_file *f = t->elf;
    const Elf64_Shdr *symbols = elf_file_section(f, ".symtab");
    size_t symbols_len, relocations_len;
    t->lines = read_section(f, elf_file_section(f, ".debug_line"), &t->lines_len);
    t->relocations = read_section(f, elf_file_section(f, ".rela.debug_line"), &relocations_len);
    t->symbols = read_section(f, symbols, &symbols_len);
    if (symbols && symbols->sh_link < f->section_count)
        t->names = read_section(f, &f->sections[symbols->sh_link], &t->names_len);
    t->relocation_count = relocations_len / sizeof *t->relocations;
    t->symbol_count = symbols_len / sizeof *t->symbols;
    if (t->relocation_count)
        qsort(t->relocations, t->relocation_count, sizeof *t->relocations, compare_relocations);
    return t->lines && t->relocations && t->symbols && t->names;
}

int cubin_lines(const char *cubin, const uint32_t *functions, size_t count,
                void (*fn)(void *arg, const struct disassembled *d), void *arg, struct err *e)
{
    struct elf_file f;
    struct table t = {.fn = fn, .arg = arg, .elf = &f};
    int rc = elf_file_open(&f, cubin, e);
    if (rc)
        return rc;
    if (read_all(&t)) {
        rc = list_functions(&t, functions, count);
        rc = rc ? err_nomem(e) : run_table(&t, cubin, e);
    }
    void *const owned[] = {t.lines,  t.relocations, t.symbols, t.names, t.functions,
                           t.wanted, t.rows,        t.dirs,    t.files};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        mem_free(owned[i]);
    elf_file_close(&f);
    return rc;
}
