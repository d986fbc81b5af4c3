/* suite_kernels.c - questions about kernels, against sums over plain arrays. */
#include "asked.h"

#include "base/alloc.h"

#include <math.h>

/* One kernel of a fixture. */
struct kernel {
    int64_t start, duration, config, stream, name, correlation;
};

struct kernels {
    struct kernel *items; /* owned */
    size_t count;
};

static int64_t config_name(const struct fixture *f, int64_t config)
{
    for (size_t i = 0; i < f->count[RECORD_config]; i++)
        if (fixture_cell(f, RECORD_config, i, COL_config_id) == config)
            return fixture_cell(f, RECORD_config, i, COL_config_name);
    return 0;
}

static struct kernels kernels_of(const struct fixture *f)
{
    struct kernels k = {.count = f->count[RECORD_kernel]};
    k.items = mem_array(k.count, sizeof *k.items);
    for (size_t i = 0; i < k.count; i++) {
        int64_t config = fixture_cell(f, RECORD_kernel, i, COL_kernel_config);
        k.items[i] = (struct kernel){fixture_cell(f, RECORD_kernel, i, COL_kernel_start),
                                     fixture_cell(f, RECORD_kernel, i, COL_kernel_duration),
                                     config,
                                     fixture_cell(f, RECORD_kernel, i, COL_kernel_stream),
                                     config_name(f, config),
                                     fixture_cell(f, RECORD_kernel, i, COL_kernel_correlation)};
    }
    return k;
}

/* The kernels that a question selects. */
struct filter {
    int64_t from, to, stream, name, config; /* stream, name, config: -1 all */
};

static const struct filter all = {INT64_MIN, INT64_MAX, -1, -1, -1};

static bool meant(const struct filter *f, const struct kernel *k)
{
    return k->start >= f->from && k->start < f->to && (f->stream < 0 || f->stream == k->stream) &&
           (f->name < 0 || f->name == k->name) && (f->config < 0 || f->config == k->config);
}

struct expected {
    int64_t calls, total, shortest, longest;
    double deviation;
    int64_t *durations; /* owned, sorted */
};

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static struct expected expect(const struct kernels *k, const struct filter *f)
{
    struct expected x = {.durations = mem_array(k->count + 1, sizeof(int64_t))};
    double squares = 0;
    for (size_t i = 0; i < k->count; i++)
        if (meant(f, &k->items[i])) {
            x.durations[x.calls++] = k->items[i].duration;
            x.total += k->items[i].duration;
        }
    qsort(x.durations, (size_t)x.calls, sizeof *x.durations, compare);
    for (int64_t i = 0; i < x.calls; i++) {
        double d = (double)x.durations[i] - (double)x.total / (double)x.calls;
        squares += d * d;
    }
    x.deviation = x.calls > 1 ? sqrt(squares / (double)(x.calls - 1)) : 0;
    x.shortest = x.calls ? x.durations[0] : 0;
    x.longest = x.calls ? x.durations[x.calls - 1] : 0;
    return x;
}

static void assert_near(double got, double want, double part)
{
    if (fabs(got - want) > part * fabs(want) + 1e-6)
        fail_msg("%.9g is not %.9g", got, want);
}

static int64_t rank(const struct expected *x, double share)
{
    int64_t i = (int64_t)ceil(share * (double)x->calls) - 1;
    return x->durations[i < 0 ? 0 : i];
}

static size_t names_meant(const struct kernels *k, struct filter f)
{
    static bool seen[1 << 16]; /* by name id */
    size_t n = 0;
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < k->count; i++) {
        int64_t name = k->items[i].name;
        assert_in_range(name, 0, sizeof seen - 1);
        if (meant(&f, &k->items[i]) && !seen[name]) {
            seen[name] = true;
            n++;
        }
    }
    return n;
}

