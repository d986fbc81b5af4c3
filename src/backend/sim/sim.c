/* sim.c - has the simulated GPU as a backend. */
#include "backend/sim/devices.h"
#include "backend/sim/machine.h"
#include "backend/sim/trace.h"

#include <stdio.h>
#include <stdlib.h>

/* Returns the next fact, with its value. */
static struct probe_fact *fact(struct probe *p, const char *name, const char *value)
{
    struct probe_fact *f = &p->facts[p->fact_count++];
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(f->value, sizeof f->value, "%s", value);
    f->works = true;
    return f;
}

static void sim_probe(struct probe *out)
{
    struct sim_config c;
    struct err e = {.code = 0};
    const char *text = getenv("GPUFL_SIM");
    sim_config_init(&c);
    *out = (struct probe){.usable = !sim_config_parse(&c, text ? text : "", &e)};
    if (!out->usable) {
        struct probe_fact *f = fact(out, "GPUFL_SIM", "not understood");
        f->works = false;
        snprintf(f->advice, sizeof f->advice, "%.300s", e.text);
        return;
    }
    fact(out, "simulated GPU", "by choice only (GPUFL_BACKEND=sim): no real GPU is used");
    for (const struct engine_row *r = engine_table; r->name; r++) {
        char name[sizeof out->facts[0].name];
        snprintf(name, sizeof name, "engine %s", r->name);
        bool runs = !(r->asks & ~sim_trace_ops.engines);
        struct probe_fact *f = fact(out, name, runs ? "simulated" : "not simulated");
        f->works = runs;
        if (!runs)
            snprintf(
                f->advice, sizeof f->advice,
                "the simulated GPU has no hardware counters; a session that asks for it runs %s",
                engine_table[r->next].name);
    }
}

/* The one GPU that is simulated is an sm_90. */
static void occupancy(int64_t compute_major, int64_t compute_minor, struct occupancy_units *out)
{
    (void)compute_major, (void)compute_minor;
    *out = (struct occupancy_units){.threads_most = 1024,
                                    .registers_most = 256,
                                    .register_unit = 256,
                                    .partitions = 4,
                                    .partitions_strict = 4,
                                    .shared_unit = 128,
                                    .shared_reserved = true};
}

static const struct vendor vendor_sim = {.name = "sim", .occupancy = occupancy};

const struct backend backend_sim = {
    .name = "sim",
    .simulated = true,
    .vendor = &vendor_sim,
    .probe = sim_probe,
    .trace = &sim_trace_ops,
    .devices = &sim_device_ops,
};
