/* cmd_sim.c - `gpufl sim`: writes a session of a simulated GPU through the real capture path.
 *
 * The command starts capture as a program would (gpufl_init), lets host threads drive the
 * simulated machine with a training loop, ends capture, and prints the counts of what was
 * generated, as the generator keeps them. No other command has threads. */
#include "cli/cmd.h"

#include "backend/backend.h"
#include "backend/sim/tally.h"
#include "backend/sim/workload.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/process/thread.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OUTPUT_MAX = 1 << 20, THREADS_MAX = 64 };

static const struct cmd_text text = {
    .name = "sim",
    .synopsis = "[options]\n",
    .about = "Writes a session of a simulated GPU through the real capture path and prints, as\n"
             "JSON, what was generated: every reader of the session can be checked against it.\n"
             "Nothing is lost unless --errors asks for it. One thread at --rate max gives the\n"
             "same session for the same seed. GPUFL_SIM holds further settings.\n",
    .more = "Errors (N: one in N), separated by commas:\n"
#define SIM_ERROR_HELP(id, key, number, doc) "  " key " - " doc "\n"
    SIM_ERRORS(SIM_ERROR_HELP)
#undef SIM_ERROR_HELP
        "\nFaults to plant, separated by commas, for the engines above Trace to find:\n"
#define SIM_PLANT_HELP(id, key, doc) "  " key " - " doc "\n"
    SIM_PLANTS(SIM_PLANT_HELP)
#undef SIM_PLANT_HELP
        "\nExamples:\n"
        "  gpufl sim --kernels 100000 --scopes -o demo >generated.json; gpufl report demo\n"
        "  gpufl sim --kernels 1000000 --errors drop:1000,time:5000\n"
        "  gpufl sim --rate 50000 --duration 60s --kernels 0 --devices 8\n",
};

struct request {
    int64_t kernels, devices, streams, seed, threads, duration, sample;
    const char *rate, *dir, *name, *errors, *plants;
    int engine; /* in engine_names[] */
    bool scopes;
    bool realtime;
    int64_t per_second;
};

/* Lists the engines that the simulated GPU runs; NULL-terminated. Trace is the first one. */
static const char *engine_names[32];

static void find_engines(void)
{
    size_t count = 0, most = sizeof engine_names / sizeof *engine_names - 1;
    for (const struct engine_row *r = engine_table; r->name && count < most; r++)
        if (r->asks && !(r->asks & ~backend_sim.trace->engines))
            engine_names[count++] = r->name;
    engine_names[count] = NULL;
}

struct worker {
    struct thread thread;
    uint64_t number;
    struct sim_workload load;
    int rc;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct sim_thread *t;
    w->rc = sim_thread_open(&t, w->number);
    if (w->rc)
        return NULL;
    sim_workload_run(t, &w->load);
    sim_thread_close(t);
    return NULL;
}

/* Threads share the devices; if there are more threads than devices, the
 * threads of a device have streams of their own. */
static void worker_plan(struct worker *w, const struct request *r, int number)
{
    int64_t count = r->kernels ? r->kernels : INT64_MAX;
    int64_t rest = r->kernels % r->threads > number;
    w->number = (uint64_t)number;
    w->load = (struct sim_workload){
        .kernels = r->kernels ? count / r->threads + rest : count,
        .duration = r->duration,
        .rate = r->realtime ? (r->per_second + r->threads - 1) / r->threads : 0,
        .streams = (int)r->streams,
    };
    if (r->scopes) {
        w->load.scope_begin = gpufl_scope_begin;
        w->load.scope_end = gpufl_scope_end;
    }
    if (r->threads > r->devices) {
        w->load.first_stream = (int)(number / r->devices * r->streams);
        w->load.devices[w->load.device_count++] = number % (int)r->devices;
        return;
    }
    for (int64_t d = number; d < r->devices; d += r->threads)
        w->load.devices[w->load.device_count++] = (int)d;
}