/* Checks every row of an answer to `kernels` against the arrays. */
static void check_kernels(const struct asked *a, const struct fixture *fixture,
                          const struct kernels *k, struct filter f)
{
    assert_int_equal(a->rows, names_meant(k, f));
    for (size_t i = 0; i < a->rows; i++) {
        f.name = asked_get(a, i, "name_id");
        struct expected x = expect(k, &f);
        asked_is_name(a, i, "name", fixture, f.name);
        assert_int_equal(asked_get(a, i, "calls"), x.calls);
        assert_int_equal(asked_get(a, i, "total"), x.total);
        assert_int_equal(asked_get(a, i, "shortest"), x.shortest);
        assert_int_equal(asked_get(a, i, "longest"), x.longest);
        assert_near(asked_real(a, i, "mean"), (double)x.total / (double)x.calls, 1e-12);
        assert_near(asked_real(a, i, "deviation"), x.deviation, 1e-9);
        assert_near(asked_real(a, i, "p50"), (double)rank(&x, 0.5), 0.004);
        assert_near(asked_real(a, i, "p90"), (double)rank(&x, 0.9), 0.004);
        assert_near(asked_real(a, i, "p99"), (double)rank(&x, 0.99), 0.004);
        if (i)
            assert_true(asked_get(a, i, "total") <= asked_get(a, i - 1, "total"));
        mem_free(x.durations);
    }
}

static void ask_window(struct store_session *ss, const struct fixture *f, const struct kernels *k,
                       int64_t from, int64_t to, int64_t stream)
{
    struct asked a;
    struct filter filter = {from, to, stream, -1, -1};
    asked_init(&a, QUERY_kernels);
    asked_int(&a, "order", 0);
    asked_int(&a, "from", from);
    asked_int(&a, "to", to);
    if (stream >= 0)
        asked_int(&a, "stream", stream);
    asked_run(&a, ss);
    check_kernels(&a, f, k, filter);
    asked_fini(&a);
}

void suite_kernels_by_name(void **state)
{
    struct fixture *fixtures[] = {&suite.recorded, &suite.simulated};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct store_session *ss = suite_loaded(i ? "kernels-s" : "kernels-r", fixtures[i]);
        struct kernels k = kernels_of(fixtures[i]);
        struct asked a;
        asked_init(&a, QUERY_kernels);
        asked_int(&a, "order", 0);
        asked_run(&a, ss);
        assert_true(a.rows > 1);
        check_kernels(&a, fixtures[i], &k, all);
        asked_fini(&a);
        int64_t first = k.items[k.count / 3].start, last = k.items[k.count / 2].start;
        ask_window(ss, fixtures[i], &k, first, last, -1);
        ask_window(ss, fixtures[i], &k, first, last, k.items[0].stream);
        ask_window(ss, fixtures[i], &k, last, first, -1); /* an empty span */
        mem_free(k.items);
        suite.ops->put(ss);
    }
}

/* Checks that a kernel that is asked for by its name id has the same row as among all kernels. */
static void check_each_kernel(struct store_session *ss, int64_t from, int64_t to)
{
    const unsigned columns = store_queries[QUERY_kernels].column_count;
    struct asked whole, one;
    asked_init(&whole, QUERY_kernels);
    asked_init(&one, QUERY_kernels);
    for (int i = 0; i < 2; i++) {
        struct asked *a = i ? &one : &whole;
        asked_int(a, "order", 0);
        asked_int(a, "from", from);
        asked_int(a, "to", to);
    }
    asked_run(&whole, ss);
    assert_true(whole.rows > 1);
    for (size_t row = 0; row < whole.rows; row++) {
        asked_int(&one, "name", asked_get(&whole, row, "name_id"));
        asked_run(&one, ss);
        assert_int_equal(one.rows, 1);
        for (unsigned c = 1; c < columns; c++) {
            const struct asked_cell *same = &whole.cells[row * columns + c];
            assert_int_equal(one.cells[c].i, same->i);
            assert_near(one.cells[c].r, same->r, 1e-9); /* rows add up in any order */
        }
    }
    asked_text(&one, "pattern", "no kernel is called so");
    asked_run(&one, ss);
    assert_int_equal(one.rows, 0);
    asked_fini(&one);
    asked_fini(&whole);
}

