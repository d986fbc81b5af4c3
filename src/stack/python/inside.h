/* inside.h - has types and functions that the parts of the Python reader share.
 *
 * find.c finds the interpreter and checks its layout, python.c walks the
 * frames, code.c names and keeps code objects, lines.c decodes
 * their line tables. */
#ifndef GPUFL_STACK_PYTHON_INSIDE_H
#define GPUFL_STACK_PYTHON_INSIDE_H

#include "stack/python/python.h"

#include <pthread.h>
#include <string.h>

enum python_chain {
    CHAIN_OBJECTS = 1, /* frame objects, each run by its own call of the loop */
    CHAIN_CFRAMES,     /* frame records; a record of each loop says which is its first one */
    CHAIN_ENTRIES,     /* frame records; a record on the C stack ends those of a loop */
};

enum python_lines_format {
    LINES_PAIRS = 1, /* 3.9: lnotab, deltas of address and line */
    LINES_RANGES,    /* 3.10: with ends, and with instructions without line */
    LINES_LOCATIONS, /* 3.11 and later: entries of variable length with columns */
};

/* Holds offsets in bytes; layout.def says what each one is. */
struct python_layout {
    int minor;
    enum python_chain chain;
    enum python_lines_format lines;
    uint32_t initialized, tss;
    uint32_t thread_id, thread_top, cframe, cframe_root, cframe_top, cframe_up;
    uint32_t frame_code, frame_up, frame_at, frame_owner, frame_state, entry_owner;
    uint32_t first_line, version, file, name, table, traceable, code_start;
    uint32_t main_interp, main_thread, interp_threads, thread_next, data_stack;
    uint32_t collector, collecting, runtime_gil, interp_gil;
    uint32_t text_head, text_wide;
    uint32_t code_size, frame_size, str_size;
    uint32_t frame_begin, frame_bytes; /* the part of a frame that has the fields above; computed */
    uint32_t code_begin, code_bytes;   /* like frame_begin, for a code object */
    uintptr_t code_type;               /* &PyCode_Type */
    uintptr_t runtime;                 /* &_PyRuntime */
    uintptr_t runtime_size;            /* bytes; 0: not known */
    const _Atomic int *key; /* _PyRuntime's autoTSSkey: whether it is made, and the key */
};

enum {
    OBJECT_TYPE = 8,  /* of every object: ob_type */
    OBJECT_SIZE = 16, /* ob_size of bytes and code, length of str */
    OBJECT_HASH = 24, /* of str and bytes: -1 where it was not computed yet */
    TEXT_STATE = 32,  /* of str: kind, compact, ascii */
    BYTES_DATA = 32,  /* of bytes */
    SIGHT_PAGES = 64,
    SIGHT_PAGE_BITS = 12,
    LINE_MOST = 1 << 28,
};

/* Holds the parts of a code object that identify it. */
struct python_view {
    uintptr_t code;
    uintptr_t file, name, table; /* objects */
    uint32_t first_line;
    uint32_t version; /* unique in this interpreter; 0: unknown */
    uint64_t units;   /* units of bytecode; 0 before 3.11 */
    uint32_t traceable;
};

/* Holds pages that were found readable in this walk, and are read in place. Begins as zeros. */
struct python_sight {
    uintptr_t pages[SIGHT_PAGES]; /* ~number; 0: none, because no page has that number */
    uintptr_t file;               /* the object sampled last, and the result */
    unsigned __int128 file_sum;
};

/* Asks safe.h for the pages from first to last. [hot] */
bool python_look(struct python_sight *s, uintptr_t first, uintptr_t last);

/* Returns true if n bytes can be read now. [hot] */
static inline bool python_see(struct python_sight *s, uintptr_t from, size_t n)
{
    uintptr_t first = from >> SIGHT_PAGE_BITS, last = (from + n - 1) >> SIGHT_PAGE_BITS;
    if (__builtin_expect(first == last && s->pages[first % SIGHT_PAGES] == ~first, 1))
        return true;
    return python_look(s, first, last);
}

