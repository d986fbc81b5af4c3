/* reported.c - see reported.h. */
#include "tests/unit/support/reported.h"
#include "tests/test.h"
#include "tests/unit/support/make_log.h"
#include "tests/unit/support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

struct gpufl_report_options report_options(enum gpufl_report_format format)
{
    struct gpufl_report_options o;
    gpufl_report_options_init(&o, sizeof o);
    o.format = format;
    o.full = true; /* all sections: the first screen has tests of its own */
    return o;
}

char *report_run(const char *path, const struct gpufl_report_options *o, char error[REPORT_ERROR],
                 int *code)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    *error = '\0';
    *code = gpufl_report(path, o, out, error, REPORT_ERROR);
    assert_int_equal(fclose(out), 0);
    return text;
}

char *report_with(const char *path, const struct gpufl_report_options *o, int want)
{
    char error[REPORT_ERROR];
    int rc;
    char *text = report_run(path, o, error, &rc);
    if (rc != want)
        fail_msg("%s: %d, not %d: %s", path, rc, want, error);
    assert_int_equal(want == 0, *error == '\0');
    return text;
}

char *report_of(const char *path, enum gpufl_report_format format, int width, bool color, int *code)
{
    struct gpufl_report_options o = report_options(format);
    char error[REPORT_ERROR];
    o.width = width;
    o.color = color;
    o.top = format == GPUFL_REPORT_JSON ? 0 : o.top;
    char *text = report_run(path, &o, error, code);
    assert_true((*code == 0) == (*error == '\0'));
    return text;
}

char *report_ok(const char *path, enum gpufl_report_format format, int width, bool color)
{
    int rc;
    char *text = report_of(path, format, width, color, &rc);
    assert_int_equal(rc, 0);
    return text;
}

const char *report_data(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/tests/data/%s", getenv("GPUFL_SOURCE_DIR"), name);
    return path;
}

json_t *report_parse(char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        print_message("%s at %d\n%s\n", error.text, error.position, text);
    assert_non_null(root);
    free(text);
    return root;
}

int64_t report_number(json_t *at, const char *path)
{
    char key[64];
    while (at && *path) {
        size_t n = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                               : json_object_get(at, key);
        path += n + (path[n] == '/');
    }
    assert_true(json_is_integer(at));
    return json_integer_value(at);
}

void report_session(const char *id, bool simulated, bool ended, int64_t kernels)
{
    struct make_log l;
    make_log_init(&l, id);
    l.simulated = simulated;
    make_log_header(&l, "device", 1);
    make_log_names(&l, "Test GPU", "GPU-9", "saxpy", "shutdown", NULL);
    make_log_device(&l);
    make_log_config(&l, 1, 3);
    for (int64_t i = 0; i < kernels; i++)
        make_log_kernel(&l, 5000 + i * 1000, 500, 1, 0);
    if (ended)
        make_log_rows(&l, RECORD_end, &(struct end_row){2000000, 4}, 1);
    make_log_write(&l, tmpdir, "device.log");
    make_log_header(&l, "system", 1);
    make_log_write(&l, tmpdir, "system.log");
    make_log_fini(&l);
}
