/* test_loader_queue.c - tests the order of sessions: no workspace delays another, small sessions
 * come first, and nothing waits for ever. */
#include "base/file/file.h"
#include "server/intake/loader/queue.h"
#include "tests/test.h"
#include "tests/unit/support/tmpdir.h"

#include <stdio.h>
#include <string.h>

static struct sessions *table;
static struct loader_queue queue;

static int setup(void **state)
{
    queue = (struct loader_queue){0};
    if (tmpdir_open(state))
        return -1;
    const struct sessions_config c = {.folder = tmpdir_path("kept"), .threads = 1};
    return sessions_open(&table, &c, NULL);
}

static int teardown(void **state)
{
    sessions_close(table);
    return tmpdir_close(state);
}

/* Pushes a frame of so many bytes that came at a time. */
static void push(const char *workspace, const char *session, uint32_t size, int64_t queued)
{
    static uint64_t number;
    struct item item = {.kind = ITEM_FRAME,
                        .s = sessions_get(table, workspace, session),
                        .frame = {.number = ++number, .queued = queued, .place.size = size}};
    assert_non_null(item.s);
    assert_int_equal(loader_queue_push(&queue, &item), 0);
}

/* The next item's session; "" if there is none. */
static const char *pop(int64_t now)
{
    static char name[2 * STORE_ID_MAX + 2];
    struct item item;
    if (!loader_queue_pop(&queue, now, &item))
        return "";
    snprintf(name, sizeof name, "%s/%s", item.s->workspace, item.s->session);
    sessions_put(table, item.s);
    return name;
}

static void drain(void)
{
    while (*pop(0))
        continue;
    assert_null(queue.first);
    assert_int_equal(queue.items + queue.sessions + (size_t)queue.bytes, 0);
}

/* 100 sessions of one workspace came first; a session of the other workspace has the second
 * turn. */
TEST(test_workspaces_have_turns)
{
    char name[32];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "s%d", i);
        push("a", name, 1000, i);
    }
    push("b", "one", 5000, 100);
    push("b", "two", 5000, 101);
    assert_string_equal(pop(200), "a/s0");
    assert_string_equal(pop(200), "b/one");
    assert_string_equal(pop(200), "a/s1");
    assert_string_equal(pop(200), "b/two");
    assert_string_equal(pop(200), "a/s2");
    assert_string_equal(pop(200), "a/s3");
    drain();
}

/* The frames of a session are one turn, in their order, until they are many bytes. */
TEST(test_a_turn_ends)
{
    for (int i = 0; i < 8; i++)
        push("a", "large", LOADER_TURN_BYTES / 4, i);
    push("b", "small", 10, 20);
    push("b", "small", 10, 21);
    for (int i = 0; i < 4; i++)
        assert_string_equal(pop(30), "a/large");
    assert_string_equal(pop(30), "b/small");
    assert_string_equal(pop(30), "b/small");
    for (int i = 0; i < 4; i++)
        assert_string_equal(pop(30), "a/large");
    assert_string_equal(pop(30), "");
    drain();
}

/* Small ones come first, but not for ever. */
TEST(test_small_ones_first)
{
    static const int64_t second = 1000000000;
    push("a", "large", 100000, 0);
    push("a", "small", 100, second);
    assert_string_equal(pop(2 * second), "a/small");
    push("a", "small", 100, 20 * second);
    assert_string_equal(pop(20 * second), "a/large");
    assert_string_equal(pop(20 * second), "a/small");
    drain();
}

/* Windows from before the start are abandoned after the frames of their session. */
TEST(test_abandoned_last)
{
    struct item item;
    push("a", "one", 10, 0);
    push("a", "one", 10, 0);
    push("b", "two", 10, 0);
    assert_int_equal(loader_queue_abandon_all(&queue, table), 0);
    struct intake_session *s = sessions_get(table, "a", "one");
    for (int i = 0; i < 3; i++) {
        assert_true(loader_queue_pop_of(&queue, s, &item));
        assert_int_equal(item.kind, i < 2 ? ITEM_FRAME : ITEM_ABANDON);
        sessions_put(table, item.s);
    }
    assert_false(loader_queue_pop_of(&queue, s, &item));
    sessions_put(table, s);
    drain();
}

/* The load of all workspaces, and of one. */
TEST(test_load)
{
    struct loader_queue_load all = {.since = INT64_MAX}, one = all, none = all;
    push("a", "one", 10, 7);
    push("b", "two", 20, 5);
    push("b", "two", 20, 6);
    push("b", "three", 1, 9);
    loader_queue_load(&queue, NULL, &all);
    loader_queue_load(&queue, "b", &one);
    loader_queue_load(&queue, "c", &none);
    assert_true(all.sessions == 3 && all.bytes == 51 && all.since == 5);
    assert_true(one.sessions == 2 && one.bytes == 41 && one.since == 5);
    assert_true(none.sessions == 0 && none.bytes == 0 && none.since == INT64_MAX);
    drain();
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_workspaces_have_turns), T(test_a_turn_ends), T(test_small_ones_first),
        T(test_abandoned_last),        T(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
