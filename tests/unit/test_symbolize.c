/* test_symbolize.c - a session's frames looked up and written into it. */
#include "analyze/symbolize.h"

#include "analyze/feed.h"
#include "analyze/load.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/thread.h"
#include "make_log.h"
#include "symbol/elf_file.h"
#include "symbol/source_file.h"
#include "tmpdir.h"

#include <gpufl/analysis.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

/* The leak checker guesses where thread-local storage of opened libraries lies, and with libdw's
 * it guesses wrong and falls. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}

/* ---- a session ------------------------------------------------------------------------- */

#define SESSION "5e550000-0000-4000-8000-000000000001"

enum { CALLS = 5, LARGE = 100000 };

/* Names of the session by id: see put_dictionary. */
enum {
    NAME_PATH = 1,
    NAME_ID,
    NAME_PYTHON_FILE,
    NAME_PYTHON_FUNCTION,
    NAME_GONE,
    NAME_OPTION = 40
};

struct fixture {
    char program[PATH_MAX], script[PATH_MAX];
    struct elf_file file;
    uint64_t addresses[CALLS];
    char host[256];
};

static struct fixture fix;

static void run_program(void)
{
    unsigned long address;
    FILE *f = popen(fix.program, "r");
    assert_non_null(f);
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(fscanf(f, "%*s %lx", &address), 1);
        fix.addresses[i] = address;
    }
    assert_int_equal(pclose(f), 0);
}

/* A script of Python of several pieces. */
static void write_script(void)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    while (text.len < LARGE)
        buf_str(&text, "x = 1  # \xe2\x82\xac\n");
    snprintf(fix.script, sizeof fix.script, "%s", tmpdir_write("train.py", text.data, text.len));
    buf_fini(&text);
}

static int set_up(void **state)
{
    snprintf(fix.program, sizeof fix.program, "%s/tests/symbol/cc5", getenv("GPUFL_BINARY_DIR"));
    assert_int_equal(gethostname(fix.host, sizeof fix.host - 1), 0);
    if (tmpdir_open(state) || elf_file_open(&fix.file, fix.program, NULL))
        return -1;
    run_program();
    write_script();
    return 0;
}

static int tear_down(void **state)
{
    elf_file_close(&fix.file);
    return tmpdir_close(state);
}

static void put_module(struct make_log *l, int64_t id, int64_t path)
{
    struct module_row m = {.id = id,
                           .path = path,
                           .build_id = NAME_ID,
                           .kind = 1,
                           .size = fix.file.size,
                           .mtime = fix.file.mtime};
    make_log_rows(l, RECORD_module, &m, 1);
}

static void put_native(struct make_log *l, int64_t id, int64_t module, uint64_t offset)
{
    struct frame_row f = {
        .id = id, .kind = 1, .module = module, .offset = (int64_t)offset, .line = CELL_NULL};
    make_log_rows(l, RECORD_frame, &f, 1);
}

static void put_dictionary(struct make_log *l)
{
    make_log_names(l, fix.program, fix.file.build_id, fix.script, "train.step",
                   "/nowhere/libgone.so", NULL);
    put_module(l, 1, NAME_PATH);
    put_module(l, 2, NAME_GONE);
    make_log_rows(l, RECORD_module, &(struct module_row){.id = 3, .kind = 3}, 1);
}

/* Frames 1 to CALLS of the program, then one of a file that is gone, of generated code, of none,
 * and of Python. */
