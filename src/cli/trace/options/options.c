/* options.c - reads the command line of `gpufl trace`.
 *
 * Everything that can be wrong with it is found here, before anything is created or started: a
 * usage error never costs a run of the program. Called by one thread only. */
#include "cli/trace/options/options.h"

#include "capture/options/options.h"
#include "cli/cmd.h"
#include "cli/trace/options/around.h"
#include "cli/trace/options/passes.h"
#include "cli/trace/options/settings.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

enum { TOP_MOST = 1000000, GROUP_MOST = 12 /* rows of a part of the table */ };
static const int64_t EVERY_MOST = INT64_C(86400000000000); /* ns */

/* Lists values of --stacks, and the library's options for them. */
enum { STACKS_NOT_GIVEN = -1, STACKS_NONE, STACKS_SYNC, STACKS_LAUNCH };
static const char *const stacks[] = {"none", "sync", "launch", NULL};

/* Lists values of --pc-kernels, which are the library's. */
enum { PC_KERNELS_NOT_GIVEN = -1 };
static const char *const pc_kernels[] = {"all", "none", "windows", NULL};

/* Lists the values of --ranges, which are the library's. */
enum { RANGES_NOT_GIVEN = -1 };
static const char *const ranges[] = {"scopes", "kernels", NULL};

#define MS INT64_C(1000000)
#define US INT64_C(1000)

/* Stands for --system-interval where it was not given, and the interval used then. */
#define INTERVAL_NOT_GIVEN INT64_MIN
#define INTERVAL_DEFAULT   "100"

static const struct cmd_text text = {
    .name = "trace",
    .synopsis = "[options] [--] COMMAND [ARG]...\n",
    .about = "Runs COMMAND and captures what it and its child processes do on the GPU,\n"
             "without changing them; reports at the end where the time went. The program\n"
             "keeps stdin, stdout and the terminal; gpufl prints on stderr, and only after the\n"
             "program's end. Each process that uses the GPU writes a session of its own below\n"
             "the output directory.\n",
    .more = "Examples:\n"
            "  gpufl trace ./train --epochs 1              run it and report\n"
            "  gpufl trace -o run1 -- python train.py      keep the session logs in run1/\n"
            "  gpufl trace -e Sync -- python train.py      which line waits, at low cost\n"
            "  gpufl trace -e PcSampling --pc-kernels none ./serve   why kernels stall\n"
            "  gpufl trace --passes Trace,PcSampling -- ./app   two runs, one report\n"
            "  gpufl trace --duration 30s ./serve          capture 30 s; the program runs on\n"
            "  gpufl trace --after 30s --for 2s ./serve    record two seconds of it\n"
            "  gpufl trace -e PcSampling --pc-kernels none --every 60s --for 1s \\\n"
            "      --option window_detach=true ./serve     one second a minute\n"
            "  gpufl trace --json --report r.json ./train  the report for a program to read\n"
            "  gpufl trace --option enable_memory_tracking=true ./train\n"
            "\n"
            "Files:\n"
            "  ./gpufl-NAME-YYYYmmdd-HHMMSS-ID/SESSION/CHANNEL.log   -o names the directory\n"
            "  with --passes a directory each between: 1-Trace, 2-PcSampling\n"
            "\n"
            "Signals:\n"
            "  Ctrl-C reaches the program once; a second one also prints what is on disk at\n"
            "  once. TERM, HUP, USR1, USR2 and QUIT sent to gpufl reach the program, too.\n"
            "\n"
            "Exit codes:\n"
            "  the program's own; 128+N if signal N ended it; 127 if the command was not\n"
            "  found, 126 if it could not be executed; 2 for a wrong command line; 3 if the\n"
            "  program could not be started, or logs have no place and --anyway is not given.\n"
            "  A capture that fails never changes the exit code. With --passes it is that of\n"
            "  the first pass that fails; no further pass is run.\n"
            "\n"
            "Environment:\n"
            "  GPUFL_LIBRARY  path of libgpufl.so, if not the one installed with gpufl\n"
            "  GPUFL_FORCE_ENGINE  overrides the engine that the program's code sets; -e\n"
            "                      takes precedence\n"
            "  GPUFL_BACKEND  None: no GPU library is asked. Every option of the library has\n"
            "                 such a variable (see `gpufl info --options`)\n"
            "  NO_COLOR       set: no colours\n",
};

