/* test_demangle_truth.c - tests our demangler writes the text of llvm-cxxfilt 14, symbol by symbol:
 * for names made by hand, CUTLASS kernels, Rust's v0 names and the exports of the C++ libraries of
 * this machine. The test is skipped if llvm-cxxfilt of that version is missing. */
#include "symbol/names/demangle.h"
#include "tests/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTER    "llvm-cxxfilt-14"
#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"

/* The names for which our text is better than that of version 14 of llvm. */
static const struct {
    const char *mangled, *text;
} exceptions[] = {
    /* Types and operators that version 14 does not know and leaves mangled. */
    {"_Z1fDF16b", "f(std::bfloat16_t)"},
    {"_Z1fITnDaLi3EEvv", "void f<3>()"},
    {"_Z1fIiQ1CIT_EEvv", "void f<int>()"},
    {"_Z1fIiEvDTssfp_fp_E", "void f<int>(decltype((fp) <=> (fp)))"},
    {"_Z1fILDn0EEvv", "void f<nullptr>()"},
    /* Version 14 writes "deletefp", and drops the leading ::. */
    {"_Z1fIiEvDTdlfp_E", "void f<int>(decltype(delete fp))"},
    {"_Z1fIiEvDTgs1gE", "void f<int>(decltype(::g))"},
};

static const char *exception(const char *mangled)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
        if (!strcmp(exceptions[i].mangled, mangled))
            return exceptions[i].text;
    return NULL;
}

/* Version 14 drops the class's name from constructors and destructors of a class with an ABI tag:
 * failure[abi:cxx11]::(char const*). True if that is the only difference. */
static bool tagged_ctor(const char *theirs, const char *ours)
{
    const char *mark = strstr(theirs, "]::");
    size_t before = mark ? (size_t)(mark - theirs) + 3 : 0;
    if (!mark || strncmp(theirs, ours, before) != 0)
        return false;
    before += theirs[before] == '~';
    const char *rest = theirs + before, *params = strchr(ours + before, '(');
    return *rest == '(' && params && !strcmp(rest, params);
}

static size_t compare(FILE *names, FILE *truth, const char *source)
{
    char *name = NULL, *theirs = NULL;
    size_t name_cap = 0, their_cap = 0, count = 0;
    struct buf ours;
    buf_init(&ours, DEMANGLE_ROOM);
    while (getline(&name, &name_cap, names) > 0) {
        assert_true(getline(&theirs, &their_cap, truth) > 0);
        name[strcspn(name, "\n")] = theirs[strcspn(theirs, "\n")] = '\0';
        buf_clear(&ours);
        demangle_put(&ours, name);
        const char *text = buf_cstr(&ours), *known = exception(name);
        if (strcmp(text, known ? known : theirs) != 0 && !tagged_ctor(theirs, text))
            fail_msg("%s: %s\n  llvm: %s\n  ours: %s", source, name, theirs, text);
        count++;
    }
    buf_fini(&ours);
    free(name);
    free(theirs);
    return count;
}

/* Runs `command`, which prints names, twice: once for us, once for llvm. */
static size_t compare_output(const char *command, const char *source)
{
    char filtered[1024];
    snprintf(filtered, sizeof filtered, "%s | " FILTER, command);
    FILE *names = popen(command, "r"), *truth = popen(filtered, "r");
    assert_non_null(names);
    assert_non_null(truth);
    size_t count = compare(names, truth, source);
    pclose(names);
    pclose(truth);
    return count;
}

static bool have_filter(void)
{
    if (!system("command -v " FILTER " >/dev/null"))
        return true;
    print_message("skipped: " FILTER " is not installed (apt-get install llvm-14)\n");
    skip();
    return false;
}

TEST(test_names)
{
    static const char *const files[] = {"tricky", "cutlass", "rust_v0"};
    for (size_t i = 0; have_filter() && i < sizeof files / sizeof *files; i++) {
        char command[512];
        snprintf(command, sizeof command, "cat \"${GPUFL_SOURCE_DIR:-.}\"/tests/data/names/%s.txt",
                 files[i]);
        assert_true(compare_output(command, files[i]) > 5);
    }
}

TEST(test_libraries)
{
    static const char *const files[] = {"libstdc++.so.6", "libLLVM-14.so.1", "libclang-cpp.so.14",
                                        "libgrpc.so.29"};
    for (size_t i = 0; have_filter() && i < sizeof files / sizeof *files; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "f=" LIBRARIES "%s; test -e $f && nm -D --defined-only $f | "
                 "awk '{sub(/@.*/, \"\", $3)} $3 ~ /^_Z/ && !($3 in s) {s[$3]; print $3}'",
                 files[i]);
        size_t count = compare_output(command, files[i]);
        print_message("%s: %zu names\n", files[i], count);
        assert_true(i || count > 1000); /* every machine has the first one */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_libraries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
