/* test_trees.c - tests trees of two sides: times add up along the stacks, time beyond the limits is
 * counted at the caller, and text that is not a tree is skipped or refused. */
#include "analyze/compare/trees.h"
#include "base/alloc.h"
#include "base/err.h"
#include "tests/test.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const size_t ONE[COMPARE_SIDES] = {1, 1};

/* The answer as JSON, which the caller frees. */
static json_t *answer(const struct trees *t, const size_t counts[COMPARE_SIDES])
{
    struct json_out j;
    json_error_t e;
    json_out_init_memory(&j, 1 << 24);
    json_out_object(&j, NULL);
    trees_put(t, counts, &j);
    json_out_close_object(&j);
    assert_int_equal(buf_error(&j.buf), 0);
    json_t *made = json_loadb(j.buf.data, j.buf.len, 0, &e);
    assert_non_null(made);
    buf_fini(&j.buf);
    return made;
}

static void check_node(const json_t *made, size_t at, int parent, const char *name, int64_t a,
                       int64_t b)
{
    const json_t *node = json_array_get(json_object_get(made, "nodes"), at);
    assert_int_equal(json_integer_value(json_array_get(node, 0)), parent);
    assert_string_equal(json_string_value(json_array_get(node, 1)), name);
    assert_int_equal(json_integer_value(json_array_get(node, 2)), a);
    assert_int_equal(json_integer_value(json_array_get(node, 3)), b);
}

static int add(struct trees *t, unsigned side, const char *text)
{
    return trees_add_collapsed(t, side, "host blocked", text, strlen(text));
}

TEST(test_stacks_of_two_sides)
{
    struct trees t;
    const size_t two[COMPARE_SIDES] = {1, 2};
    assert_int_equal(trees_open(&t), 0);
    assert_int_equal(add(&t, 0, "host blocked;main;wait 600\nhost blocked;main;copy 300\n"), 0);
    assert_int_equal(add(&t, 1, "host blocked;main;wait 400\nGPU;main;kernel 999\n"), 0);
    assert_int_equal(add(&t, 1, "no stack\nhost blocked;main;new 1000\nhost blocked 5\n;; \n"), 0);
    assert_int_equal(add(&t, 1, "host blocked;x 99999999999999999999999\nhost blockedx;y 4"), 0);
    json_t *made = answer(&t, two);
    assert_int_equal(json_integer_value(json_object_get(made, "a_ns")), 900);
    assert_int_equal(json_integer_value(json_object_get(made, "b_ns")), 700);
    assert_int_equal(json_array_size(json_object_get(made, "nodes")), 4);
    check_node(made, 0, 0, "main", 900, 700);
    check_node(made, 1, 1, "wait", 600, 200);
    check_node(made, 2, 1, "copy", 300, 0);
    check_node(made, 3, 1, "new", 0, 500);
    json_decref(made);
    trees_close(&t);
}

/* Names and nodes have limits; the time of a frame without room stays with its caller. */
TEST(test_bounded)
{
    struct trees t;
    char text[64];
    assert_int_equal(trees_open(&t), 0);
    for (int i = 0; i < TREES_NODES + 50; i++) {
        snprintf(text, sizeof text, "host blocked;main;f%d 10", i);
        assert_int_equal(add(&t, 0, text), 0);
    }
    assert_true(t.nodes.count <= TREES_NODES);
    assert_true(t.cut >= 500 && t.cut < 1000);
    json_t *made = answer(&t, ONE);
    assert_int_equal(json_integer_value(json_object_get(made, "a_ns")), 10 * (TREES_NODES + 50));
    assert_int_equal(json_integer_value(json_object_get(made, "cut_ns")), t.cut);
    /* the others are too small */
    assert_int_equal(json_array_size(json_object_get(made, "nodes")), 1);
    json_decref(made);
    trees_close(&t);
}

/* A stack is deeper than any program's: its inner frames are left out. */
TEST(test_deep)
{
    struct trees t;
    enum { DEEP = 5000 };
    char *text = mem_alloc(2 * DEEP + 64);
    size_t n = (size_t)sprintf(text, "host blocked");
    for (int i = 0; i < DEEP; i++)
        n += (size_t)sprintf(text + n, ";f");
    sprintf(text + n, " 7");
    assert_int_equal(trees_open(&t), 0);
    assert_int_equal(add(&t, 0, text), 0);
    assert_int_equal(t.nodes.count, TREES_DEPTH + 2);
    trees_close(&t);
    mem_free(text);
}

/* A scope itself has the time that no scope inside it has. */
TEST(test_scopes)
{
    struct trees t;
    struct digest_item scopes[] = {{.key = "epoch", .total = 1000},
                                   {.key = "epoch|step", .total = 700},
                                   {.key = "epoch|step|backward", .total = 650},
                                   {.key = "epoch2", .total = 30},
                                   {.key = "lost|inner", .total = 40},
                                   {.key = "x\\|y", .total = 20},
                                   {.key = "x\\|y|z", .total = 15}};
    struct digest d = {.scopes = scopes, .scope_count = 7};
    assert_int_equal(trees_open(&t), 0);
    assert_int_equal(trees_add_scopes(&t, 1, &d), 0);
    json_t *made = answer(&t, ONE);
    assert_int_equal(json_integer_value(json_object_get(made, "b_ns")), 1090);
    check_node(made, 0, 0, "epoch", 0, 1000);
    check_node(made, 1, 0, "epoch2", 0, 30);
    check_node(made, 2, 1, "step", 0, 700);
    check_node(made, 3, 3, "backward", 0, 650);
    check_node(made, 4, 0, "lost", 0, 40);
    check_node(made, 5, 5, "inner", 0, 40);
    check_node(made, 6, 0, "x|y", 0, 20); /* one name, with a bar in it */
    check_node(made, 7, 7, "z", 0, 15);
    json_decref(made);
    trees_close(&t);
}

TEST(test_idle)
{
    static const char report[] =
        "{\"answer\":{\"idle\":[1]},\"idle\":{\"causes\":[{\"cause\":\"late_launch\"}],\"lines\":["
        "{\"cause\":\"late_launch\",\"place\":\"a.py:7\",\"file\":\"a.py\",\"idle_ns\":500},"
        "{\"cause\":\"late_launch\",\"place\":null,\"reason\":\"no_stack\",\"idle_ns\":200},"
        "{\"cause\":\"host_sync\",\"place\":null,\"reason\":null,\"idle_ns\":300}]},\"x\":1}";
    static const char *const bad[] = {"", "[]", "{\"idle\":{\"lines\":[1]}}",
                                      "{\"idle\":{\"lines\":[{\"cause\":\"x\"", "{\"idle\" 3}"};
    struct trees t;
    assert_int_equal(trees_open(&t), 0);
    assert_int_equal(trees_add_idle(&t, 0, report, strlen(report)), 0);
    json_t *made = answer(&t, ONE);
    check_node(made, 0, 0, "late launch", 700, 0);
    check_node(made, 1, 1, "a.py:7", 500, 0);
    check_node(made, 2, 1, "no_stack", 200, 0);
    check_node(made, 3, 0, "host sync", 300, 0);
    check_node(made, 4, 4, "(no line known)", 300, 0);
    json_decref(made);
    assert_int_equal(trees_add_idle(&t, 0, "{\"sessions\":[]}", 15), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(trees_add_idle(&t, 0, bad[i], strlen(bad[i])), GPUFL_E_CORRUPT);
    trees_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks_of_two_sides),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_idle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
