/* window_run.c - see window_run.h. */
#include "tests/fake/window_run.h"

#include "tests/test.h"

#include <string.h>

void window_run(struct run *r, const char *const *env, const char *const *options,
                const char *const *program)
{
    run_all(r,
            &(struct run_setup){
                .binary = "fake/fake_windows", .env = env, .options = options, .program = program});
    check_program(r, 0);
}

int64_t window_sum(const struct run *r, const char *list, const char *member, const char *text,
                   const char *number)
{
    size_t i;
    json_t *row;
    int64_t n = 0;
    json_array_foreach(at(r->report, list), i, row)
    {
        const char *of = json_string_value(json_object_get(row, member));
        json_t *value = json_object_get(row, number);
        if (json_is_integer(value) && (text ? of && strstr(of, text) : !of))
            n += json_integer_value(value);
    }
    return n;
}

int64_t window_samples(const struct run *r, const char *kernel)
{
    return window_sum(r, "samples.kernels", "kernel", kernel, "samples");
}

int64_t window_counts(const struct run *r, const char *kernel)
{
    size_t i;
    json_t *row;
    int64_t n = 0;
    json_array_foreach(at(r->report, "instructions.kernels"), i, row)
    {
        const char *name = json_string_value(json_object_get(row, "kernel"));
        json_t *value = json_object_get(row, "smsp__sass_inst_executed");
        if (json_is_null(json_object_get(row, "scope")) && json_is_integer(value) && name &&
            strstr(name, kernel))
            n += json_integer_value(value);
    }
    return n;
}

const char *window_setting(const struct run *r, const char *name)
{
    size_t i;
    json_t *row;
    const char *found = "";
    json_array_foreach(at(r->report, "settings"), i, row)
    {
        if (!strcmp(text_at(row, "name"), name))
            found = text_at(row, "value");
    }
    return found;
}

void window_check_no_loss(const struct run *r, const char *column)
{
    json_t *n = json_object_get(at(r->report, "ledger"), column);
    assert_true(json_is_null(n) || json_integer_value(n) == 0);
}

int64_t window_ranges(const struct run *r, const char *member, const char *text, double *mean)
{
    size_t i;
    json_t *row;
    int64_t n = 0;
    json_array_foreach(at(r->report, "counters"), i, row)
    {
        const char *of = json_string_value(json_object_get(row, member));
        if (strcmp(text_at(row, "metric"), "gr__cycles_active.avg.pct_of_peak_sustained_elapsed") ||
            !of || (text && !strstr(of, text)))
            continue;
        n += int_at(row, "values");
        *mean = json_number_value(json_object_get(row, "mean"));
    }
    return n;
}
