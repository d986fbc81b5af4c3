/* disassemble.c - see disassemble.h. llvm-objdump prints lines like these:
 *
 *   0000000000001500 <axpy>:
 *   	s_load_b128 s[4:7], s[0:1], 0x8        // 000000001500: F4080100 F8000008
 *
 * The address shows to which function an instruction belongs. All other lines are skipped. */
#include "symbol/amdgpu/disassemble.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/order.h"
#include "symbol/amdgpu/places.h"
#include "symbol/device/disassembler.h"
#include "symbol/device/symbols.h"

#include <stdlib.h>
#include <string.h>

enum {
    LIST_MOST = 64 << 10,  /* bytes of names for one run: an argument has at most 128 KiB */
    INSTRUCTION_LEAST = 4, /* bytes */
    LOOK_EVERY = 256,      /* addresses between two checks of the time */
};

struct function {
    uint64_t at, end; /* addresses */
    const char *name; /* owned by the symbols */
};

/* Holds a code object that is being read. */
struct object {
    struct code_symbols symbols;
    struct places places;
    struct function *functions; /* owned; the requested ones, by address */
    size_t count;
    uint64_t size; /* bytes of the file */
    disassembled_fn *fn;
    void *arg;
    struct disassembled now;
};

static int compare_functions(const void *a, const void *b)
{
    uint64_t x = ((const struct function *)a)->at, y = ((const struct function *)b)->at;
    return x < y ? -1 : x > y;
}

static int open_object(struct object *o, const char *file, const uint32_t *functions, size_t count,
                       struct err *e)
{
    struct elf_file f;
    int rc = code_symbols_open(&o->symbols, file, e);
    if (rc || (rc = elf_file_open(&f, file, e)))
        return rc;
    places_open(&o->places, &f);
    o->size = (uint64_t)f.size;
    elf_file_close(&f);
    o->functions = mem_array(count ? count : 1, sizeof *o->functions);
    if (!o->functions)
        return err_nomem(e);
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym s;
        const char *name = code_symbols_at(&o->symbols, functions[i], &s);
        if (name && s.st_size && s.st_value <= UINT64_MAX - s.st_size)
            o->functions[o->count++] = (struct function){s.st_value, s.st_value + s.st_size, name};
    }
    qsort(o->functions, o->count, sizeof *o->functions, compare_functions);
    return 0;
}

static void close_object(struct object *o)
{
    if (!o)
        return;
    places_close(&o->places);
    code_symbols_close(&o->symbols);
    mem_free(o->functions);
    mem_free(o);
}

static const struct function *function_of(const struct object *o, uint64_t address)
{
    size_t low = ORDER_PLACE(o->count, i, o->functions[i].at <= address);
    return low && address < o->functions[low - 1].end ? &o->functions[low - 1] : NULL;
}

static void deliver(struct object *o, const struct function *f, uint64_t address, const char *text)
{
    o->now.function = f->name;
    o->now.offset = address - f->at;
    o->now.text = text;
    o->fn(o->arg, &o->now);
}

/* ---- llvm-objdump -------------------------------------------------------------------------- */

/* Takes a line; its last "//" ends the instruction, whose text contains none. */
static void take_line(void *arg, char *line)
{
    static const char mark[] = "// ";
    struct object *o = arg;
    char *comment = NULL, *end;
    for (char *at = strstr(line, mark); at; at = strstr(at + 1, mark))
        comment = at;
    if (*line != '\t' || !comment)
        return;
    uint64_t address = strtoull(comment + sizeof mark - 1, &end, 16);
    const struct function *f = *end == ':' ? function_of(o, address) : NULL;
    while (comment > line && strchr(" \t", comment[-1]))
        comment--;
    *comment = '\0';
    line += strspn(line, " \t");
    if (!f || !*line)
        return;
    places_find(&o->places, address, &o->now);
    deliver(o, f, address, line);
}

/* Puts names of functions from *next on into the list, in the form that llvm-objdump takes, as many
 * as fit. False: there are no more. */
static bool put_names(const struct object *o, struct buf *list, size_t *next)
{
    size_t first = *next;
    buf_clear(list);
    buf_str(list, "--disassemble-symbols=");
    for (; *next < o->count && list->len + strlen(o->functions[*next].name) + 2 < LIST_MOST;
         ++*next)
        buf_printf(list, "%s%s", *next > first ? "," : "", o->functions[*next].name);
    buf_char(list, '\0');
    if (*next == first)
        ++*next; /* a name that is too long for any list */
    return first < o->count && !buf_error(list);
}

