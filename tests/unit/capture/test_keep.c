/* test_keep.c - tests the kept parts of a program's files: from a file, from memory, with little
 * room, and from damaged files; never from another file than the one that is mapped. */
#include "capture/stacks/keep.h"
#include "capture/stacks/keep_elf.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "capture/log/messages.h"
#include "stack/native/modules.h"
#include "symbol/elf/symbols.h"
#include "symbol/symbolizer.h"
#include "tests/unit/support/writer_fixture.h"
#include "wire/kept_module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/tmpdir.h"

enum { ENOUGH = 64 << 20, LAST_NS = 2000000000 };

static void copy_file(const char *from, const char *to)
{
    char command[1500];
    snprintf(command, sizeof command, "cp -f '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static const struct stack_module *loaded(const char *path, void **call, void **handle)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(*handle);
    *call = dlsym(*handle, "library_call");
    const struct module *m = modules_get(modules_find((uintptr_t)*call));
    assert_non_null(m);
    return &m->pub;
}

static const char *write_image(const struct keep_image *k, const char *name)
{
    return tmpdir_write(name, k->bytes, k->size);
}

/* Checks which function an image names at an address of the running module. */
static void check_function(const char *path, const struct stack_module *m, const void *at,
                           bool dynamic, const char *function)
{
    struct elf_file f;
    struct elf_symbols s;
    struct err e;
    if (elf_file_open(&f, path, &e))
        fail_msg("%s", e.text);
    assert_string_equal(f.build_id, m->build_id);
    assert_int_equal(elf_symbols_read(&s, &f, dynamic), 0);
    const char *name = elf_symbols_find(&s, (uintptr_t)at + 1 - m->base);
    if (function)
        assert_string_equal(name ? name : "(none)", function);
    else
        assert_null(name);
    elf_symbols_fini(&s);
    elf_file_close(&f);
}

static int image_of(const char *path, size_t most, struct keep_image *k)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    int rc = keep_elf_file(fd, most, k);
    close(fd);
    return rc;
}

TEST(from_a_file)
{
    void *call, *handle;
    struct keep_image k;
    const struct stack_module *m = loaded("./stack-one.so", &call, &handle);
    assert_int_equal(image_of("stack-one.so", ENOUGH, &k), 0);
    assert_true(k.whole);
    check_function(write_image(&k, "whole.elf"), m, call, false, "library_call");
    check_function(write_image(&k, "whole.elf"), m, call, true, "library_call");
    mem_free(k.bytes);
    dlclose(handle);
}

/* An address that has a line in the program has it in the image, too. */
TEST(with_lines)
{
    struct keep_image k;
    struct elf_file f;
    assert_int_equal(image_of("symbol/c5", ENOUGH, &k), 0);
    assert_true(k.whole);
    const char *path = write_image(&k, "lines.elf");
    assert_true(k.size < (size_t)file_size("symbol/c5"));
    mem_free(k.bytes);
    assert_int_equal(elf_file_open(&f, "symbol/c5", NULL), 0);
    struct elf_symbols s;
    assert_int_equal(elf_symbols_read(&s, &f, false), 0);
    uint64_t main_at = 0;
    for (size_t i = 0; i < s.count; i++)
        if (!strcmp(s.names + s.items[i].name, "main"))
            main_at = s.items[i].begin;
    assert_true(main_at != 0);
    struct symbolizer *z;
    const struct symbol_level *levels;
    size_t count;
    assert_int_equal(symbolizer_open(&z, "/nonexistent"), 0);
    struct symbol_module gone = {.path = "/nonexistent/c5",
                                 .build_id = f.build_id,
                                 .kind = SYMBOL_ELF,
                                 .size = INT64_MIN,
                                 .mtime = INT64_MIN};
    assert_int_equal(symbolizer_find(z, &gone, main_at, &levels, &count), 0);
    assert_int_equal(levels[0].status, SYMBOL_MISSING);
    gone.kept = path;
    assert_int_equal(symbolizer_find(z, &gone, main_at, &levels, &count), 0);
    assert_string_equal(levels[count - 1].function, "main");
    if (!symbolizer_lacks(z)) {
        assert_int_equal(levels[0].status, SYMBOL_LINE);
        assert_non_null(strstr(levels[0].file, "cases.c"));
    }
    gone.build_id = "0102"; /* another file's */
    assert_int_equal(symbolizer_find(z, &gone, main_at, &levels, &count), 0);
    assert_int_equal(levels[0].status, SYMBOL_MISSING);
    symbolizer_close(z);
    elf_symbols_fini(&s);
    elf_file_close(&f);
}