void suite_one_kernel(void **state)
{
    struct fixture *fixtures[] = {&suite.recorded, &suite.simulated};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct store_session *ss = suite_loaded(i ? "kernel-s" : "kernel-r", fixtures[i]);
        struct asked none;
        check_each_kernel(ss, INT64_MIN + 1, INT64_MAX);
        asked_init(&none, QUERY_kernels);
        asked_int(&none, "order", 0);
        asked_int(&none, "name", INT64_C(4294967295));
        asked_run(&none, ss);
        assert_int_equal(none.rows, 0);
        asked_fini(&none);
        suite.ops->put(ss);
    }
}

void suite_kernels_in_order(void **state)
{
    static const char *const keys[] = {"total", "calls", "mean", "longest"};
    struct store_session *ss = suite_loaded("kernels-o", &suite.simulated);
    (void)state;
    for (int order = 0; order < 4; order++) {
        struct asked whole, page;
        asked_init(&whole, QUERY_kernels);
        asked_int(&whole, "order", order);
        asked_run(&whole, ss);
        for (size_t i = 1; i < whole.rows; i++)
            if (order == 2)
                assert_true(asked_real(&whole, i, keys[order]) <=
                            asked_real(&whole, i - 1, keys[order]));
            else
                assert_true(asked_get(&whole, i, keys[order]) <=
                            asked_get(&whole, i - 1, keys[order]));
        asked_init(&page, QUERY_kernels);
        asked_int(&page, "order", order);
        asked_int(&page, "limit", 2);
        asked_int(&page, "offset", 1);
        asked_run(&page, ss);
        assert_int_equal(page.rows, 2);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(asked_get(&page, i, "name_id"), asked_get(&whole, i + 1, "name_id"));
        asked_int(&page, "offset", INT64_MAX);
        asked_run(&page, ss);
        assert_int_equal(page.rows, 0);
        asked_fini(&whole);
        asked_fini(&page);
    }
    suite.ops->put(ss);
}

void suite_kernels_by_pattern(void **state)
{
    struct store_session *ss = suite_loaded("kernels-p", &suite.simulated);
    struct kernels k = kernels_of(&suite.simulated);
    struct asked a;
    char pattern[64];
    (void)state;
    int64_t name = k.items[0].name;
    snprintf(pattern, sizeof pattern, "%.5s", suite.simulated.names[name].text + 2);
    for (char *c = pattern; *c; c++) /* the case of letters does not matter */
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c;
    asked_init(&a, QUERY_kernels);
    asked_int(&a, "order", 0);
    asked_text(&a, "pattern", pattern);
    asked_run(&a, ss);
    bool found = false;
    for (size_t i = 0; i < a.rows; i++) {
        found |= asked_get(&a, i, "name_id") == name;
        assert_non_null(strcasestr(asked_cell(&a, i, "name")->text, pattern));
    }
    assert_true(found);
    asked_text(&a, "pattern", "%' OR 1=1 --");
    asked_run(&a, ss);
    assert_int_equal(a.rows, 0);
    asked_fini(&a);
    mem_free(k.items);
    suite.ops->put(ss);
}

/* The readable name: the name backwards. */
static void put_backwards(struct buf *out, const char *name)
{
    for (size_t i = strlen(name); i > 0; i--)
        buf_char(out, name[i - 1]);
}

