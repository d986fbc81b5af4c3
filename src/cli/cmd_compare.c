/* cmd_compare.c - `gpufl compare`: makes digests of two groups of sessions, and prints their
 * comparison. */
#include "cli/cmd.h"
#include "cli/fetched.h"

#include "analyze/compare/compare.h"
#include "analyze/insight/findings.h"
#include "analyze/model/load.h"
#include "analyze/model/model.h"
#include "analyze/read/discover.h"

#include <string.h>

static const struct cmd_text text = {
    "compare",
    "[options] A B",
    "Says what takes longer in B than in A. Each is a session's directory, or a\n"
    "directory of sessions that are repetitions of the same. Kernels and scopes are\n"
    "compared by the duration of a call; a statistical test says whether a difference\n"
    "is more than chance. The test compares sessions if both sides have several,\n"
    "otherwise calls.\n",
    "Examples:\n"
    "  gpufl compare before after            two runs, or two directories of runs\n"
    "  gpufl compare --least 5 before after  what changed by 5 % and more\n"
    "  gpufl compare --json a b | jq '.kernels[] | select(.verdict == \"slower\")'\n"
    "\n"
    "Exit codes: 0 compared; 1 nothing could be read or written, or damage makes\n"
    "kernels, copies, waits, memory or scopes of a session unknown (the comparison is\n"
    "there, of what is known); 2 bad usage.\n",
};

enum { TOP = 20, NAMES_MAX = 1 << 22, NAME_BYTES_MAX = 1 << 30, UNKNOWN_MAX = 1 << 12 };

struct arguments {
    bool json, color, no_color;
    int64_t top, least; /* rows, negative: not given; percent */
};

struct side {
    struct digest digests[COMPARE_SESSIONS];
    const struct digest *list[COMPARE_SESSIONS];
    size_t count;
    size_t damaged;    /* sessions of which something is unknown because of damage */
    char unknown[512]; /* what is unknown of the first of them */
};

/* Notes what is unknown of a session because its log is damaged. */
static void note_damage(struct side *s, const struct model *m)
{
    struct buf said;
    buf_init(&said, UNKNOWN_MAX);
    if (findings_damaged(m, &said) && !s->damaged++)
        snprintf(s->unknown, sizeof s->unknown, "%s: %s", model_text(m, m->facts.session),
                 buf_cstr(&said));
    buf_fini(&said);
}

static int read_session(struct side *s, const struct discover_session *d, bool alone, struct err *e)
{
    struct intern *names = NULL;
    const struct load_options o = {.progress = true};
    struct load_stats stats;
    struct model m;
    int rc = intern_open(&names, NAMES_MAX, NAME_BYTES_MAX);
    if (rc)
        return err_set(e, rc, "%s", err_text(rc));
    model_init(&m, names);
    rc = load_session(&m, d, &o, &stats, e);
    /* Only the first of the passes of one command counts as a run: it has the times. */
    if (!rc && (alone || m.facts.pass <= 1)) {
        struct digest *into = &s->digests[s->count];
        rc = digest_open(into, &m);
        note_damage(s, &m);
        s->list[s->count++] = into;
        if (rc)
            err_set(e, rc, "%s", err_text(rc));
    }
    model_fini(&m);
    intern_close(names);
    return rc;
}

static int read_side(struct side *s, const char *path)
{
    struct discover d;
    struct err e = {0};
    int rc = discover_open(&d, path, &e);
    if (rc)
        return cmd_fail("compare", "%s", e.text);
    if (d.count > COMPARE_SESSIONS)
        rc = err_set(&e, GPUFL_E_FULL, "%s has %zu sessions; %d a side can be compared", path,
                     d.count, COMPARE_SESSIONS);
    for (size_t i = 0; !rc && i < d.count; i++)
        rc = read_session(s, &d.sessions[i], d.count == 1, &e);
    if (!rc && !s->count)
        rc = err_set(&e, GPUFL_E_STATE,
                     "%s holds passes without that of engine Trace, which has the times; name one "
                     "session",
                     fetched_shown(path));
    discover_close(&d);
    return rc ? cmd_fail("compare", "%s", *e.text ? e.text : err_text(rc)) : CMD_OK;
}

