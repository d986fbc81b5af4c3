/* The Python reader over a fake interpreter: this program exports an interpreter's symbols.
 *
 * Objects are laid out by the rows of layout.def, so that the frames of each version are walked,
 * also if the memory is invalid: other versions and builds, wrong types, cycles, pointers to
 * nowhere. The reader keeps its results for the life of a process, so each test is a child of its
 * own. */
#include "stack/common/safe.h"
#include "stack/python/inside.h"
#include "tests/test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    HEAP_BYTES = 1 << 16,
    PLACES = 4,      /* code objects */
    CODE_UNITS = 64, /* units of bytecode of each */
    TYPE_BYTES = 512,
    WORDS = 83, /* words of _Py_DebugOffsets */
    FINAL = 0xf0,
};

EXPORT _Alignas(16) char _PyRuntime[8192];
EXPORT uint32_t Py_Version;
EXPORT _Alignas(16) char PyCode_Type[TYPE_BYTES];
EXPORT _Alignas(16) char PyFrame_Type[TYPE_BYTES];
EXPORT _Alignas(16) char PyUnicode_Type[TYPE_BYTES];
EXPORT _Alignas(16) char PyBytes_Type[TYPE_BYTES];

static const struct python_layout layouts[] = {
#define ROW(...) {__VA_ARGS__},
#include "stack/python/layout.def"
};

static const struct {
    int minor, word, plus;
    size_t field;
} published[] = {
#define PUBLISHED(minor, word, plus, field)                                                        \
    {minor, word, plus, offsetof(struct python_layout, field)},
#include "stack/python/layout.def"
};

struct member {
    const char *name;
    uint64_t type;
    int64_t offset;
    uint64_t rest[2];
};

static struct python_layout row;
static struct member code_members[8];
static pthread_key_t key;

/* Holds the memory of the fake interpreter: one heap for each thread, with objects at fixed
 * offsets. */
struct heap {
    _Alignas(16) char bytes[HEAP_BYTES];
};
static struct heap heap;

enum { /* offsets in the heap */
       AT_THREAD = 0,
       AT_CODE = 1024, /* 512 each */
       AT_NAME = 8192, /* 128 each */
       AT_FILE = 9216,
       AT_TABLE = 10240, /* 256 each */
       AT_FRAME = 16384, /* 128 each */
       AT_ENTRY = 32768, /* 128 each; loops of 3.11 */
};

static void put(char *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size);
}

static void put_str(char *at, const char *text)
{
    put(at + OBJECT_TYPE, (uintptr_t)PyUnicode_Type, 8);
    put(at + OBJECT_SIZE, strlen(text), 8);
    put(at + OBJECT_HASH, UINT64_MAX, 8);
    put(at + TEXT_STATE, 1 << 2 | 1 << 5 | 1 << 6, 4);
    memcpy(at + row.text_head, text, strlen(text) + 1);
}

static void put_code(struct heap *h, int i, const char *name, int first_line)
{
    char *code = h->bytes + AT_CODE + 512 * i, *table = h->bytes + AT_TABLE + 256 * i;
    put_str(h->bytes + AT_NAME + 128 * i, name);
    put_str(h->bytes + AT_FILE, "/some/file.py");
    put(table + OBJECT_TYPE, (uintptr_t)PyBytes_Type, 8);
    put(table + OBJECT_SIZE, CODE_UNITS / 8 * 2, 8);
    put(table + OBJECT_HASH, UINT64_MAX, 8);
    for (int k = 0; k < CODE_UNITS / 8; k++) /* a line has eight units */
        memcpy(table + BYTES_DATA + 2 * k, "\xef\x02", 2);
    put(code + OBJECT_TYPE, (uintptr_t)PyCode_Type, 8);
    put(code + OBJECT_SIZE, CODE_UNITS, 8);
    put(code + row.name, (uintptr_t)h->bytes + AT_NAME + 128 * (unsigned)i, 8);
    put(code + row.file, (uintptr_t)h->bytes + AT_FILE, 8);
    put(code + row.table, (uintptr_t)table, 8);
    put(code + row.first_line, (uint64_t)first_line, 4);
    put(code + row.traceable, 1, 4);
    if (row.version)
        put(code + row.version, (uint64_t)i + 100, 4);
}