/* A part of the readable name finds the kernel; if nobody gives readable names, it does not. */
void suite_kernels_by_readable_name(void **state)
{
    const enum store_query ways[] = {QUERY_kernels, QUERY_search};
    struct store_session *ss = suite_loaded("kernels-r", &suite.simulated);
    struct asked a;
    struct buf name, read;
    (void)state;
    buf_init(&name, 4096);
    buf_init(&read, 4096);
    asked_init(&a, QUERY_kernels);
    asked_int(&a, "order", 0);
    asked_run(&a, ss);
    buf_str(&name, asked_cell(&a, 0, "name")->text);
    put_backwards(&read, buf_cstr(&name));
    asked_fini(&a);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        asked_init(&a, ways[i]);
        asked_int(&a, i ? "from" : "order", 0);
        asked_text(&a, "pattern", buf_cstr(&read));
        asked_run(&a, ss);
        assert_int_equal(a.rows, 0);
        a.readable = put_backwards;
        asked_run(&a, ss);
        assert_true(a.rows > 0);
        assert_string_equal(asked_cell(&a, 0, "name")->text, buf_cstr(&name));
        asked_fini(&a);
    }
    buf_fini(&name);
    buf_fini(&read);
    suite.ops->put(ss);
}

void suite_configurations_of_a_kernel(void **state)
{
    struct store_session *ss = suite_loaded("configs", &suite.simulated);
    struct kernels k = kernels_of(&suite.simulated);
    struct asked a;
    struct filter f = all;
    int64_t calls = 0;
    (void)state;
    f.name = k.items[0].name;
    asked_init(&a, QUERY_kernel_configs);
    asked_int(&a, "name", f.name);
    asked_run(&a, ss);
    struct expected x = expect(&k, &f);
    assert_true(a.rows > 0);
    for (size_t i = 0; i < a.rows; i++) {
        struct filter one = f;
        one.config = asked_get(&a, i, "config");
        struct expected y = expect(&k, &one);
        assert_int_equal(asked_get(&a, i, "calls"), y.calls);
        assert_int_equal(asked_get(&a, i, "total"), y.total);
        assert_near(asked_real(&a, i, "p99"), (double)rank(&y, 0.99), 0.004);
        calls += y.calls;
        mem_free(y.durations);
    }
    assert_int_equal(calls, x.calls);
    mem_free(x.durations);
    asked_fini(&a);
    mem_free(k.items);
    suite.ops->put(ss);
}

void suite_configurations_as_recorded(void **state)
{
    const struct fixture *f = &suite.simulated;
    struct store_session *ss = suite_loaded("recorded-configs", f);
    static const struct {
        const char *name;
        unsigned column;
    } cells[] = {{"config", COL_config_id},
                 {"device", COL_config_device},
                 {"grid_x", COL_config_grid_x},
                 {"block_x", COL_config_block_x},
                 {"registers", COL_config_registers},
                 {"local", COL_config_local_per_thread},
                 {"blocks", COL_config_occ_blocks},
                 {"warps", COL_config_occ_warps},
                 {"max_warps", COL_config_occ_max_warps}};
    struct asked a;
    (void)state;
    asked_init(&a, QUERY_configs);
    asked_int(&a, "limit", 100000);
    asked_run(&a, ss);
    assert_int_equal(a.rows, f->count[RECORD_config]);
    assert_true(a.rows > 1);
    for (size_t i = 0; i < a.rows; i++) {
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) {
            int64_t value = fixture_cell(f, RECORD_config, i, cells[k].column);
            assert_int_equal(asked_cell(&a, i, cells[k].name)->known, value != CELL_NULL);
            if (value != CELL_NULL)
                assert_int_equal(asked_get(&a, i, cells[k].name), value);
        }
        int64_t limiter = fixture_cell(f, RECORD_config, i, COL_config_occ_limiter);
        if (limiter != CELL_NULL)
            assert_string_equal(asked_cell(&a, i, "limiter")->text, f->names[limiter].text);
    }
    asked_fini(&a);

    int64_t name = fixture_cell(f, RECORD_config, 0, COL_config_name);
    asked_init(&a, QUERY_configs);
    asked_int(&a, "limit", 100000);
    asked_int(&a, "name", name);
    asked_run(&a, ss);
    assert_true(a.rows > 0 && a.rows < f->count[RECORD_config]);
    for (size_t i = 0; i < a.rows; i++)
        assert_string_equal(asked_cell(&a, i, "name")->text, f->names[name].text);
    asked_fini(&a);
    suite.ops->put(ss);
}