/* With less room lines are left out first, then names that are not exported, then everything. */
TEST(in_little_room)
{
    struct keep_image k;
    assert_int_equal(image_of("symbol/cc5", ENOUGH, &k), 0);
    size_t last = k.size;
    int kinds = 0;
    mem_free(k.bytes);
    for (size_t most = last - 1;; most = last - 1) {
        int rc = image_of("symbol/cc5", most, &k);
        if (rc) {
            assert_int_equal(rc, GPUFL_E_FULL);
            assert_null(k.bytes);
            break;
        }
        struct elf_file f;
        const char *path = write_image(&k, "little.elf");
        assert_true(k.size <= most && !k.whole);
        assert_int_equal(elf_file_open(&f, path, NULL), 0);
        assert_int_equal(elf_file_debug_bytes(&f), 0);
        elf_file_close(&f);
        last = k.size;
        kinds++;
        mem_free(k.bytes);
    }
    assert_int_equal(kinds, 2);
}

TEST(from_memory)
{
    static const char *const files[] = {"./stack-one.so", "./stack-none.so"};
    for (size_t i = 0; i < 2; i++) {
        void *call, *handle;
        struct keep_image k;
        const struct stack_module *m = loaded(files[i], &call, &handle);
        assert_int_equal(keep_elf_memory(m, ENOUGH, &k), 0);
        assert_true(k.exported && !k.whole);
        check_function(write_image(&k, "memory.elf"), m, call, true, "library_call");
        /* An address outside of functions does not get the nearest symbol. */
        check_function(write_image(&k, "memory.elf"), m, (const char *)m->base, true, NULL);
        mem_free(k.bytes);
        assert_int_equal(keep_elf_memory(m, 100, &k), GPUFL_E_FULL);
        dlclose(handle);
        assert_int_not_equal(keep_elf_memory(m, ENOUGH, &k), 0); /* it is not loaded any more */
        assert_null(k.bytes);
    }
    struct keep_image k; /* libc: thousands of symbols */
    const void *f = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    const struct stack_module *libc = &modules_get(modules_find((uintptr_t)f))->pub;
    assert_int_equal(keep_elf_memory(libc, ENOUGH, &k), 0);
    check_function(write_image(&k, "libc.elf"), libc, f, true, "gnu_get_libc_version");
    mem_free(k.bytes);
}

/* Any damage results in an error, or in an image that can be read. */
TEST(of_damaged_files)
{
    char *bytes;
    size_t len;
    unsigned seed = 5;
    assert_int_equal(file_read_all("stack-one.so", ENOUGH, &bytes, &len, NULL), 0);
    for (int i = 0; i < 1000; i++) {
        struct keep_image k;
        struct elf_file f;
        char was[4];
        size_t head = (size_t)rand_r(&seed) % 2 ? sizeof(Elf64_Ehdr) : len;
        size_t at = (size_t)rand_r(&seed) % (head - sizeof was), cut = i % 7 ? len : len - at;
        if (head == len && i % 2) /* among the section headers, at the end */
            at = len - 1 - (size_t)rand_r(&seed) % 2500;
        at = at > len - sizeof was ? len - sizeof was : at;
        memcpy(was, bytes + at, sizeof was);
        for (size_t n = 0; n < sizeof was; n++)
            bytes[at + n] = (char)rand_r(&seed);
        const char *path = tmpdir_write("damaged.so", bytes, cut);
        memcpy(bytes + at, was, sizeof was);
        if (image_of(path, 1 << 20, &k))
            continue;
        if (!elf_file_open(&f, write_image(&k, "damaged.elf"), NULL)) {
            struct elf_symbols s;
            if (!elf_symbols_read(&s, &f, i % 2))
                elf_symbols_fini(&s);
            elf_file_close(&f);
        }
        mem_free(k.bytes);
    }
    mem_free(bytes);
    struct keep_image k;
    assert_int_equal(image_of(tmpdir_write("text", "#!/bin/sh\n", 10), ENOUGH, &k),
                     GPUFL_E_CORRUPT);
}

