/* test_opt.c - tests parsing, sentences for mistakes, help. */
#include "base/opt.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

static const char *const ENGINES[] = {"Monitor", "Trace", "PcSampling", "SassMetrics", NULL};

static bool kill_it, json;
static const char *output, *colours;
static int64_t port, duration, limit;
static int engine;
static const char *texts[2];
static struct opt_list list = {.items = texts, .max = 2};

static const struct opt TABLE[] = {
    {"output", 'o', OPT_STRING, &output, "DIR", NULL, "Where the session is written."},
    {"engine", 'e', OPT_CHOICE, &engine, NULL, ENGINES, "What is collected."},
    {"duration", 0, OPT_DURATION, &duration, NULL, NULL,
     "Ends the capture after this time; the program runs on unless --kill is given, and the "
     "report is printed at once."},
    {"limit", 0, OPT_SIZE, &limit, NULL, NULL, "Ceiling of the session's files."},
    {"port", 'p', OPT_INT, &port, NULL, NULL, "Where to listen."},
    {"kill", 0, OPT_FLAG, &kill_it, NULL, NULL, "Ends the program too."},
    {"json", 'j', OPT_FLAG, &json, NULL, NULL, "Machine-readable."},
    {"option", 0, OPT_LIST, &list, "NAME=VALUE", NULL, "Sets one option."},
    {"destination", 0, OPT_STRING, &output, NULL, NULL, NULL}, /* another name for --output */
    {"colours", 0, OPT_SWITCH, &colours, NULL, NULL, NULL},
    {NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL},
};

enum { MAX_ARGS = 12 };

/* Parses the words of a line; `operands` gets the operands, each followed by '|'. */
static int parse(int flags, const char *line, char *operands, struct err *e)
{
    static char words[256];
    char *argv[MAX_ARGS + 1] = {(char[]){"prog"}};
    int argc = 1, count = 0;
    kill_it = json = false;
    output = colours = NULL;
    port = duration = limit = -1;
    engine = -1;
    list.count = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok(words, " "); w && argc < MAX_ARGS; w = strtok(NULL, " "))
        argv[argc++] = w;
    int rc = opt_parse(TABLE, flags, argc, argv, &count, e);
    operands[0] = '\0';
    for (int i = 0; rc == 0 && i < count; i++) {
        strcat(operands, argv[1 + i]);
        strcat(operands, "|");
    }
    return rc;
}

static void refuse(const char *line, const char *sentence)
{
    char ops[256];
    struct err e;
    assert_int_equal(parse(0, line, ops, &e), GPUFL_E_INVAL);
    assert_string_equal(e.text, sentence);
    assert_int_equal(parse(0, line, ops, NULL), GPUFL_E_INVAL);
}

TEST(test_forms)
{
    char ops[256];
    struct err e;
    assert_int_equal(parse(0, "a --output=x b -e trace --port 7 -j c", ops, &e), 0);
    assert_string_equal(ops, "a|b|c|");
    assert_string_equal(output, "x");
    assert_int_equal(engine, 1);
    assert_int_equal(port, 7);
    assert_true(json);
    assert_false(kill_it);
    assert_int_equal(parse(0, "-ox -p5 --duration=250ms --limit 4G --kill", ops, &e), 0);
    assert_string_equal(output, "x");
    assert_int_equal(port, 5);
    assert_true(duration == 250000000 && limit == 4ll << 30 && kill_it);
    assert_int_equal(parse(0, "-o=x -p=6", ops, &e), 0);
    assert_string_equal(output, "x");
    assert_int_equal(port, 6);
    assert_int_equal(parse(0, "--output= -", ops, &e), 0);
    assert_string_equal(output, "");
    assert_string_equal(ops, "-|"); /* a dash alone is an operand */
    assert_int_equal(parse(0, "", ops, &e), 0);
    assert_string_equal(ops, "");
}