void suite_histogram_of_a_kernel(void **state)
{
    struct store_session *ss = suite_loaded("histogram", &suite.simulated);
    struct kernels k = kernels_of(&suite.simulated);
    struct asked a;
    struct filter f = all;
    int64_t calls = 0, total = 0, after = -1;
    (void)state;
    f.name = k.items[0].name;
    struct expected x = expect(&k, &f);
    asked_init(&a, QUERY_kernel_histogram);
    asked_int(&a, "name", f.name);
    asked_run(&a, ss);
    for (size_t i = 0; i < a.rows; i++) {
        int64_t least = asked_get(&a, i, "least"), most = asked_get(&a, i, "most"), n = 0, ns = 0;
        assert_true(least > after && most >= least);
        if (least >= 8)
            assert_true((double)most < (double)least * 1.126);
        after = most;
        for (int64_t d = 0; d < x.calls; d++)
            if (x.durations[d] >= least && x.durations[d] <= most) {
                n++;
                ns += x.durations[d];
            }
        assert_int_equal(asked_get(&a, i, "calls"), n);
        assert_int_equal(asked_get(&a, i, "total"), ns);
        calls += n;
        total += ns;
    }
    assert_int_equal(calls, x.calls);
    assert_int_equal(total, x.total);
    mem_free(x.durations);
    asked_fini(&a);
    mem_free(k.items);
    suite.ops->put(ss);
}

/* ---- launches -------------------------------------------------------------------------------- */

static void check_launches(struct store_session *ss, const struct kernels *k, const char *param,
                           int64_t value, struct filter f)
{
    struct asked a;
    asked_init(&a, QUERY_launches);
    asked_int(&a, "order", 0);
    if (param)
        asked_int(&a, param, value);
    asked_int(&a, "from", f.from);
    asked_int(&a, "to", f.to);
    asked_run(&a, ss);
    struct expected x = expect(k, &f);
    int64_t total = 0;
    assert_int_equal(a.rows, x.calls);
    for (size_t i = 0; i < a.rows; i++) {
        total += asked_get(&a, i, "duration");
        if (i)
            assert_true(asked_get(&a, i, "start") >= asked_get(&a, i - 1, "start"));
        asked_is_name(&a, i, "name", &suite.simulated,
                      config_name(&suite.simulated, asked_get(&a, i, "config")));
    }
    assert_int_equal(total, x.total);
    mem_free(x.durations);
    asked_fini(&a);
}

void suite_single_launches(void **state)
{
    struct store_session *ss = suite_loaded("launches", &suite.simulated);
    struct kernels k = kernels_of(&suite.simulated);
    struct filter f = {k.items[1000].start, k.items[3000].start, -1, -1, -1};
    struct asked a;
    (void)state;
    check_launches(ss, &k, NULL, 0, f);
    f.stream = k.items[5].stream;
    check_launches(ss, &k, "stream", f.stream, f);
    f.stream = -1;
    f.name = k.items[7].name;
    check_launches(ss, &k, "name", f.name, f);
    f.name = -1;
    f.config = k.items[7].config;
    check_launches(ss, &k, "config", f.config, f);
    asked_init(&a, QUERY_launches);
    asked_int(&a, "order", 1);
    asked_int(&a, "limit", 3);
    asked_run(&a, ss);
    struct expected x = expect(&k, &all);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(asked_get(&a, i, "duration"), x.durations[x.calls - 1 - (int64_t)i]);
    mem_free(x.durations);
    asked_int(&a, "correlation", k.items[77].correlation);
    asked_run(&a, ss);
    bool found = false;
    for (size_t i = 0; i < a.rows; i++) {
        assert_int_equal(asked_get(&a, i, "correlation"), k.items[77].correlation);
        found |= asked_get(&a, i, "start") == k.items[77].start;
    }
    assert_true(found);
    asked_fini(&a);
    mem_free(k.items);
    suite.ops->put(ss);
}

