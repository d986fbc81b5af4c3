/* symbolize_fixture.c - see symbolize_fixture.h. */
#include "tests/unit/support/symbolize_fixture.h"

#include "analyze/read/feed.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "symbol/source_file.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <gpufl/analysis.h>

enum { LARGE = 100000 };

/* The leak checker guesses where thread-local storage of opened libraries lies; for libdw's it
 * guesses wrong and crashes. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}

struct symbolize_fixture symbolize_fix;

static void run_program(void)
{
    unsigned long address;
    FILE *f = popen(symbolize_fix.program, "r");
    assert_non_null(f);
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(fscanf(f, "%*s %lx", &address), 1);
        symbolize_fix.addresses[i] = address;
    }
    assert_int_equal(pclose(f), 0);
}

/* Writes a Python script that is kept in several pieces. */
static void write_script(void)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    while (text.len < LARGE)
        buf_str(&text, "x = 1  # \xe2\x82\xac\n");
    snprintf(symbolize_fix.script, sizeof symbolize_fix.script, "%s",
             tmpdir_write("train.py", text.data, text.len));
    buf_fini(&text);
}

int set_up(void **state)
{
    snprintf(symbolize_fix.program, sizeof symbolize_fix.program, "%s/tests/symbol/cc5",
             getenv("GPUFL_BINARY_DIR"));
    assert_int_equal(gethostname(symbolize_fix.host, sizeof symbolize_fix.host - 1), 0);
    if (tmpdir_open(state) || elf_file_open(&symbolize_fix.file, symbolize_fix.program, NULL))
        return -1;
    run_program();
    write_script();
    return 0;
}

int tear_down(void **state)
{
    elf_file_close(&symbolize_fix.file);
    return tmpdir_close(state);
}

static void put_module(struct make_log *l, int64_t id, int64_t path)
{
    struct module_row m = {.id = id,
                           .path = path,
                           .build_id = NAME_ID,
                           .kind = 1,
                           .size = symbolize_fix.file.size,
                           .mtime = symbolize_fix.file.mtime};
    make_log_rows(l, RECORD_module, &m, 1);
}

void put_native(struct make_log *l, int64_t id, int64_t module, uint64_t offset)
{
    struct frame_row f = {
        .id = id, .kind = 1, .module = module, .offset = (int64_t)offset, .line = CELL_NULL};
    make_log_rows(l, RECORD_frame, &f, 1);
}

void put_dictionary(struct make_log *l)
{
    make_log_names(l, symbolize_fix.program, symbolize_fix.file.build_id, symbolize_fix.script,
                   "train.step", "/nowhere/libgone.so", NULL);
    put_module(l, 1, NAME_PATH);
    put_module(l, 2, NAME_GONE);
    make_log_rows(l, RECORD_module, &(struct module_row){.id = 3, .kind = 3}, 1);
}

/* Adds frames 1 to CALLS of the program, then one of a file that is gone, one of generated code,
 * one without a module, and one of Python. */
static void put_frames(struct make_log *l)
{
    for (int i = 0; i < CALLS; i++)
        put_native(l, 1 + i, 1, symbolize_fix.addresses[i]);
    put_native(l, CALLS + 1, 2, 0x1234);
    put_native(l, CALLS + 2, 3, 0x7f0000001234);
    put_native(l, CALLS + 3, 0, 0x7f0000005678);
    struct frame_row python = {.id = CALLS + 4,
                               .kind = 2,
                               .function = NAME_PYTHON_FUNCTION,
                               .file = NAME_PYTHON_FILE,
                               .line = 90,
                               .first_line = 80};
    make_log_rows(l, RECORD_frame, &python, 1);
}

void write_session(const struct how *how)
{
    struct make_log l;
    make_log_init(&l, SESSION);
    l.host = how->host ? how->host : symbolize_fix.host;
    make_log_header(&l, "scope", 1);
    put_dictionary(&l);
    put_frames(&l);
    for (int i = 0; i < CALLS; i++) {
        make_log_rows(&l, RECORD_stack, &(struct stack_row){1 + i, 0, 1 + i, 1}, 1);
        make_log_rows(
            &l, RECORD_wait,
            &(struct wait_row){.start = 100 * i, .duration = 50, .call = 3, .stack = 1 + i}, 1);
    }
    make_log_write(&l, tmpdir, "scope.log");
    make_log_header(&l, "system", 1);
    const char *texts[] = {"enable_source_collection", how->no_sources ? "false" : "true"};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t id = NAME_OPTION + i;
        size_t len = strlen(texts[i]);
        encode_names(&l.lines, &id, &texts[i], &len, 1);
    }
    make_log_rows(&l, RECORD_option, &(struct option_row){NAME_OPTION, NAME_OPTION + 1, 0}, 1);
    if (!how->running)
        make_log_rows(&l, RECORD_end, &(struct end_row){.time = 5000}, 1);
    make_log_write(&l, tmpdir, "system.log");
    make_log_fini(&l);
}

/* ---- reading it back ------------------------------------------------------------------- */

static int back_header(void *arg, const struct wire_header *h)
{
    struct read_back *r = arg;
    snprintf(r->channel, sizeof r->channel, "%s", h->channel);
    r->part = h->part;
    r->offset = h->offset;
    return 0;
}