/* ---- which, and from where ----------------------------------------------------------------- */

static bool kept(const struct fixture *f, int64_t id, char path[PATH_MAX])
{
    char name[KEPT_MODULE_ROOM];
    kept_module_name(name, id);
    snprintf(path, PATH_MAX, "%s/%s", f->dir, name);
    return access(path, R_OK) == 0;
}

static void only_what_may_be_gone(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *path;
        int64_t size;
        bool fleeting;
    } rows[] = {
        {"/usr/lib/libfoo.so", 1, false},
        {"/usr/lib/libfoo.so", INT64_MIN, true}, /* the file was not found */
        {"/tmp/_MEI123/libfoo.so", 1, true},
        {"/tmpfoo/libfoo.so", 1, false},
        {"/dev/shm/x", 1, true},
        {"/proc/self/fd/7", 1, true},
        {"/scratch/job/x", 1, true}, /* TMPDIR */
        {"/scratch/jobs/x", 1, false},
        {"/data/_MEI77/libfoo.so", 1, true},
    };
    (void)f;
    setenv("TMPDIR", "/scratch/job/", 1);
    keep_begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct stack_module m = {.kind = 1, .size = rows[i].size};
        snprintf(m.path, sizeof m.path, "%s", rows[i].path);
        if (keep_is_fleeting(&m) != rows[i].fleeting)
            fail_msg("%s", rows[i].path);
        m.kind = 2;
        assert_false(keep_is_fleeting(&m));
    }
    unsetenv("TMPDIR");
}

static void keep_now(struct fixture *f, int64_t id, const struct stack_module *m)
{
    keep_module(id, m);
    keep_waiting(f->w, LAST_NS, true);
}

/* The file exists, or was removed, or was replaced by another one with its name. */
static void the_file_that_is_mapped(void **state)
{
    struct fixture *f = *state;
    static const char *const files[] = {"stack-one.so", "stack-none.so"};
    char path[PATH_MAX];
    open_writer(f);
    keep_begin();
    for (int64_t i = 0; i < 6; i++) {
        const char *copy = tmpdir_path("mapped.so"), *other = tmpdir_path("other.so");
        void *call, *handle;
        copy_file(files[i % 2], copy);
        const struct stack_module *m = loaded(copy, &call, &handle);
        if (i / 2 == 1)
            unlink(copy);
        if (i / 2 == 2) {
            copy_file("stack-two.so", other);
            assert_int_equal(rename(other, copy), 0);
        }
        keep_now(f, i + 1, m);
        if (!kept(f, i + 1, path))
            fail_msg("%d: %s", (int)i, m->path);
        /* The name is from the file's own table if it could be opened, else from its exports. */
        check_function(path, m, call, true, "library_call");
        dlclose(handle);
    }
    keep_end();
    close_writer(f);
}

static void what_is_not_kept_is_said(void **state)
{
    struct fixture *f = *state;
    struct stack_module m = {.kind = 1, .size = INT64_MIN, .path = "/tmp/nothing/libgone.so"};
    char path[PATH_MAX];
    open_writer(f);
    messages_begin();
    keep_begin();
    keep_now(f, 1, &m);
    keep_now(f, 2, &m); /* said once */
    assert_false(kept(f, 1, path));
    messages_drain(f->w, f->names);
    keep_end();
    close_writer(f);
    struct parts p = {0};
    parts_read_all(f->dir, &p);
    assert_int_equal(p.rows[RECORD_message], 1);
}

int main(void)
{
    modules_open(false);
    const struct CMUnitTest tests[] = {
        /* This test is first, since the others load its files under other names. */
        WRITER_TEST(the_file_that_is_mapped), cmocka_unit_test(from_a_file),
        cmocka_unit_test(with_lines),         cmocka_unit_test(in_little_room),
        cmocka_unit_test(from_memory),        cmocka_unit_test(of_damaged_files),
        WRITER_TEST(only_what_may_be_gone),   WRITER_TEST(what_is_not_kept_is_said),
    };
    return cmocka_run_group_tests(tests, tmpdir_open, tmpdir_close);
}
