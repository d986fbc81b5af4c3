/* test_gpuflight.c - sessions in the public GPUFlight client's format have the content of our own
 * format.
 *
 * A simulated session is exported, and another one written in that format at
 * once; both are read back and reported as JSON. Every number that the format can
 * express has to be equal. The comparisons list the differences of the format. */
#include "child.h"
#include "tests/test.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1 << 20)

/* Two devices and small parts; memory and graphs are recorded. */
#define SETTINGS                                                                                   \
    "GPUFL_LOG_ROTATE_BYTES=200K", "GPUFL_ENABLE_MEMORY_TRACKING=1",                               \
        "GPUFL_ENABLE_CUDA_GRAPHS_TRACKING=1"

static const char *const native_settings[] = {SETTINGS, NULL};
static const char *const foreign_settings[] = {SETTINGS, "GPUFL_LOG_FORMAT=gpuflight", NULL};

static void run(struct world *w, struct child *c, const char *const *env, const char *const *args)
{
    int code = gpufl_run(w, c, env, NULL, args);
    if (code)
        fail_msg("gpufl %s: exit code %d\n%s", args[0], code, c->text[CHILD_ERR].data);
}

#define RUN(w, c, env, ...) run(w, c, env, (const char *const[]){__VA_ARGS__, NULL})

static void simulate(struct world *w, const char *const *env, const char *rate, const char *dir)
{
    struct child c;
    RUN(w, &c, env, "sim", "--kernels", "20000", "--devices", "2", "--scopes", "--sample", "10",
        "--rate", rate, "-o", dir);
    child_free(&c);
}

static json_t *report(struct world *w, const char *dir)
{
    struct child c;
    json_error_t e;
    RUN(w, &c, NULL, "report", "--json", dir);
    json_t *root = json_loads(c.text[CHILD_OUT].data, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        fail_msg("gpufl report --json %s: %s at byte %d", dir, e.text, e.position);
    child_free(&c);
    return root;
}

/* ---- comparisons ------------------------------------------------------------------------- */

/* The member at a path of keys, '/' between them. */
static json_t *at(json_t *root, const char *path)
{
    char key[64];
    json_t *v = root;
    for (const char *p = path; *p; p += strcspn(p, "/"), p += *p == '/') {
        snprintf(key, sizeof key, "%.*s", (int)strcspn(p, "/"), p);
        v = json_is_array(v) ? json_array_get(v, (size_t)atoi(key)) : json_object_get(v, key);
    }
    if (!v)
        fail_msg("the report has no %s", path);
    return v;
}

static json_int_t number(json_t *root, const char *path)
{
    json_t *v = at(root, path);
    if (!json_is_integer(v))
        fail_msg("%s is no integer", path);
    return json_integer_value(v);
}

static void same(json_t *a, json_t *b, const char *path)
{
    json_t *x = at(a, path), *y = at(b, path);
    if (!json_equal(x, y))
        fail_msg("%s: ours says %s, theirs %s", path, json_dumps(x, JSON_ENCODE_ANY),
                 json_dumps(y, JSON_ENCODE_ANY));
}

static void same_all(json_t *a, json_t *b, const char *const *paths)
{
    for (; *paths; paths++)
        same(a, b, *paths);
}

/* The element of a list whose member is equal; fails if it is missing. */
static json_t *find(json_t *list, const char *key, json_t *value)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i,
                       item) if (json_equal(json_object_get(item, key), value)) return item;
    fail_msg("nothing has the %s %s", key, json_dumps(value, JSON_ENCODE_ANY));
    return NULL;
}

/* Checks that two lists have as many elements, and that elements with equal keys have equal
 * members. */
static void same_list(json_t *a, json_t *b, const char *path, const char *key,
                      const char *const *members)
{
    json_t *x = at(a, path), *y = at(b, path), *item;
    size_t i;
    assert_true(json_array_size(x) >= 4);
    assert_int_equal(json_array_size(x), json_array_size(y));
    json_array_foreach(x, i, item) same_all(item, find(y, key, at(item, key)), members);
}

/* Work of the GPUs and of the host. With one thread, what is open one level up is the parent. */
static void same_work(json_t *a, json_t *b)
{
    static const char *const totals[] = {"kernels/count",
                                         "kernels/total_ns",
                                         "kernels/min_ns",
                                         "kernels/max_ns",
                                         "kernels/median_ns",
                                         "kernels/p99_ns",
                                         "kernels/names",
                                         "kernels/busy",
                                         "copies/count",
                                         "copies/bytes",
                                         "copies/total_ns",
                                         "copies/by_kind",
                                         "fills",
                                         "synchronizations",
                                         "memory",
                                         "graphs/launches",
                                         "outside_scopes/kernels",
                                         "outside_scopes/gpu_ns",
                                         NULL};
    static const char *const kernel[] = {"count",   "total_ns",  "min_ns", "max_ns",
                                         "mean_ns", "median_ns", "p99_ns", NULL};
    static const char *const scope[] = {"depth",        "calls",       "open",    "wall_ns",
                                        "wall_min_ns",  "wall_max_ns", "kernels", "gpu_ns",
                                        "self_kernels", "self_gpu_ns", NULL};
    same_all(a, b, totals);
    same_list(a, b, "kernels/by_name", "name", kernel);
    same_list(a, b, "scopes", "path", scope);
    assert_int_equal(number(b, "log/damaged_lines"), 0);
    assert_int_equal(number(b, "log/gpuflight_lines_unused"), 0);
    assert_true(json_is_true(at(b, "session/clean_end")));
    same(a, b, "session/duration_ns");
}

