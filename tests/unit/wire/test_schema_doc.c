/* test_schema_doc.c - docs/format.md agrees with the tables, and the JSON is valid. */
#include "tests/test.h"
#include "wire/schema_doc.h"

#include "base/file/file.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/support/document.h"

static const char BEGIN[] = "<!-- generated -->\n", END[] = "<!-- end of generated -->\n";

/* Returns what a function writes; the caller frees it. */
static char *written(int (*fn)(FILE *), size_t *len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, len);
    assert_int_equal(fn(f), 0);
    fclose(f);
    return text;
}

TEST(test_docs_are_current)
{
    size_t want_len;
    char *doc;
    document_read("format.md", &doc);
    char *begin = strstr(doc, BEGIN), *end = begin ? strstr(begin, END) : NULL;
    assert_non_null(end);
    *end = 0;
    char *want = written(schema_markdown, &want_len);
    if (strcmp(begin + strlen(BEGIN), want) != 0)
        fail_msg(
            "docs/format.md does not match schema/records.def: put the output of `gpufl schema` "
            "between its marks");
    free(want);
    mem_free(doc);
}

/* A bar or a line break would break the tables. */
TEST(test_docs_fit_tables)
{
    for (int i = 0; i < RECORD_COUNT; i++)
        for (unsigned c = 0; c < records[i].column_count; c++) {
            assert_null(strpbrk(records[i].columns[c].doc, "|\n"));
            assert_null(strpbrk(records[i].columns[c].unit, "|\n"));
        }
}

TEST(test_json)
{
    size_t len;
    char key[64], *text = written(schema_json, &len);
    struct json j;
    int columns = 0, types = 0, want = 0;
    json_init(&j, text, len);
    assert_int_equal(json_read(&j).type, JSON_OBJECT);
    for (struct json_value v; (v = json_key(&j, key, sizeof key)).type != JSON_END;) {
        assert_int_not_equal(v.type, JSON_ERROR);
        assert_true(json_skip(&j, v));
    }
    for (const char *at = text; (at = strstr(at, "\"coding\":")); at++)
        columns++;
    for (const char *at = text; (at = strstr(at, "{\"type\":")); at++)
        types++;
    for (int i = 0; i < RECORD_COUNT; i++)
        want += (int)records[i].column_count;
    assert_int_equal(columns, want);
    assert_int_equal(types, RECORD_COUNT);
    free(text);
}

TEST(test_write_error)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(schema_markdown(full), GPUFL_E_IO);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_docs_are_current),
        cmocka_unit_test(test_docs_fit_tables),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_write_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
