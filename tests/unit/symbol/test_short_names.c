/* test_short_names.c - tests short names of libraries' kernels: each line of
 * tests/data/names/kernels.txt has a short name and its kernel, as profilers and programs of these
 * libraries print it. In a table of any width, no two short names are equal. */
#include "symbol/names/demangle.h"
#include "symbol/names/rules.h"
#include "symbol/names/shorten.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MAX = 512,
    WIDE = 200, /* columns; no name of the file is cut */
};

struct names {
    char *text[LINES_MAX];      /* a short name, a NUL, a kernel's name */
    char *demangled[LINES_MAX]; /* the kernel's name */
    const char *kernel[LINES_MAX];
    size_t count;
};

static void open_names(struct names *n)
{
    char path[512], *line = NULL;
    size_t cap = 0;
    ssize_t len;
    const char *root = getenv("GPUFL_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/data/names/kernels.txt", root ? root : ".");
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    n->count = 0;
    while ((len = getline(&line, &cap, f)) > 0) {
        assert_true(n->count < LINES_MAX);
        line[strcspn(line, "\n")] = '\0';
        char *text = strdup(line), *tab = strchr(text, '\t');
        assert_non_null(tab);
        *tab = '\0';
        struct buf b;
        buf_init(&b, DEMANGLE_ROOM);
        demangle_put(&b, tab + 1);
        n->text[n->count] = text;
        n->kernel[n->count] = tab + 1;
        n->demangled[n->count++] = strdup(buf_cstr(&b));
        buf_fini(&b);
    }
    free(line);
    fclose(f);
}

static void close_names(struct names *n)
{
    for (size_t i = 0; i < n->count; i++) {
        free(n->text[i]);
        free(n->demangled[i]);
    }
}

TEST(test_each)
{
    struct names n;
    open_names(&n);
    assert_true(n.count >= 120);
    for (size_t i = 0; i < n.count; i++) {
        struct buf b;
        buf_init(&b, 1 << 20);
        shorten_kernel(&b, n.demangled[i], WIDE);
        if (strcmp(buf_cstr(&b), n.text[i]) != 0)
            fail_msg("%s\n  is:     %s\n  wanted: %s", n.demangled[i], buf_cstr(&b), n.text[i]);
        buf_fini(&b);
    }
    close_names(&n);
}

/* One table has the kernels of the file, and others that differ from them in one number, type or
 * parameter. */
TEST(test_distinct)
{
    static const struct {
        const char *from, *to;
    } changes[] = {{"float", "double"}, {"4", "2"},        {"128", "64"}, {"true", "false"},
                   {"_0", "_1"},        {"(int", "(long"}, {"tn", "nt"}};
    enum { CHANGES = sizeof changes / sizeof *changes };
    static char *all[LINES_MAX * (CHANGES + 1)];
    size_t count = 0;
    struct names n;
    open_names(&n);
    for (size_t i = 0; i < n.count; i++) {
        const char *name = n.demangled[i], *at;
        all[count++] = strdup(name);
        for (size_t c = 0; c < CHANGES; c++) {
            if (!(at = strstr(name, changes[c].from)))
                continue;
            struct buf b;
            buf_init(&b, 1 << 20);
            buf_put(&b, name, (size_t)(at - name));
            buf_str(&b, changes[c].to);
            buf_str(&b, at + strlen(changes[c].from));
            all[count++] = strdup(buf_cstr(&b));
            buf_fini(&b);
        }
    }
    static const size_t widths[] = {24, 44, 60, 120};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        const char *shown[LINES_MAX * (CHANGES + 1)];
        size_t numbered = 0;
        struct buf b;
        buf_init(&b, 1 << 26);
        assert_int_equal(shorten_rows(&b, (const char *const *)all, count, widths[w]), 0);
        const char *at = b.data;
        for (size_t i = 0; i < count; i++, at += strlen(at) + 1) {
            shown[i] = at;
            const char *number = strrchr(at, '#');
            numbered += number && strtoul(number + 1, NULL, 10) == i + 1;
            for (size_t k = 0; k < i; k++)
                if (!strcmp(shown[k], at) && strcmp(all[k], all[i]) != 0)
                    fail_msg("%s is shown for both\n  %s\n  %s", at, all[k], all[i]);
        }
        print_message("%zu names in %zu columns, %zu with a number\n", count, widths[w], numbered);
        if (widths[w] == 120)
            assert_int_equal(numbered, 0);
        buf_fini(&b);
    }
    for (size_t i = 0; i < count; i++)
        free(all[i]);
    close_names(&n);
}

/* The short name of a kernel with a constraint leaves the constraint out. */
TEST(test_constraints)
{
    static const struct {
        const char *name, *shown;
    } cases[] = {
        {"void f<int>(int) requires C<int>", "f<int>"},
        {"void ns::f<int>(int) requires (((sizeof (int)) > (4))) && (C<int>)", "ns::f<int>"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
         "A>(int) "
         "requires (C<int>) || ((1) -> (2))",
         "Fill float"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b;
        buf_init(&b, 1 << 20);
        shorten_kernel(&b, cases[i].name, WIDE);
        assert_string_equal(buf_cstr(&b), cases[i].shown);
        buf_fini(&b);
    }
}

/* Texts that look like kernels of a rule, but are not, or are broken. */
TEST(test_no_rule)
{
    static const char *const names[] = {"",
                                        "f",
                                        "triton_poi_fused_",
                                        "ncclDevKernel_",
                                        "at::native::reduce_kernel",
                                        "at::native::reduce_kernel<",
                                        "at::native::elementwise_kernel<128>",
                                        "cudapy::",
                                        "wrapped_",
                                        "cutlass::device_kernel<CollectiveMma<>>",
                                        "sm_xmma_gemm_x",
                                        "cub::DeviceKernel<int>"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf b;
        buf_init(&b, 1 << 20);
        buf_str(&b, "kept");
        if (rules_put(&b, names[i]))
            fail_msg("%s: %s", names[i], buf_cstr(&b));
        assert_string_equal(buf_cstr(&b), "kept");
        buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each), cmocka_unit_test(test_distinct),
                                       cmocka_unit_test(test_constraints),
                                       cmocka_unit_test(test_no_rule)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