static char *frame_at(struct heap *h, int i)
{
    return h->bytes + AT_FRAME + 128 * i;
}

static void put_frame(struct heap *h, int i, int code, int unit, const char *up)
{
    char *frame = frame_at(h, i), *c = h->bytes + AT_CODE + 512 * code;
    put(frame + row.frame_code, (uintptr_t)c, 8);
    put(frame + row.frame_at, (uintptr_t)c + row.code_start + 2 * (unsigned)unit, 8);
    put(frame + row.frame_up, (uintptr_t)up, 8);
    frame[row.frame_owner] = 0;
}

/* Makes the record of a loop on the "C stack": an entry frame, or 3.11's own kind. */
static char *put_loop(struct heap *h, int i, const char *up)
{
    char *loop = h->bytes + AT_ENTRY + 128 * i;
    if (row.chain == CHAIN_ENTRIES) {
        put(loop + row.frame_up, (uintptr_t)up, 8);
        loop[row.frame_owner] = (char)row.entry_owner;
    }
    return loop;
}

/* Puts frames 0 and 1 into an inner loop, 2 (hidden) and 3 into the outer one. */
static void put_thread(struct heap *h)
{
    static const char *const names[PLACES] = {"inner", "Class.method", "hidden", "<module>"};
    char *thread = h->bytes + AT_THREAD, *top = frame_at(h, 0);
    memset(h, 0, sizeof(*h));
    for (int i = 0; i < PLACES; i++)
        put_code(h, i, names[i], 10 * (i + 1));
    char *outer = put_loop(h, 1, NULL);
    put_frame(h, 3, 3, 40, row.chain == CHAIN_ENTRIES ? outer : NULL);
    put_frame(h, 2, 2, 0, frame_at(h, 3));
    char *inner = put_loop(h, 0, frame_at(h, 2));
    put_frame(h, 1, 1, 20, row.chain == CHAIN_ENTRIES ? inner : frame_at(h, 2));
    put_frame(h, 0, 0, 5, frame_at(h, 1));
    put(thread + row.thread_id, (uint64_t)pthread_self(), 8);
    if (row.chain == CHAIN_CFRAMES) {
        put(inner + row.cframe_top, (uintptr_t)top, 8);
        put(inner + row.cframe_up, (uintptr_t)outer, 8);
        put(outer + row.cframe_top, (uintptr_t)frame_at(h, 2), 8);
        put(outer + row.cframe_up, (uintptr_t)thread + row.cframe_root, 8);
        put(thread + row.thread_top, (uintptr_t)inner, 8);
    } else if (row.cframe) { /* 3.12 */
        put(thread + row.cframe_root + 512, (uintptr_t)top, 8);
        put(thread + row.thread_top, (uintptr_t)thread + row.cframe_root + 512, 8);
    } else {
        put(thread + row.thread_top, (uintptr_t)top, 8);
    }
    assert_int_equal(pthread_setspecific(key, thread), 0);
}

static void put_types(void)
{
    static const struct {
        const char *name;
        size_t field;
    } members[] = {{"co_argcount", offsetof(struct python_layout, first_line)},
                   {"co_firstlineno", offsetof(struct python_layout, first_line)},
                   {"co_filename", offsetof(struct python_layout, file)},
                   {"co_qualname", offsetof(struct python_layout, name)},
                   {"co_linetable", offsetof(struct python_layout, table)}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        uint32_t offset;
        memcpy(&offset, (char *)&row + members[i].field, sizeof(offset));
        code_members[i] = (struct member){members[i].name, 1, offset, {0, 0}};
    }
    put(PyCode_Type + 32, row.code_size, 8);
    put(PyCode_Type + 240, (uintptr_t)code_members, 8);
    put(PyFrame_Type + 32, row.frame_size, 8);
    put(PyUnicode_Type + 32, row.str_size, 8);
}