/* Checks options that only some engines accept. */
static int check_engines(const struct trace_request *r)
{
    const struct {
        bool given;
        const char *option;
        enum option_id id;
    } rows[] = {
        {r->pc_kernels != PC_KERNELS_NOT_GIVEN, "--pc-kernels", OPT_pc_kernel_collect},
        {r->metrics != NULL, "--metrics", OPT_counter_metrics},
        {r->ranges != RANGES_NOT_GIVEN, "--ranges", OPT_range_mode},
        {r->interval != 0, "--interval", OPT_pm_sampling_interval_us},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *names;
        unsigned bits = option_engines_of(rows[i].id, &names);
        if (rows[i].given && !trace_passes_ask(r, bits))
            return cmd_usage("trace", "%s goes with --engine %s", rows[i].option, names);
    }
    return CMD_CONTINUE;
}

/* Checks what the parser cannot: limits of values, and options against each other. */
static int check(const struct trace_request *r, int operands)
{
    struct err e = {0};
    char pair[TRACE_SETTING_SIZE];
    for (size_t i = 0; i < r->settings.count; i++)
        if (setting_check(r->settings.items[i], pair, sizeof pair, &e))
            return cmd_usage("trace", "%s", e.text);
    if (operands == 0 || !r->command[0][0])
        return cmd_usage("trace", "there is no command to run");
    int rc = check_engines(r);
    if (rc != CMD_CONTINUE)
        return rc;
    if (r->interval && (r->interval < 10 * US || r->interval > 1000 * MS))
        return cmd_usage("trace", "--interval must be between 10us and 1s");
    if (r->kill && r->duration == 0)
        return cmd_usage("trace", "--kill ends the program after --duration, which is not given");
    if (r->after < 0 || r->lasts < 0 || (r->after && r->after < MS) || (r->lasts && r->lasts < MS))
        return cmd_usage("trace", "--after and --for must be at least 1ms");
    if (r->every && (r->launches || r->after_launches))
        return cmd_usage("trace", "--every goes with --after and --for, not with launches");
    if (r->every && (r->lasts == 0 || r->every <= r->lasts))
        return cmd_usage("trace", "--every must be longer than --for, which it needs");
    if (r->every > EVERY_MOST)
        return cmd_usage("trace", "--every must be a day at most");
    if (r->in_scope && (!*r->in_scope || strchr(r->in_scope, '\n')))
        return cmd_usage("trace", "--in-scope needs the name of a scope, in one line");
    if (r->no_report && (r->report_file || r->json))
        return cmd_usage("trace", "--no-report excludes --%s", r->json ? "json" : "report");
    if (r->duration < 0 || (r->duration > 0 && r->duration < MS))
        return cmd_usage("trace", "--duration must be at least 1ms");
    bool interval = r->system_interval != INTERVAL_NOT_GIVEN;
    if (interval && r->system_interval != 0 && r->system_interval < MS)
        return cmd_usage("trace", "--system-interval must be 0 or at least 1ms");
    if (r->top < TRACE_TOP_DEFAULT || r->top > TOP_MOST)
        return cmd_usage("trace", "--top must be between 0 and %d", TOP_MOST);
    if (r->output && !*r->output)
        return cmd_usage("trace", "--output needs the name of a directory");
    if ((r->name && strchr(r->name, '\n')) || (r->output && strchr(r->output, '\n')))
        return cmd_usage("trace", "a name cannot hold a line break");
    return CMD_CONTINUE;
}

/* Sets what follows from the options as they were given. */
static int settle(struct trace_request *r, char **argv, int operands)
{
    r->command = argv + 1;
    r->command[operands] = NULL;
    int rc = trace_around_read(&r->around, trace_options_setting(r, "config_file"));
    if (rc)
        return cmd_fail("trace", "%s", err_text(rc));
    const char *setting = trace_options_setting(r, "profiling_engine"), *near;
    int named = setting ? opt_choice(setting, option_engines, &near) : -1;
    r->engine = r->engine_given >= 0 ? r->engine_given : named >= 0 ? named : r->around.engine;
    rc = trace_passes_parse(r);
    return rc == CMD_CONTINUE ? check(r, operands) : rc;
}

