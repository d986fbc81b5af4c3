/* year.c - see year.h. */
#include "bench/meta/year.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t day_ns = 86400000000000;

static void must(int rc, const struct err *e)
{
    if (rc == 0)
        return;
    fprintf(stderr, "a year of sessions: %s\n", e->text);
    exit(1);
}

void year_names(const struct year *y, int i, struct year_names *out)
{
    out->day = YEAR_FIRST + (int64_t)i * YEAR_DAYS / y->sessions;
    snprintf(out->session, YEAR_NAME, "%08x-0000-4000-8000-%012x", i * 2654435761u, i);
    snprintf(out->host, YEAR_NAME, "node-%03d", i % y->hosts);
    out->number = (i + i / y->hosts) % y->apps; /* each application comes to each host */
    snprintf(out->app, YEAR_NAME, "train-%d.py", out->number);
    for (int g = 0; g < 2; g++)
        snprintf(out->gpus[g], YEAR_NAME, "GPU-%08x-1111-2222-3333-%012x", i % y->hosts * 8 + g, g);
}

static void put_findings(const struct year *y, const char *id)
{
    const struct meta_finding findings[] = {
        {.session = id, .rule = "sync", .severity = 2, .gives_back = 900, .title = "Waits"},
        {.session = id, .rule = "copies", .severity = 1, .gives_back = 500, .title = "Copies"},
        {.session = id, .rule = "spills", .severity = 0, .gives_back = 100, .title = "Spills"}};
    const struct meta_analysis a = {
        .session = id, .kind = "report", .rules = y->rules, .final = true, .body = {"x", 1}};
    struct err e = {0};
    must(meta_analysis_put(y->m, y->workspace, &a, findings, 3, &e), &e);
}

static void put_parts(const struct year *y, const struct year_names *of)
{
    static const char *const kinds[] = {"kernel", "kernel", "scope", "line", "kernel"};
    struct meta_rollup_part parts[YEAR_PARTS];
    char names[YEAR_PARTS][YEAR_NAME];
    struct err e = {0};
    for (int p = 0; p < YEAR_PARTS; p++) {
        names[p][0] = '\0'; /* the last one is all others */
        if (p < YEAR_PARTS - 1)
            snprintf(names[p], YEAR_NAME, "_Z%dapplication%d_name%dPfS_S_", p, of->number, p);
        parts[p] = (struct meta_rollup_part){.kind = kinds[p / 10],
                                             .day = of->day,
                                             .app = of->app,
                                             .host = of->host,
                                             .name = names[p],
                                             .calls = 100 + p,
                                             .total = 1e6 * (p + 1)};
    }
    must(meta_rollup_put(y->m, y->workspace, of->session, parts, YEAR_PARTS, &e), &e);
}

double year_put(const struct year *y, int i)
{
    struct year_names of;
    struct meta_usage usage[2];
    struct err e = {0};
    year_names(y, i, &of);
    const struct meta_session s = {.id = of.session,
                                   .app = of.app,
                                   .host = of.host,
                                   .pid = i,
                                   .engine = "Trace",
                                   .format = "gpufl",
                                   .started = of.day * day_ns};
    must(meta_session_put(y->m, y->workspace, &s, NULL, NULL, &e), &e);
    for (int g = 0; g < 2; g++)
        usage[g] = (struct meta_usage){of.day, of.gpus[g], of.host, of.app, 1000000,
                                       5000,   100 + g,    1000000, 600000, 70};
    must(meta_usage_put(y->m, y->workspace, of.session, usage, 2, &e), &e);
    put_findings(y, of.session);
    double begin = (double)clock_mono() / 1e9;
    put_parts(y, &of);
    double took = (double)clock_mono() / 1e9 - begin;
    must(meta_session_end(y->m, y->workspace, of.session, "ended", of.day * day_ns + 1000000, &e),
         &e);
    return took;
}

void year_drop(const struct year *y, int i)
{
    struct year_names of;
    struct err e = {0};
    year_names(y, i, &of);
    must(meta_session_drop(y->m, y->workspace, of.session, 1, &e), &e);
}
