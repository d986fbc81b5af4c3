/* passes.c - see passes.h.
 *
 * Trace is always the first of the passes: times come from a run that no deeper engine slows down,
 * and the data of this pass is useful even if a later pass fails. */
#include "cli/trace/options/passes.h"

#include "capture/options/options.h"
#include "cli/cmd.h"
#include "wire/engine.h"

#include <string.h>

static int put(struct trace_request *r, int engine)
{
    if (engine_table[engine].no_pass)
        return cmd_usage("trace", "--passes: %s cannot be a pass: %s", option_engines[engine],
                         engine_table[engine].no_pass);
    for (unsigned i = 0; i < r->pass_count; i++)
        if (r->passes[i] == engine)
            return cmd_usage("trace", "--passes names %s twice", option_engines[engine]);
    unsigned at = engine == GPUFL_ENGINE_TRACE ? 0 : r->pass_count;
    for (unsigned i = r->pass_count; i > at; i--)
        r->passes[i] = r->passes[i - 1];
    r->passes[at] = engine;
    r->pass_count++;
    return CMD_CONTINUE;
}

/* Returns the engines that can be passes, for a sentence. */
static const char *list_engines(char *out, size_t size)
{
    const struct engine_row *last = NULL;
    size_t len = 0;
    *out = '\0';
    for (const struct engine_row *r = engine_table; r->name && len < size; r++) {
        if (r->no_pass)
            continue;
        if (last)
            len += (size_t)snprintf(out + len, size - len, "%s%s", len ? ", " : "", last->name);
        last = r;
    }
    if (last && len < size)
        snprintf(out + len, size - len, "%s%s", len ? " and " : "", last->name);
    return out;
}

static int parse(struct trace_request *r)
{
    const char *at = r->passes_given;
    for (;;) {
        size_t len = strcspn(at, ",");
        char name[32], engines[256];
        const char *near = NULL;
        snprintf(name, sizeof name, "%.*s", (int)len, at);
        int engine = opt_choice(name, option_engines, &near);
        if (engine < 0)
            return near
                       ? cmd_usage("trace", "--passes: there is no engine '%s'; did you mean '%s'?",
                                   name, near)
                       : cmd_usage("trace", "--passes: there is no engine '%s'; %s can be passes",
                                   name, list_engines(engines, sizeof engines));
        int rc = put(r, engine);
        if (rc != CMD_CONTINUE)
            return rc;
        if (!at[len])
            return CMD_CONTINUE;
        at += len + 1;
    }
}

/* Refuses options that end or cut a run by the clock: every pass has to do the same work. */
static int check_others(const struct trace_request *r)
{
    const struct {
        bool given;
        const char *option, *why;
    } others[] = {
        {r->engine_given >= 0, "--engine", "each pass has an engine of its own"},
        {r->duration != 0, "--duration", "each pass records a whole run"},
        {r->windows || r->after || r->lasts || r->in_scope || r->after_launches || r->launches,
         "windows", "each pass records a whole run"},
        {r->yield, "--yield-cupti", "no engine could run"},
        {trace_options_setting(r, "profiling_engine") != NULL, "--option profiling_engine",
         "each pass has an engine of its own"},
        {trace_options_setting(r, "log_format") != NULL, "--option log_format",
         "the public client's rows have no place for passes"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return cmd_usage("trace", "--passes excludes %s: %s", others[i].option, others[i].why);
    return CMD_CONTINUE;
}

int trace_passes_parse(struct trace_request *r)
{
    if (!r->passes_given)
        return CMD_CONTINUE;
    int rc = parse(r);
    rc = rc == CMD_CONTINUE ? check_others(r) : rc;
    if (rc != CMD_CONTINUE)
        return rc;
    if (r->passes[0] != GPUFL_ENGINE_TRACE)
        return cmd_usage("trace", "--passes needs Trace among them: times come from that pass");
    if (r->pass_count < 2)
        return cmd_usage("trace", "--passes needs two engines or more: for one there is --engine");
    return CMD_CONTINUE;
}

bool trace_passes_ask(const struct trace_request *r, unsigned bits)
{
    if (!r->pass_count)
        return r->engine >= 0 && engine_table[r->engine].asks & bits;
    bool asks = false;
    for (unsigned i = 0; i < r->pass_count; i++)
        asks |= (engine_table[r->passes[i]].asks & bits) != 0;
    return asks;
}
