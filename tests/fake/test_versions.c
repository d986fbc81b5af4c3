/* test_versions.c - tests other versions of CUPTI, with the sizes of their records, and which copy
 * is used if there are several. */
#include "tests/fake/runner.h"
#include "tests/test.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

/* ---- record sizes -------------------------------------------------------------------------- */

/* CUPTI_API_VERSIONs: 10 is CUDA 9, 13 11.0, 18 11.8, 19 12.0, 26 12.6 and later. From 13 on
 * records name the graph of a kernel. */
static const int versions[] = {10, 13, 14, 15, 17, 18, 19, 20, 22, 23, 26, 130000, 130001};

/* The library at each soname: of CUDA 12, and of 13. */
static const struct {
    const char *file, *cuda;
} sonames[] = {
    {"fake/libcupti.so.12", "FAKE_CUDA_VERSION=12060"},
    {"fake/libcupti.so.13", "FAKE_CUDA_VERSION=13000"},
};

static void check_version(const char *file, const char *cuda, int version)
{
    char script[64], path[PATH_MAX + 32];
    struct run r;
    snprintf(script, sizeof script, "FAKE_CUPTI=version=%d,shuffle", version);
    snprintf(path, sizeof path, "GPUFL_CUPTI_PATH=%s", built_file(file));
    print_message("%s %s\n", path, script);
    run_all(&r, &(struct run_setup){.env = LIST(script, path, cuda),
                                    .program = LIST("500", "threads=2", "graphs=3")});
    check_program(&r, 0);
    check_complete(&r);
    if (version < 130000)
        check_contains(&r, message_of(&r, "cupti.unverified"),
                       "record layouts checked, not verified on a real driver");
    else
        assert_int_equal(json_array_size(at(r.report, "messages")), 0);
    assert_string_equal(text_at(r.said, "0.cupti_path"), built_file(file));
    size_t i;
    int64_t of_graphs = 0;
    json_t *kernel;
    json_array_foreach(at(r.report, "kernels.by_name"), i, kernel)
    {
        bool node = !strcmp(text_at(kernel, "symbol"), "_Z10graph_nodev");
        of_graphs += int_at(kernel, "graph");
        /* Bytes read beyond a record would make a launch shape of their own. */
        assert_int_equal(json_array_size(at(kernel, "configs")), node ? 1 : 2);
        assert_int_equal(int_at(kernel, "configs.0.cluster_x"), 0);
    }
    assert_int_equal(of_graphs, version >= 13 ? 15 : 0);
    run_free(&r);
}

TEST(record_sizes)
{
    for (size_t s = 0; s < sizeof sonames / sizeof *sonames; s++)
        for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
            check_version(sonames[s].file, sonames[s].cuda, versions[i]);
}

/* ---- which copy ---------------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    char data[65536];
    size_t n;
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(data, 1, sizeof data, in)) > 0)
        assert_int_equal(fwrite(data, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* A directory with copies of built files under names: pairs, NULL-terminated. */
static void copies_make(struct world *w, const char *const *pairs)
{
    world_open(w);
    for (; *pairs; pairs += 2) {
        char to[PATH_MAX + 64];
        snprintf(to, sizeof to, "%s/%s", w->dir, pairs[1]);
        copy_file(built_file(pairs[0]), to);
    }
}

/* Returns the number of messages, without the one that an old version always has. */
static int other_messages(const struct run *r)
{
    int count = 0;
    size_t i;
    json_t *message;
    json_array_foreach(at(r->report, "messages"), i, message) count +=
        strcmp(text_at(message, "code"), "cupti.unverified") != 0;
    return count;
}

/* Runs with env; the only CUPTI in the process must be this one. ignored: the session
 * says that GPUFL_CUPTI_PATH is not used. */
