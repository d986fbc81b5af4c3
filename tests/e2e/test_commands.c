/* test_commands.c - every command explains itself, and its manual page says the
 * same: help and pages cannot drift apart. */
#include "child.h"
#include "tests/test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMANDS_MAX = 32, NAME_SIZE = 32 };

struct names {
    char items[COMMANDS_MAX][NAME_SIZE];
    size_t count;
};

/* The commands that `gpufl --help` lists. */
static void list_commands(struct names *n)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "--help"), 0);
    assert_int_equal(c.text[CHILD_ERR].len, 0);
    n->count = 0;
    const char *at = strstr(c.text[CHILD_OUT].data, "\nCommands:\n");
    assert_non_null(at);
    for (at += strlen("\nCommands:\n"); strncmp(at, "  ", 2) == 0; at = strchr(at, '\n') + 1) {
        assert_true(n->count < COMMANDS_MAX);
        snprintf(n->items[n->count++], NAME_SIZE, "%.*s", (int)strcspn(at + 2, " "), at + 2);
    }
    assert_true(n->count >= 8);
    child_free(&c);
    world_close(&w);
}

/* The text of a page; NULL: there is none. */
static char *read_page(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/docs/man/%s.1", getenv("GPUFL_SOURCE_DIR"), name);
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

/* Every command has a page of its own, since `gpufl --help` says so. */
static char *page_of(const char *command)
{
    char name[64];
    snprintf(name, sizeof name, "gpufl-%s", command);
    char *page = read_page(name);
    if (!page)
        fail_msg("there is no docs/man/%s.1", name);
    return page;
}

/* Returns true if the page has the option as an mdoc flag. */
static bool page_has(const char *page, const char *option)
{
    char flag[64];
    size_t n = (size_t)snprintf(flag, sizeof flag, "Fl -%s", option);
    for (const char *at = page; (at = strstr(at, flag)); at += n)
        if (!isalnum((unsigned char)at[n]) && at[n] != '-')
            return true;
    return false;
}

/* Help fits the narrowest terminal that people use. */
static void check_width(const char *command, const char *help)
{
    enum { WIDTH = 80 };
    for (const char *line = help; *line; line += strcspn(line, "\n") + 1)
        if (strcspn(line, "\n") > WIDTH)
            fail_msg("%s --help: %.*s", command, (int)strcspn(line, "\n"), line);
}

/* Checks that every option of a command's help is in its page. */
static int check_options(const char *command, const char *help, const char *page)
{
    int options = 0;
    const char *at = strstr(help, "\nOptions:\n");
    assert_non_null(at);
    for (at += strlen("\nOptions:\n"); strncmp(at, "  ", 2) == 0; at = strchr(at, '\n') + 1) {
        char option[NAME_SIZE];
        const char *dashes = at + 6; /* "  -o, --x" or "      --x" */
        if (strncmp(dashes, "--", 2) != 0)
            continue;
        size_t n = strspn(dashes + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
        snprintf(option, sizeof option, "%.*s", (int)n, dashes + 2);
        if (!page_has(page, option))
            fail_msg("gpufl %s --%s is not in its manual page", command, option);
        options++;
    }
    return options;
}

TEST(help_and_pages_agree)
{
    struct names n;
    list_commands(&n);
    char *overview = read_page("gpufl");
    assert_non_null(overview);
    for (size_t i = 0; i < n.count; i++) {
        struct world w;
        struct child c;
        char entry[64];
        const char *name = n.items[i];
        world_open(&w);
        print_message("%s\n", name);
        assert_int_equal(gpufl(&w, &c, name, "--help"), 0);
        check_width(name, c.text[CHILD_OUT].data);
        assert_int_equal(c.text[CHILD_ERR].len, 0);
        assert_int_equal(strncmp(c.text[CHILD_OUT].data, "Usage: gpufl ", 13), 0);
        char *page = page_of(name);
        assert_true(check_options(name, c.text[CHILD_OUT].data, page) >= 1);
        snprintf(entry, sizeof entry, ".It Cm %s", name);
        assert_non_null(strstr(overview, entry));
        free(page);
        child_free(&c);
        assert_int_equal(gpufl(&w, &c, "help", name), 0);
        assert_int_equal(strncmp(c.text[CHILD_OUT].data, "Usage: gpufl ", 13), 0);
        child_free(&c);
        world_close(&w);
    }
    free(overview);
}

/* Adds the letters of one command's help. A letter means the same as in earlier commands. */
static int take_letters(char meaning[128][NAME_SIZE], const char *command, const char *help)
{
    const char *at = strstr(help, "\nOptions");
    int letters = 0;
    assert_non_null(at);
    for (at = strchr(at + 1, '\n') + 1; strncmp(at, "  ", 2) == 0; at = strchr(at, '\n') + 1) {
        char name[NAME_SIZE];
        if (at[2] != '-' || at[4] != ',' || strncmp(at + 6, "--", 2) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 8, " \n"), at + 8);
        char *known = meaning[at[3] & 127];
        if (*known && strcmp(known, name) != 0)
            fail_msg("-%c: --%s, and --%s for gpufl %s", at[3], known, name, command);
        letters += !*known;
        memcpy(known, name, sizeof name);
    }
    return letters;
}

/* A letter stands for one long option in every command, also for options that `gpufl serve` passes
 * on. */
TEST(letters_have_one_meaning)
{
    struct names n;
    struct world w;
    struct child c;
    char meaning[128][NAME_SIZE] = {{0}};
    int letters = 0;
    list_commands(&n);
    for (size_t i = 0; i < n.count; i++) {
        world_open(&w);
        assert_int_equal(gpufl(&w, &c, n.items[i], "--help"), 0);
        letters += take_letters(meaning, n.items[i], c.text[CHILD_OUT].data);
        child_free(&c);
        world_close(&w);
    }
    world_open(&w);
    int rc = gpufl(&w, &c, "serve", "--data", "none", "--help"); /* gpufl-server's own */
    if (rc == 0) {
        letters += take_letters(meaning, "serve", c.text[CHILD_OUT].data);
        assert_string_equal(meaning['d'], "data");
        assert_string_equal(meaning['l'], "listen");
    } else {
        assert_int_equal(rc, 69); /* built without the server */
    }
    child_free(&c);
    world_close(&w);
    assert_string_equal(meaning['n'], "name");
    assert_string_equal(meaning['s'], "system-interval");
    assert_true(letters >= 8);
}

TEST(version_is_reported)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "--version"), 0);
    assert_int_equal(strncmp(c.text[CHILD_OUT].data, "gpufl 0.", 8), 0);
    child_free(&c);
    assert_int_equal(gpufl(&w, &c, "version"), 0);
    child_free(&c);
    const char *const none[] = {NULL};
    assert_int_equal(gpufl_run(&w, &c, NULL, NULL, none), 2);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "Commands:"));
    child_free(&c);
    world_close(&w);
}

