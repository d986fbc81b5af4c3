/* test_openapi.c - docs/openapi.json agrees with the tables, and every reference in it
 * has a target. */
#include "server/request/openapi.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/document.h"

TEST(test_document_in_the_repository)
{
    char *kept;
    struct buf now;
    document_read("openapi.json", &kept);
    buf_init(&now, 16 << 20);
    openapi_put(&now);
    assert_int_equal(buf_error(&now), 0);
    if (strcmp(kept, buf_cstr(&now)) != 0)
        fail_msg("docs/openapi.json is not what the tables say: "
                 "build/bin/gpufl-server openapi > docs/openapi.json");
    mem_free(kept);
    buf_fini(&now);
}

static void follow(const json_t *root, const json_t *j)
{
    const char *key;
    json_t *value;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)j, i, value) follow(root, value);
    json_object_foreach((json_t *)(uintptr_t)j, key, value)
    {
        follow(root, value);
        if (strcmp(key, "$ref") != 0)
            continue;
        const char *name = json_string_value(value);
        static const char prefix[] = "#/components/schemas/";
        assert_memory_equal(name, prefix, sizeof prefix - 1);
        const json_t *schemas = json_object_get(json_object_get(root, "components"), "schemas");
        if (!json_object_get(schemas, name + sizeof prefix - 1))
            fail_msg("%s leads nowhere", name);
    }
}

TEST(test_references)
{
    struct buf now;
    json_error_t error;
    buf_init(&now, 16 << 20);
    openapi_put(&now);
    json_t *root = json_loadb(now.data, now.len, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("%s, line %d", error.text, error.line);
    follow(root, root);
    json_decref(root);
    buf_fini(&now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document_in_the_repository),
        cmocka_unit_test(test_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