static void put_frames(struct make_log *l)
{
    for (int i = 0; i < CALLS; i++)
        put_native(l, 1 + i, 1, fix.addresses[i]);
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

struct how {
    bool running;     /* no `end` row */
    const char *host; /* NULL: this one */
    bool no_sources;  /* the option is off */
};

static void write_session(const struct how *how)
{
    struct make_log l;
    make_log_init(&l, SESSION);
    l.host = how->host ? how->host : fix.host;
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
    assert_true(!r->names[id] || !strncmp(r->names[id], text, len)); /* an id means one text */
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

static const char *in_session(const char *name)
{
    static _Thread_local char path[4][PATH_MAX];
    static _Thread_local unsigned next;
    char *p = path[next++ % 4];
    snprintf(p, PATH_MAX, "%s/" SESSION "/%s", tmpdir, name);
    return p;
}

/* Reads one file alone: all that its rows refer to must be in it. */
static void read_file(struct read_back *r, const char *name)
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

static void forget(struct read_back *r)
{
    for (int i = 0; i < NAMES_ROOM; i++)
        mem_free(r->names[i]);
}

static const struct symbol_row *symbol_of(const struct read_back *r, int64_t frame, int64_t level)
{
    const struct symbol_row *found = NULL;
    for (size_t i = 0; i < r->symbol_count; i++)
        if (r->symbols[i].frame == frame && r->symbols[i].level == level) {
            assert_null(found); /* told once */
            found = &r->symbols[i];
        }
    return found;
}

static struct gpufl_symbolized symbolize(int flags)
{
    struct gpufl_symbolized r = {.size = sizeof r};
    char error[384] = "";
    if (gpufl_symbolize(in_session(""), flags, &r, error, sizeof error))
        fail_msg("%s", error);
    return r;
}

static int64_t code_size(void)
{
    return file_size(in_session("code.log"));
}

/* ---- tests ----------------------------------------------------------------------------- */

static void check_symbols(const struct read_back *r)
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

/* The pieces of a source put together are the file. */
static void check_source(const struct read_back *r, const char *path)
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

static void test_session(void **state)
{
    struct read_back r;
    char source[PATH_MAX];
    (void)state;
    write_session(&(struct how){0});
    struct gpufl_symbolized s = symbolize(0);
    assert_string_equal(s.note, "");
    assert_true(s.written);
    assert_int_equal(s.sessions, 1);
    assert_int_equal(s.frames, CALLS + 3);
    assert_int_equal(s.known, 0);
    assert_int_equal(s.lines, CALLS);
    assert_int_equal(s.functions, 0);
    assert_int_equal(s.unknown, 3);
    assert_int_equal(s.sources, 2);
    read_file(&r, "code.log");
    assert_int_equal(r.damaged, 0);
    assert_string_equal(r.channel, "code");
    assert_int_equal(r.part, 1);
    assert_int_equal(r.offset, 0);
    assert_int_equal(r.frames, CALLS + 3);
    check_symbols(&r);
    for (int i = 0; i < NAME_OPTION + 2; i++) /* ids of the session mean what they meant */
        assert_true(!r.names[i] || i <= NAME_GONE);
    check_source(&r, fix.script);
    snprintf(source, sizeof source, "%s/tests/symbol/cases.cc", getenv("GPUFL_SOURCE_DIR"));
    check_source(&r, source);
    forget(&r);
}

/* ---- which sources --------------------------------------------------------------------- */

enum { LIBRARIES = 4, NAME_LIBRARY = 60, FRAME_LIBRARY = CALLS + 10, STACK_LIBRARY = 20 };

/* Files of libraries in stacks, outermost first: passed, shown; train.py, passed; train.py, second;
 * third, passed, shown. No line of the first and the last is the user's. */
static void write_libraries(char paths[LIBRARIES][PATH_MAX])
{
    static const char *const files[LIBRARIES] = {"shown", "passed", "second", "third"};
    static const struct stack_row stacks[] = {
        {STACK_LIBRARY, 0, FRAME_LIBRARY + 1, 1},
        {STACK_LIBRARY + 1, STACK_LIBRARY, FRAME_LIBRARY, 2},
        {STACK_LIBRARY + 2, 0, CALLS + 4, 1},
        {STACK_LIBRARY + 3, STACK_LIBRARY + 2, FRAME_LIBRARY + 1, 2},
        {STACK_LIBRARY + 4, STACK_LIBRARY + 2, FRAME_LIBRARY + 2, 2},
        {STACK_LIBRARY + 5, 0, FRAME_LIBRARY + 3, 1},
        {STACK_LIBRARY + 6, STACK_LIBRARY + 5, FRAME_LIBRARY + 1, 2},
        {STACK_LIBRARY + 7, STACK_LIBRARY + 6, FRAME_LIBRARY, 3},
        {STACK_LIBRARY + 8, STACK_LIBRARY + 8, FRAME_LIBRARY + 99, 3}, /* of nothing known */
    };
    struct make_log l;
    mkdir(tmpdir_path("site-packages"), 0755);
    make_log_init(&l, SESSION);
    l.host = fix.host;
    make_log_header(&l, "device", 1);
    put_dictionary(&l);
    for (uint32_t i = 0; i < LIBRARIES; i++) {
        char name[64];
        snprintf(name, sizeof name, "site-packages/%s.py", files[i]);
        snprintf(paths[i], PATH_MAX, "%s", tmpdir_write(name, "pass\n", 5));
        uint32_t id = NAME_LIBRARY + i;
        const char *text = paths[i];
        size_t len = strlen(text);
        encode_names(&l.lines, &id, &text, &len, 1);
        struct frame_row frame = {.id = FRAME_LIBRARY + i,
                                  .kind = 2,
                                  .function = NAME_PYTHON_FUNCTION,
                                  .file = id,
                                  .line = 1,
                                  .first_line = 1};
        make_log_rows(&l, RECORD_frame, &frame, 1);
    }
    make_log_rows(&l, RECORD_stack, stacks, sizeof stacks / sizeof *stacks);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
}

/* Of libraries only what a report points at: the line that stands for a stack without one of the
 * user's. */
static void test_libraries(void **state)
{
    char paths[LIBRARIES][PATH_MAX];
    struct read_back r;
    (void)state;
    write_session(&(struct how){0});
    write_libraries(paths);
    assert_int_equal(symbolize(0).sources, 3); /* train.py, cases.cc, shown.py */
    read_file(&r, "code.log");
    check_source(&r, fix.script);
    check_source(&r, paths[0]);
    for (size_t i = 0; i < r.source_count; i++)
        for (int k = 1; k < LIBRARIES; k++)
            assert_string_not_equal(r.names[r.sources[i].path], paths[k]);
    /* The user's come first. */
    assert_string_equal(r.names[r.sources[r.source_count - 1].path], paths[0]);
    forget(&r);
    assert_int_equal(symbolize(0).sources, 0);
}

static void test_again(void **state)
{
    (void)state;
    write_session(&(struct how){0});
    symbolize(0);
    int64_t size = code_size();
    struct gpufl_symbolized s = symbolize(0);
    assert_int_equal(s.known, CALLS + 3);
    assert_int_equal(s.lines + s.functions + s.unknown + s.sources, 0);
    assert_true(s.written);
    assert_int_equal(code_size(), size);
}

/* A line that its program could not finish; frames that came after the first time. */
static void test_more(void **state)
{
    struct read_back r;
    struct make_log l;
    (void)state;
    write_session(&(struct how){0});
    symbolize(0);
    int64_t size = code_size();
    make_log_init(&l, SESSION);
    make_log_header(&l, "device", 1);
    put_dictionary(&l);
    put_native(&l, CALLS + 5, 1, fix.addresses[0]);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    FILE *f = fopen(in_session("code.log"), "a");
    assert_non_null(f);
    fputs("{\"type\":\"names\",\"ro", f);
    fclose(f);
    struct gpufl_symbolized s = symbolize(0);
    assert_int_equal(s.known, CALLS + 3);
    assert_int_equal(s.lines, 1);
    assert_true(s.written);
    assert_true(code_size() > size);
    read_file(&r, "code.log");
    assert_int_equal(r.damaged, 1);
    check_symbols(&r);
    assert_non_null(symbol_of(&r, CALLS + 5, 2));
    forget(&r);
}

static void test_next_part(void **state)
{
    struct read_back r;
    (void)state;
    write_session(&(struct how){.no_sources = true});
    symbolize(0);
    int64_t size = code_size();
    assert_int_equal(file_gzip(in_session("code.log"), in_session("code.1.log.gz"), 1, NULL), 0);
    unlink(in_session("code.log"));
    assert_int_equal(symbolize(0).known, CALLS + 3);
    assert_false(file_exists(in_session("code.log")));
    struct make_log l;
    make_log_init(&l, SESSION);
    make_log_header(&l, "device", 1);
    put_dictionary(&l);
    put_native(&l, CALLS + 5, 1, fix.addresses[0]);
    make_log_write(&l, tmpdir, "device.log");
    make_log_fini(&l);
    assert_int_equal(symbolize(0).lines, 1);
    read_file(&r, "code.log");
    assert_int_equal(r.part, 2);
    assert_int_equal(r.offset, size);
    assert_int_equal(r.frames, 1);
    assert_int_equal(r.modules, 1);
    assert_int_equal(r.source_count, 0);
    forget(&r);
}

/* Answers that are not written are there for the reader all the same. */
static void check_in_memory(const char *reason)
{
    struct discover d;
    struct load_options o = {0};
    struct load_stats stats;
    struct intern *names;
    struct model m;
    struct err e = {0};
    int64_t size = code_size();
    assert_int_equal(intern_open(&names, 1 << 20, 1 << 28), 0);
    assert_int_equal(discover_open(&d, in_session(""), &e), 0);
    model_init(&m, names);
    assert_int_equal(load_session(&m, &d.sessions[0], &o, &stats, &e), 0);
    assert_int_equal(stats.symbols.lines, CALLS);
    assert_int_equal(stats.symbols.unwritten, reason != NULL);
    if (reason && !strstr(stats.symbols.note, reason))
        fail_msg("%s: %s", reason, stats.symbols.note);
    assert_true(m.stacks.symbol_count >= CALLS + 3);
    if (reason)
        assert_int_equal(code_size(), size);
    assert_int_equal(stats.lines.damaged, 0);
    model_fini(&m);
    discover_close(&d);
    intern_close(names);
}

static void test_not_written(void **state)
{
    (void)state;
    write_session(&(struct how){.running = true});
    check_in_memory("has not ended");
    write_session(&(struct how){.host = "elsewhere"});
    check_in_memory("another host");
    assert_int_equal(symbolize(0).sources, 0);
    write_session(&(struct how){0});
    int fd = open(in_session(""), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    check_in_memory("another report");
    close(fd);
    assert_int_equal(symlink(tmpdir_write("empty", "", 0), in_session("code.log")), 0);
    check_in_memory("symbolic links");
    assert_int_equal(unlink(in_session("code.log")), 0);
    check_in_memory(NULL);
    assert_int_equal(symbolize(0).known, CALLS + 3);
}

static void test_over(void **state)
{
    (void)state;
    write_session(&(struct how){.running = true, .no_sources = true});
    struct gpufl_symbolized s = symbolize(GPUFL_SYMBOLIZE_ENDED);
    assert_true(s.written);
    assert_int_equal(s.sources, 0);
    assert_int_equal(symbolize(0).known, CALLS + 3);
}

/* A limit that the answers do not fit under leaves no half of them behind. */
static void test_no_room(void **state)
{
    struct rlimit before, small;
    (void)state;
    write_session(&(struct how){0});
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){2000, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct gpufl_symbolized s = symbolize(0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(s.written);
    assert_non_null(strstr(s.note, "too large"));
    assert_int_equal(s.lines, CALLS);
    assert_false(file_exists(in_session("code.log")));
    assert_true(symbolize(0).written);
}

static void *symbolize_thread(void *arg)
{
    *(struct gpufl_symbolized *)arg = symbolize(0);
    return NULL;
}

/* However many look at a session at once, it is told once. */
static void test_together(void **state)
{
    enum { THREADS = 4 };
    struct gpufl_symbolized results[THREADS];
    struct thread threads[THREADS];
    struct read_back r;
    (void)state;
    write_session(&(struct how){0});
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&threads[i], "symbolize", 0, symbolize_thread, &results[i]),
                         0);
    for (int i = 0; i < THREADS; i++)
        thread_join(&threads[i]);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(results[i].known + results[i].lines + results[i].unknown, CALLS + 3);
    assert_true(symbolize(0).written);
    read_file(&r, "code.log");
    assert_int_equal(r.damaged, 0);
    check_symbols(&r);
    forget(&r);
}

static void test_no_memory(void **state)
{
    struct discover d;
    struct symbolize_stats stats;
    int64_t n = 0;
    int code = GPUFL_E_NOMEM;
    (void)state;
    write_session(&(struct how){.running = true});
    assert_int_equal(discover_open(&d, in_session(""), NULL), 0);
    for (; code; n++) {
        mem_fail_at(n);
        code = symbolize_session(&d.sessions[0], false, &stats);
        int64_t made = mem_count();
        mem_fail_at(-1);
        assert_true(code == 0 || code == GPUFL_E_NOMEM);
        if (made <= n)
            break;
        code = GPUFL_E_NOMEM;
    }
    assert_true(n > 50);
    assert_int_equal(stats.lines, CALLS);
    discover_close(&d);
}

/* ---- a machine without libdw ------------------------------------------------------------- */

/* In a process of its own, which finds a libdw that cannot be loaded: functions by the symbol
 * table, not written, so that a later look finds the lines. */
static int without_libdw(void)
{
    struct gpufl_symbolized s = {.size = sizeof s};
    if (gpufl_symbolize(getenv("GPUFL_TEST_SESSION"), 0, &s, NULL, 0))
        return 2;
    if (s.lines || s.functions != CALLS || s.written || !strstr(s.note, "install libdw1"))
        return 3;
    return 0;
}

static void test_without_libdw(void **state)
{
    char command[2 * PATH_MAX], exe[PATH_MAX];
    struct read_back r;
    (void)state;
    write_session(&(struct how){0});
    tmpdir_write("libdw.so.1", "no library", 10);
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    assert_true(n > 0);
    exe[n] = '\0';
    snprintf(command, sizeof command,
             "GPUFL_TEST_SESSION='%s' LD_LIBRARY_PATH='%s' '%s' without-libdw", in_session(""),
             tmpdir, exe);
    assert_int_equal(system(command), 0);
    read_file(&r, "code.log"); /* the sources do not need it */
    assert_int_equal(r.symbol_count, 0);
    check_source(&r, fix.script);
    forget(&r);
    struct gpufl_symbolized s = symbolize(0);
    assert_int_equal(s.known, 0);
    assert_int_equal(s.lines, CALLS);
    assert_true(s.written);
    read_file(&r, "code.log");
    check_symbols(&r);
    forget(&r);
}

static void test_bad_arguments(void **state)
{
    char error[384] = "";
    (void)state;
    assert_int_equal(gpufl_symbolize(NULL, 0, NULL, error, sizeof error), GPUFL_E_INVAL);
    assert_true(*error);
    assert_int_equal(gpufl_symbolize("/nowhere", 0, NULL, error, sizeof error), GPUFL_E_NOENT);
    assert_int_equal(gpufl_symbolize("/nowhere", 0, NULL, NULL, 0), GPUFL_E_NOENT);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "without-libdw"))
        return without_libdw();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_libraries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_next_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_libdw, set_up, tear_down),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