/* No escape sequences if there is no terminal; output errors are errors. */
TEST(output_is_plain)
{
    struct world w;
    struct child c;
    world_open(&w);
    assert_int_equal(gpufl(&w, &c, "info"), 0);
    assert_null(strchr(c.text[CHILD_OUT].data, '\033'));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "libgpufl.so"));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "More: gpufl info --engines"));
    child_free(&c);
    assert_int_equal(gpufl(&w, &c, "info", "--engines"), 0);
    assert_null(strchr(c.text[CHILD_OUT].data, '\033'));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "capability 7.0"));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "falls back to  costs\n"));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "PcSampling after Trace"));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "PcSampling in turns with SassMetrics"));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "Trace records nothing during SassMetrics"));
    assert_non_null(strstr(c.text[CHILD_OUT].data, "RangeProfiler excludes PmSampling"));
    child_free(&c);
    const char *const argv[] = {"/bin/sh", "-c", "\"$0\" info > /dev/full", path_gpufl(), NULL};
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv});
    assert_int_equal(child_end(&c), 1);
    assert_non_null(strstr(c.text[CHILD_ERR].data, "cannot write"));
    child_free(&c);
    world_close(&w);
}

/* `gpufl info` says if nvdisasm can be run, where it is, or what to do. */
TEST(nvdisasm_is_reported)
{
    static const struct {
        const char *setting, *text, *json;
    } cases[] = {
        {"GPUFL_NVDISASM=/bin/true", "ok  nvdisasm               /bin/true\n",
         "\"tools\":[{\"name\":\"nvdisasm\",\"works\":true,\"value\":\"/bin/"
         "true\",\"advice\":\"\"}"},
        {"GPUFL_NVDISASM=/nowhere", "GPUFL_NVDISASM=/nowhere cannot be run: set it to the path",
         "\"works\":false,\"value\":\"cannot be run: "},
        {"GPUFL_NVDISASM=", "nvdisasm", "{\"name\":\"nvdisasm\",\"works\":"},
    };
    struct world w;
    struct child c;
    world_open(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const env[] = {cases[i].setting, NULL};
        assert_int_equal(
            gpufl_run(&w, &c, env, NULL, (const char *const[]){"info", "--json", NULL}), 0);
        assert_non_null(strstr(c.text[CHILD_OUT].data, cases[i].json));
        child_free(&c);
        assert_int_equal(
            gpufl_run(&w, &c, env, NULL, (const char *const[]){"info", "--engines", NULL}), 0);
        assert_non_null(strstr(c.text[CHILD_OUT].data, cases[i].text));
        child_free(&c);
    }
    world_close(&w);
}