/* One thread works on this one. */
static int run_workers(const struct request *r)
{
    struct worker workers[THREADS_MAX];
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < r->threads; i++)
        worker_plan(&workers[i], r, i);
    if (r->threads == 1) {
        work(&workers[0]);
        return workers[0].rc;
    }
    int rc = 0;
    for (int i = 0; i < r->threads && !rc; i++)
        rc = thread_start(&workers[i].thread, "sim-worker", 0, work, &workers[i]);
    for (int i = 0; i < r->threads; i++) {
        if (workers[i].thread.running)
            thread_join(&workers[i].thread);
        rc = rc ? rc : workers[i].rc;
    }
    return rc;
}

static int64_t elapsed_since(const struct timespec *from)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - from->tv_sec) * 1000000000ll + (now.tv_nsec - from->tv_nsec);
}

static int print_result(const struct request *r, const char *session, const char *dir, int64_t took)
{
    struct sim_tally *tally = mem_zalloc(sizeof *tally);
    if (!tally)
        return cmd_fail("sim", "%s", err_text(GPUFL_E_NOMEM));
    struct buf b;
    buf_init(&b, OUTPUT_MAX);
    sim_tally_read(tally);
    buf_str(&b, "{\"simulated\":true,\n \"session\":");
    buf_json_str(&b, session);
    buf_str(&b, ",\n \"directory\":");
    buf_json_str(&b, dir);
    buf_str(&b, ",\n \"name\":");
    buf_json_str(&b, r->name);
    buf_printf(&b, ",\n \"seed\":%" PRId64 ",\"devices\":%" PRId64 ",\"streams\":%" PRId64, r->seed,
               r->devices, r->streams);
    buf_printf(&b, ",\"threads\":%" PRId64 ",\"clock\":\"%s\",\"elapsed_ns\":%" PRId64 ",\n",
               r->threads, r->realtime ? "real" : "virtual", took);
    sim_tally_json(tally, &b);
    buf_str(&b, "}\n");
    mem_free(tally);
    int rc = buf_error(&b);
    if (!rc)
        fwrite(b.data, 1, b.len, stdout);
    buf_fini(&b);
    return rc ? cmd_fail("sim", "%s", err_text(rc)) : cmd_finish_output("sim");
}

/* Runs the session on a machine that is open. */
static int capture(const struct request *r)
{
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.app_name = r->name;
    o.log_path = r->dir;
    o.backend = GPUFL_BACKEND_SIM;
    o.profiling_engine = (enum gpufl_engine)(engine_find(engine_names[r->engine]) - engine_table);
    o.enable_stack_trace = 1;
    o.continuous_system_sampling = r->sample > 0;
    o.system_sample_rate_ms = (int)r->sample;
    /* When records are written depends on the system's clock. If threads and collector work in
     * turns, records are written only when a batch is full, and at the end. */
    if (r->threads == 1 && !r->realtime)
        setenv("GPUFL_FLUSH_INTERVAL_MS", "10000", 0);
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    int rc = gpufl_init(&o);
    if (rc && !gpufl_active()) /* the library has said why, unless capture is switched off */
        return cmd_fail("sim", rc == GPUFL_E_STATE
                                   ? "the capture is switched off by GPUFL_DISABLED or "
                                     "GPUFL_ENABLED in the environment; unset it"
                                   : "the capture did not start");
    char *session = mem_strdup(gpufl_session_id());
    char *dir = mem_strdup(gpufl_session_dir());
    rc = session && dir ? run_workers(r) : GPUFL_E_NOMEM;
    gpufl_shutdown();
    int result = rc ? cmd_fail("sim", "%s", err_text(rc))
                    : print_result(r, session, dir, elapsed_since(&start));
    mem_free(session);
    mem_free(dir);
    return result;
}

static int bad(const char *option, const char *value, const char *allowed)
{
    return cmd_usage("sim", "--%s %s: it takes %s", option, value, allowed);
}

