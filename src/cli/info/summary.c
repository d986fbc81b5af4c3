/* summary.c - see summary.h.
 *
 * The order is that of a reader's questions: can anything be captured, with what, what works, what
 * is to be done. Engines that lack one thing share a line, and advice that several facts give is
 * printed once. Called by one thread only. */
#include "cli/info/summary.h"

#include "capture/options/options.h"
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>

enum { LABEL = 19, INDENT = 2, LINE = 512 };

#define ENGINE_FACT "engine "

static bool is_engine(const struct probe_fact *f)
{
    return strncmp(f->name, ENGINE_FACT, sizeof ENGINE_FACT - 1) == 0;
}

static const char *engine_of(const struct probe_fact *f)
{
    return f->name + sizeof ENGINE_FACT - 1;
}

static bool is_gpu(const struct probe_fact *f)
{
    return strncmp(f->name, "GPU ", 4) == 0;
}

/* Writes " label text", wrapped below the text. */
static void put_line(struct buf *b, const char *label, const char *text, int width)
{
    buf_printf(b, "%*s%-*s", INDENT, "", LABEL, label);
    cmd_wrap(b, text, INDENT + LABEL, width);
}

/* ---- the verdict ------------------------------------------------------------------------- */

static void count_engines(const struct probe *p, int *works, int *all)
{
    *works = *all = 0;
    for (int i = 0; i < p->fact_count; i++)
        if (is_engine(&p->facts[i])) {
            ++*all;
            *works += p->facts[i].works;
        }
}

/* Returns true if sessions take a backend without a GPU, because the user wants that. */
static bool is_without_gpu(const struct info_found *f)
{
    return f->named && (f->simulated || strcmp(f->backend, "none") == 0);
}

static void put_verdict(struct buf *b, const struct info_found *f, bool color, int width)
{
    int works, all;
    char line[LINE];
    count_engines(f->gpu, &works, &all);
    bool whole = f->library && f->gpu->usable && works == all && !is_without_gpu(f);
    if (!f->library)
        snprintf(line, sizeof line, "gpufl %s cannot capture here: its library is missing.",
                 GPUFL_VERSION);
    else if (is_without_gpu(f))
        snprintf(line, sizeof line,
                 "gpufl %s captures %s here: GPUFL_BACKEND names the backend %s.", GPUFL_VERSION,
                 f->simulated ? "a simulated GPU" : "scopes and host metrics only", f->backend);
    else if (!f->gpu->usable)
        snprintf(line, sizeof line,
                 "gpufl %s finds no GPU that it can use here: only scopes and host metrics are "
                 "captured.",
                 GPUFL_VERSION);
    else if (all == 0)
        snprintf(line, sizeof line,
                 "gpufl %s can sample the GPUs here (backend %s), which has no engines.",
                 GPUFL_VERSION, f->backend);
    else if (whole)
        snprintf(line, sizeof line, "gpufl %s can capture here (backend %s), with every engine.",
                 GPUFL_VERSION, f->backend);
    else
        snprintf(line, sizeof line,
                 "gpufl %s can capture here (backend %s), with %d of %d engines.", GPUFL_VERSION,
                 f->backend, works, all);
    if (color)
        buf_str(b, whole ? "\033[32m" : "\033[33m");
    cmd_wrap(b, line, 0, width);
    if (color)
        buf_str(b, "\033[0m");
}

/* ---- what is here ------------------------------------------------------------------------ */

static int count_gpus(const struct probe *p)
{
    int n = 0;
    for (int i = 0; i < p->fact_count; i++)
        n += is_gpu(&p->facts[i]);
    return n;
}

/* Lists what works; the rest is under "to do". */
static void put_facts(struct buf *b, const struct probe *p, int width)
{
    int gpus = count_gpus(p), shown = gpus > INFO_GPUS_SHOWN ? 1 : gpus;
    char line[LINE];
    for (int i = 0; i < p->fact_count; i++) {
        const struct probe_fact *f = &p->facts[i];
        if (is_engine(f) || (!f->works && *f->advice) || (is_gpu(f) && shown-- <= 0))
            continue;
        put_line(b, f->name, f->value, width);
        if (is_gpu(f) && shown == 0 && gpus > INFO_GPUS_SHOWN) {
            snprintf(line, sizeof line, "and %d more (gpufl info --engines)", gpus - 1);
            put_line(b, "", line, width);
        }
    }
}

/* ---- engines ----------------------------------------------------------------------------- */

static void put_working(struct buf *b, const struct probe *p, int width)
{
    char list[LINE] = "";
    size_t n = 0;
    for (int i = 0; i < p->fact_count && n < sizeof list; i++)
        if (is_engine(&p->facts[i]) && p->facts[i].works)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "",
                                  engine_of(&p->facts[i]));
    if (n)
        put_line(b, "engines", list, width);
}