/* If a backend is named, the message is about this one, with what to do, and names no other
 * vendor. */
TEST(a_named_backend_is_reported)
{
    static const struct {
        const char *smi, *script, *text;
    } cases[] = {
        {"GPUFL_AMD_SMI_PATH=" FAKES "/amd-broken", "FAKE_AMD=", "install a newer"},
        {"GPUFL_AMD_SMI_PATH=" FAKES "/amd-7", "FAKE_AMD=missing", "finds no GPU of AMD's"},
        {"GPUFL_AMD_SMI_PATH=" FAKES "/amd-7", "FAKE_AMD=denied", "groups render"},
        {"GPUFL_AMD_SMI_PATH=" FAKES "/amd-7", "FAKE_AMD=unknown", "see dmesg"},
        {"GPUFL_AMD_SMI_PATH=/nowhere", "FAKE_AMD=", "neither AMD SMI"},
    };
    struct world w;
    struct child c;
    world_open(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const env[] = {"GPUFL_BACKEND=amd", cases[i].smi, cases[i].script, NULL};
        assert_int_equal(gpufl_run(&w, &c, env, NULL, (const char *const[]){"info", NULL}), 0);
        const char *said = c.text[CHILD_OUT].data;
        if (!strstr(said, cases[i].text) || strcasestr(said, "nvidia") || strstr(said, "nvdisasm"))
            fail_msg("not '%s', or words of NVIDIA's: %s", cases[i].text, said);
        child_free(&c);
    }
    world_close(&w);
}

static void check_info(struct world *w, const char *const *env, const char *option,
                       const char *const *texts)
{
    struct child c;
    assert_int_equal(gpufl_run(w, &c, env, NULL, (const char *const[]){"info", option, NULL}), 0);
    char *said = c.text[CHILD_OUT].data;
    for (char *at = said; (at = strchr(at, '\n')); at++) /* lines are wrapped */
        *at = ' ';
    for (char *at = said; (at = strstr(at, "  "));)
        memmove(at, at + 1, strlen(at));
    for (; *texts; texts++)
        if (!strstr(said, *texts))
            fail_msg("no '%s' in %s", *texts, said);
    child_free(&c);
}

/* On a machine with GPUs of two vendors info says which are taken, and why. */
TEST(a_mixed_machine_says_why)
{
    static const char smi[] = "GPUFL_AMD_SMI_PATH=" FAKES "/amd-7";
    static const char fakes[] = "LD_LIBRARY_PATH=" FAKES;
    static const struct {
        const char *setting, *text, *json;
    } cases[] = {
        {"GPUFL_BACKEND=",
         "backend amd can be used, too; sessions take nvidia, which comes first, except for "
         "programs that have loaded the runtime of amd alone. GPUFL_BACKEND=amd takes amd",
         "\"backend\":\"nvidia\",\"backends\""},
        {"GPUFL_BACKEND=amd",
         "backend nvidia can be used, too; sessions take amd because GPUFL_BACKEND names it ",
         "\"backend\":\"amd\",\"backends\""},
        {"GPUFL_BACKEND=Nvidia",
         "backend amd can be used, too; sessions take nvidia because GPUFL_BACKEND names it ",
         "\"backend\":\"nvidia\",\"backends\""},
        {"GPUFL_BACKEND=sim",
         "captures a simulated GPU here: GPUFL_BACKEND names the backend sim. ",
         "\"backend\":\"sim\",\"backends\""},
        {"GPUFL_BACKEND=none", "captures scopes and host metrics only here: GPUFL_BACKEND names",
         "\"backend\":\"none\",\"backends\""},
        {"GPUFL_BACKEND=wrong",
         "GPUFL_BACKEND (wrong): it names no backend, so that sessions take ",
         "\"backend\":\"nvidia\",\"backends\""},
    };
    struct world w;
    world_open(&w);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const env[] = {cases[i].setting, smi, fakes, NULL};
        check_info(&w, env, NULL, (const char *const[]){cases[i].text, NULL});
        check_info(&w, env, "--json", (const char *const[]){cases[i].json, NULL});
    }
    const char *const amd[] = {"GPUFL_BACKEND=amd", smi, fakes, NULL};
    check_info(
        &w, amd, "--engines",
        (const char *const[]){"engines (backend amd)", "rocprofiler-sdk samples only", NULL});
    const char *const blind[] = {"GPUFL_BACKEND=nvidia", smi, NULL};
    check_info(&w, blind, NULL,
               (const char *const[]){"sessions take nvidia because GPUFL_BACKEND names it, though "
                                     "it finds no GPU",
                                     NULL});
    world_close(&w);
}

