/* cmd_report.c - `gpufl report`: turns arguments into options of the report, and writes the
 * report. */
#include "cli/cmd.h"
#include "cli/fetched.h"

#include "base/buf.h"

#include <gpufl/analysis.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

static const struct cmd_text text = {
    "report",
    "[options] PATH",
    "Says where the time of recorded sessions went and what to change first, on one\n"
    "screen; --full and --section say more. PATH is a session's directory,\n"
    "one part of its log, or a directory of sessions: these are listed and then\n"
    "reported together. Sessions of the public GPUFlight client are read as well, and\n"
    "every part may be plain or compressed. A damaged line costs that line and is\n"
    "counted. s3://BUCKET/PREFIX/SESSION is fetched from an archive.\n",
    "Examples:\n"
    "  gpufl report run1                 where the time of the sessions in run1/ went\n"
    "  gpufl report --full run1          all of it\n"
    "  gpufl report --section kernels,idle --top 30 run1   these tables, 30 rows each\n"
    "  gpufl report --stacks run1        with the stacks of the lines that wait\n"
    "  gpufl report --flame run1 > run1.txt   for speedscope or flamegraph.pl\n"
    "  gpufl report --json run1 | jq .   for programs; docs/report.md has the keys\n"
    "\n"
    "Exit codes: 0 reported; 1 nothing could be read or written, or damage makes\n"
    "kernels, copies, waits, memory or scopes unknown (the report is there, and\n"
    "says which); 2 bad usage.\n",
};

enum { SECTIONS_MAX = 64, TEXT_MAX = 1 << 16 };

struct arguments {
    bool json, flame, stacks, color, no_color, brief, full;
    int64_t top; /* rows; negative: not given */
    const char *output, *kernel;
    const char *names[SECTIONS_MAX]; /* of sections, as they were given */
    struct opt_list sections;
    struct buf all; /* these names, commas between */
};

static int check(const struct arguments *a, int operands, char **argv)
{
    int rc = cmd_one_path("report", operands, argv);
    if (rc)
        return rc;
    if (a->json && a->flame)
        return cmd_usage("report", "--json and --flame exclude each other");
    if (a->kernel && a->flame)
        return cmd_usage("report", "--kernel and --flame exclude each other");
    if (a->brief + a->full + (a->sections.count > 0) > 1)
        return cmd_usage("report", "--brief, --full and --section exclude each other");
    if (a->sections.count && (a->kernel || a->flame))
        return cmd_usage("report", "--section goes with neither --kernel nor --flame");
    if (a->color && a->no_color)
        return cmd_usage("report", "--color and --no-color exclude each other");
    if (a->top > 1000000000)
        return cmd_usage("report", "--top takes a number of rows, 0 for all");
    return CMD_OK;
}

/* Fills in the options of the report. JSON has all rows of its tables unless --top says otherwise;
 * text has its default number. */
static void fill(struct arguments *a, FILE *out, struct gpufl_report_options *o)
{
    gpufl_report_options_init(o, sizeof *o);
    o->format = a->json ? GPUFL_REPORT_JSON : a->flame ? GPUFL_REPORT_FLAME : GPUFL_REPORT_TEXT;
    if (a->top >= 0)
        o->top = (int)a->top;
    else if (a->json)
        o->top = 0;
    o->color = a->color || (!a->no_color && cmd_color(out));
    o->width = cmd_width(out);
    o->progress = true;
    o->brief = a->brief;
    o->full = a->full;
    for (size_t i = 0; i < a->sections.count; i++)
        buf_printf(&a->all, "%s%s", i ? "," : "", a->names[i]);
    o->sections = buf_cstr(&a->all);
    o->stacks = a->stacks;
    o->kernel = a->kernel;
}

static int write_report(struct arguments *a, const char *path, FILE *out)
{
    struct gpufl_report_options o;
    char error[512] = "";
    bool damaged = false;
    char shown[PATH_MAX + 2];
    const char *named = fetched_shown(path), *q = cmd_quote(named);
    buf_init(&a->all, TEXT_MAX);
    fill(a, out, &o);
    snprintf(shown, sizeof shown, "%s%s%s", q, named, q);
    o.shown = shown;
    o.damaged = &damaged;
    int rc = gpufl_report(path, &o, out, error, sizeof error);
    buf_fini(&a->all);
    if (rc == GPUFL_E_INVAL && a->sections.count)
        return cmd_usage("report", "--section: %s", error);
    return rc || damaged ? cmd_fail("report", "%s", error) : CMD_OK;
}

int cmd_report(int argc, char **argv)
{
    struct arguments a = {.top = -1};
    a.sections = (struct opt_list){.items = a.names, .max = SECTIONS_MAX};
    const struct opt table[] = {
        {"json", 0, OPT_FLAG, &a.json, NULL, NULL, "Write JSON with exact integers."},
        {"flame", 0, OPT_FLAG, &a.flame, NULL, NULL,
         "Write collapsed stacks with ns, for flamegraph.pl and speedscope."},
        {"stacks", 0, OPT_FLAG, &a.stacks, NULL, NULL,
         "Text: how the program came to the lines that wait."},
        {"kernel", 0, OPT_STRING, &a.kernel, "NAME", NULL,
         "The instructions of kernels with NAME in theirs: SASS with source and samples."},
        {"top", 0, OPT_INT, &a.top, "N", NULL,
         "Rows of the kernel and scope tables, 0 for all (text 10, JSON all)."},
        {"full", 0, OPT_FLAG, &a.full, NULL, NULL, "Text: the first screen and all sections."},
        {"section", 0, OPT_LIST, &a.sections, "NAME", NULL,
         "This section alone: kernels, idle, ...; several by commas or by repeating."},
        {"brief", 'b', OPT_FLAG, &a.brief, NULL, NULL,
         "Text: only where the time went, and the session's summary."},
        {"output", 'o', OPT_STRING, &a.output, "FILE", NULL, "Write to FILE instead of stdout."},
        {"color", 0, OPT_FLAG, &a.color, NULL, NULL, "Use colours (default: on a terminal)."},
        {"no-color", 0, OPT_FLAG, &a.no_color, NULL, NULL, "Use none."},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int operands = 0, rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    rc = check(&a, operands, argv);
    if (rc)
        return rc;
    if (!a.output) {
        rc = write_report(&a, argv[1], stdout);
        return rc ? rc : cmd_finish_output("report");
    }
    FILE *out = fopen(a.output, "we");
    if (!out)
        return cmd_fail("report", "cannot write %s: %s", a.output, strerror(errno));
    rc = write_report(&a, argv[1], out);
    if (fclose(out) != 0 && !rc)
        rc = cmd_fail("report", "cannot write %s: %s", a.output, strerror(errno));
    return rc;
}
