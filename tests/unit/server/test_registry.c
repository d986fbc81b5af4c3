/* test_registry.c - a GPU's names are known from a commit's first names and from its last ones,
 * however many came between, and few names take one array. */
#include "server/intake/registry.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>

static struct registry r;

static void name_put(uint32_t id)
{
    char text[32];
    int n = snprintf(text, sizeof text, "name %u", id);
    assert_int_equal(registry_name(&r, id, text, (size_t)n), 0);
}

static void names_put(uint32_t from, uint32_t to)
{
    for (uint32_t id = from; id <= to; id++)
        name_put(id);
}

/* Puts the row of a GPU, whose UUID and name are the names with these ids. */
static const struct registry_gpu *gpu_put(int64_t gpu, int64_t uuid, int64_t name)
{
    struct wire_batch b = {.type = RECORD_device, .record = &records[RECORD_device], .rows = 1};
    b.col[COL_device_id] = &gpu;
    b.col[COL_device_uuid] = &uuid;
    b.col[COL_device_name] = &name;
    assert_int_equal(registry_batch(&r, &b), 0);
    return &r.gpus[r.gpu_count - 1];
}

TEST(test_few_names)
{
    registry_init(&r);
    names_put(1, REGISTRY_NAMES - 1);
    assert_null(r.last_names);
    const struct registry_gpu *g = gpu_put(1, 1, REGISTRY_NAMES - 1);
    assert_string_equal(g->uuid, "name 1");
    assert_string_equal(g->name, "name 255");
    registry_fini(&r);
}

TEST(test_first_and_last_names)
{
    enum { MANY = 10 * REGISTRY_NAMES + 7 };
    char last[32];
    registry_init(&r);
    names_put(1, MANY);
    const struct registry_gpu *g = gpu_put(1, 200, MANY);
    snprintf(last, sizeof last, "name %d", MANY);
    assert_string_equal(g->uuid, "name 200");
    assert_string_equal(g->name, last);
    g = gpu_put(2, MANY - 100, 5 * REGISTRY_NAMES); /* the second one is long gone */
    snprintf(last, sizeof last, "name %d", MANY - 100);
    assert_string_equal(g->uuid, last);
    assert_string_equal(g->name, "");
    name_put(5 * REGISTRY_NAMES); /* until its name comes again, and the row is given again */
    g = gpu_put(2, MANY - 100, 5 * REGISTRY_NAMES);
    assert_string_equal(g->name, "name 1280");
    registry_fini(&r);
}

/* Names that come with falling ids: the last ones are known. */
TEST(test_falling_ids)
{
    registry_init(&r);
    for (uint32_t id = 4 * REGISTRY_NAMES; id > 0; id--)
        name_put(id);
    const struct registry_gpu *g = gpu_put(1, 1, 17);
    assert_string_equal(g->uuid, "name 1");
    assert_string_equal(g->name, "name 17");
    registry_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_names),
        cmocka_unit_test(test_first_and_last_names),
        cmocka_unit_test(test_falling_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
