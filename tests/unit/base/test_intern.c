/* test_intern.c - tests ids, ceilings, failing memory, threads, the hash. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/process/thread.h"
#include "tests/test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct intern *fresh(uint32_t entries, size_t bytes)
{
    struct intern *t;
    assert_int_equal(intern_open(&t, entries, bytes), 0);
    return t;
}

TEST(test_ids_count_from_one)
{
    struct intern *t = fresh(100, 10000);
    assert_int_equal(intern_count(t), 0);
    assert_int_equal(intern_str(t, "a"), 1);
    assert_int_equal(intern_str(t, "b"), 2);
    assert_int_equal(intern_str(t, "a"), 1);
    assert_int_equal(intern_id(t, "abc", 1), 1);
    assert_int_equal(intern_id(t, "b\0c", 3), 3); /* a NUL is a byte like any other */
    assert_int_equal(intern_str(t, NULL), 0);
    assert_int_equal(intern_str(t, ""), 0);
    assert_int_equal(intern_count(t), 3);
    size_t len;
    assert_string_equal(intern_text(t, 2, &len), "b");
    assert_int_equal(len, 1);
    assert_memory_equal(intern_text(t, 3, &len), "b\0c", 4);
    assert_int_equal(len, 3);
    assert_null(intern_text(t, 0, NULL));
    assert_null(intern_text(t, 4, NULL));
    intern_close(t);
    intern_close(NULL);
}

TEST(test_many_strings_keep_id_and_place)
{
    enum { MANY = 50000 };
    struct intern *t = fresh(MANY, 100u << 20);
    char text[64];
    const char *first = NULL;
    for (uint32_t i = 1; i <= MANY; i++) {
        snprintf(text, sizeof text, "kernel_%u_%0*u", i, (int)(i % 40), 7);
        assert_int_equal(intern_str(t, text), i);
        if (i == 1)
            first = intern_text(t, 1, NULL);
    }
    for (uint32_t i = 1; i <= MANY; i++) {
        snprintf(text, sizeof text, "kernel_%u_%0*u", i, (int)(i % 40), 7);
        assert_int_equal(intern_str(t, text), i);
        assert_string_equal(intern_text(t, i, NULL), text);
    }
    assert_ptr_equal(first, intern_text(t, 1, NULL));
    assert_int_equal(intern_count(t), MANY);
    assert_int_equal(intern_overflows(t), 0);
    intern_close(t);
}

TEST(test_beyond_the_entries)
{
    struct intern *t = fresh(3, 10000);
    intern_str(t, "a");
    intern_str(t, "b");
    intern_str(t, "c");
    assert_int_equal(intern_str(t, "d"), 4);
    assert_string_equal(intern_text(t, 4, NULL), "(other)");
    assert_int_equal(intern_str(t, "e"), 4);
    assert_int_equal(intern_str(t, "b"), 2); /* known ones still answer */
    assert_int_equal(intern_overflows(t), 2);
    assert_int_equal(intern_count(t), 4);
    intern_close(t);
}

TEST(test_beyond_the_bytes)
{
    struct intern *t = fresh(1000, 10);
    assert_int_equal(intern_str(t, "(other)"), 1); /* a name like any other */
    assert_int_equal(intern_str(t, "long text"), 1);
    assert_int_equal(intern_str(t, "abc"), 2); /* what fits is still taken */
    assert_int_equal(intern_str(t, "d"), 1);
    assert_int_equal(intern_overflows(t), 2);
    intern_close(t);
}

TEST(test_long_texts)
{
    struct intern *t = fresh(100, 10u << 20);
    static char text[200000];
    for (uint32_t i = 1; i <= 20; i++) {
        memset(text, 'a' + (int)i, i * 9000);
        text[i * 9000] = '\0';
        assert_int_equal(intern_str(t, text), 2 * i - 1);
        assert_int_equal(intern_id(t, text, 5), 2 * i); /* a short one between the blocks */
    }
    for (uint32_t i = 1; i <= 20; i++) {
        size_t len;
        const char *kept = intern_text(t, 2 * i - 1, &len);
        assert_int_equal(len, i * 9000);
        assert_int_equal(kept[len - 1], 'a' + i);
        assert_int_equal(kept[len], 0);
    }
    intern_close(t);
}

/* If one allocation fails, that string gets id 0, or the table does not open; the next try
 * succeeds, and all other ids are in order. */
