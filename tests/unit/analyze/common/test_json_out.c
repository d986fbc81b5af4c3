/* test_json_out.c - tests texts that json_out joins are whole, however long. */
#include "analyze/common/json_out.h"
#include "tests/test.h"

#include "base/err.h"

#include <jansson.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined_texts_are_whole),
        cmocka_unit_test(test_joined_texts_beyond_the_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
