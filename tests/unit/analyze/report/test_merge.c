/* test_merge.c - one answer, however the work is cut.
 *
 * Rows of a session come in batches of any size and channels in any order; sessions are merged one
 * by one or in groups of groups, as threads or servers would. The JSON report, which holds every
 * number of every part, must be the same to the byte. */
#include "analyze/report/report.h"
#include "tests/test.h"

#include "base/alloc.h"
#include "tests/unit/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 6, IDS = 5 };

/* A round takes six times as long with a sanitizer, which sees the same code in each. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 8 };
#else
enum { ROUNDS = 40 };
#endif

static struct intern *names;
static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state >> 11;
}

static int open_names(void **state)
{
    (void)state;
    return intern_open(&names, 1 << 18, 1 << 26);
}

static int close_names(void **state)
{
    (void)state;
    intern_close(names);
    return 0;
}

/* ---- sessions ---------------------------------------------------------------------------- */

/* Rows of every record, with ids that mostly refer to something. */
static void put_rows(struct program *p, enum record_kind kind)
{
    int64_t cells[8 * RECORD_MAX_COLUMNS];
    for (int type = 0; type < RECORD_COUNT; type++) {
        const struct record *r = &records[type];
        size_t rows = 1 + next_random() % 8;
        bool made = type == RECORD_frame || type == RECORD_stack || type == RECORD_symbol ||
                    type == RECORD_device || type == RECORD_stream || type == RECORD_end ||
                    type == RECORD_clock;
        if (r->kind != kind || made || (kind == RECORD_KIND_EVENT && next_random() % 4 == 0))
            continue;
        for (size_t i = 0; i < rows * r->column_count; i++) {
            const struct column *c = &r->columns[i % r->column_count];
            int64_t v = (int64_t)(next_random() % (c->ref == RECORD_NONE ? 3000000 : IDS));
            cells[i] = next_random() % 16 ? v : CELL_NULL;
        }
        for (size_t i = 0; kind == RECORD_KIND_DICT && i < rows; i++)
            cells[i * r->column_count] = (int64_t)i;
        make_log_rows(&p->log, (enum record_type)type, cells, rows);
    }
}

/* Writes a program of its own for each number, with lines that other programs have, too. */
static void write_session(struct program *p, int number)
{
    static char session[SESSIONS][16];
    snprintf(session[number], sizeof session[number], "s%d", number);
    program_init(p, session[number]);
    p->log.real += (int64_t)(next_random() % 4) * 1000000000;
    int64_t main = program_python(p, 0, "main.py", "<module>", 1),
            stacks[] = {program_python(p, main, "train.py", "step", 90),
                        program_python(p, 0, "train.py", "step", 90),
                        program_python(p, main, "load.py", "batch", 7), 0};
    put_rows(p, RECORD_KIND_DICT);
    for (int i = 0; i < 200; i++) {
        int64_t stack = stacks[next_random() % 4];
        switch (next_random() % 4) {
        case 0:
            program_sync(p, 1 + (int64_t)(next_random() % 4), stack, 1 + (int64_t)(i % 3));
            break;
        case 1:
            program_work(p, (int64_t)(next_random() % 3000000));
            break;
        default:
            program_launch(p, (struct program_kernel){.ns = 1000 + (int64_t)(next_random() % 90000),
                                                      .stack = stack,
                                                      .config = (int64_t)(next_random() % 3)});
        }
    }
    put_rows(p, RECORD_KIND_EVENT);
    program_end(p);
}

/* ---- reports ------------------------------------------------------------------------------ */

static char *report_of(const struct model *m)
{
    struct report r = {.names = names, .model = *m};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(insights_find(m, &r.insights), 0);
    assert_int_equal(report_json(&r, out), 0);
    fclose(out);
    insights_fini(&r.insights);
    return text;
}

/* Both texts are equal; otherwise the test shows where they differ. */
static void same(const char *expected, char *got)
{
    size_t at = 0;
    while (expected[at] && expected[at] == got[at])
        at++;
    if (expected[at] || got[at]) {
        at = at > 200 ? at - 200 : 0;
        fail_msg("expected …%.400s…\ngot …%.400s…", expected + at, got + at);
    }
    free(got);
}

/* Merges the sessions [from, to) in groups of groups. */
static void merge_groups(struct program *p, int from, int to, struct model *out)
{
    model_init(out, names);
    if (to - from == 1) {
        program_read(&p[from], out);
        return;
    }
    for (int end; from < to; from = end) {
        struct model part;
        end = from + 1 + (int)(next_random() % (uint64_t)(to - from - (to - from > 1)));
        merge_groups(p, from, end, &part);
        assert_int_equal(model_merge(out, &part), 0);
        model_fini(&part);
    }
    assert_int_equal(model_settle(out), 0);
}

