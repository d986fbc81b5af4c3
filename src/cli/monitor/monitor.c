/* monitor.c - `gpufl monitor`: shows the GPUs of this host, live, as a view in a terminal or as
 * lines.
 *
 * The view shows what the gpufl-monitor of the host samples, or starts a monitor for itself. */
#include "base/clock.h"
#include "cli/cmd.h"
#include "cli/monitor/screen.h"
#include "cli/monitor/source.h"
#include "cli/monitor/terminal.h"
#include "monitor/foreign.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <time.h>

enum { LOOK_MOST_MS = 1000, FIRST_LOOK_MS = 20, FIRST_LOOKS = 500 };

static const int64_t SECOND = 1000000000, MS = 1000000;

static const struct cmd_text text = {
    .name = "monitor",
    .synopsis = "[options]",
    .about = "Shows every GPU of this host, live: use, memory, temperature, power, clocks,\n"
             "errors, and the processes on them with their pod or job. Takes the samples of\n"
             "the gpufl-monitor that runs here; without one it samples for itself until it\n"
             "ends. Prints lines if there is no terminal. In the view, h explains the\n"
             "keys.\n",
    .more = "Examples:\n"
            "  gpufl monitor                        the view; q ends it\n"
            "  gpufl monitor --once                 the present values, as lines\n"
            "  gpufl monitor --json | jq .gpus      an object of JSON for each sample\n"
            "  gpufl monitor -o logs                keep session logs, as gpufl-monitor does\n",
};

struct view {
    struct source source;
    struct snapshot now;
    struct screen screen;
    struct canvas canvas;
    struct err trouble; /* error of the last read; code 0: none */
    int64_t interval;   /* ns between looks */
    bool once, json, quiet;
};

/* ---- looking ------------------------------------------------------------------------------- */

static int look(struct view *v)
{
    v->trouble = (struct err){0};
    int rc = source_take(&v->source, &v->trouble);
    if (!rc)
        rc = snapshot_read(&v->now, v->source.text.data, v->source.text.len, &v->trouble);
    if (rc)
        return v->trouble.code = rc;
    snapshot_complete(&v->now, "/proc", !v->source.is_own);
    screen_keep(&v->screen, &v->now);
    screen_sort(&v->screen, &v->now);
    return 0;
}

/* Reads until the monitor has taken its first samples, for a limited time: a driver may not
 * answer. */
static int first_look(struct view *v)
{
    int rc = look(v);
    for (int i = 0; !rc && v->now.age_ms == CELL_NULL && i < FIRST_LOOKS; i++) {
        if (!terminal_wait(FIRST_LOOK_MS))
            return 0;
        rc = look(v);
    }
    return rc;
}

static const char *time_of_day(void)
{
    static char clock[16];
    time_t now = time(NULL);
    struct tm tm;
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &tm));
    return clock;
}

/* ---- lines --------------------------------------------------------------------------------- */

static void print_gpu(const struct seen_gpu *g)
{
    char words[200];
    const struct device_metric_row *r = &g->row;
    if (g->index == CELL_NULL)
        printf("GPU -  %s  is gone", words_name(g));
    else
        printf("GPU %" PRId64 "  %s%s", g->index, words_name(g), g->up ? "" : "  does not answer");
    if (r->gpu_util != CELL_NULL)
        printf("  use %" PRId64 " %%", r->gpu_util);
    words_memory(r->memory_used, r->memory_total, words, sizeof words);
    if (*words)
        printf("  memory %s", words);
    if (r->temperature != CELL_NULL)
        printf("  %" PRId64 " C", r->temperature);
    if (r->power != CELL_NULL)
        printf("  %.0f W", (double)r->power * 1e-3);
    if (r->clock_sm != CELL_NULL)
        printf("  %s %" PRId64 " MHz", words_clock(g), r->clock_sm);
    words_throttle(r->throttle, g->vendor, words, sizeof words);
    if (*words)
        printf("  throttled: %s", words);
    if (g->xids)
        printf("  %" PRId64 " XID error%s", g->xids, words_plural(g->xids));
    putchar('\n');
}

static int print_processes(struct view *v)
{
    struct buf line;
    int rows = (int)v->now.process_count + 1, rc = CMD_OK;
    buf_init(&line, 16 << 10);
    for (int i = 0; i < rows && rc == CMD_OK; i++) {
        struct snapshot one = v->now; /* row by row: a canvas may have too few rows for all */
        one.processes += i ? i - 1 : 0;
        one.process_count = i ? 1 : 0;
        if (canvas_size(&v->canvas, 2, cmd_width(stdout)))
            rc = cmd_fail("monitor", "out of memory");
        else
            screen_table(&v->screen, &one, &v->canvas, 0, i ? 2 : 1);
        buf_clear(&line);
        canvas_row(&v->canvas, i ? 1 : 0, &line);
        printf("%s\n", buf_cstr(&line));
    }
    buf_fini(&line);
    return rc;
}

static int print_values(struct view *v)
{
    if (v->json) {
        printf("%s\n", buf_cstr(&v->source.text));
        return cmd_finish_output("monitor");
    }
    printf("%s  %s", time_of_day(), v->now.host);
    if (v->now.cpu != CELL_NULL)
        printf("  CPU %.0f %%", (double)v->now.cpu * 0.01);
    printf("%s%s\n", *v->now.problem ? "  " : "", v->now.problem);
    for (size_t i = 0; i < v->now.gpu_count; i++)
        print_gpu(&v->now.gpus[i]);
    int rc = v->once && v->now.process_count ? print_processes(v) : CMD_OK;
    return rc ? rc : cmd_finish_output("monitor");
}

