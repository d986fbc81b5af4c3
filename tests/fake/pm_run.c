/* pm_run.c - see pm_run.h. */
#include "tests/fake/pm_run.h"

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pm_given pm_run(struct run *r, const char *script, struct run_setup s)
{
    char path[] = "/tmp/gpufl-fake-pm-XXXXXX", totals[64];
    struct pm_given g = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(totals, sizeof totals, "FAKE_PM_TOTALS=%s", path);
    const char *const env[] = {script, totals, NULL};
    s.env = env;
    run_all(r, &s);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%lld %lld %lld %d", &g.samples, &g.made, &g.full, &g.back) != 4)
        g = (struct pm_given){0};
    if (f)
        fclose(f);
    unlink(path);
    return g;
}

int64_t pm_values(const struct run *r, const char *metric, const char *scope)
{
    size_t i;
    json_t *row;
    int64_t n = 0;
    json_array_foreach(at(r->report, "counters"), i, row)
    {
        json_t *of = json_object_get(row, "scope");
        const char *text = json_is_string(of) ? json_string_value(of) : "";
        if (!strcmp(text_at(row, "metric"), metric) && (!scope || strstr(text, scope)))
            n += int_at(row, "values");
    }
    return n;
}
