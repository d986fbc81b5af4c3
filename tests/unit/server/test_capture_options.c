/* test_capture_options.c - tests the server's check of a configuration agrees with the library for
 * every option, so that no program refuses what the server accepted. */
#include "capture/options/options.h"
#include "server/common/capture_options.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

static int check(const char *json, struct err *e)
{
    struct buf out;
    *e = (struct err){0};
    buf_init(&out, 1 << 16);
    int rc = capture_options_check(json, strlen(json), &out, e);
    buf_fini(&out);
    return rc;
}

static bool is_of_the_host(const char *name)
{
    static const char *const names[] = {
#define LOCAL_OPTION(name) #name,
#include "schema/local_options.def"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

TEST(test_each_value_as_the_library_takes_it)
{
    static const char *const values[] = {
        "true",  "off",   "maybe", "0",   "1", "5",    "-1", "100",         "64K",  "Sim",
        "Trace", "trace", "Deep",  "1e3", "",  "4096", "x",  "99999999999", "None", "Nvidia"};
    struct err e, library;
    char json[128];
    int taken = 0, refused = 0;
    for (int id = 0; id < OPT_COUNT; id++)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            if (is_of_the_host(option_table[id].name))
                continue;
            snprintf(json, sizeof json, "{\"%s\":\"%s\"}", option_table[id].name, values[i]);
            bool good = option_check((enum option_id)id, values[i], &library) == 0;
            if ((check(json, &e) == 0) != good)
                fail_msg("%s: the server says '%s', the library '%s'", json, e.text, library.text);
            taken += good;
            refused += !good;
        }
    assert_true(taken > 100 && refused > 100);
}

TEST(test_what_is_refused)
{
    struct err e;
    for (int id = 0; id < OPT_COUNT; id++) {
        char json[128];
        if (!is_of_the_host(option_table[id].name))
            continue;
        snprintf(json, sizeof json, "{\"%s\":\"1\"}", option_table[id].name);
        assert_int_equal(GPUFL_E_INVAL, check(json, &e));
        assert_non_null(strstr(e.text, "can be set on the host only"));
    }
    assert_int_equal(GPUFL_E_INVAL, check("{\"flush_intervall_ms\":50}", &e));
    assert_string_equal("there is no option 'flush_intervall_ms'; is it 'flush_interval_ms'?",
                        e.text);
    assert_int_equal(GPUFL_E_INVAL, check("{\"windows\":true,\"windows\":true}", &e));
    assert_int_equal(GPUFL_E_INVAL, check("{\"app_name\":\"a\\u0000b\"}", &e));
    assert_int_equal(GPUFL_E_INVAL, check("{\"windows\":null}", &e));
    assert_int_equal(GPUFL_E_INVAL, check("{\"windows\":1.5}", &e));
    assert_int_equal(GPUFL_E_INVAL, check("[1]", &e));
    assert_int_equal(GPUFL_E_INVAL, check("", &e));
    assert_int_equal(0, check("{}", &e));
}

TEST(test_the_form_that_is_kept)
{
    static const char json[] = "{ \"windows\": true,\n \"app_name\": \"\\u00e4\" }";
    struct buf out;
    struct err e = {0};
    buf_init(&out, 1 << 16);
    assert_int_equal(0, capture_options_check(json, strlen(json), &out, &e));
    assert_string_equal("{\"app_name\":\"\303\244\",\"windows\":true}", buf_cstr(&out));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_value_as_the_library_takes_it),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_the_form_that_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