/* Prints on one line the engines that lack what fact `first` lacks; prints nothing if an earlier
 * fact has printed that line. */
static void put_lacking(struct buf *b, const struct probe *p, int first, int width)
{
    char list[LINE] = "";
    size_t n = 0;
    const char *lack = p->facts[first].value;
    for (int i = 0; i < p->fact_count && n < sizeof list; i++) {
        const struct probe_fact *f = &p->facts[i];
        if (!is_engine(f) || f->works || strcmp(f->value, lack) != 0)
            continue;
        if (i < first)
            return;
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", engine_of(f));
    }
    if (n < sizeof list)
        snprintf(list + n, sizeof list - n, ": %s", lack);
    put_line(b, "unavailable", list, width);
}

/* ---- what to do -------------------------------------------------------------------------- */

struct advice {
    struct buf *b;
    int count, width;
};

/* Writes an advice. value: what the fact about the subject says; left out where the text begins
 * with the subject. */
static void put_advice(struct advice *a, const char *subject, const char *value, const char *text)
{
    char line[LINE];
    if (a->count++ == 0)
        buf_str(a->b, "\nto do\n");
    bool named = strncmp(text, subject, strlen(subject)) == 0;
    if (named)
        snprintf(line, sizeof line, "%s", text);
    else
        snprintf(line, sizeof line, "%s (%s): %s", subject, value, text);
    buf_printf(a->b, "%*s", INDENT, "");
    cmd_wrap(a->b, line, 2 * INDENT, a->width);
}

/* Writes the advice of facts about engines, or of all other facts. Advice about engines only refers
 * to that of the other facts, so the caller asks for it only if nothing else is wrong. */
static void put_advices(struct advice *a, const struct probe *p, bool engines)
{
    const char *before = "";
    for (int i = 0; i < p->fact_count; i++) {
        const struct probe_fact *f = &p->facts[i];
        if (!*f->advice || is_engine(f) != engines || strcmp(f->advice, before) == 0)
            continue;
        put_advice(a, engines ? engine_of(f) : f->name, f->value, f->advice);
        before = f->advice;
    }
}

/* Writes why one of two vendors' backends is taken, and how the other one is. */
static void put_other(struct buf *b, const struct info_found *f, int width)
{
    char line[LINE];
    const char *where = f->gpu->usable ? "" : ", though it finds no GPU";
    if (f->named)
        snprintf(line, sizeof line,
                 "backend %s can be used, too; sessions take %s because GPUFL_BACKEND names it%s",
                 f->other, f->backend, where);
    else
        snprintf(line, sizeof line,
                 "backend %s can be used, too; sessions take %s, which comes first, except for "
                 "programs that have loaded the runtime of %s alone. GPUFL_BACKEND=%s takes %s",
                 f->other, f->backend, f->other, f->other, f->other);
    put_line(b, "also here", line, width);
}

/* Writes what to do if GPUFL_BACKEND is the name of no backend. */
static void put_unnamed(struct advice *a, const char *setting)
{
    char names[128], text[256];
    option_allowed(OPT_backend, names, sizeof names);
    snprintf(text, sizeof text, "it names no backend, so that sessions take Auto: set it to %s",
             names);
    put_advice(a, "GPUFL_BACKEND", setting, text);
}

void info_summary(struct buf *b, const struct info_found *f, bool color, int width)
{
    struct advice a = {b, 0, width};
    put_verdict(b, f, color, width);
    if (f->library)
        put_line(b, "library", f->library, width);
    if (is_without_gpu(f) && f->gpu->usable)
        put_line(b, "GPUs", "what follows is of the GPUs here, which sessions leave alone", width);
    put_facts(b, f->gpu, width);
    if (f->other)
        put_other(b, f, width);
    put_facts(b, f->tools, width);
    put_working(b, f->gpu, width);
    for (int i = 0; i < f->gpu->fact_count; i++)
        if (is_engine(&f->gpu->facts[i]) && !f->gpu->facts[i].works)
            put_lacking(b, f->gpu, i, width);
    if (!f->library)
        put_advice(&a, "library", "not found", f->library_advice);
    if (f->setting && !f->named)
        put_unnamed(&a, f->setting);
    put_advices(&a, f->gpu, false);
    if (!a.count)
        put_advices(&a, f->gpu, true);
    put_advices(&a, f->tools, false);
    buf_printf(b, "\nNext: %s. More: gpufl info --engines, --metrics, --options\n",
               f->gpu->usable ? "gpufl trace ./program" : "gpufl sim, which needs no GPU");
}