static int write_comparison(const struct arguments *a, const struct comparison *c)
{
    size_t top = (size_t)(a->top >= 0 ? a->top : a->json ? 0 : TOP);
    bool color = a->color || (!a->no_color && cmd_color(stdout));
    int rc;
    if (a->json) {
        struct json_out j;
        json_out_init(&j, stdout);
        json_out_object(&j, NULL);
        compare_put(c, &j, top);
        json_out_close_object(&j);
        rc = json_out_finish(&j);
        fputc('\n', stdout);
    } else {
        rc = compare_text(c, stdout, top, cmd_width(stdout), color);
    }
    return rc && rc != GPUFL_E_IO ? cmd_fail("compare", "%s", err_text(rc))
                                  : cmd_finish_output("compare");
}

/* Says which sessions are damaged, after the comparison of what is known. */
static int say_damage(const struct side sides[COMPARE_SIDES])
{
    int rc = CMD_OK;
    for (int i = 0; i < COMPARE_SIDES; i++) {
        char more[64] = "";
        if (!sides[i].damaged)
            continue;
        if (sides[i].damaged > 1)
            snprintf(more, sizeof more, "; %zu sessions of it are damaged", sides[i].damaged);
        rc = cmd_fail("compare", "%c, session %s%s", 'A' + i, sides[i].unknown, more);
    }
    return rc;
}

static int compare_paths(const struct arguments *a, const char *const paths[COMPARE_SIDES])
{
    static struct side sides[COMPARE_SIDES]; /* large */
    struct comparison c = {0};
    int rc = read_side(&sides[0], paths[0]);
    if (!rc)
        rc = read_side(&sides[1], paths[1]);
    if (rc)
        goto done;
    rc = compare_open(&c, sides[0].list, sides[0].count, sides[1].list, sides[1].count,
                      (double)a->least / 100);
    rc = rc ? cmd_fail("compare", "%s", err_text(rc)) : write_comparison(a, &c);
    rc = rc ? rc : say_damage(sides);
    compare_close(&c);
done:
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (size_t i = 0; i < sides[side].count; i++)
            digest_close(&sides[side].digests[i]);
    return rc;
}

int cmd_compare(int argc, char **argv)
{
    struct arguments a = {.top = -1, .least = (int64_t)(100 * COMPARE_LEAST)};
    const struct opt table[] = {
        {"json", 0, OPT_FLAG, &a.json, NULL, NULL, "Write JSON with every row."},
        {"least", 0, OPT_INT, &a.least, "PERCENT", NULL,
         "Smallest change of a call's duration that is reported (2)."},
        {"top", 0, OPT_INT, &a.top, "N", NULL,
         "Rows of each table, 0 for all (text 20, JSON all)."},
        {"color", 0, OPT_FLAG, &a.color, NULL, NULL, "Use colours (default: on a terminal)."},
        {"no-color", 0, OPT_FLAG, &a.no_color, NULL, NULL, "Use none."},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int operands = 0, rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (operands != 2 || !*argv[1] || !*argv[2])
        return cmd_usage("compare", "A and B: two sessions, or two directories of sessions");
    if (a.color && a.no_color)
        return cmd_usage("compare", "--color and --no-color exclude each other");
    if (a.least > 1000)
        return cmd_usage("compare", "--least takes percent, from 0 to 1000");
    if (a.top > 1000000000)
        return cmd_usage("compare", "--top takes a number of rows, 0 for all");
    const char *const paths[COMPARE_SIDES] = {argv[1], argv[2]};
    return compare_paths(&a, paths);
}