/* Parses with the command's own rows and those of the library's options. */
static int parse(struct trace_request *r, const struct opt *table, int argc, char **argv)
{
    struct opt rows[TRACE_NAMED_ROWS];
    struct err e = {0};
    int operands = 0;
    if (trace_named_rows(&r->named, table, rows))
        return cmd_fail("trace", "%s", err_text(GPUFL_E_FULL));
    int rc = cmd_parse(&text, rows, OPT_STOP_AT_OPERAND, argc, argv, &operands);
    if (rc == CMD_CONTINUE && trace_named_take(&r->named, &r->settings, &e))
        rc = cmd_usage("trace", "%s", e.text);
    return rc == CMD_CONTINUE ? settle(r, argv, operands) : rc;
}

/* The table of options comes in three parts, each of which returns its number of rows.
 * This part says where the logs go and what is captured. */
static size_t rows_of_capture(struct opt *out, struct trace_request *r)
{
    const struct opt rows[] = {
        {"output", 'o', OPT_STRING, &r->output, "DIR", NULL,
         "Directory of the session logs. Default: that of GPUFL_LOG_PATH, else the one that the "
         "program sets, else a new one."},
        {"name", 'n', OPT_STRING, &r->name, "NAME", NULL,
         "Name of the run in lists and reports. Default: from the command."},
        {"engine", 'e', OPT_CHOICE, &r->engine_given, "ENGINE", option_engines,
         "What is captured: Monitor (system metrics only), Sync (also where the program waits "
         "for the GPU), Trace (also every kernel and copy), or a deeper engine. Default: the "
         "one that the program's code sets, else that of GPUFL_PROFILING_ENGINE, else Trace."},
        {"passes", 0, OPT_STRING, &r->passes_given, "LIST", NULL,
         "Run COMMAND once per engine of LIST (Trace,PcSampling,SassMetrics), Trace first, and "
         "report all runs as one: times from Trace, why kernels stall from PcSampling, counts from "
         "SassMetrics, hardware counters from RangeProfiler and PmSampling."},
        {"stacks", 0, OPT_CHOICE, &r->stacks, "WHERE", stacks,
         "Where the program's stacks are captured, C, C++ and Python: none, sync (where it waits "
         "for the GPU) or launch (also at every launch and copy). Default: sync."},
        {"pc-kernels", 0, OPT_CHOICE, &r->pc_kernels, "WHICH", pc_kernels,
         "With engine PcSampling or PmSampling: which kernels are recorded as well. all: each. "
         "none, for production: PcSampling estimates their shares of GPU time from its samples, "
         "and PmSampling stays out of the program's calls and counts no launches. windows, with "
         "PcSampling only: those in short windows, 30 s apart, between which it samples. "
         "Default: all."},
        {"metrics", 0, OPT_STRING, &r->metrics, "LIST", NULL,
         "With engine PmSampling or RangeProfiler: which hardware counters, a set (overview, "
         "memory, compute, roofline) or the driver's names of metrics with commas between. "
         "Default: overview."},
        {"ranges", 0, OPT_CHOICE, &r->ranges, "WHAT", ranges,
         "With engine RangeProfiler: count outermost scopes, or kernels one by one, the first "
         "three launches of each (option range_kernel_launches), repeated for all metrics. "
         "Default: scopes."},
        {"interval", 0, OPT_DURATION, &r->interval, "TIME", NULL,
         "With engine PmSampling: time from sample to sample, 10us to 1s. Default: 1ms."},
    };
    _Static_assert(sizeof rows <= GROUP_MOST * sizeof *rows, "the table has room");
    memcpy(out, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* This part says when something is captured. */
static size_t rows_of_time(struct opt *out, struct trace_request *r)
{
    const struct opt rows[] = {
        {"duration", 0, OPT_DURATION, &r->duration, "TIME", NULL,
         "End the capture TIME (30s, 5m, 500ms) after the program's first use of the GPU and "
         "report; the program runs on."},
        {"windows", 0, OPT_FLAG, &r->windows, NULL, NULL,
         "Record inside windows only, which the program (gpufl_window_open) or `gpufl ctl` opens."},
        {"after", 0, OPT_DURATION, &r->after, "TIME", NULL,
         "Record from TIME after the program's first use of the GPU on."},
        {"for", 0, OPT_DURATION, &r->lasts, "TIME", NULL,
         "Record for TIME, at once or from --after on; the program and the session go on."},
        {"every", 0, OPT_DURATION, &r->every, "TIME", NULL,
         "With --for: again every TIME, counted from the beginning of one window to the beginning "
         "of the next."},
        {"in-scope", 0, OPT_STRING, &r->in_scope, "NAME", NULL,
         "Record while a scope or NVTX range of this name is open; '*': while any is. Engine "
         "SassMetrics keeps only what it counts while the scope is open."},
        {"after-launches", 0, OPT_INT, &r->after_launches, "N", NULL,
         "Record from the program's launch N + 1 on."},
        {"launches", 0, OPT_INT, &r->launches, "N", NULL, "Record N launches."},
        {"kill", 0, OPT_FLAG, &r->kill, NULL, NULL,
         "End the program when --duration is over: TERM, and KILL 10 s later."},
        {"system-interval", 's', OPT_DURATION, &r->system_interval, "TIME", NULL,
         "Time between samples of device and host metrics; 0: none. Default: 100ms."},
    };
    _Static_assert(sizeof rows <= GROUP_MOST * sizeof *rows, "the table has room");
    memcpy(out, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* This part has the options of the library, of the run and of the report. */
static size_t rows_of_run(struct opt *out, struct trace_request *r)
{
    const struct opt rows[] = {
        {"option", 0, OPT_LIST, &r->settings, "NAME=VALUE", NULL,
         "Set an option of the library; may be given several times. `gpufl info --options` lists "
         "them. Each can be given by its own name, too: --flush-interval-ms 100."},
        {"yield-cupti", 0, OPT_FLAG, &r->yield, NULL, NULL,
         "Leave CUPTI to the program from the start: no kernel records."},
        {"keep-cupti", 0, OPT_FLAG, &r->keep, NULL, NULL,
         "Keep CUPTI from the program's own profiler, which gets CUPTI by default when it begins."},
        {"report", 0, OPT_STRING, &r->report_file, "FILE", NULL,
         "Write the report to FILE instead of stderr."},
        {"json", 0, OPT_FLAG, &r->json, NULL, NULL, "Write the report as JSON."},
        {"top", 0, OPT_INT, &r->top, "N", NULL,
         "Rows of the report's tables, 0 for all. Default: 10, with --json all."},
        {"no-report", 0, OPT_FLAG, &r->no_report, NULL, NULL,
         "Print no report; say only where the data is."},
        {"quiet", 'q', OPT_FLAG, &r->quiet, NULL, NULL,
         "Print nothing but errors, and the report only to a file."},
        {"anyway", 0, OPT_FLAG, &r->anyway, NULL, NULL,
         "Run COMMAND without a capture if no logs can be written. By default nothing is run "
         "then."},
    };
    _Static_assert(sizeof rows <= GROUP_MOST * sizeof *rows, "the table has room");
    memcpy(out, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

int trace_options_parse(struct trace_request *r, int argc, char **argv)
{
    *r = (struct trace_request){.engine_given = -1,
                                .stacks = STACKS_NOT_GIVEN,
                                .pc_kernels = PC_KERNELS_NOT_GIVEN,
                                .ranges = RANGES_NOT_GIVEN,
                                .system_interval = INTERVAL_NOT_GIVEN,
                                .top = TRACE_TOP_DEFAULT};
    r->settings = (struct opt_list){.items = r->setting_items, .max = TRACE_SETTINGS_MAX};
    struct opt table[3 * GROUP_MOST + 1] = {{0}};
    size_t count = rows_of_capture(table, r);
    count += rows_of_time(table + count, r);
    (void)rows_of_run(table + count, r);
    return parse(r, table, argc, argv);
}

const char *trace_options_setting(const struct trace_request *r, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < r->settings.count; i++)
        if (setting_is(r->settings.items[i], name))
            value = strchr(r->settings.items[i], '=') + 1;
    return value;
}

static void put(const struct trace_request *r, struct buf *out, const char *name, const char *value)
{
    if (trace_options_setting(r, name))
        return; /* --option sets it, too, and overrides other flags */
    buf_str(out, name);
    buf_char(out, '=');
    buf_str(out, value);
    buf_char(out, '\n');
}

static void put_int(const struct trace_request *r, struct buf *out, const char *name, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    put(r, out, name, digits);
}

/* Writes a default of `gpufl trace`. The program, its environment and its config file may override
 * it. */
static void put_default(const struct trace_request *r, struct buf *out, const char *name,
                        const char *value)
{
    if (!trace_options_setting(r, name))
        buf_char(out, '?');
    put(r, out, name, value);
}

/* The library removes ".log" from the end of log_path, as the public client does. A slash after
 * ".log" keeps the directory's name unchanged. */
void trace_options_dir(const char *dir, char *out, size_t size)
{
    size_t n = strlen(dir);
    bool cut = n > 4 && strcmp(dir + n - 4, ".log") == 0;
    snprintf(out, size, "%s%s", dir, cut ? "/" : "");
}

void trace_options_put_interval(const struct trace_request *r, struct buf *out)
{
    if (r->system_interval == INTERVAL_NOT_GIVEN) {
        put_default(r, out, "continuous_system_sampling", "true");
        put_default(r, out, "system_sample_rate_ms", INTERVAL_DEFAULT);
        return;
    }
    put(r, out, "continuous_system_sampling", r->system_interval ? "true" : "false");
    put_int(r, out, "system_sample_rate_ms", r->system_interval / MS);
}

static void put_identity(const struct trace_request *r, const char *dir, const char *run_id,
                         const char *name, struct buf *out)
{
    char path[PATH_MAX + 2];
    trace_options_dir(dir, path, sizeof path);
    (r->output ? put : put_default)(r, out, "log_path", path);
    put(r, out, "run_id", run_id);
    (r->name ? put : put_default)(r, out, "app_name", name);
    bool given = r->engine_given >= 0 || r->pass_count;
    (given ? put : put_default)(r, out, "profiling_engine",
                                option_engines[given ? r->engine : GPUFL_ENGINE_TRACE]);
}

void trace_options_encode(const struct trace_request *r, const char *dir, const char *run_id,
                          const char *name, struct buf *out)
{
    put_identity(r, dir, run_id, name, out);
    if (r->pass_count) {
        put_int(r, out, "pass", r->pass);
        put_int(r, out, "passes", r->pass_count);
        put(r, out, "log_format", "native"); /* the other format cannot store passes */
    }
    trace_options_put_interval(r, out);
    if (r->stacks != STACKS_NOT_GIVEN) {
        put(r, out, "enable_stack_trace", r->stacks == STACKS_NONE ? "false" : "true");
        put(r, out, "launch_stacks", r->stacks == STACKS_LAUNCH ? "true" : "false");
    }
    if (r->pc_kernels != PC_KERNELS_NOT_GIVEN)
        put(r, out, "pc_kernel_collect", pc_kernels[r->pc_kernels]);
    if (r->ranges != RANGES_NOT_GIVEN)
        put(r, out, "range_mode", ranges[r->ranges]);
    if (r->metrics)
        put(r, out, "counter_metrics", r->metrics);
    if (r->interval)
        put_int(r, out, "pm_sampling_interval_us", r->interval / US);
    if (r->duration)
        put_int(r, out, "duration_ms", r->duration / MS);
    if (r->windows)
        put(r, out, "windows", "true");
    if (r->after)
        put_int(r, out, "window_after_ms", r->after / MS);
    if (r->lasts)
        put_int(r, out, "window_for_ms", r->lasts / MS);
    if (r->every)
        put_int(r, out, "window_every_ms", r->every / MS);
    if (r->in_scope)
        put(r, out, "window_scope", r->in_scope);
    if (r->after_launches)
        put_int(r, out, "window_after_launches", r->after_launches);
    if (r->launches)
        put_int(r, out, "window_launches", r->launches);
    if (r->yield)
        put(r, out, "yield_cupti", "true");
    if (r->keep)
        put(r, out, "keep_cupti", "true");
    for (size_t i = 0; i < r->settings.count; i++) {
        char pair[TRACE_SETTING_SIZE];
        const char *given = r->settings.items[i];
        char own[64];
        snprintf(own, sizeof own, "%.*s", (int)strcspn(given, "="), given);
        if (trace_options_setting(r, own) != strchr(given, '=') + 1)
            continue; /* given again later: the last one counts */
        if (setting_check(given, pair, sizeof pair, NULL) == 0) {
            buf_str(out, pair);
            buf_char(out, '\n');
        }
    }
}
