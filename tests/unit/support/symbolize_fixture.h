/* symbolize_fixture.h - makes a session of a program whose frames can be looked up, in a directory
 * of the test, and the rows written into it. */
#ifndef GPUFL_TESTS_SYMBOLIZE_FIXTURE_H
#define GPUFL_TESTS_SYMBOLIZE_FIXTURE_H

#include "symbol/elf/file.h"
#include "tests/unit/support/make_log.h"
#include "wire/decode.h"

#include <gpufl/analysis.h>

#include <limits.h>

#define SESSION "5e550000-0000-4000-8000-000000000001"

enum { CALLS = 5 };

/* Lists the ids of the session's names: see put_dictionary. */
enum {
    NAME_PATH = 1,
    NAME_ID,
    NAME_PYTHON_FILE,
    NAME_PYTHON_FUNCTION,
    NAME_GONE,
    NAME_OPTION = 40
};

struct symbolize_fixture {
    char program[PATH_MAX], script[PATH_MAX];
    struct elf_file file;
    uint64_t addresses[CALLS];
    char host[256];
};

extern struct symbolize_fixture symbolize_fix;

int set_up(void **state);
int tear_down(void **state);

/* ---- a session ------------------------------------------------------------------------------- */

struct how {
    bool running;     /* no `end` row */
    const char *host; /* NULL: this one */
    bool no_sources;  /* the option is off */
};

void put_dictionary(struct make_log *l);
void put_native(struct make_log *l, int64_t id, int64_t module, uint64_t offset);
void write_session(const struct how *how);
const char *in_session(const char *name); /* path of its file, in one of four buffers in turn */
int64_t code_size(void);                  /* size of its code.log */
struct gpufl_symbolized symbolize(int flags);

/* ---- what was written ------------------------------------------------------------------------ */

enum { NAMES_ROOM = 256, SYMBOLS_ROOM = 64, SOURCES_ROOM = 16 };

struct read_back {
    struct decoder *decoder;
    char *names[NAMES_ROOM]; /* owned */
    struct symbol_row symbols[SYMBOLS_ROOM];
    struct source_row sources[SOURCES_ROOM];
    size_t symbol_count, source_count, frames, modules;
    char channel[16];
    int64_t part, offset;
    uint64_t damaged;
};

/* Reads one file alone: it must have all that its rows refer to. */
void read_file(struct read_back *r, const char *name);
void forget(struct read_back *r);

const struct symbol_row *symbol_of(const struct read_back *r, int64_t frame, int64_t level);
void check_symbols(const struct read_back *r);
void check_source(const struct read_back *r, const char *path); /* its pieces are the file */

#endif