/* These types load from readable pages, without sanitizers, which do not know the interpreter's
 * objects. */
typedef uint64_t __attribute__((aligned(1), may_alias)) python_word64;
typedef uint32_t __attribute__((aligned(1), may_alias)) python_word32;
#define PYTHON_FOREIGN __attribute__((no_sanitize("address", "thread", "undefined")))

static inline PYTHON_FOREIGN uint64_t python_word(uintptr_t at)
{
    return *(const python_word64 *)at;
}

static inline PYTHON_FOREIGN uint32_t python_half(uintptr_t at)
{
    return *(const python_word32 *)at;
}

static inline PYTHON_FOREIGN unsigned python_byte(uintptr_t at)
{
    return *(const unsigned char *)at;
}

/* Reads the view of a code object. False: there is no readable code object. [hot] */
static inline bool python_view(const struct python_layout *l, struct python_sight *s,
                               uintptr_t code, struct python_view *v)
{
    if (!python_see(s, code + OBJECT_TYPE, l->code_begin + l->code_bytes - OBJECT_TYPE) ||
        python_word(code + OBJECT_TYPE) != l->code_type)
        return false;
    *v = (struct python_view){
        .code = code,
        .file = python_word(code + l->file),
        .name = python_word(code + l->name),
        .table = python_word(code + l->table),
        .first_line = python_half(code + l->first_line),
        .version = l->version ? python_half(code + l->version) : 0,
        .units = l->code_start ? python_word(code + OBJECT_SIZE) : 0,
        .traceable = l->traceable ? python_half(code + l->traceable) : 0,
    };
    return v->first_line < LINE_MOST;
}

enum {
    PYTHON_NAME_BYTES = 1024, /* bytes of a name with its end; longer ones are cut */
    PYTHON_FILE_BYTES = 4096,
    PYTHON_TABLE_MOST = 1 << 20, /* bytes of a line table; a longer one is not kept */
};

/* This is a way to read the interpreter's memory. False: not all n bytes can be read. */
struct python_reader {
    bool (*read)(void *with, void *to, uintptr_t from, size_t n);
    void *with;
};

/* Holds the content of a code object. */
struct python_content {
    long name_size, file_size; /* without the ends */
    uint64_t table_size;       /* as the interpreter says; only PYTHON_TABLE_MOST are read */
    char name[PYTHON_NAME_BYTES], file[PYTHON_FILE_BYTES];
    uint8_t *table; /* room of PYTHON_TABLE_MOST bytes, the caller's */
};

/* Reads the content of a code object that may be freed meanwhile; the caller finds out whether it
 * was. False: unreadable. [any] */
bool python_content_read(const struct python_layout *l, const struct python_reader *r,
                         const struct python_view *v, struct python_content *c);

/* Returns the key of the content, which equals python_key of that code object. [any] */
uint64_t python_content_key(const struct python_view *v, const struct python_content *c);

/* Keeps the content, so that python_code finds a frame that has the key but no code. Does nothing
 * if there is no room. [any] */
void python_content_keep(const struct python_layout *l, const struct python_view *v,
                         const struct python_content *c, uint64_t key);

/* Returns the layout of Python's structs; NULL: Python is not read. [hot] */
const struct python_layout *python_layout(void);

/* Notes how a walk ended, until one has succeeded: a good walk proves that the layout fits, bad
 * walks switch Python off. [hot, first sight] */
void python_judge(const struct python_layout *l, bool good);

/* Returns the key of a code object's content; 0: unreadable. [hot] */
uint64_t python_key(const struct python_layout *l, struct python_sight *s,
                    const struct python_view *v);

/* Finds the line of a place; 0: unknown. UINT32_MAX: before the first instruction. [any] */
int python_lines_find(enum python_lines_format format, const uint8_t *table, size_t size,
                      int first_line, uint32_t place);

#endif
