/* screen.c - see screen.h. */
#include "cli/monitor/screen.h"

#include "cli/monitor/gpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_LEAST = 4, PAGE_OF_TABLE = 10 };

const struct sort_key sort_keys[SORT_COUNT] = {
    [SORT_MEMORY] = {'m', "memory"}, [SORT_USE] = {'u', "use"},   [SORT_GPU] = {'g', "gpu"},
    [SORT_PID] = {'p', "pid"},       [SORT_NAME] = {'n', "name"}, [SORT_USER] = {'o', "owner"},
};

/* ---- what is kept -------------------------------------------------------------------------- */

void screen_keep(struct screen *s, const struct snapshot *x)
{
    for (size_t i = 0; i < x->gpu_count; i++) {
        struct past *p = &s->past[i];
        const struct seen_gpu *g = &x->gpus[i];
        if (strcmp(p->uuid, g->uuid) != 0) { /* of another GPU, or another monitor */
            *p = (struct past){0};
            memcpy(p->uuid, g->uuid, sizeof p->uuid);
        }
        if (p->count == PAST_MOST)
            memmove(p->use, p->use + 1, (size_t)--p->count);
        int64_t use = g->up ? g->row.gpu_util : CELL_NULL;
        p->use[p->count++] = use >= 0 && use <= 100 ? (signed char)use : -1;
    }
}

/* ---- order --------------------------------------------------------------------------------- */

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const void *left, const void *right, void *arg)
{
    const struct seen_process *a = left, *b = right;
    int order = 0;
    switch (*(const enum sort *)arg) {
    case SORT_MEMORY: /* CELL_NULL is less than every number */
        order = by_number(b->memory_used, a->memory_used);
        break;
    case SORT_USE:
        order = by_number(b->sm_util, a->sm_util);
        break;
    case SORT_PID:
        order = by_number(a->pid, b->pid);
        break;
    case SORT_NAME:
        order = strcmp(a->name, b->name);
        break;
    case SORT_USER:
        order = strcmp(a->user, b->user);
        break;
    case SORT_GPU:
    case SORT_COUNT:
        break;
    }
    order = order ? order : by_number(a->gpu, b->gpu);
    return order ? order : by_number(a->pid, b->pid);
}