/* Makes an interpreter of a version that has a row. */
static void put_interpreter(int minor)
{
    uint64_t words[WORDS] = {0};
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (layouts[i].minor == minor)
            row = layouts[i];
    Py_Version = 3u << 24 | (uint32_t)minor << 16 | 4 << 8 | FINAL;
    put_types();
    memcpy(words, "xdebugpy", 8);
    words[1] = Py_Version;
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        uint32_t offset;
        memcpy(&offset, (char *)&row + published[i].field, sizeof(offset));
        if (published[i].minor == minor)
            words[published[i].word] = (uint64_t)((int64_t)offset - published[i].plus);
    }
    if (minor >= 13)
        memcpy(_PyRuntime, words, sizeof(words));
    put(_PyRuntime + row.initialized, 1, 4);
    assert_int_equal(pthread_key_create(&key, NULL), 0);
    put(_PyRuntime + row.tss, 1, 4);
    put(_PyRuntime + row.tss + 4, key, 4);
    put_thread(&heap);
}

static void in_child(void (*run)(int), int argument)
{
    pid_t pid = fork();
    if (pid == 0) {
        run(argument);
        _exit(0);
    }
    int how;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    if (how != 0)
        fail_msg("the child ended with %#x", (unsigned)how);
}

/* After a failed check of cmocka a child would go on with the parent's tests; this ends it. */
#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: %s (3.%d, %s)\n", __FILE__, __LINE__, #what, row.minor,        \
                    python_status());                                                              \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void check_frames(struct heap *h)
{
    static const char *const names[] = {"inner", "Class.method", "<module>"};
    static const int lines[] = {11, 23, 46}; /* the first line + unit / 8 */
    struct python_frame frames[8];
    CHECK(python_walk(frames, 8) == 3);
    for (int i = 0; i < 3; i++) {
        const struct stack_code *code = python_code(&frames[i]);
        CHECK(code && strcmp(code->name, names[i]) == 0);
        CHECK(strcmp(code->file, "/some/file.py") == 0);
        CHECK(python_line(code, frames[i].place) == lines[i]);
    }
    CHECK(frames[0].native == (uintptr_t)h->bytes + AT_ENTRY);
    CHECK(frames[1].native == 0);
    CHECK(frames[2].native == (uintptr_t)h->bytes + AT_ENTRY + 128);
}

static void run_whole(int minor)
{
    char status[64];
    struct python_frame frames[8];
    put_interpreter(minor);
    CHECK(python_walk(frames, 8) == 0);
    CHECK(python_find() && python_find() && !python_is_rejected());
    CHECK(strstr(python_status(), "none of its frames seen"));
    check_frames(&heap);
    snprintf(status, sizeof(status), "CPython 3.%d.4", minor);
    CHECK(strcmp(python_status(), status) == 0);
    CHECK(python_walk(frames, 2) == 2 && frames[0].native == (uintptr_t)heap.bytes + AT_ENTRY);
    CHECK(python_walk(frames, 0) == 0);
    /* The thread's key is gone, like after the interpreter's end. */
    put(_PyRuntime + row.tss, 0, 4);
    CHECK(python_walk(frames, 8) == 0);
}

TEST(whole)
{
    for (int minor = 11; minor <= 14; minor++)
        in_child(run_whole, minor);
}

static void check_off(const char *why)
{
    struct python_frame frames[8];
    CHECK(!python_find() && !python_find());
    CHECK(strstr(python_status(), why) && python_is_rejected());
    CHECK(python_walk(frames, 8) == 0);
}

static void run_off(int which)
{
    put_interpreter(which < 10 ? 13 : 12);
    switch (which) {
    case 0:
        Py_Version = 3u << 24 | 99u << 16 | FINAL;
        check_off("CPython 3.99.0: the version is not one that is known");
        break;
    case 1:
        Py_Version = 4u << 24 | FINAL;
        check_off("not one that is known");
        break;
    case 2:
        Py_Version = 3u << 24 | 13u << 16 | 0xb1;
        check_off("a pre-release");
        break;
    case 3:
        put(_PyRuntime + 16, 1, 8);
        check_off("free-threaded");
        break;
    case 4:
        _PyRuntime[0] = 'y';
        check_off("publishes no offsets");
        break;
    case 5:
        put(_PyRuntime + 8L * 30, 1 << 20, 8);
        check_off("offsets that cannot be");
        break;
    case 6:
        put(_PyRuntime + 8L * 35, row.file + 8, 8); /* not what the type says */
        check_off("not laid out");
        break;
    case 10:
        put(PyCode_Type + 32, row.code_size + 8, 8);
        check_off("not laid out");
        break;
    case 11:
        code_members[4].offset += 8;
        check_off("not laid out");
        break;
    case 12:
        put(PyCode_Type + 240, 8, 8);
        check_off("not laid out");
        break;
    case 13:
        put(_PyRuntime + row.initialized, 77, 4);
        check_off("runtime is not laid out");
        break;
    default:
        put(PyUnicode_Type + 32, row.str_size - 8, 8);
        check_off("not laid out");
    }
}