TEST(test_where_options_end)
{
    char ops[256];
    struct err e;
    assert_int_equal(parse(0, "a --json -- --kill -x", ops, &e), 0);
    assert_string_equal(ops, "a|--kill|-x|");
    assert_true(json && !kill_it);
    assert_int_equal(parse(OPT_STOP_AT_OPERAND, "--json prog --kill -x", ops, &e), 0);
    assert_string_equal(ops, "prog|--kill|-x|");
    assert_true(json && !kill_it);
    assert_int_equal(parse(OPT_STOP_AT_OPERAND, "-- prog -- -x", ops, &e), 0);
    assert_string_equal(ops, "prog|--|-x|");
}

/* An option without its value does not take the next option as the value. */
TEST(test_a_value_that_was_forgotten)
{
    char ops[256];
    struct err e;
    refuse("--output -- x", "option '--output' needs a value, and '--' follows; if that is the "
                            "value, write --output=--");
    refuse("-o --json x", "option '--output' needs a value, and '--json' follows; if that is "
                          "the value, write --output=--json");
    assert_int_equal(parse(0, "--output=--json -- x", ops, &e), 0);
    assert_string_equal(output, "--json");
    assert_false(json);
}

/* Other names of an option are accepted and suggested, but not listed. */
TEST(test_other_names)
{
    char ops[256];
    struct err e;
    assert_int_equal(parse(0, "--destination x y", ops, &e), 0);
    assert_string_equal(output, "x");
    refuse("--destinatoin x", "unknown option '--destinatoin' (did you mean '--destination'?)");
    assert_int_equal(parse(0, "--colours x", ops, &e), 0); /* a switch takes no next word */
    assert_string_equal(colours, "true");
    assert_string_equal(ops, "x|");
    assert_int_equal(parse(0, "--colours=false x", ops, &e), 0);
    assert_string_equal(colours, "false");
}