static int run_all(struct object *o, const char *program, const struct disassemble_request *q,
                   int64_t deadline, struct err *e)
{
    struct buf list;
    size_t next = 0;
    int rc = 0;
    buf_init(&list, LIST_MOST);
    while (!rc && put_names(o, &list, &next)) {
        char *argv[] = {(char *)program, "-d", list.data, (char *)q->file, NULL};
        const struct disassembler_run run = {.program = program,
                                             .argv = argv,
                                             .file = q->file,
                                             .advice = q->advice,
                                             .line = take_line,
                                             .arg = o};
        rc = disassembler_run(&run, deadline, e);
    }
    buf_fini(&list);
    return rc;
}

static struct object *new_object(disassembled_fn *fn, void *arg, struct err *e)
{
    struct object *o = mem_zalloc(sizeof *o);
    if (!o) {
        (void)err_nomem(e);
        return NULL;
    }
    o->fn = fn;
    o->arg = arg;
    return o;
}

int amdgpu_disassemble(const char *program, const struct disassemble_request *q, int64_t deadline,
                       struct err *e)
{
    struct object *o = new_object(q->fn, q->arg, e);
    int rc = o ? open_object(o, q->file, q->functions, q->count, e) : GPUFL_E_NOMEM;
    if (!rc)
        rc = run_all(o, program, q, deadline, e);
    close_object(o);
    return rc;
}

/* ---- lines only ---------------------------------------------------------------------------- */

static bool same_places(const struct disassembled *a, const struct disassembled *b)
{
    bool same = a->place_count == b->place_count;
    for (size_t i = 0; same && i < a->place_count; i++)
        same = a->places[i].line == b->places[i].line &&
               strcmp(a->places[i].file, b->places[i].file) == 0;
    return same;
}

/* Holds the places of the instruction before, with copies of their texts. */
struct before {
    struct disassembled d;
    char files[DISASSEMBLE_LEVELS][PLACES_FILE_ROOM];
};

static void remember(struct before *b, const struct disassembled *d)
{
    b->d.place_count = d->place_count;
    for (size_t i = 0; i < d->place_count; i++) {
        b->d.places[i].line = d->places[i].line;
        b->d.places[i].file = b->files[i];
        memcpy(b->files[i], d->places[i].file, strlen(d->places[i].file) + 1);
    }
}

/* Says how much work may still be done for an object. */
struct budget {
    uint64_t addresses;
    int64_t deadline; /* clock_mono, ns */
    bool late;
};

static bool spend(struct budget *b)
{
    if (!b->addresses)
        return false;
    b->late = --b->addresses % LOOK_EVERY == 0 && clock_mono() >= b->deadline;
    return !b->late;
}

/* Reports the lines of a function. False: the budget is used up. */
static bool deliver_lines(struct object *o, const struct function *f, struct before *b,
                          struct budget *left)
{
    b->d.place_count = 0;
    for (uint64_t at = f->at; at < f->end; at += INSTRUCTION_LEAST) {
        if (!spend(left))
            return false;
        places_find(&o->places, at, &o->now);
        if (!o->now.place_count || same_places(&o->now, &b->d))
            continue;
        deliver(o, f, at, "");
        remember(b, &o->now);
    }
    return true;
}

static int deliver_all(struct object *o, const char *file, struct before *b, int64_t deadline,
                       struct err *e)
{
    struct budget left = {.addresses = o->size / INSTRUCTION_LEAST + 1, .deadline = deadline};
    bool in_time = clock_mono() < deadline, whole = in_time;
    for (size_t i = 0; whole && o->places.known && i < o->count; i++)
        whole = deliver_lines(o, &o->functions[i], b, &left);
    if (whole)
        return 0;
    if (left.late || !in_time)
        return err_set(e, GPUFL_E_TIMEOUT, "the lines of %.200s took too long", path_base(file));
    return err_set(e, GPUFL_E_CORRUPT, "%.200s is damaged: its functions are longer than the file",
                   path_base(file));
}

int amdgpu_lines(const struct disassemble_request *q, int64_t deadline, struct err *e)
{
    struct object *o = new_object(q->fn, q->arg, e);
    struct before *b = mem_zalloc(sizeof *b);
    int rc = o && b ? open_object(o, q->file, q->functions, q->count, e) : err_nomem(e);
    if (!rc)
        rc = deliver_all(o, q->file, b, deadline, e);
    close_object(o);
    mem_free(b);
    return rc;
}