static void check_copy(const char *const *env, const char *const *program, const char *path,
                       bool ignored)
{
    struct run r;
    run_all(&r, &(struct run_setup){.env = env, .program = program});
    check_program(&r, 0);
    check_complete(&r);
    assert_int_equal(int_at(r.said, "0.cupti"), 1);
    assert_string_equal(text_at(r.said, "0.cupti_path"), path);
    assert_int_equal(other_messages(&r), ignored);
    if (ignored)
        check_contains(&r, message_of(&r, "cupti.path"), "is not used");
    run_free(&r);
}

/* The program's own copy, loaded before gpufl, is the one that the driver uses: it is used whatever
 * else can be found. */
TEST(preloaded)
{
    static const char *const elsewhere[] = {"GPUFL_CUPTI_PATH=", NULL};
    struct world w;
    char path[PATH_MAX + 32], preload[PATH_MAX + 64];
    for (int major = 12; major <= 13; major++) {
        char name[32], from[64];
        snprintf(name, sizeof name, "libcupti.so.%d", major);
        snprintf(from, sizeof from, "fake/%s", name);
        copies_make(&w, LIST(from, name));
        snprintf(path, sizeof path, "%s/%s", w.dir, name);
        snprintf(preload, sizeof preload, "preload=%s", path);
        check_copy(NULL, LIST("300", preload), path, true); /* GPUFL_CUPTI_PATH names another */
        check_copy(elsewhere, LIST("300", preload), path, false); /* one on the search path */
        world_close(&w);
    }
}

/* GPUFL_CUPTI_PATH: a file, or a directory, where the driver's version comes first. */
TEST(named)
{
    struct world w;
    char path[PATH_MAX + 32], set[PATH_MAX + 64];
    copies_make(
        &w, LIST("fake/libcupti.so.12", "libcupti.so.12", "fake/libcupti.so.13", "libcupti.so.13"));
    for (int major = 12; major <= 13; major++) {
        char cuda[64];
        snprintf(path, sizeof path, "%s/libcupti.so.%d", w.dir, major);
        snprintf(set, sizeof set, "GPUFL_CUPTI_PATH=%s", path);
        check_copy(LIST(set), LIST("300"), path, false);
        snprintf(set, sizeof set, "GPUFL_CUPTI_PATH=%s", w.dir);
        snprintf(cuda, sizeof cuda, "FAKE_CUDA_VERSION=%d000", major);
        check_copy(LIST(set, cuda), LIST("300"), path, false);
    }
    world_close(&w);
}

/* CUPTI is found next to a CUDA library that the program has loaded, as in Python's wheels. */
TEST(with_cudart)
{
    struct world w;
    char path[PATH_MAX + 32], preload[PATH_MAX + 64];
    copies_make(&w, LIST("fake/libnvidia-ml.so.1", "libcudart.so.13", "fake/libcupti.so.13",
                         "libcupti.so.13"));
    snprintf(path, sizeof path, "%s/libcupti.so.13", w.dir);
    snprintf(preload, sizeof preload, "preload=%s/libcudart.so.13", w.dir);
    check_copy(LIST("GPUFL_CUPTI_PATH="), LIST("300", preload), path, false);
    check_copy(LIST("GPUFL_CUPTI_PATH=/nowhere"), LIST("300", preload), path, true);
    world_close(&w);
}

/* CUPTI is found by its soname, if this machine has no toolkit. */
TEST(by_soname)
{
    glob_t toolkits;
    bool none = glob("/usr/local/cuda*", 0, NULL, &toolkits) == GLOB_NOMATCH;
    globfree(&toolkits);
    if (!none) {
        print_message("skipped: this machine has a CUDA toolkit\n");
        skip();
    }
    check_copy(LIST("GPUFL_CUPTI_PATH=", "CUDA_HOME=", "CUDA_PATH="), LIST("300"),
               built_file("fake/libcupti.so.13"), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_sizes), cmocka_unit_test(preloaded), cmocka_unit_test(named),
        cmocka_unit_test(with_cudart),  cmocka_unit_test(by_soname),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
