/* test_objects.c - tests code objects as rocprofiler-sdk reports them: by memory or by a file's
 * URI, kept once; and objects of another session or without bytes. */
#include "backend/amd/trace/objects.h"
#include "backend/common/code_copies.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <sys/resource.h>
#include <unistd.h>

static struct {
    int files, rows;
    char name[64], bytes[64];
    struct code_object_row object;
    char said[256];
} me;

static uint32_t keep(struct sink *s, const char *file, const void *bytes, size_t size)
{
    (void)s;
    snprintf(me.name, sizeof me.name, "%s", file);
    snprintf(me.bytes, sizeof me.bytes, "%.*s", (int)size, (const char *)bytes);
    return (uint32_t)++me.files;
}

static uint32_t name(struct sink *s, const char *text)
{
    (void)s;
    return *text ? 7 : 0;
}

static uint32_t define(struct sink *s, enum record_type type, const void *row)
{
    (void)s;
    if (type == RECORD_code_object)
        memcpy(&me.object, row, sizeof me.object);
    return (uint32_t)++me.rows;
}

static void mention(struct sink *s, enum record_type type, uint32_t id)
{
    (void)s;
    assert_int_equal(type, RECORD_function);
    assert_int_equal(id, me.rows);
}

__attribute__((format(printf, 4, 5))) static void message(struct sink *s, enum severity severity,
                                                          const char *code, const char *fmt, ...)
{
    va_list args;
    (void)s, (void)severity, (void)code;
    va_start(args, fmt);
    vsnprintf(me.said, sizeof me.said, fmt, args);
    va_end(args);
}

static const struct sink_ops ops = {
    .keep = keep, .name = name, .define = define, .mention = mention, .message = message};
static struct sink sink = {.ops = &ops};

TEST(uris)
{
    static const struct {
        const char *uri, *path;
        uint64_t offset, size;
    } cases[] = {
        {"file:///opt/a.so#offset=4096&size=512", "/opt/a.so", 4096, 512},
        {"file:///opt/a%20b%2fc.so", "/opt/a b/c.so", 0, 0},
        {"file:///opt/100%/x%2#offset=0x10", "/opt/100%/x%2", 16, 0},
        {"file:///x?size=3&offset=1", "/x", 1, 3},
        {"memory://12#offset=0x7f00&size=9", NULL, 0, 0},
        {"file://", NULL, 0, 0},
        {"", NULL, 0, 0},
        {NULL, NULL, 0, 0},
        {"file:///much/longer/than/the/room/for/it", NULL, 0, 0},
    };
    char path[24];
    uint64_t offset, size;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool file = objects_uri(cases[i].uri, path, sizeof path, &offset, &size);
        assert_int_equal(file, cases[i].path != NULL);
        if (!file)
            continue;
        assert_string_equal(path, cases[i].path);
        assert_int_equal(offset, cases[i].offset);
        assert_int_equal(size, cases[i].size);
    }
}

/* The bytes go away after the call. */
static void load(uint64_t id, const char *text, uint32_t storage, const char *uri)
{
    char bytes[32];
    snprintf(bytes, sizeof bytes, "%s", text);
    struct rocp_code_object o = {.size = sizeof o,
                                 .id = id,
                                 .uri = uri,
                                 .storage = storage,
                                 .memory_base = (uint64_t)(uintptr_t)bytes,
                                 .memory_size = strlen(text)};
    objects_loaded(&o);
    memset(bytes, 0, sizeof bytes);
}

TEST(kept_once)
{
    char uri[128];
    struct object o;
    memset(&me, 0, sizeof me);
    tmpdir_write("a b.so", "01234567", 8);
    snprintf(uri, sizeof uri, "file://%s/a%%20b.so#offset=2&size=3", tmpdir);
    load(1, "too early", 2, NULL);
    objects_begin();
    load(2, "code", 2, NULL);
    load(3, "code", 2, "memory://1");
    load(4, "", 1, uri);
    load(5, "", 1, "file:///nowhere");
    load(6, "", 2, NULL);
    objects_drain(&sink);
    assert_int_equal(me.files, 2);
    assert_non_null(strstr(me.said, "2 modules that could not be written or read"));
    assert_string_equal(me.bytes, "234");
    assert_non_null(strstr(me.name, ".hsaco"));
    assert_true(objects_define(&sink, 4, "gfx90a", "kernel") > 0);
    assert_int_equal(me.object.size, 3);
    assert_int_equal(me.object.file, 2);
    assert_int_equal(me.object.module, 7);
    objects_define(&sink, 3, "gfx90a", "kernel");
    assert_int_equal(me.object.file, 1);
    assert_true(objects_find(2, &o) && o.hash && !o.file);
    for (uint64_t id = 5; id < 9; id++) { /* 7 and 8 are unknown */
        objects_define(&sink, id, "gfx90a", "kernel");
        assert_int_equal(me.object.file, 0);
        assert_true(me.object.crc == CELL_NULL);
    }
    objects_define(&sink, 1, "gfx90a", "kernel"); /* loaded before */
    assert_int_equal(me.object.file, 0);
    objects_end();
    /* The next session has not seen them loaded. */
    objects_begin();
    objects_define(&sink, 2, "gfx90a", "kernel");
    assert_int_equal(me.object.file, 0);
    objects_end();
}

/* An object whose bytes are not available is counted, whatever the reason; the next session counts
 * again from 0. */
TEST(what_is_not_kept_is_counted)
{
    char folder[128], large[128], after[128];
    FILE *f = fopen(tmpdir_path("large.so"), "we");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), CODE_COPY_MOST + 1), 0); /* no block of it is written */
    fclose(f);
    tmpdir_write("short.so", "01234567", 8);
    snprintf(folder, sizeof folder, "file://%s", tmpdir);
    snprintf(large, sizeof large, "file://%s/large.so", tmpdir);
    snprintf(after, sizeof after, "file://%s/short.so#offset=8", tmpdir);
    const char *const lost[] = {"file:///nowhere", folder, after, "memory://1", NULL};
    objects_begin();
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        load(20 + i, "", 1, lost[i]);
    load(30, "code", 3, NULL); /* an unknown kind of storage */
    load(31, "", 1, large);
    objects_drain(&sink);
    assert_non_null(strstr(me.said, "1 module too large, 6 modules that could not be"));
    objects_end();
    *me.said = '\0';
    objects_begin();
    load(32, "code", 2, NULL);
    objects_drain(&sink);
    assert_string_equal(me.said, "");
    objects_end();
}

static uint64_t mapped_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%llu", &pages), 1);
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A file is kept if there is memory for it once, not twice. */
TEST(a_file_is_in_memory_once)
{
    enum { SIZE = 32 << 20 };
    char uri[128];
    struct rlimit before;
    FILE *f = fopen(tmpdir_path("once.so"), "we");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), SIZE), 0);
    fclose(f);
    snprintf(uri, sizeof uri, "file://%s/once.so", tmpdir);
    memset(&me, 0, sizeof me);
    objects_begin();
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    const struct rlimit narrow = {mapped_bytes() + SIZE + SIZE / 2, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &narrow), 0);
    load(40, "", 1, uri);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    objects_drain(&sink);
    assert_string_equal(me.said, "");
    assert_int_equal(me.files, 1);
    objects_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(uris), cmocka_unit_test(kept_once),
                                       cmocka_unit_test(what_is_not_kept_is_counted),
                                       cmocka_unit_test(a_file_is_in_memory_once)};
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
