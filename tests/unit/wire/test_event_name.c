/* test_event_name.c - every code of docs/format.md has a name of its own; ids are shown as texts,
 * and numbers without a name stay numbers. */
#include "tests/test.h"
#include "wire/event_name.h"

#include <stdbool.h>

#include <string.h>

TEST(test_ids)
{
    static const struct {
        enum record_type type;
        int64_t code;
        uint32_t id;
        const char *text;
    } rows[] = {{RECORD_memcpy, 1, 0xffff0101, "copy HtoD"},
                {RECORD_memcpy, 10, 0xffff010a, "copy PtoP"},
                {RECORD_memcpy, 0, 0xffff0100, "copy"},
                {RECORD_memcpy, 11, 0xffff0100, "copy"},
                {RECORD_memcpy, CELL_NULL, 0xffff0100, "copy"},
                {RECORD_memset, 7, 0xffff0200, "fill"},
                {RECORD_sync, 3, 0xffff0303, "stream synchronization"},
                {RECORD_wait, 9, 0xffff0409, "call to load or unload code"},
                {RECORD_wait, -1, 0xffff0400, "call that waits"},
                {RECORD_graph_launch, 0, 0xffff0500, "graph launch"},
                {RECORD_graph_run, 0, 0xffff0600, "graph"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(event_name_of(rows[i].type, rows[i].code), rows[i].id);
        assert_string_equal(event_name_text(rows[i].id), rows[i].text);
    }
    assert_int_equal(event_name_of(RECORD_kernel, 1), 0);
    assert_int_equal(event_name_of(RECORD_scope, 1), 0);
}

TEST(test_no_others)
{
    static const int64_t ids[] = {0,          1,          -1,           EVENT_NAME_FIRST,
                                  0xffff0205, 0xffff010b, 0xffff0700,   UINT32_MAX,
                                  INT64_MAX,  INT64_MIN,  0x1ffff0101ll};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_null(event_name_text(ids[i]));
    for (int64_t a = EVENT_NAME_FIRST; a <= UINT32_MAX; a++)
        for (int64_t b = a + 1; event_name_text(a) && b < a + 0x500 && b <= UINT32_MAX; b++)
            if (event_name_text(b))
                assert_string_not_equal(event_name_text(a), event_name_text(b));
}

/* AMD's GPUs have no contexts; all other names are the same. */
TEST(test_words_of_a_vendor)
{
    int64_t sync = event_name_of(RECORD_sync, 4), wait = event_name_of(RECORD_wait, 4);
    assert_string_equal(event_name_said(sync, "amd"), "device synchronization");
    assert_string_equal(event_name_said(wait, "amd"), "wait for device");
    assert_string_equal(event_name_said(sync, "nvidia"), "context synchronization");
    assert_string_equal(event_name_said(wait, ""), "wait for context");
    assert_string_equal(event_name_said(event_name_of(RECORD_sync, 3), "amd"),
                        "stream synchronization");
    assert_null(event_name_said(1, "amd"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ids), cmocka_unit_test(test_no_others),
                                       cmocka_unit_test(test_words_of_a_vendor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