void screen_sort(const struct screen *s, struct snapshot *x)
{
    enum sort sort = s->sort;
    if (x->process_count)
        qsort_r(x->processes, x->process_count, sizeof *x->processes, compare, &sort);
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void scroll(struct screen *s, int by, size_t processes)
{
    int last = (int)processes - s->shown;
    s->first += by;
    s->first = s->first > last ? last : s->first;
    s->first = s->first < 0 ? 0 : s->first;
}

bool screen_key(struct screen *s, int key, size_t processes)
{
    for (int i = 0; i < SORT_COUNT; i++)
        if (key == sort_keys[i].key) {
            s->sort = (enum sort)i;
            s->first = 0;
            return true;
        }
    if (key == 'h' || key == '?')
        s->help = !s->help;
    else if (key == KEY_OF_UP || key == KEY_OF_DOWN)
        scroll(s, key == KEY_OF_UP ? -1 : 1, processes);
    else if (key == KEY_OF_PAGE_UP || key == KEY_OF_PAGE_DOWN)
        scroll(s, key == KEY_OF_PAGE_UP ? -PAGE_OF_TABLE : PAGE_OF_TABLE, processes);
    else if (key == KEY_OF_HOME)
        s->first = 0;
    else
        return false;
    return true;
}

/* ---- processes ----------------------------------------------------------------------------- */

enum field { GPU, PID, USER, MEMORY, USE, NAME, PLACE, RUNS, COLUMNS };

/* A width of 0 takes what the others leave. */
static const struct table_column {
    const char *head;
    int width;
    bool right;
    enum sort sort; /* SORT_COUNT: no key sorts by it */
} columns[COLUMNS] = {
    [GPU] = {"GPU", 3, true, SORT_GPU},
    [PID] = {"PID", 8, true, SORT_PID},
    [USER] = {"OWNER", 9, false, SORT_USER},
    [MEMORY] = {"MEMORY", 9, true, SORT_MEMORY},
    [USE] = {"USE", 5, true, SORT_USE},
    [NAME] = {"NAME", 15, false, SORT_NAME},
    [PLACE] = {"POD OR JOB", 0, false, SORT_COUNT},
    [RUNS] = {"RUNS", 12, false, SORT_COUNT},
};

/* RUNS_* is the width of the column RUNS in a terminal of at least *_TABLE columns. */
enum { RUNS_MIDDLE = 36, MIDDLE_TABLE = 120, RUNS_WIDE = 62, WIDE_TABLE = 160 };

static int width_of(const struct canvas *c, int column)
{
    int rest = c->columns, runs = columns[RUNS].width;
    if (c->columns >= MIDDLE_TABLE)
        runs = c->columns >= WIDE_TABLE ? RUNS_WIDE : RUNS_MIDDLE;
    if (column == RUNS)
        return runs;
    if (columns[column].width)
        return columns[column].width;
    for (int i = 0; i < COLUMNS; i++)
        rest -= columns[i].width + 1;
    rest -= runs - columns[RUNS].width;
    return rest > 1 ? rest : 1;
}

static void put_column(struct canvas *c, int row, int *at, int column, enum style style,
                       const char *text)
{
    int width = width_of(c, column);
    if (columns[column].right)
        canvas_right(c, row, *at, width, style, text);
    else
        (void)canvas_text(c, row, *at, width, style, text);
    *at += width + 1;
}

/* Writes the session and the scope, as far as there is room. The first part of an id distinguishes
 * sessions; in a narrow column the scope alone is shown, since it says more. */
static void put_runs(const struct seen_process *p, int width, char *out, size_t size)
{
    bool is_whole = width >= RUNS_WIDE || (width >= RUNS_MIDDLE && !*p->scope);
    int id = is_whole ? (int)strlen(p->session) : (int)strcspn(p->session, "-");
    if (*p->scope && width < RUNS_MIDDLE)
        id = 0;
    snprintf(out, size, "%.*s%s%s", id, p->session, id && *p->scope ? " " : "", p->scope);
}

static void draw_process(const struct snapshot *x, const struct seen_process *p, struct canvas *c,
                         int row)
{
    char text[COLUMNS][200] = {""};
    const struct seen_gpu *g = &x->gpus[p->gpu];
    int at = 0;
    if (g->index != CELL_NULL)
        snprintf(text[GPU], sizeof text[GPU], "%" PRId64, g->index);
    if (p->pid != CELL_NULL)
        snprintf(text[PID], sizeof text[PID], "%" PRId64, p->pid);
    snprintf(text[USER], sizeof text[USER], "%s", p->user);
    words_memory(p->memory_used, CELL_NULL, text[MEMORY], sizeof text[MEMORY]);
    if (p->sm_util != CELL_NULL)
        snprintf(text[USE], sizeof text[USE], "%" PRId64 " %%", p->sm_util);
    snprintf(text[NAME], sizeof text[NAME], "%s", p->name);
    words_place(p, text[PLACE], sizeof text[PLACE]);
    put_runs(p, width_of(c, RUNS), text[RUNS], sizeof text[RUNS]);
    for (int i = 0; i < COLUMNS; i++)
        put_column(c, row, &at, i, STYLE_PLAIN, text[i]);
}

void screen_table(struct screen *s, const struct snapshot *x, struct canvas *c, int row, int end)
{
    int at = 0;
    for (int i = 0; i < COLUMNS; i++)
        put_column(c, row, &at, i, columns[i].sort == s->sort ? STYLE_CHOSEN : STYLE_HEAD,
                   columns[i].head);
    s->shown = end - row - 1 > 0 ? end - row - 1 : 0;
    scroll(s, 0, x->process_count);
    if (!x->process_count && s->shown)
        (void)canvas_text(c, row + 1, 2, c->columns, STYLE_DIM, "No process uses a GPU.");
    for (int i = 0; i < s->shown && (size_t)s->first + (size_t)i < x->process_count; i++)
        draw_process(x, &x->processes[s->first + i], c, row + 1 + i);
}

/* ---- around -------------------------------------------------------------------------------- */

static const char *const help[] = {
    "q        ends the view",
    "h        shows and hides this help",
    "m u g    sorts processes by memory, use, GPU",
    "p n o    sorts them by process id, name, owner",
    "arrows, Page Up, Page Down, Home    move in the table",
    "",
    "use      share of time in which a kernel ran",
    "T        the GPU is throttled    E    it had XID or memory errors",
    "RUNS     of a process that gpufl traces: its session, which gpufl report reads, and",
    "         the scope that it is in, as your own processes say it",
    "?        the driver or the monitor does not know",
};

static void draw_help(struct canvas *c, int row, int end)
{
    for (size_t i = 0; i < sizeof help / sizeof *help && row < end; i++)
        (void)canvas_text(c, row++, 2, c->columns, STYLE_PLAIN, help[i]);
}

static void draw_head(const struct screen *s, const struct snapshot *x, struct canvas *c)
{
    char text[160], memory[64];
    int at = 2 + canvas_text(c, 0, 0, c->columns, STYLE_HEAD, "gpufl monitor");
    at += 2 + canvas_text(c, 0, at, c->columns / 4, STYLE_PLAIN, x->host);
    words_memory(x->memory_used, x->memory_total, memory, sizeof memory);
    if (x->cpu != CELL_NULL) {
        snprintf(text, sizeof text, "CPU %.0f %%", (double)x->cpu * 0.01);
        at += 2 + canvas_text(c, 0, at, c->columns, STYLE_PLAIN, text);
    }
    if (*memory) {
        snprintf(text, sizeof text, "memory %s", memory);
        at += 2 + canvas_text(c, 0, at, c->columns, STYLE_PLAIN, text);
    }
    snprintf(text, sizeof text, "%s every %g s  %s", s->own ? "" : "gpufl-monitor",
             (double)x->interval_ms * 1e-3, s->clock ? s->clock : "");
    if (x->interval_ms != CELL_NULL && canvas_columns(c, text) < c->columns - at)
        canvas_right(c, 0, at, c->columns - at, STYLE_DIM, text);
}

static void draw_foot(const struct screen *s, const struct snapshot *x, struct canvas *c)
{
    char text[160];
    int n = snprintf(text, sizeof text, "q quit  h help  sort");
    for (int i = 0; i < SORT_COUNT; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %c %s", i ? "," : "", sort_keys[i].key,
                      sort_keys[i].name);
    (void)canvas_text(c, c->rows - 1, 0, c->columns, STYLE_DIM, text);
    int most = c->columns - n - 2;
    size_t last = (size_t)s->first + (size_t)s->shown;
    snprintf(text, sizeof text, "%d-%zu of %zu", s->first + 1,
             last < x->process_count ? last : x->process_count, x->process_count);
    if (s->shown && x->process_count && most >= canvas_columns(c, text))
        canvas_right(c, c->rows - 1, n + 2, most, STYLE_DIM, text);
}

/* ---- the frame ----------------------------------------------------------------------------- */

/* Draws the GPUs from a row on, and returns the row below. room: rows for GPUs and table. */
static int draw_gpus(const struct screen *s, const struct snapshot *x, struct canvas *c, int row,
                     int room)
{
    int count = (int)x->gpu_count, wanted = (int)x->process_count + 1;
    int table = room / 3 > TABLE_LEAST ? room / 3 : TABLE_LEAST;
    table = wanted < table ? wanted : table;
    bool panels = count * GPU_PANEL + table <= room;
    int fit = panels ? count : room - table > 1 ? room - table : 1;
    bool cut = fit < count;
    int shown = cut ? fit - 1 : count; /* a line says how many are not there */
    for (int i = 0; i < shown; i++, row += panels ? GPU_PANEL : 1)
        (panels ? gpu_panel : gpu_line)(&x->gpus[i], &s->past[i], c, row);
    if (cut) {
        char text[64];
        snprintf(text, sizeof text, "%d more GPUs: the terminal is too small", count - shown);
        (void)canvas_text(c, row++, 0, c->columns, STYLE_DIM, text);
    } else if (!panels && count + 1 + table <= room) {
        row++;
    }
    return row;
}

void screen_draw(struct screen *s, const struct snapshot *x, struct canvas *c)
{
    int row = 1, end = c->rows - 1;
    const char *trouble = s->away ? s->away : x->problem;
    draw_head(s, x, c);
    if (*trouble)
        (void)canvas_text(c, row++, 0, c->columns, STYLE_BAD, trouble);
    s->shown = 0;
    row = draw_gpus(s, x, c, row, end - row);
    if (s->help)
        draw_help(c, row, end);
    else if (row < end)
        screen_table(s, x, c, row, end);
    draw_foot(s, x, c);
}