/* Checks that the numbers are within their limits, and makes the machine's configuration. */
static int check(struct request *r, struct sim_config *c)
{
    static const struct {
        const char *name;
        size_t offset;
        int64_t least, most;
    } limits[] = {
        {"kernels", offsetof(struct request, kernels), 0, INT64_MAX},
        {"devices", offsetof(struct request, devices), 1, SIM_DEVICES_MAX},
        {"streams", offsetof(struct request, streams), 1, SIM_STREAMS_MAX / THREADS_MAX},
        {"threads", offsetof(struct request, threads), 1, THREADS_MAX},
        {"sample", offsetof(struct request, sample), 0, 3600000},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int64_t v;
        memcpy(&v, (char *)r + limits[i].offset, sizeof v);
        if (v < limits[i].least || v > limits[i].most)
            return cmd_usage("sim", "--%s %" PRId64 ": it takes %" PRId64 " to %" PRId64,
                             limits[i].name, v, limits[i].least, limits[i].most);
    }
    r->realtime = strcmp(r->rate, "max") != 0;
    if (r->realtime && (opt_int(r->rate, &r->per_second) || r->per_second < 1))
        return bad("rate", r->rate, "kernels a second, from 1, or max");
    if (!r->kernels && !r->duration)
        return cmd_usage("sim", "--kernels 0 means without end: give a --duration");
    struct err e;
    const char *env = getenv("GPUFL_SIM");
    if (sim_config_parse(c, env ? env : "", &e))
        return cmd_usage("sim", "%s", e.text);
    if (r->errors && sim_config_errors(c, r->errors, &e))
        return cmd_usage("sim", "%s", e.text);
    if (r->plants && sim_config_plants(c, r->plants, &e))
        return cmd_usage("sim", "%s", e.text);
    c->devices = r->devices;
    c->streams = r->streams;
    c->seed = r->seed;
    c->rate = r->per_second;
    c->realtime = r->realtime;
    c->ahead = r->threads > 1 || r->realtime;
    return CMD_CONTINUE;
}

int cmd_sim(int argc, char **argv)
{
    struct request r = {.kernels = 100000, .devices = 1, .streams = 4, .seed = 1, .threads = 1};
    r.rate = "max";
    r.name = "gpufl-sim";
    r.dir = "";
    r.sample = 50;
    find_engines();
    const struct opt table[] = {
        {"kernels", 'k', OPT_INT, &r.kernels, "N", NULL, "Kernels to launch; 0: until --duration."},
        {"devices", 0, OPT_INT, &r.devices, "N", NULL, "Devices of the machine, 1 to 16."},
        {"streams", 0, OPT_INT, &r.streams, "N", NULL, "Streams a thread uses on each device."},
        {"threads", 't', OPT_INT, &r.threads, "N", NULL, "Host threads that launch, 1 to 64."},
        {"seed", 0, OPT_INT, &r.seed, "N", NULL, "Seed of all random choices."},
        {"rate", 'r', OPT_STRING, &r.rate, "N", NULL,
         "Kernels a second on the real clock, or max: as fast as it goes, on a virtual clock."},
        {"duration", 0, OPT_DURATION, &r.duration, "TIME", NULL,
         "End after this time on the session's clock."},
        {"scopes", 0, OPT_FLAG, &r.scopes, NULL, NULL,
         "Open scopes around epochs, steps and parts of them."},
        {"engine", 'e', OPT_CHOICE, &r.engine, "NAME", engine_names,
         "What is collected; Deep: what PcSampling and SassMetrics collect."},
        {"plant", 0, OPT_STRING, &r.plants, "LIST", NULL,
         "Faults of kernels that the engine is to find, as below."},
        {"errors", 0, OPT_STRING, &r.errors, "LIST", NULL, "What goes wrong, as below."},
        {"sample", 0, OPT_INT, &r.sample, "MS", NULL,
         "Interval of the device and host samples; 0: none."},
        {"name", 'n', OPT_STRING, &r.name, "NAME", NULL, "Name of the application."},
        {"output", 'o', OPT_STRING, &r.dir, "DIR", NULL,
         "Directory in which the session's is made. Default: one named after the application."},
        {"app-name", 0, OPT_STRING, &r.name, "NAME", NULL, NULL},
        {"log-path", 0, OPT_STRING, &r.dir, "DIR", NULL, NULL},
        {"profiling-engine", 0, OPT_CHOICE, &r.engine, "NAME", engine_names, NULL},
        {0},
    };
    int operands = 0;
    int rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (operands)
        return cmd_usage("sim", "it takes no operand: '%s'", argv[1]);
    struct sim_config config;
    sim_config_init(&config);
    if ((rc = check(&r, &config)) != CMD_CONTINUE)
        return rc;
    struct err e;
    if (sim_open(&config, &e))
        return cmd_fail("sim", "%s", e.text);
    rc = capture(&r);
    sim_close();
    return rc;
}