TEST(off)
{
    for (int which = 0; which < 7; which++)
        in_child(run_off, which);
    for (int which = 10; which < 15; which++)
        in_child(run_off, which);
}

static void run_late(int minor)
{
    struct python_frame frames[8];
    put_interpreter(minor);
    put(_PyRuntime + row.initialized, 0, 4);
    CHECK(!python_find() && strstr(python_status(), "not initialized"));
    CHECK(python_walk(frames, 8) == 0);
    put(_PyRuntime + row.initialized, 1, 4);
    CHECK(python_find());
    check_frames(&heap);
}

TEST(late)
{
    in_child(run_late, 12);
}

/* If frames are never where this version keeps them, the reader is off after a few tries. */
static void run_doubt(int which)
{
    struct python_frame frames[8];
    put_interpreter(12);
    if (which == 0)
        put(heap.bytes + AT_THREAD + row.thread_id, 5, 8);
    else if (which == 1)
        put(heap.bytes + AT_CODE + OBJECT_TYPE, 5, 8);
    else
        put(frame_at(&heap, 0) + row.frame_at, 5, 8);
    CHECK(python_find());
    for (int i = 0; i < 8; i++)
        CHECK(python_walk(frames, 8) <= 2);
    CHECK(python_walk(frames, 8) == 0);
    CHECK(strstr(python_status(), "not where this version keeps them") && !python_find());
}

TEST(doubt)
{
    for (int which = 0; which < 3; which++)
        in_child(run_doubt, which);
}

static uint64_t wild(const char *nowhere)
{
    switch (rand() % 8) {
    case 0:
        return (uintptr_t)nowhere + (unsigned)rand() % 64;
    case 1:
        return (uintptr_t)nowhere - (unsigned)rand() % 64;
    case 2:
        return (uint64_t)rand();
    case 3:
        return UINT64_MAX - (unsigned)rand() % 300;
    case 4:
        return (uint64_t)rand() << 33 ^ (uint64_t)rand();
    default: /* another object, or the middle of one */
        return (uintptr_t)heap.bytes + (unsigned)rand() % HEAP_BYTES / 8 * (rand() % 2 ? 8 : 1);
    }
}

#ifdef __SANITIZE_THREAD__
enum { CORRUPT_ROUNDS = 2000 }; /* one thread has no races, and takes 30 times as long */
#else
enum { CORRUPT_ROUNDS = 40000 };
#endif

/* The reader returns, whatever the interpreter's memory holds. */
static void run_corrupt(int minor)
{
    static struct heap good;
    struct python_frame frames[64];
    char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map != MAP_FAILED && munmap(map + 4096, 4096) == 0);
    put_interpreter(minor);
    CHECK(python_find());
    check_frames(&heap);
    good = heap;
    srand((unsigned)minor);
    unsigned frames_seen = 0;
    for (int i = 0; i < CORRUPT_ROUNDS; i++) {
        static const int places[] = {AT_THREAD, AT_CODE,  AT_NAME, AT_FILE,
                                     AT_TABLE,  AT_FRAME, AT_ENTRY};
        for (int k = rand() % 3; k >= 0; k--) {
            char *at = heap.bytes + places[rand() % 7] + 8 * (rand() % 64);
            if (at != heap.bytes + AT_THREAD + row.thread_id || rand() % 100 == 0)
                put(at, wild(map + 4096), rand() % 4 ? 8 : 4);
        }
        size_t n = python_walk(frames, 64);
        CHECK(n <= 64);
        for (size_t k = 0; k < n; k++) {
            const struct stack_code *code = python_code(&frames[k]);
            CHECK(!code || (code->name && python_line(code, frames[k].place) >= 0));
        }
        frames_seen += (unsigned)n;
        if (i % 100 == 0)
            safe_age();
        heap = good;
    }
    check_frames(&heap);
    CHECK(frames_seen > CORRUPT_ROUNDS); /* else most walks ended at once */
}