static int back_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct read_back *r = arg;
    assert_true(id < NAMES_ROOM);
    assert_true(!r->names[id] || !strncmp(r->names[id], text, len)); /* an id has one text */
    mem_free(r->names[id]);
    r->names[id] = mem_strndup(text, len);
    return 0;
}

static int back_batch(void *arg, const struct wire_batch *b)
{
    struct read_back *r = arg;
    for (size_t i = 0; i < b->rows; i++)
        for (unsigned c = 0; c < b->record->column_count; c++) {
            int64_t v = b->col[c] ? b->col[c][i] : CELL_NULL;
            if (b->record->columns[c].ref == RECORD_name && v > 0)
                assert_non_null(r->names[v]);
            if (b->type == RECORD_symbol)
                ((int64_t *)&r->symbols[r->symbol_count + i])[c] = v;
            if (b->type == RECORD_source)
                ((int64_t *)&r->sources[r->source_count + i])[c] = v;
        }
    r->symbol_count += b->type == RECORD_symbol ? b->rows : 0;
    r->source_count += b->type == RECORD_source ? b->rows : 0;
    r->frames += b->type == RECORD_frame ? b->rows : 0;
    r->modules += b->type == RECORD_module ? b->rows : 0;
    assert_true(r->symbol_count < SYMBOLS_ROOM && r->source_count < SOURCES_ROOM);
    return 0;
}

static int back_line(void *arg, char *line, size_t len, bool complete)
{
    struct read_back *r = arg;
    struct wire_visitor v = {
        .arg = r, .header = back_header, .name = back_name, .batch = back_batch};
    (void)complete;
    return decoder_feed(r->decoder, line, len, &v);
}

const char *in_session(const char *name)
{
    static _Thread_local char path[4][PATH_MAX];
    static _Thread_local unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, PATH_MAX, "%s/" SESSION "/%s", tmpdir, name);
    return p;
}

/* Reads one file alone: it must have all that its rows refer to. */
void read_file(struct read_back *r, const char *name)
{
    struct discover d;
    struct feed_stats stats;
    struct feed f = {.arg = r, .line = back_line};
    memset(r, 0, sizeof *r);
    assert_int_equal(decoder_open(&r->decoder), 0);
    assert_int_equal(discover_open(&d, in_session(name), NULL), 0);
    assert_int_equal(feed_session(&d.sessions[0], &f, &stats), 0);
    r->damaged = decoder_stats(r->decoder)->damaged;
    discover_close(&d);
    decoder_close(r->decoder);
}

void forget(struct read_back *r)
{
    for (int i = 0; i < NAMES_ROOM; i++)
        mem_free(r->names[i]);
}

const struct symbol_row *symbol_of(const struct read_back *r, int64_t frame, int64_t level)
{
    const struct symbol_row *found = NULL;
    for (size_t i = 0; i < r->symbol_count; i++)
        if (r->symbols[i].frame == frame && r->symbols[i].level == level) {
            assert_null(found); /* reported once */
            found = &r->symbols[i];
        }
    return found;
}

struct gpufl_symbolized symbolize(int flags)
{
    struct gpufl_symbolized r = {.size = sizeof r};
    char error[384] = "";
    if (gpufl_symbolize(in_session(""), flags, &r, error, sizeof error))
        fail_msg("%s", error);
    return r;
}

int64_t code_size(void)
{
    return file_size(in_session("code.log"));
}

/* ---- what the session must have ---------------------------------------------------------- */

void check_symbols(const struct read_back *r)
{
    const struct symbol_row *s = symbol_of(r, 1, 0);
    char source[PATH_MAX];
    snprintf(source, sizeof source, "%s/tests/symbol/cases.cc", getenv("GPUFL_SOURCE_DIR"));
    assert_non_null(s);
    assert_int_equal(s->status, 0);
    assert_string_equal(r->names[s->file], source);
    assert_true(s->line > 0);
    assert_non_null(symbol_of(r, 1, 1));
    s = symbol_of(r, 1, 2);
    assert_non_null(s);
    assert_string_equal(r->names[s->function], "_ZN5train4Step3runEi");
    assert_null(symbol_of(r, 1, 3));
    static const int64_t statuses[] = {2, 5, 4};
    for (int i = 0; i < 3; i++) {
        s = symbol_of(r, CALLS + 1 + i, 0);
        assert_non_null(s);
        assert_int_equal(s->status, statuses[i]);
        assert_int_equal(s->function, 0);
        assert_int_equal(s->line, CELL_NULL);
    }
    assert_null(symbol_of(r, CALLS + 4, 0));
}

/* Checks that the pieces of a source, put together, are the file. */
void check_source(const struct read_back *r, const char *path)
{
    struct source_file f;
    struct buf text;
    int64_t pieces = 0;
    assert_int_equal(source_file_read(&f, path, NULL), 0);
    buf_init(&text, SOURCE_MAX);
    for (size_t i = 0; i < r->source_count; i++) {
        const struct source_row *s = &r->sources[i];
        if (strcmp(r->names[s->path], path) != 0)
            continue;
        assert_int_equal(s->offset, text.len);
        assert_int_equal(s->size, f.len);
        assert_int_equal(s->mtime, f.mtime);
        assert_true((uint64_t)s->hash == f.hash);
        buf_str(&text, r->names[s->text]);
        pieces++;
    }
    assert_true(pieces > 0);
    assert_string_equal(buf_cstr(&text), f.text);
    buf_fini(&text);
    source_file_fini(&f);
}