TEST(test_groups)
{
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct program p[SESSIONS];
        struct model all, one;
        random_state = round * 0x9E3779B97F4A7C15u;
        model_init(&all, names);
        for (int i = 0; i < SESSIONS; i++) {
            write_session(&p[i], i);
            model_init(&one, names);
            program_read(&p[i], &one);
            assert_int_equal(model_merge(&all, &one), 0);
            model_fini(&one);
        }
        assert_int_equal(model_settle(&all), 0);
        char *expected = report_of(&all);
        for (int i = 0; i < 4; i++) {
            merge_groups(p, 0, SESSIONS, &one);
            same(expected, report_of(&one));
            model_fini(&one);
        }
        free(expected);
        model_fini(&all);
        for (int i = 0; i < SESSIONS; i++)
            program_fini(&p[i]);
    }
}

/* ---- chunks ------------------------------------------------------------------------------- */

/* Holds event rows of a session by type, as they came. */
struct rows {
    int64_t *cells; /* rows one after the other */
    size_t count, cap, reported;
};

/* Types of a channel's rows, in order. */
struct order {
    uint8_t *types;
    size_t count, cap, reported;
};

struct chunks {
    struct model *m;
    struct rows types[RECORD_COUNT];
    struct order channels[CHANNEL_COUNT];
};

static int take_header(void *arg, const struct wire_header *h)
{
    return model_header(((struct chunks *)arg)->m, h);
}

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    return model_name(((struct chunks *)arg)->m, id, text, len);
}

/* Dictionaries are passed on at once: they come before the rows that refer to them. */
static int take_batch(void *arg, const struct wire_batch *b)
{
    struct chunks *c = arg;
    struct rows *r = &c->types[b->type];
    unsigned width = b->record->column_count;
    if (b->record->kind == RECORD_KIND_DICT)
        return model_batch(c->m, b);
    assert_int_equal(
        mem_grow(&r->cells, &r->cap, (r->count + b->rows) * width, sizeof *r->cells, SIZE_MAX / 16),
        0);
    for (size_t i = 0; i < b->rows; i++)
        for (unsigned k = 0; k < width; k++)
            r->cells[(r->count + i) * width + k] = b->col[k] ? b->col[k][i] : CELL_NULL;
    r->count += b->rows;
    struct order *o = &c->channels[b->record->channel];
    assert_int_equal(mem_grow(&o->types, &o->cap, o->count + b->rows, 1, SIZE_MAX / 16), 0);
    memset(o->types + o->count, (int)b->type, b->rows);
    o->count += b->rows;
    return 0;
}

/* Adds the next rows of a type to the model, as a batch. */
static void report(struct chunks *c, int type, size_t rows)
{
    struct rows *r = &c->types[type];
    struct wire_batch b = {.type = (enum record_type)type, .record = &records[type], .rows = rows};
    unsigned width = b.record->column_count;
    int64_t *columns = calloc(rows * width, sizeof *columns);
    for (unsigned k = 0; k < width; k++) {
        for (size_t i = 0; i < rows; i++)
            columns[k * rows + i] = r->cells[(r->reported + i) * width + k];
        b.col[k] = columns + k * rows;
    }
    r->reported += rows;
    assert_int_equal(model_batch(c->m, &b), 0);
    free(columns);
}

static void read_chunks(struct program *p, struct model *m)
{
    struct chunks c = {.m = m};
    struct wire_visitor v = {
        .arg = &c, .header = take_header, .name = take_name, .batch = take_batch};
    struct decoder *d;
    char *copy = strdup(buf_cstr(&p->log.lines)), *at = copy;
    size_t left = 0;
    assert_int_equal(decoder_open(&d), 0);
    for (char *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        assert_int_equal(decoder_feed(d, at, (size_t)(end - at), &v), 0);
    }
    assert_int_equal(decoder_finish(d, &v), 0);
    decoder_close(d);
    free(copy);
    for (int i = 0; i < CHANNEL_COUNT; i++)
        left += c.channels[i].count;
    while (left) {
        struct order *o = &c.channels[next_random() % CHANNEL_COUNT];
        size_t rows = 0, most = 1 + next_random() % 50;
        while (rows < most && o->reported + rows < o->count &&
               o->types[o->reported + rows] == o->types[o->reported])
            rows++;
        if (rows)
            report(&c, o->types[o->reported], rows);
        o->reported += rows;
        left -= rows;
    }
    for (int i = 0; i < RECORD_COUNT; i++)
        mem_free(c.types[i].cells);
    for (int i = 0; i < CHANNEL_COUNT; i++)
        mem_free(c.channels[i].types);
    assert_int_equal(model_finish(m), 0);
}

TEST(test_chunks)
{
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct program p;
        struct model m;
        random_state = round * 0xD1B54A32D192ED03u;
        write_session(&p, 0);
        model_init(&m, names);
        program_read(&p, &m);
        char *expected = report_of(&m);
        model_fini(&m);
        for (int i = 0; i < 4; i++) {
            model_init(&m, names);
            read_chunks(&p, &m);
            same(expected, report_of(&m));
            model_fini(&m);
        }
        free(expected);
        program_fini(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_chunks)};
    return cmocka_run_group_tests(tests, open_names, close_names);
}