static int run_lines(struct view *v)
{
    int rc = first_look(v) ? cmd_fail("monitor", "%s", v->trouble.text) : CMD_OK;
    while (!rc) {
        rc = v->quiet ? CMD_OK : print_values(v);
        if (rc || v->once || !terminal_wait((int)(v->interval / MS)))
            break;
        rc = look(v) ? cmd_fail("monitor", "%s", v->trouble.text) : CMD_OK;
    }
    return rc;
}

/* ---- the view ------------------------------------------------------------------------------ */

static bool draw(struct view *v)
{
    int rows, columns;
    terminal_size(&rows, &columns);
    if (canvas_size(&v->canvas, rows, columns))
        return false;
    v->screen.away = v->trouble.code ? v->trouble.text : NULL;
    v->screen.clock = time_of_day();
    screen_draw(&v->screen, &v->now, &v->canvas);
    terminal_show(&v->canvas);
    return true;
}

/* Shows the view until q or a signal. A monitor that has ended may come back, so its socket is
 * tried again. */
static int run_view(struct view *v)
{
    int64_t next = clock_mono() + v->interval;
    while (draw(v)) {
        int64_t wait = next - clock_mono();
        int ms = wait <= 0 ? 0 : wait < LOOK_MOST_MS * MS ? (int)(wait / MS) + 1 : LOOK_MOST_MS;
        int key = terminal_key(ms);
        if (key == 'q' || key == TERMINAL_END)
            return CMD_OK;
        if (key != TERMINAL_NONE && screen_key(&v->screen, key, v->now.process_count))
            screen_sort(&v->screen, &v->now);
        if (clock_mono() < next)
            continue;
        (void)look(v);
        next = clock_mono() + v->interval;
    }
    return CMD_FAILED;
}

static int show(struct view *v)
{
    if (v->once || v->json || v->quiet || !terminal_is_there())
        return run_lines(v);
    if (first_look(v))
        return cmd_fail("monitor", "%s", v->trouble.text);
    if (!terminal_open())
        return cmd_fail("monitor", "there is no description of the terminal that TERM names: set "
                                   "another, or use --once");
    int rc = run_view(v);
    terminal_close();
    return rc ? cmd_fail("monitor", "out of memory") : CMD_OK;
}

/* Returns 0, or the exit code for a wrong command line. */
static int check_options(const struct view *v, const struct source_options *o)
{
    if (o->interval < 100 * MS || o->interval > 3600 * SECOND)
        return cmd_usage("monitor", "--interval is out of range: write 100ms to 1h; a number "
                                    "without a unit is ms");
    if (o->name && !o->log_path)
        return cmd_usage("monitor", "--name is of session logs: name their folder, too, with "
                                    "-o DIR");
    if (v->quiet && (v->once || v->json))
        return cmd_usage("monitor", "--quiet shows nothing: leave it out, or --once and --json");
    if (v->quiet && !o->log_path)
        return cmd_usage("monitor", "with --quiet nothing is shown, and without -o DIR nothing is "
                                    "kept: name a folder for session logs");
    return 0;
}

int cmd_monitor(int argc, char **argv)
{
    static struct view v; /* large */
    static const char *const keys[] = {"memory", "use", "gpu", "pid", "name", "owner", NULL};
    int operands = 0, sort = SORT_MEMORY;
    struct source_options o = {.interval = SECOND};
    struct err e = {0};
    const struct opt table[] = {
        {"once", 0, OPT_FLAG, &v.once, NULL, NULL, "Print the present values once, and end."},
        {"json", 0, OPT_FLAG, &v.json, NULL, NULL, "Print an object of JSON for each sample."},
        {"interval", 'i', OPT_MILLIS, &o.interval, "TIME", NULL,
         "How often values are taken: 100ms to 1h; a number without a unit is ms; default 1s."},
        {"sort", 0, OPT_CHOICE, &sort, "KEY", keys, "Order of the processes; default memory."},
        {"output", 'o', OPT_STRING, &o.log_path, "DIR", NULL,
         "Keep session logs there, as gpufl-monitor does; traced programs take the samples then."},
        {"name", 'n', OPT_STRING, &o.name, "NAME", NULL,
         "With -o: name of the application in the logs; default gpufl-monitor."},
        {"quiet", 'q', OPT_FLAG, &v.quiet, NULL, NULL,
         "With -o: show nothing, and keep the logs until a signal ends it."},
        {"run-dir", 0, OPT_STRING, &o.run_dir, "DIR", NULL,
         "Folder of the monitor; default: where traced programs look for one."},
        MONITOR_FOREIGN_OPTIONS,
        {0}};
    int rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (operands)
        return cmd_usage("monitor", "it takes options alone, not '%s'", argv[1]);
    rc = check_options(&v, &o);
    if (rc)
        return rc;
    v.interval = o.interval;
    v.screen.sort = (enum sort)sort;
    setlocale(LC_CTYPE, "");
    v.canvas.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    terminal_take_signals();
    rc = source_open(&v.source, &o, &e);
    v.screen.own = v.source.is_own;
    rc = rc ? cmd_fail("monitor", "%s", e.text) : show(&v);
    source_close(&v.source);
    snapshot_fini(&v.now);
    canvas_fini(&v.canvas);
    return rc;
}