TEST(test_list)
{
    char ops[256];
    struct err e;
    assert_int_equal(parse(0, "--option a=1 --option=b=2", ops, &e), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(texts[0], "a=1");
    assert_string_equal(texts[1], "b=2");
    assert_int_equal(parse(0, "--option a --option b --option c", ops, &e), GPUFL_E_FULL);
    assert_string_equal(e.text, "option '--option' was given more than the 2 times allowed");
}

TEST(test_sentences)
{
    refuse("--egnine trace", "unknown option '--egnine' (did you mean '--engine'?)");
    refuse("--outptu=x", "unknown option '--outptu' (did you mean '--output'?)");
    refuse("--dur 5s", "unknown option '--dur' (did you mean '--duration'?)");
    refuse("-json", "option '--json' takes no value, but was given 'son'");
    refuse("--xyzzy", "unknown option '--xyzzy'; known are --output, --engine, --duration, "
                      "--limit, --port, --kill, --json, --option");
    refuse("-q", "unknown option '-q'; known are --output, --engine, --duration, --limit, "
                 "--port, --kill, --json, --option");
    refuse("--engine Trase", "option '--engine': 'Trase' is not one of Monitor, Trace, PcSampling, "
                             "SassMetrics (did you mean 'Trace'?)");
    refuse("--engine all",
           "option '--engine': 'all' is not one of Monitor, Trace, PcSampling, SassMetrics");
    refuse("--port seven", "option '--port': 'seven' is not a whole number, 0 or more");
    refuse("--port -5", "option '--port': '-5' is not a whole number, 0 or more");
    refuse("-p-0", "option '--port': '-0' is not a whole number, 0 or more");
    refuse("--duration -5s", "option '--duration': '-5s' is not a duration (500ms, 2s, 3m, 1h; "
                             "without a unit: seconds)");
    refuse("--limit -1", "option '--limit': '-1' is not a size (64M, 4G; without a unit: bytes)");
    refuse("--duration 5x", "option '--duration': '5x' is not a duration (500ms, 2s, 3m, 1h; "
                            "without a unit: seconds)");
    refuse("--limit big", "option '--limit': 'big' is not a size (64M, 4G; without a unit: bytes)");
    refuse("--kill=yes", "option '--kill' takes no value, but was given 'yes'");
    refuse("--output", "option '--output' needs a value: --output DIR");
    refuse("-p", "option '--port' needs a value: --port N");
}

TEST(test_int)
{
    int64_t v;
    static const struct {
        const char *s;
        int64_t v;
    } good[] = {{"0", 0},   {"-1", -1},
                {"+5", 5},  {"9223372036854775807", INT64_MAX},
                {"007", 7}, {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(opt_int(good[i].s, &v), 0);
        assert_true(v == good[i].v);
    }
    static const char *const bad[] = {"",   "-",   "+",   " 1",  "1 ",
                                      "1x", "0x1", "--1", "1.0", "9223372036854775808"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(opt_int(bad[i], &v), GPUFL_E_INVAL);
}

TEST(test_durations_and_sizes)
{
    static const struct {
        const char *s;
        int64_t ns; /* -1: refused */
    } times[] = {{"2", 2000000000},
                 {"2s", 2000000000},
                 {"500ms", 500000000},
                 {"1.5s", 1500000000},
                 {"0.25", 250000000},
                 {"7us", 7000},
                 {"9ns", 9},
                 {"3m", 180000000000},
                 {"3 min", 180000000000},
                 {"1H", 3600000000000},
                 {"0", 0},
                 {"", -1},
                 {"-1s", -1},
                 {"s", -1},
                 {"1.", -1},
                 {"1.1234567s", -1},
                 {"1 s s", -1},
                 {"5 days", -1},
                 {"9999999999h", -1}};
    static const struct {
        const char *s;
        int64_t bytes;
    } sizes[] = {{"100", 100},      {"1k", 1024},        {"64M", 64 << 20},
                 {"4G", 4ll << 30}, {"4GiB", 4ll << 30}, {"4gb", 4ll << 30},
                 {"1.5K", 1536},    {"2T", 2ll << 40},   {"12B", 12},
                 {"9E", -1},        {"M", -1},           {"9000000T", 9000000ll << 40},
                 {"9999999T", -1},  {"1e3", -1}};
    int64_t v;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        assert_int_equal(opt_duration(times[i].s, &v), times[i].ns < 0 ? GPUFL_E_INVAL : 0);
        assert_true(times[i].ns < 0 || v == times[i].ns);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bool bad = opt_size(sizes[i].s, &v) != 0;
        if (sizes[i].bytes >= 0 ? bad || v != sizes[i].bytes : !bad)
            fail_msg("size %s", sizes[i].s);
    }
}

TEST(test_bool)
{
    static const char *const yes[] = {"1", "true", "Yes", "ON"}, *const no[] = {"0", "FALSE", "no",
                                                                                "off"};
    bool v;
    for (int i = 0; i < 4; i++) {
        v = false;
        assert_int_equal(opt_bool(yes[i], &v), 0);
        assert_true(v);
        assert_int_equal(opt_bool(no[i], &v), 0);
        assert_false(v);
    }
    assert_int_equal(opt_bool("", &v), GPUFL_E_INVAL);
    assert_int_equal(opt_bool("2", &v), GPUFL_E_INVAL);
}

TEST(test_choice)
{
    const char *near;
    assert_int_equal(opt_choice("pc-sampling", ENGINES, NULL), 2);
    assert_int_equal(opt_choice("PC_SAMPLING", ENGINES, &near), 2);
    assert_null(near);
    assert_int_equal(opt_choice("PcSamplign", ENGINES, &near), -1);
    assert_string_equal(near, "PcSampling");
    assert_int_equal(opt_choice("sass", ENGINES, &near), -1);
    assert_string_equal(near, "SassMetrics");
    assert_int_equal(opt_choice("", ENGINES, &near), -1);
    assert_null(near);
    assert_int_equal(opt_choice("--", ENGINES, &near), -1);
    /* Several names begin so or differ slightly: the nearest is suggested, not the first. */
    static const char *const logs[] = {"log_max_spool_bytes", "log_format", "log_path", "lag",
                                       NULL};
    assert_int_equal(opt_choice("log_", logs, &near), -1);
    assert_string_equal(near, "lag");
    assert_int_equal(opt_choice("log_p", logs, &near), -1);
    assert_string_equal(near, "log_path");
    assert_int_equal(opt_choice("log_fo", logs, &near), -1);
    assert_string_equal(near, "log_format");
    char longer[500];
    memset(longer, 'T', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(opt_choice(longer, ENGINES, &near), -1);
    assert_null(near);
}

TEST(test_help)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    opt_help(TABLE, f);
    fclose(f);
    static const char want[] =
        "  -o, --output DIR         Where the session is written.\n"
        "  -e, --engine NAME        What is collected. One of Monitor, Trace, PcSampling,\n"
        "                           SassMetrics.\n"
        "      --duration TIME      Ends the capture after this time; the program runs on\n"
        "                           unless --kill is given, and the report is printed at\n"
        "                           once.\n"
        "      --limit SIZE         Ceiling of the session's files.\n"
        "  -p, --port N             Where to listen.\n"
        "      --kill               Ends the program too.\n"
        "  -j, --json               Machine-readable.\n"
        "      --option NAME=VALUE  Sets one option.\n";
    assert_string_equal(text, want);
    free(text);

    static const struct opt wide[] = {
        {"short", 's', OPT_FLAG, NULL, NULL, NULL, "Short."},
        {"an-option-with-a-very-long-name", 0, OPT_STRING, NULL, "VALUE", NULL, "Below."},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    f = open_memstream(&text, &size);
    assert_non_null(f);
    opt_help(wide, f);
    fclose(f);
    assert_string_equal(text, "  -s, --short  Short.\n"
                              "      --an-option-with-a-very-long-name VALUE\n"
                              "               Below.\n");
    free(text);
}

/* Options are an interval in the unit of another program, and an option of that program. */
TEST(test_as_another_program)
{
    int64_t every = 0;
    const struct opt table[] = {
        {"every", 0, OPT_MILLIS, &every, NULL, NULL, "How often."},
        {"jar", 'v', OPT_FOREIGN, NULL, "nothing here needs one", NULL, NULL},
        {0},
    };
    static const struct {
        const char *given;
        int64_t ns; /* 0: refused */
        const char *says;
    } cases[] = {
        {"--every=5000", 5000000000, NULL},
        {"--every=5s", 5000000000, NULL},
        {"--every=1.5", 1500000, NULL},
        {"--every=2m", 120000000000, NULL},
        {"--every=ms", 0,
         "'ms' is not a duration (500ms, 2s, 3m, 1h; without a unit: milliseconds)"},
        {"--every=9223372036854775807", 0, "is not a duration"},
        {"--jar=a.jar", 0, "there is no option '--jar' here: nothing here needs one"},
        {"-v", 0, "there is no option '--jar' here: nothing here needs one"},
        {"--jra", 0, "unknown option '--jra'; known are --every"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        char given[64], program[] = "";
        int operands = 0;
        snprintf(given, sizeof given, "%s", cases[i].given);
        char *argv[] = {program, given, NULL};
        int rc = opt_parse(table, 0, 2, argv, &operands, &e);
        assert_int_equal(rc, cases[i].ns ? 0 : GPUFL_E_INVAL);
        if (cases[i].ns)
            assert_int_equal(every, cases[i].ns);
        else
            assert_non_null(strstr(e.text, cases[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_another_program),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_where_options_end),
        cmocka_unit_test(test_a_value_that_was_forgotten),
        cmocka_unit_test(test_other_names),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_int),
        cmocka_unit_test(test_durations_and_sizes),
        cmocka_unit_test(test_bool),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