/* Colours on a terminal, none with NO_COLOR. */
TEST(colours_follow_the_terminal)
{
    struct world w;
    struct child c;
    const char *const argv[] = {path_gpufl(), "info", NULL};
    const char *const env[] = {"NO_COLOR=1", NULL};
    world_open(&w);
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv, .tty = true});
    assert_int_equal(child_end(&c), 0);
    assert_non_null(strchr(c.text[CHILD_OUT].data, '\033'));
    child_free(&c);
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv, .tty = true, .env = env});
    assert_int_equal(child_end(&c), 0);
    assert_null(strchr(c.text[CHILD_OUT].data, '\033'));
    child_free(&c);
    world_close(&w);
}

/* Asks what bash offers for a command line; the last word is the one being typed. */
static void complete(struct world *w, struct child *c, const char *words)
{
    char script[2 * PATH_MAX];
    snprintf(script, sizeof script,
             "source '%s/share/bash-completion/completions/gpufl'; COMP_WORDS=('%s' %s); "
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gpufl; printf '%%s\\n' \"${COMPREPLY[@]}\"",
             getenv("GPUFL_SOURCE_DIR"), path_gpufl(), words);
    const char *const argv[] = {"/bin/bash", "--norc", "-c", script, NULL};
    child_start(c, &(struct child_setup){.dir = w->dir, .argv = argv});
    assert_int_equal(child_end(c), 0);
    assert_string_equal(c->text[CHILD_ERR].data, "");
}

TEST(bash_completes)
{
    static const char *const cases[][2] = {
        {"tra", "trace\n"},
        {"trace --dur", "--duration\n"},
        {"trace --engine Mon", "Monitor\n"},
        {"trace --option log_comp", "log_compress=\n"},
        {"info --opt", "--options\n"},
        {"help sch", "schema\n"},
        {"trace -o dir /bin/sh /etc/hostna", "/etc/hostname\n"},
        {"trace --for 1s -n x /bin/sh /etc/hostna", "/etc/hostname\n"},
        {"trace --flush-interval-ms 100 --launch-stacks /bin/sh /etc/hostna", "/etc/hostname\n"},
        {"trace --stacks = none /bin/sh /etc/hostna", "/etc/hostname\n"},
        {"trace -- /bin/sh --dur", "\n"}, /* the program's own option: nothing of ours */
    };
    struct world w;
    world_open(&w);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct child c;
        complete(&w, &c, cases[i][0]);
        if (strcmp(c.text[CHILD_OUT].data, cases[i][1]) != 0)
            fail_msg("%s: %s", cases[i][0], c.text[CHILD_OUT].data);
        child_free(&c);
    }
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_and_pages_agree),
        cmocka_unit_test(version_is_reported),
        cmocka_unit_test(letters_have_one_meaning),
        cmocka_unit_test(bash_completes),
        cmocka_unit_test(output_is_plain),
        cmocka_unit_test(nvdisasm_is_reported),
        cmocka_unit_test(a_mixed_machine_says_why),
        cmocka_unit_test(a_named_backend_is_reported),
        cmocka_unit_test(colours_follow_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
