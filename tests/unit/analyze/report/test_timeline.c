/* test_timeline.c - tests the gaps of a session one by one, and the document of the timeline. */
#include "analyze/model/idle/gap_list.h"
#include "tests/test.h"

#include "analyze/report/report.h"
#include "tests/unit/support/program.h"
#include "tests/unit/support/rows.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* A full list drops its shorter half; what is dropped is counted, and stays away. */
TEST(test_bounded)
{
    struct idle_gap_list l;
    int64_t length, all = 0;
    idle_gap_list_init(&l);
    l.max = 100;
    for (int64_t i = 0; i < 1000; i++) {
        int64_t ns = (i * 7919) % 1000 + 1; /* each length once */
        all += ns;
        assert_int_equal(idle_gap_list_add(&l, &(struct idle_kept_gap){.start = -i * 5000,
                                                                       .end = -i * 5000 + ns}),
                         0);
    }
    assert_in_range(l.count, 50, 100);
    assert_int_equal(l.count + l.dropped, 1000);
    int64_t kept = 0, least = INT64_MAX;
    idle_gap_list_sort(&l);
    for (size_t i = 0; i < l.count; i++) {
        int64_t ns = l.rows[i].end - l.rows[i].start;
        kept += ns;
        least = ns < least ? ns : least;
        assert_true(!i || l.rows[i].start > l.rows[i - 1].start);
    }
    assert_int_equal(kept + l.dropped_ns, all);
    assert_int_equal(least, 1000 - (int64_t)l.count + 1); /* the longest ones are here */
    assert_int_equal(idle_gap_list_length(&l, 10, &length), 0);
    assert_int_equal(length, 990);
    assert_int_equal(idle_gap_list_length(&l, l.count, &length), 0);
    assert_int_equal(length, 0);
    idle_gap_list_fini(&l);
}

static json_t *document(struct program *p, struct report *r)
{
    char *text = NULL;
    size_t len;
    program_end(p);
    memset(r, 0, sizeof *r);
    model_init(&r->model, names);
    program_read(p, &r->model);
    assert_int_equal(report_timeline_places(r), 0);
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(report_timeline(r, out), 0);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

static int64_t cell(json_t *root, const char *object, const char *column, size_t i)
{
    return json_integer_value(
        json_array_get(json_object_get(json_object_get(root, object), column), i));
}

static const char *place_of(json_t *root, int64_t node)
{
    json_t *place = json_array_get(json_object_get(root, "places"),
                                   (size_t)cell(root, "nodes", "place", (size_t)node));
    return json_string_value(json_object_get(place, "place"));
}

/* A gap has the line of the call that held the GPU up, or that samples saw, or that launched. */
TEST(test_gaps_with_lines)
{
    struct program p;
    struct report r;
    program_init(&p, "gaps");
    int64_t main = program_python(&p, 0, "/srv/app/train.py", "<module>", 200),
            wait = program_python(&p, main, "/srv/app/train.py", "step", 90),
            load = program_python(&p, main, "/srv/app/train.py", "load", 12);
    make_log_config(&p.log, 1, program_name(&p, "_Z4gemmPf"));
    program_launch(&p, (struct program_kernel){.ns = 100000, .config = 1, .stack = main});
    program_sync(&p, 4, wait, 1);
    program_launch(&p, (struct program_kernel){.ns = 100000, .config = 1, .stack = main});
    for (int i = 0; i < 8; i++)
        program_look(&p, p.now + 1000000 * (i + 1), 1, load, 1);
    program_work(&p, 20000000);
    program_capture(&p, 1, 1, main);
    program_launch(&p, (struct program_kernel){.ns = 100000, .config = 1, .thread = 1});
    json_t *root = document(&p, &r);
    json_t *starts = json_object_get(json_object_get(root, "gaps"), "start");
    size_t n = json_array_size(starts), by_call = n, by_looks = n;
    for (size_t i = 0; i < n; i++) {
        const char *place = place_of(root, cell(root, "gaps", "node", i));
        by_call = place && !strcmp(place, "train.py:90") ? i : by_call;
        by_looks = place && !strcmp(place, "train.py:12") ? i : by_looks;
    }
    assert_true(by_call < n && by_looks < n);
    assert_int_equal(cell(root, "gaps", "cause", by_call), IDLE_SYNC);
    assert_int_equal(cell(root, "gaps", "cause", by_looks), IDLE_NOTHING);
    assert_int_equal(cell(root, "gaps", "ended_by", by_looks), 0);
    assert_true(cell(root, "gaps", "duration", by_looks) > 19000000);
    /* The stack of a sample leads to its frames, outwards. */
    int64_t node =
        json_integer_value(json_array_get(json_object_get(root, "stacks"), (size_t)load));
    assert_string_equal(place_of(root, node), "train.py:12");
    json_t *frame = json_array_get(json_object_get(root, "frames"),
                                   (size_t)cell(root, "nodes", "frame", (size_t)node));
    assert_string_equal(json_string_value(json_array_get(frame, 0)), "train.py:12 load()");
    node = cell(root, "nodes", "parent", (size_t)node);
    assert_string_equal(place_of(root, node), "train.py:200");
    json_t *kernel = json_array_get(json_object_get(root, "kernels"), 0);
    assert_string_equal(json_string_value(json_object_get(kernel, "symbol")), "_Z4gemmPf");
    json_decref(root);
    model_fini(&r.model);
    program_fini(&p);
}

/* A session without work has an empty document, not none. */
TEST(test_nothing)
{
    struct program p;
    struct report r;
    program_init(&p, "nothing");
    json_t *root = document(&p, &r);
    assert_int_equal(json_array_size(json_object_get(json_object_get(root, "gaps"), "start")), 0);
    assert_int_equal(json_array_size(json_object_get(root, "kernels")), 0);
    assert_int_equal(json_array_size(json_object_get(root, "causes")), IDLE_CAUSES);
    json_decref(root);
    model_fini(&r.model);
    program_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_gaps_with_lines),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, rows_set_up, rows_tear_down);
}
