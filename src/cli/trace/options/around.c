/* around.c - see around.h: reads the options as the library does, except those that the program
 * sets in code. The options of an outer `gpufl trace` are left out, since this one replaces
 * them. */
#include "cli/trace/options/around.h"

#include "base/alloc.h"
#include "capture/options/options.h"

#include <stdio.h>
#include <stdlib.h>

static void say_nothing(void *arg, enum severity severity, const char *code, const char *text)
{
    (void)arg, (void)severity, (void)code, (void)text; /* the library reports it, in the program */
}

int trace_around_read(struct trace_around *a, const char *config_file)
{
    static const struct options_say nobody = {.fn = say_nothing};
    struct gpufl_options code;
    struct options o;
    const char *outer = getenv(OPTIONS_TRACE_VARIABLE);
    char *kept = outer ? mem_strdup(outer) : NULL;
    if (outer && !kept)
        return GPUFL_E_NOMEM;
    unsetenv(OPTIONS_TRACE_VARIABLE);
    gpufl_options_init(&code, sizeof code);
    code.config_file = config_file;
    int rc = options_resolve(&o, &code, true, &nobody);
    if (kept)
        setenv(OPTIONS_TRACE_VARIABLE, kept, 1);
    mem_free(kept);
    *a = (struct trace_around){0};
    if (!rc) {
        bool rate = option_asked(&o, OPT_system_sample_rate_ms);
        bool always = option_asked(&o, OPT_continuous_system_sampling);
        a->engine = (int)o.profiling_engine;
        a->samples =
            (!rate || o.system_sample_rate_ms > 0) && (!always || o.continuous_system_sampling);
        if (option_asked(&o, OPT_log_path))
            snprintf(a->log_path, sizeof a->log_path, "%s", o.log_path);
        if (option_asked(&o, OPT_app_name))
            snprintf(a->app_name, sizeof a->app_name, "%s", o.app_name);
    }
    options_free(&o);
    return rc;
}
