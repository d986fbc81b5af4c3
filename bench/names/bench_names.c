/* bench_names.c - what names of kernels cost on one core: demangling them, making a short name, and
 * making a table of distinct names. Prints JSON.
 *
 * The names are those of a file, in turn. For the table each name gets another first number or a
 * number at its end, so that the names differ like instances of a template.
 *
 *   bench_names MANGLED DEMANGLED [rows]      default 100000 rows; DEMANGLED: names follow a tab
 *   bench_names tests/data/names/cutlass.txt tests/data/names/kernels.txt */
#include "base/alloc.h"
#include "base/clock.h"
#include "symbol/names/demangle.h"
#include "symbol/names/shorten.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 4096, ROUNDS = 2000, TEXT_MAX = 1 << 30 };

static char *names[NAMES_MAX];

/* Reads the lines of a file. If a line has a tab, only the part after it is kept. */
static size_t read_names(const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0, count = 0;
    if (!f) {
        perror(path);
        exit(1);
    }
    while (count < NAMES_MAX && getline(&line, &cap, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *tab = strchr(line, '\t');
        names[count++] = mem_strdup(tab ? tab + 1 : line);
    }
    free(line);
    fclose(f);
    return count;
}

static double rate(size_t count, int64_t begin)
{
    return (double)count * 1e9 / (double)(clock_thread_cpu() - begin);
}

static void bench_demangle(const char *path)
{
    size_t count = read_names(path), bytes = 0;
    struct buf out;
    buf_init(&out, DEMANGLE_ROOM);
    int64_t begin = clock_thread_cpu();
    for (int r = 0; r < ROUNDS; r++)
        for (size_t i = 0; i < count; i++) {
            buf_clear(&out);
            demangle_put(&out, names[i]);
            bytes += out.len;
        }
    printf("{\"demangled_per_s\": %.0f, \"mean_bytes\": %zu,\n", rate(count * ROUNDS, begin),
           bytes / (count * ROUNDS));
    buf_fini(&out);
}

/* Makes the name with another first number, or with a number at its end if it has none. */
static char *instance(const char *name, size_t number)
{
    char *text = mem_alloc(strlen(name) + 32);
    size_t before = strcspn(name, "0123456789");
    if (!text)
        exit(1);
    sprintf(text, "%.*s%zu%s", (int)before, name, number,
            name + before + strspn(name + before, "0123456789"));
    return text;
}

static void bench_short(const char *path, size_t rows)
{
    size_t count = read_names(path);
    struct buf out;
    buf_init(&out, TEXT_MAX);
    int64_t begin = clock_thread_cpu();
    for (size_t i = 0; i < rows; i++) {
        buf_clear(&out);
        shorten_kernel(&out, names[i % count], SHORT_COLUMNS);
    }
    printf(" \"short_names_per_s\": %.0f,\n", rate(rows, begin));
    char **table = mem_array(rows, sizeof *table);
    if (!table)
        exit(1);
    for (size_t i = 0; i < rows; i++)
        table[i] = instance(names[i % count], i);
    buf_clear(&out);
    begin = clock_thread_cpu();
    int rc = shorten_rows(&out, (const char *const *)table, rows, SHORT_COLUMNS);
    int64_t spent = clock_thread_cpu() - begin;
    printf(" \"rows\": %zu, \"table_ms\": %.1f, \"rows_per_s\": %.0f, \"mean_bytes_shown\": %zu}\n",
           rows, (double)spent / 1e6, (double)rows * 1e9 / (double)spent, out.len / rows);
    if (rc)
        exit(1);
}

int main(int argc, char **argv)
{
    size_t rows = argc > 3 ? strtoul(argv[3], NULL, 10) : 100000;
    if (argc < 3 || !rows) {
        fputs("usage: bench_names MANGLED DEMANGLED [rows]\n", stderr);
        return 2;
    }
    bench_demangle(argv[1]);
    bench_short(argv[2], rows);
    return 0;
}