TEST(corrupt)
{
    for (int minor = 11; minor <= 14; minor++)
        in_child(run_corrupt, minor);
}

/* Another code object at the same address is recognized by its number, or by its content. */
static void run_lives(int minor)
{
    struct python_frame a, b;
    put_interpreter(minor);
    CHECK(python_find() && python_walk(&a, 1) == 1);
    char *code = heap.bytes + AT_CODE, *table = heap.bytes + AT_TABLE;
    const struct stack_code *first = python_code(&a);
    memcpy(table + BYTES_DATA + 1, "\x04", 1); /* two lines further instead of one */
    if (row.version)
        put(code + row.version, 7777, 4);
    CHECK(python_walk(&b, 1) == 1 && a.code == b.code && a.key != b.key);
    CHECK(python_code(&b) != first && python_line(python_code(&b), b.place) == 12);
    CHECK(python_line(first, a.place) == 11);
    put_str(heap.bytes + AT_NAME, "inneX");
    if (row.version)
        put(code + row.version, 7778, 4);
    a = b;
    CHECK(python_walk(&b, 1) == 1 && a.key != b.key);
    CHECK(strcmp(python_code(&b)->name, "inneX") == 0);
    /* A frame whose code has changed since the walk does not get the new code. */
    put_str(heap.bytes + AT_NAME, "inneY");
    b.key ^= 1;
    CHECK(python_code(&b) == NULL);
    b.key = 0;
    CHECK(python_code(&b) == NULL);
}

TEST(lives)
{
    in_child(run_lives, 11);
    in_child(run_lives, 12);
}

/* If there is ever more code, code without room is refused, and kept code stays. */
static void run_full(int minor)
{
    struct python_frame f;
    char name[32];
    put_interpreter(minor);
    CHECK(python_find() && python_walk(&f, 1) == 1);
    const struct stack_code *first = python_code(&f), *last = NULL;
    struct python_frame first_frame = f;
    int kept = 0;
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        put_str(heap.bytes + AT_NAME, name);
        put(heap.bytes + AT_CODE + row.version, (uint64_t)i + 500, 4);
        CHECK(python_walk(&f, 1) == 1);
        last = python_code(&f);
        kept += last != NULL;
        CHECK(!last || (strcmp(last->name, name) == 0 && (int)last->number == kept + 1));
    }
    CHECK(kept > 10000 && kept < 20000 && !last);
    CHECK(python_code(&first_frame) == first && strcmp(first->name, "inner") == 0);
    CHECK(python_bytes() < 16 << 20);
}

TEST(full)
{
    in_child(run_full, 12);
}

static void *thread_main(void *to)
{
    struct heap *own = to;
    put_thread(own);
    for (int i = 0; i < 300; i++) {
        char name[16];
        check_frames(own);
        snprintf(name, sizeof(name), "t%d", i / 2); /* equal in all threads */
        put_str(own->bytes + AT_NAME, name);
        put(own->bytes + AT_CODE + row.version, (uint64_t)i + 500, 4);
        struct python_frame f;
        CHECK(python_find() && python_walk(&f, 1) == 1);
        const struct stack_code *code = python_code(&f);
        CHECK(code && strcmp(code->name, name) == 0 && python_status());
        CHECK(!python_is_interpreter((uintptr_t)thread_main));
        put_str(own->bytes + AT_NAME, "inner");
        put(own->bytes + AT_CODE + row.version, 100, 4);
    }
    return NULL;
}

static void run_threads(int minor)
{
    static struct heap heaps[4];
    pthread_t threads[4];
    put_interpreter(minor);
    CHECK(python_find());
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_main, &heaps[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

TEST(threads_at_once)
{
    in_child(run_threads, 12);
    in_child(run_threads, 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),   cmocka_unit_test(off),
        cmocka_unit_test(late),    cmocka_unit_test(doubt),
        cmocka_unit_test(corrupt), cmocka_unit_test(lives),
        cmocka_unit_test(full),    cmocka_unit_test(threads_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