/* Compares a device's metrics; in that format unknown is 0, and memory is in MiB. */
static void same_metrics(json_t *a, json_t *b, const char *key)
{
    json_t *x = at(a, key), *y = at(b, key);
    if (json_is_null(x))
        assert_true(json_is_null(y) || number(y, "max") == 0);
    else if (!strncmp(key, "memory", 6))
        assert_int_equal(number(x, "max") / MIB * MIB, number(y, "max"));
    else
        same(a, b, key);
}

static void same_system(json_t *a, json_t *b)
{
    static const char *const metrics[] = {
        "gpu_util",           "mem_util",  "temperature",         "power",
        "clock_sm",           "clock_mem", "memory_used",         "fan",
        "temperature_memory", "voltage",   "temperature_junction"};
    json_t *list = at(a, "devices"), *item;
    size_t i;
    int compared = 0;
    json_array_foreach(list, i, item)
    {
        json_t *mine = at(item, "metrics");
        json_t *other = find(at(b, "devices"), "uuid", at(item, "uuid"));
        assert_true(number(mine, "samples") > 10);
        for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++)
            if (json_object_get(mine, metrics[m]))
                compared++, same_metrics(mine, at(other, "metrics"), metrics[m]);
    }
    assert_true(compared > 16);
    same(a, b, "host/cpu"); /* a sample without it is left out there */
    assert_true(number(b, "host/samples") < number(a, "host/samples"));
}

/* ---- tests ------------------------------------------------------------------------------- */

TEST(export_says_the_same)
{
    struct world w;
    struct child c;
    world_open(&w);
    simulate(&w, native_settings, "40000", "ours");
    RUN(&w, &c, NULL, "export", "--format", "gpuflight", "ours", "-o", "theirs");
    child_free(&c);
    json_t *a = report(&w, "ours"), *b = report(&w, "theirs");
    assert_true(number(a, "log/parts") > 4);
    assert_int_equal(number(a, "kernels/count"), 20000);
    same_work(a, b);
    same_system(a, b);
    json_decref(a);
    json_decref(b);
    world_close(&w);
}

/* One seed on the virtual clock is one piece of work. Metrics are sampled on the real one. */
TEST(writer_says_the_same)
{
    struct world w;
    world_open(&w);
    simulate(&w, native_settings, "max", "ours");
    simulate(&w, foreign_settings, "max", "theirs");
    json_t *a = report(&w, "ours"), *b = report(&w, "theirs");
    assert_true(number(b, "log/gpuflight_lines") > 1000);
    assert_true(number(b, "log/parts") > 20);
    same_work(a, b);
    json_decref(a);
    json_decref(b);
    world_close(&w);
}

/* That format does not say which GPU ran a kernel: no GPU is said to have run none. */
TEST(no_device_is_called_idle)
{
    struct world w;
    struct child c;
    world_open(&w);
    simulate(&w, foreign_settings, "max", "theirs");
    RUN(&w, &c, NULL, "report", "--full", "theirs");
    const char *text = c.text[CHILD_OUT].data;
    assert_non_null(strstr(text, "GPU 1 GPUFlight Simulated GPU"));
    assert_non_null(strstr(text, "GPU (unknown): kernels ran "));
    assert_null(strstr(text, "kernels ran 0.0 %"));
    assert_null(strstr(text, "loss of data"));
    child_free(&c);
    world_close(&w);
}

/* If that client lost data, it leaves a file next to its parts. */
TEST(marked_losses_are_reported)
{
    static const char command[] =
        "cp -r \"$GPUFL_SOURCE_DIR\"/tests/data/peer/*/ s && "
        "touch s/.gpufl-transport-loss.client.3.json && exec \"$0\" report s";
    const char *const argv[] = {"/bin/sh", "-c", command, path_gpufl(), NULL};
    char source[PATH_MAX];
    const char *const env[] = {source, NULL};
    struct world w;
    struct child c;
    snprintf(source, sizeof source, "GPUFL_SOURCE_DIR=%s", getenv("GPUFL_SOURCE_DIR"));
    world_open(&w);
    child_start(&c, &(struct child_setup){.dir = w.dir, .argv = argv, .env = env});
    assert_int_equal(child_end(&c), 0);
    assert_non_null(strstr(c.text[CHILD_OUT].data, "marked 1 loss of data"));
    child_free(&c);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(export_says_the_same),
        cmocka_unit_test(writer_says_the_same),
        cmocka_unit_test(no_device_is_called_idle),
        cmocka_unit_test(marked_losses_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
