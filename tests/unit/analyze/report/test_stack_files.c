/* test_stack_files.c - tests collapsed stacks as pprof's and speedscope's files. The tools
 * themselves load both in tests/e2e and in the dashboard's tests; this test checks the bytes, and
 * unusual input. */
#include "tests/test.h"

#include "analyze/report/stacks/stack_files.h"

#include <jansson.h>
#include <string.h>

static int convert(int (*put)(const char *, size_t, struct buf *), const char *stacks,
                   struct buf *out)
{
    buf_init(out, 1 << 20);
    return put(stacks, strlen(stacks), out);
}

static const char two_trees[] = "host blocked;main (train.py:12);wait 70\n"
                                "GPU;main (train.py:12);f(int (*)(int)) (a b.cu:3);k\"1 5\n"
                                "host blocked;main (train.py:12);wait 30\n";

TEST(test_speedscope)
{
    struct buf b;
    assert_int_equal(convert(stack_file_speedscope, two_trees, &b), 0);
    json_t *file = json_loads(buf_cstr(&b), 0, NULL);
    json_t *profiles, *frames;
    int end, line;
    const char *name, *place;
    assert_int_equal(
        json_unpack(file, "{s:o,s:{s:o}}", "profiles", &profiles, "shared", "frames", &frames), 0);
    assert_int_equal(json_array_size(profiles), 2);
    assert_int_equal(
        json_unpack(json_array_get(profiles, 0), "{s:s,s:i}", "name", &name, "endValue", &end), 0);
    assert_string_equal(name, "Host blocked");
    assert_int_equal(end, 100);
    json_t *samples = json_object_get(json_array_get(profiles, 1), "samples");
    json_t *frame = json_array_get(
        frames, (size_t)json_integer_value(json_array_get(json_array_get(samples, 0), 2)));
    assert_int_equal(
        json_unpack(frame, "{s:s,s:s,s:i}", "name", &name, "file", &place, "line", &line), 0);
    assert_string_equal(name, "f(int (*)(int))");
    assert_string_equal(place, "a b.cu");
    assert_int_equal(line, 3);
    json_decref(file);
    buf_fini(&b);
}

TEST(test_one_tree_is_one_profile)
{
    struct buf b;
    assert_int_equal(convert(stack_file_speedscope, "GPU;k 1\n", &b), 0);
    json_t *file = json_loads(buf_cstr(&b), 0, NULL);
    assert_int_equal(json_array_size(json_object_get(file, "profiles")), 1);
    json_decref(file);
    buf_fini(&b);
}

/* Returns true if there is a field of bytes with that tag and content. */
static bool has_field(const struct buf *b, unsigned char tag, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n + 2 <= b->len; i++)
        if ((unsigned char)b->data[i] == tag && (unsigned char)b->data[i + 1] == n &&
            memcmp(b->data + i + 2, text, n) == 0)
            return true;
    return false;
}

TEST(test_pprof)
{
    struct buf b;
    assert_int_equal(convert(stack_file_pprof, two_trees, &b), 0);
    /* string_table = 6 */
    static const char *const texts[] = {"",     "host_blocked", "nanoseconds", "gpu_time",
                                        "main", "train.py",     "a b.cu",      "f(int (*)(int))",
                                        "wait", "k\"1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(has_field(&b, 6 << 3 | 2, texts[i]));
    /* sample = 2 { location_id = { 3, 2, 1 }, value = { 70, 0 } }, the innermost frame first */
    assert_non_null(memmem(b.data, b.len, "\022\t\n\003\003\002\001\022\002F\000", 11));
    buf_fini(&b);
}

TEST(test_odd_lines)
{
    static const char *const bad[] = {"no number\n", "5\n", " 5\n", "a 12345678901234567890\n",
                                      "a 5x\n"};
    static const char *const odd[] = {"",
                                      "\n\n",
                                      "a 5",
                                      "a; 5\n",
                                      ";; 7\n",
                                      "f (:3) 5\n",
                                      "f (a:) 5\n",
                                      "(a:3) 5\n",
                                      "f (a:9999999999) 5\n",
                                      "f (a:3)) 5\n",
                                      "\xff\xfe 5\n"};
    struct buf b;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(convert(stack_file_pprof, bad[i], &b), GPUFL_E_CORRUPT);
        buf_fini(&b);
        assert_int_equal(convert(stack_file_speedscope, bad[i], &b), GPUFL_E_CORRUPT);
        buf_fini(&b);
    }
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        assert_int_equal(convert(stack_file_pprof, odd[i], &b), 0);
        buf_fini(&b);
        assert_int_equal(convert(stack_file_speedscope, odd[i], &b), 0);
        json_t *file = json_loads(buf_cstr(&b), 0, NULL);
        assert_non_null(file);
        json_decref(file);
        buf_fini(&b);
    }
}

TEST(test_a_full_buffer_is_an_error)
{
    struct buf b;
    buf_init(&b, 64);
    assert_int_not_equal(stack_file_pprof(two_trees, strlen(two_trees), &b), 0);
    buf_fini(&b);
    buf_init(&b, 64);
    assert_int_not_equal(stack_file_speedscope(two_trees, strlen(two_trees), &b), 0);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_speedscope),
        cmocka_unit_test(test_one_tree_is_one_profile),
        cmocka_unit_test(test_pprof),
        cmocka_unit_test(test_odd_lines),
        cmocka_unit_test(test_a_full_buffer_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