/* ---- more rows than a slice holds ------------------------------------------------------------ */

enum { MANY = 1200000, CONFIGS = 5 };

static void append_many(struct store_session *ss, const struct kernels *k, size_t first, size_t n)
{
    int64_t *cells = mem_array(4 * n, sizeof *cells);
    struct wire_batch b = {.type = RECORD_kernel, .record = &records[RECORD_kernel], .rows = n};
    for (size_t i = 0; i < n; i++) {
        const struct kernel *from = &k->items[first + i];
        cells[i] = from->start;
        cells[n + i] = from->duration;
        cells[2 * n + i] = from->config;
        cells[3 * n + i] = from->stream;
    }
    b.col[COL_kernel_start] = cells;
    b.col[COL_kernel_duration] = cells + n;
    b.col[COL_kernel_config] = cells + 2 * n;
    b.col[COL_kernel_stream] = cells + 3 * n;
    OK(suite.ops->append(ss, &b, e));
    mem_free(cells);
}

static void append_names(struct store_session *ss)
{
    int64_t ids[CONFIGS], names[CONFIGS];
    struct wire_batch b = {
        .type = RECORD_config, .record = &records[RECORD_config], .rows = CONFIGS};
    for (uint32_t i = 0; i < CONFIGS; i++) {
        char text[16];
        const char *at = text;
        size_t len = (size_t)snprintf(text, sizeof text, "kernel_%u", i / 2);
        uint32_t id = i / 2 + 1;
        ids[i] = i + 1;
        names[i] = id;
        OK(suite.ops->names(ss, &id, &at, &len, 1, e));
    }
    b.col[COL_config_id] = ids;
    b.col[COL_config_name] = names;
    OK(suite.ops->append(ss, &b, e));
}

/* Kernels in several slices, some out of order, written by one writer after another. */
void suite_kernels_of_many_slices(void **state)
{
    struct store_session *ss;
    struct fixture names = {0};
    struct kernels k = {mem_array(MANY, sizeof(struct kernel)), MANY};
    uint64_t x = 1;
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        int64_t config = (int64_t)(x >> 40) % CONFIGS + 1;
        k.items[i] = (struct kernel){(int64_t)i * 1000 + (int64_t)(x >> 50),
                                     1 + (int64_t)(x >> 52) * config,
                                     config,
                                     (int64_t)(x >> 61),
                                     (config - 1) / 2 + 1,
                                     0};
    }
    for (size_t done = 0, n, round = 0; done < MANY; done += n, round++) {
        n = 60000 < MANY - done ? 60000 : MANY - done;
        OK(suite.ops->get(suite.store, "w", "slices", true, &ss, e));
        OK(suite.ops->begin(ss, e));
        append_names(ss);
        append_many(ss, &k, done, n);
        if (round % 5 == 3) { /* all rows again: rows that are rolled back must not count */
            suite.ops->rollback(ss);
            OK(suite.ops->begin(ss, e));
            append_names(ss);
            append_many(ss, &k, done, n);
        }
        OK(suite.ops->commit(ss, NULL, 0, e));
        suite.ops->put(ss);
    }
    OK(suite.ops->get(suite.store, "w", "slices", false, &ss, e));
    names.name_count = 4;
    struct fixture_name texts[4] = {{NULL, 0}, {"kernel_0", 8}, {"kernel_1", 8}, {"kernel_2", 8}};
    names.names = texts;
    ask_window(ss, &names, &k, INT64_MIN + 1, INT64_MAX, -1);
    ask_window(ss, &names, &k, k.items[100000].start, k.items[1100000].start, -1);
    ask_window(ss, &names, &k, k.items[10].start, k.items[700000].start, 3);
    ask_window(ss, &names, &k, k.items[600000].start, k.items[600020].start, -1);
    check_each_kernel(ss, INT64_MIN + 1, INT64_MAX);
    check_each_kernel(ss, k.items[10].start, k.items[700000].start);
    suite.ops->put(ss);
    mem_free(k.items);
}