TEST(test_every_allocation_fails)
{
    bool failed = true;
    for (int64_t at = 0; failed; at++) {
        struct intern *t;
        mem_fail_at(at);
        int rc = intern_open(&t, 3000, 1u << 20);
        if (rc) {
            assert_int_equal(rc, GPUFL_E_NOMEM);
            assert_null(t);
            continue;
        }
        char text[64];
        uint32_t lost = 0;
        for (uint32_t i = 1; i <= 3001; i++) {
            snprintf(text, sizeof text, "a string that fills blocks, number %u", i);
            uint32_t id = intern_str(t, text);
            if (id == 0) {
                lost++;
                id = intern_str(t, text);
            }
            assert_int_equal(id, i);
        }
        failed = mem_count() > at;
        assert_int_equal(lost, failed);
        assert_string_equal(intern_text(t, 3001, NULL), "(other)");
        intern_close(t);
    }
    mem_fail_at(-1);
}

enum { THREADS = 4, NAMES = 8000 };

struct worker {
    struct thread thread;
    struct intern *table;
    uint32_t seed;
    uint32_t *ids; /* NAMES ids, one for each name */
};

/* Each thread interns all names in an order of its own (7919 and NAMES share no factor), and reads
 * texts meanwhile. */
static void *work(void *arg)
{
    struct worker *w = arg;
    char text[48];
    for (uint32_t i = 0; i < NAMES; i++) {
        uint32_t name = (i * 7919 + w->seed) % NAMES;
        snprintf(text, sizeof text, "shared name %u", name);
        uint32_t id = intern_str(w->table, text);
        const char *kept = intern_text(w->table, id, NULL);
        w->ids[name] = kept && strcmp(kept, text) == 0 ? id : 0;
        uint32_t last = intern_count(w->table);
        if (!intern_text(w->table, last, NULL))
            w->ids[name] = 0;
    }
    return NULL;
}

TEST(test_threads_agree)
{
    struct intern *t = fresh(NAMES, 10u << 20);
    struct worker w[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.table = t, .seed = i * 1234567, .ids = calloc(NAMES, 4)};
        assert_non_null(w[i].ids);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(thread_start(&w[i].thread, "intern", 0, work, &w[i]), 0);
    for (int i = 0; i < THREADS; i++)
        thread_join(&w[i].thread);
    assert_int_equal(intern_count(t), NAMES);
    assert_int_equal(intern_overflows(t), 0);
    bool used[NAMES + 1] = {false};
    for (uint32_t n = 0; n < NAMES; n++) {
        uint32_t id = w[0].ids[n];
        assert_in_range(id, 1, NAMES);
        assert_false(used[id]);
        used[id] = true;
        for (int i = 1; i < THREADS; i++)
            assert_int_equal(w[i].ids[n], id);
    }
    for (int i = 0; i < THREADS; i++)
        free(w[i].ids);
    intern_close(t);
}

/* Each bit of a text of any length changes about half of the hash's bits. */
TEST(test_hash_spreads)
{
    unsigned char text[80];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i * 37);
    for (size_t len = 1; len <= sizeof text; len++) {
        uint64_t h = intern_hash((char *)text, len);
        long flipped = 0;
        for (size_t bit = 0; bit < len * 8; bit++) {
            text[bit / 8] ^= (unsigned char)(1u << bit % 8);
            uint64_t other = intern_hash((char *)text, len);
            text[bit / 8] ^= (unsigned char)(1u << bit % 8);
            assert_true(other != h);
            flipped += __builtin_popcountll(h ^ other);
        }
        long mean = flipped * 100 / (long)(len * 8);
        assert_in_range(mean, 2700, 3700);
        if (len < sizeof text)
            assert_true(intern_hash((char *)text, len + 1) != h);
    }
}

/* The hash reads len bytes and no more: the text ends where its memory ends. */
TEST(test_hash_stays_inside)
{
    for (size_t len = 0; len < 70; len++) {
        char *text = malloc(len ? len : 1);
        assert_non_null(text);
        memset(text, 'k', len);
        char again[80];
        memset(again, 'k', sizeof again);
        assert_true(intern_hash(text, len) == intern_hash(again, len));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_count_from_one),
        cmocka_unit_test(test_many_strings_keep_id_and_place),
        cmocka_unit_test(test_beyond_the_entries),
        cmocka_unit_test(test_beyond_the_bytes),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_every_allocation_fails),
        cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_hash_spreads),
        cmocka_unit_test(test_hash_stays_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
