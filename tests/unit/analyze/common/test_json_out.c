/* test_json_out.c - texts that json_out joins are whole, however long, and numbers have the digits
 * that printf gives them. */
#include "analyze/common/json_out.h"
#include "tests/test.h"

#include "base/err.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 5000 };

/* A reader of the JSON sees `whole` as the description that json_out joined from the pieces. */
static void joined_is(const char *const *pieces, size_t n, const char *whole)
{
    struct json_out j;
    json_error_t error;
    json_out_init_memory(&j, 1 << 20);
    json_out_object(&j, NULL);
    json_out_joined(&j, "description", pieces, n);
    json_out_close_object(&j);
    assert_int_equal(json_out_finish(&j), 0);
    json_t *read = json_loadb(j.buf.data, j.buf.len, 0, &error);
    assert_non_null(read);
    assert_string_equal(json_string_value(json_object_get(read, "description")), whole);
    json_decref(read);
    buf_fini(&j.buf);
}

TEST(test_joined_texts_are_whole)
{
    char text[LONG + 1], whole[LONG + 32];
    for (size_t i = 0; i < LONG; i++)
        text[i] = (char)('a' + i % 26);
    text[LONG] = '\0';
    snprintf(whole, sizeof whole, "%s; \"ns\"", text);
    joined_is((const char *const[]){text, "; ", "\"ns\""}, 3, whole);
    joined_is((const char *const[]){"", "one", ""}, 3, "one");
    joined_is(NULL, 0, "");
}

TEST(test_joined_texts_beyond_the_ceiling)
{
    struct json_out j;
    char text[LONG + 1];
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    json_out_init_memory(&j, LONG);
    json_out_joined(&j, NULL, (const char *const[]){text}, 1);
    assert_int_equal(json_out_finish(&j), GPUFL_E_FULL);
    buf_fini(&j.buf);
}

/* Writes what json_out_number wrote before it made digits itself. */
static void printed(char *text, size_t room, double v)
{
    int len = snprintf(text, room, "%.6f", v);
    while (len > 1 && text[len - 1] == '0' && text[len - 2] != '.')
        text[--len] = '\0';
}

static void number_is_printed(double v)
{
    struct json_out j;
    char want[400];
    printed(want, sizeof want, v);
    json_out_init_memory(&j, 1 << 10);
    json_out_number(&j, NULL, v);
    assert_int_equal(json_out_finish(&j), 0);
    if (j.buf.len < strlen(want) || strncmp(j.buf.data, want, strlen(want)) != 0)
        fail_msg("%.17g is %.*s, not %s", v, (int)j.buf.len, j.buf.data, want);
    buf_fini(&j.buf);
}

TEST(test_numbers_are_rounded_as_printf_does)
{
    static const double some[] = {0,
                                  -0.0,
                                  1,
                                  0.1,
                                  0.5,
                                  1e-7,
                                  5e-7,
                                  4.9999999e-7,
                                  1.5e-6,
                                  2.5e-6,
                                  0.0000005,
                                  0.0000015,
                                  999999999.9999995,
                                  1e9,
                                  1e15,
                                  1e300,
                                  -1.5,
                                  -1e-9,
                                  0.9999995,
                                  0.9999994999,
                                  123456.7890125,
                                  1e8 + 0.5e-6};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        number_is_printed(some[i]);
    srand(5); /* NOLINT: the numbers must be the same every time */
    for (int i = 0; i < 40000; i++) {
        double r = rand() / (double)RAND_MAX; /* NOLINT */
        int scale = rand() % 24 - 8;          /* NOLINT */
        number_is_printed(r * pow(10, scale));
        /* Halves of the last digit, and what is next to them. */
        double half = (floor(r * 1e6) + 0.5) * 1e-6 * pow(2, rand() % 20); /* NOLINT */
        number_is_printed(half);
        number_is_printed(nextafter(half, 0));
        number_is_printed(nextafter(half, 1e9));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined_texts_are_whole),
        cmocka_unit_test(test_joined_texts_beyond_the_ceiling),
        cmocka_unit_test(test_numbers_are_rounded_as_printf_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
