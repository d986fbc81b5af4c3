/* launch_log.c - see launch_log.h. */
#include "tests/fake/launch_log.h"

#include "base/packed/lines.h"
#include "wire/decode.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "launch_log: %s\n", what);
    abort();
}

/* Room for one item more, or for index n of a table by id, which is zeroed. */
static void *room(void *items, size_t n, size_t size)
{
    if (n & (n - 1) && n)
        return items;
    char *p = realloc(items, (n ? 2 * n : 1) * size);
    must(p != NULL, "no memory");
    return p;
}

#define ADD(array, count, row)                                                                     \
    do {                                                                                           \
        (array) = room((array), (count), sizeof *(array));                                         \
        memcpy(&(array)[(count)++], (row), sizeof *(array));                                       \
    } while (0)

static void *table(void *items, size_t *cap, size_t id, size_t size)
{
    if (id < *cap)
        return items;
    size_t more = 2 * id + 64;
    char *p = realloc(items, more * size);
    must(p != NULL, "no memory");
    memset(p + *cap * size, 0, (more - *cap) * size);
    *cap = more;
    return p;
}

static void on_row(struct launch_log *l, enum record_type type, const int64_t *row)
{
    switch (type) {
    case RECORD_launch:
        ADD(l->launches, l->launch_count, row);
        break;
    case RECORD_wait:
        ADD(l->waits, l->wait_count, row);
        break;
    case RECORD_window:
        ADD(l->windows, l->window_count, row);
        break;
    case RECORD_symbol:
        ADD(l->symbols, l->symbol_count, row);
        break;
    case RECORD_kernel:
        ADD(l->correlations, l->correlation_count, &row[COL_kernel_correlation]);
        break;
    case RECORD_memcpy:
        ADD(l->correlations, l->correlation_count, &row[COL_memcpy_correlation]);
        break;
    case RECORD_memset:
        ADD(l->correlations, l->correlation_count, &row[COL_memset_correlation]);
        break;
    case RECORD_stack:
        l->stacks = table(l->stacks, &l->stack_cap, (size_t)row[0], sizeof *l->stacks);
        memcpy(&l->stacks[row[0]], row, sizeof *l->stacks);
        break;
    case RECORD_ledger:
        memcpy(&l->ledger, row, sizeof l->ledger);
        break;
    default:
        break;
    }
}

static int on_batch(void *arg, const struct wire_batch *b)
{
    for (size_t i = 0; i < b->rows; i++) {
        int64_t row[RECORD_MAX_COLUMNS];
        for (unsigned c = 0; c < b->record->column_count; c++)
            row[c] = b->col[c] ? b->col[c][i] : CELL_NULL;
        on_row(arg, b->type, row);
    }
    return 0;
}

static int on_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct launch_log *l = arg;
    l->names = table(l->names, &l->name_cap, id, sizeof *l->names);
    free(l->names[id]);
    l->names[id] = strndup(text, len);
    return 0;
}

static int on_header(void *arg, const struct wire_header *h)
{
    (void)arg, (void)h;
    return 0;
}

static void read_file(struct launch_log *l, const char *path)
{
    const struct wire_visitor v = {
        .arg = l, .header = on_header, .name = on_name, .batch = on_batch};
    struct lines *lines;
    struct decoder *d;
    struct err e;
    char *line;
    size_t len;
    bool complete;
    must(lines_open(&lines, path, WIRE_MAX_LINE, &e) == 0 && decoder_open(&d) == 0, path);
    while (lines_next(lines, &line, &len, &complete))
        must(decoder_feed(d, line, len, &v) == 0, "no memory");
    l->damaged += decoder_stats(d)->damaged + decoder_stats(d)->unknown_records;
    lines_close(lines);
    decoder_close(d);
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void launch_log_open(struct launch_log *l, const char *logs)
{
    char pattern[PATH_MAX];
    glob_t files;
    *l = (struct launch_log){0};
    snprintf(pattern, sizeof pattern, "%s/*/system*.log*", logs);
    must(glob(pattern, 0, NULL, &files) == 0 && files.gl_pathc == 1, "there is not one session");
    globfree(&files);
    snprintf(pattern, sizeof pattern, "%s/*/*.log*", logs);
    must(glob(pattern, 0, NULL, &files) == 0, "no log");
    for (size_t i = 0; i < files.gl_pathc; i++)
        read_file(l, files.gl_pathv[i]);
    globfree(&files);
    if (l->launch_count) /* start is the first column of a row */
        qsort(l->launches, l->launch_count, sizeof *l->launches, by_number);
    if (!l->correlation_count)
        return;
    qsort(l->correlations, l->correlation_count, sizeof *l->correlations, by_number);
    size_t distinct = 1;
    for (size_t i = 1; i < l->correlation_count; i++)
        if (l->correlations[i] != l->correlations[distinct - 1])
            l->correlations[distinct++] = l->correlations[i];
    l->correlation_count = distinct;
}

void launch_log_close(struct launch_log *l)
{
    for (size_t i = 0; i < l->name_cap; i++)
        free(l->names[i]);
    free(l->names);
    free(l->launches);
    free(l->waits);
    free(l->windows);
    free(l->correlations);
    free(l->stacks);
    free(l->symbols);
}

bool launch_log_names(const struct launch_log *l, int64_t stack, const char *function)
{
    for (; stack > 0 && (size_t)stack < l->stack_cap; stack = l->stacks[stack].parent)
        for (size_t i = 0; i < l->symbol_count; i++) {
            const struct symbol_row *s = &l->symbols[i];
            if (s->frame == l->stacks[stack].frame && s->function > 0 &&
                (size_t)s->function < l->name_cap && l->names[s->function] &&
                !strcmp(l->names[s->function], function))
                return true;
        }
    return false;
}
