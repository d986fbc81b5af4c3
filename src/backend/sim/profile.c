/* profile.c - see profile.h.
 *
 * All kernels have the same twelve instructions: loads, arithmetic, shared memory and a
 * barrier, on lines of an invented source. A healthy kernel's samples are spread so
 * that no reason stands out; a fault moves them, or the counts of one instruction. */
#include "backend/sim/profile.h"

#include "wire/stall_name.h"

#include <stdio.h>
#include <string.h>

enum { STRIDE = 16, WARP = 32, FIRST_LINE = 21, SMS = 132, HEAVY = 60 };

static const char *const texts[SIM_INSTRUCTIONS] = {
    "S2R R0, SR_TID.X ;",
    "IMAD R2, R0, c[0x0][0x160], R4 ;",
    "LDG.E.128 R8, desc[UR4][R2.64] ;",
    "ISETP.GE.AND P0, PT, R0, R5, PT ;",
    "@P0 BRA 0x90 ;",
    "FFMA R12, R8, R9, R10 ;",
    "MUFU.EX2 R13, R12 ;",
    "STS [R6], R13 ;",
    "BAR.SYNC 0x0 ;",
    "LDS R14, [R7] ;",
    "STG.E desc[UR4][R2.64], R14 ;",
    "EXIT ;",
};

static const char source[] = "/* Invented: the source of the simulated kernels. */\n"
                             "#include \"train.h\"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
                             "__global__ void step(const float4 *in, float *out, int n) {\n"
                             "    int t = threadIdx.x;\n"
                             "    const float4 *at = in + blockIdx.x * blockDim.x + t;\n"
                             "    float4 x = *at;\n"
                             "    if (t >= n)\n"
                             "        return;\n"
                             "    float y = x.x * x.y + x.z;\n"
                             "    float z = exp2f(y);\n"
                             "    tile[slot(t)] = z;\n"
                             "    __syncthreads();\n"
                             "    float w = tile[mirror(t)];\n"
                             "    out[index(t)] = w;\n"
                             "}\n";

enum reason {
    LONG,
    LONG_IDLE,
    SHORT,
    BARRIER,
    WAIT,
    WAIT_IDLE,
    MATH,
    BRANCH,
    READY,
    RUNNING,
    REASONS
};

static const char *const reason_names[REASONS] = {
    [LONG] = "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    [LONG_IDLE] = "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    [SHORT] = "smsp__pcsamp_warps_issue_stalled_short_scoreboard_not_issued",
    [BARRIER] = "smsp__pcsamp_warps_issue_stalled_barrier_not_issued",
    [WAIT] = "smsp__pcsamp_warps_issue_stalled_wait",
    [WAIT_IDLE] = "smsp__pcsamp_warps_issue_stalled_wait_not_issued",
    [MATH] = "smsp__pcsamp_warps_issue_stalled_math_pipe_throttle",
    [BRANCH] = "smsp__pcsamp_warps_issue_stalled_branch_resolving",
    [READY] = "smsp__pcsamp_warps_issue_stalled_not_selected",
    [RUNNING] = "smsp__pcsamp_warps_issue_stalled_selected",
};

/* Lists the parts of a kernel's samples, in order; those of a fault are added. */
static const struct weight {
    uint8_t instruction, reason, parts;
} weights[] = {
    {3, LONG, 4},      {3, LONG_IDLE, 14}, {5, MATH, 9},     {6, WAIT, 4},
    {6, WAIT_IDLE, 9}, {7, SHORT, 11},     {9, BARRIER, 12}, {4, BRANCH, 10},
    {5, READY, 15},    {10, WAIT, 4},      {5, RUNNING, 20},
};

enum { WEIGHTS = sizeof weights / sizeof weights[0] };

enum metric { INST, THREADS, SECTORS, SECTORS_IDEAL, WAVES, WAVES_IDEAL, METRICS };

static const char *const metric_names[METRICS] = {
    [INST] = "smsp__sass_inst_executed",
    [THREADS] = "smsp__sass_thread_inst_executed",
    [SECTORS] = "smsp__sass_sectors_mem_global",
    [SECTORS_IDEAL] = "smsp__sass_sectors_mem_global_ideal",
    [WAVES] = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
    [WAVES_IDEAL] = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
};

/* Names the kernel in which a fault is planted. */
static const unsigned planted[SIM_PLANT_COUNT] = {
    [SIM_PLANT_STALL] = SIM_KERNEL_FLASH_DQ,
    [SIM_PLANT_DIVERGENCE] = SIM_KERNEL_DROPOUT,
    [SIM_PLANT_UNCOALESCED] = SIM_KERNEL_EMBEDDING_GRAD,
    [SIM_PLANT_CONFLICTS] = SIM_KERNEL_TRANSPOSE,
};

static bool has_fault(const struct sim_profile *p, enum sim_plant fault, unsigned kernel)
{
    return (p->faults >> fault & 1) && planted[fault] == kernel;
}

void sim_profile_kernel(struct sim_profile *p, const struct sim_record *r)
{
    struct sim_profiled *k = &p->kernels[r->device][r->kernel];
    int64_t end = r->start + r->duration, warps = 1;
    for (int i = 0; i < 3; i++)
        warps *= (int64_t)r->grid[i];
    warps *= ((int64_t)r->block[0] * r->block[1] * r->block[2] + WARP - 1) / WARP;
    k->ns += r->duration;
    k->warps += warps;
    p->from = !p->from || r->start < p->from ? r->start : p->from;
    p->to = end > p->to ? end : p->to;
}

/* ---- definitions, reported once ---------------------------------------------------------- */

static void put_source(struct sink *s, uint32_t path)
{
    struct source_row row = {
        .path = path,
        .hash = 1,
        .size = sizeof source - 1,
        .mtime = CELL_NULL,
        .text = s->ops->name(s, source),
    };
    s->ops->row(s, RECORD_source, &row);
}

static void put_reasons(struct sim_profile *p, struct sink *s)
{
    for (int i = 0; i < REASONS; i++) {
        struct stall_name n = stall_name_of(reason_names[i], strlen(reason_names[i]));
        struct stall_reason_row row = {
            .name = s->ops->name(s, n.text),
            .driver_name = s->ops->name(s, reason_names[i]),
            .index = i + 1,
            .issued = n.issued,
        };
        p->reasons[i] = s->ops->define(s, RECORD_stall_reason, &row);
    }
}

static void put_setting(struct sink *s, int64_t time, const char *engine, const char *name,
                        const char *value)
{
    struct setting_row row = {
        .time = time,
        .engine = s->ops->name(s, engine),
        .name = s->ops->name(s, name),
        .value = s->ops->name(s, value),
    };
    s->ops->row(s, RECORD_setting, &row);
}

static void describe(struct sim_profile *p, struct sink *s)
{
    char text[32];
    p->described = true;
    put_source(s, s->ops->name(s, "/sim/train.cu"));
    if (p->engines & ENGINE_PC_SAMPLING) {
        put_reasons(p, s);
        snprintf(text, sizeof text, "%d", SIM_SAMPLE_NS);
        put_setting(s, p->from, "PcSampling", "period_ns", text);
    }
    for (int i = 0; (p->engines & ENGINE_SASS_METRICS) && i < METRICS; i++) {
        p->metrics[i] = s->ops->name(s, metric_names[i]);
        put_setting(s, p->from, "SassMetrics", "metric", metric_names[i]);
    }
}

/* Returns a kernel's function with its instructions, all of one code object. */
static uint32_t function_id(struct sim_profile *p, struct sink *s, unsigned kernel)
{
    if (p->functions[kernel])
        return p->functions[kernel];
    struct code_object_row o = {
        .crc = 0x5131c0de,
        .module = s->ops->name(s, "/sim/train.cubin"),
        .arch = s->ops->name(s, "sm_90"),
        .size = CELL_NULL,
    };
    struct function_row f = {
        .object = s->ops->define(s, RECORD_code_object, &o),
        .name = s->ops->name(s, sim_kernels[kernel].name),
        .index = kernel,
    };
    uint32_t id = p->functions[kernel] = s->ops->define(s, RECORD_function, &f);
    for (int i = 0; i < SIM_INSTRUCTIONS; i++) {
        struct instruction_row row = {
            .function = id,
            .offset = (int64_t)i * STRIDE,
            .text = s->ops->name(s, texts[i]),
            .file = s->ops->name(s, "/sim/train.cu"),
            .line = FIRST_LINE + i,
        };
        s->ops->row(s, RECORD_instruction, &row);
    }
    return id;
}

/* ---- samples ----------------------------------------------------------------------------- */

/* Returns the samples, of `total`, for the first `part` of `whole`: the differences of these
 * numbers add up to the total. */
static int64_t share(int64_t total, int64_t part, int64_t whole)
{
    return (int64_t)((__int128)total * part / whole);
}

static void put_samples(struct sim_profile *p, struct sim_drain *d, struct sink *s, int device,
                        unsigned kernel)
{
    struct sim_profiled *k = &p->kernels[device][kernel];
    int64_t before = k->reported / SIM_SAMPLE_NS, now = k->ns / SIM_SAMPLE_NS;
    int64_t extra = has_fault(p, SIM_PLANT_STALL, kernel) ? HEAVY * 3 : 0, whole = extra, part = 0;
    for (int i = 0; i < WEIGHTS; i++)
        whole += weights[i].parts;
    for (int i = 0; i < WEIGHTS && now > before; i++) {
        int64_t parts = weights[i].parts + (weights[i].reason == LONG_IDLE ? extra : 0);
        struct pc_sample_row row = {
            .start = p->from,
            .duration = p->to - p->from,
            .device = d->devices[device],
            .context = 1,
            .function = function_id(p, s, kernel),
            .offset = (int64_t)weights[i].instruction * STRIDE,
            .reason = p->reasons[weights[i].reason],
            .scope = CELL_NULL,
            .correlation = CELL_NULL,
        };
        row.samples = share(now, part + parts, whole) - share(now, part, whole) -
                      (share(before, part + parts, whole) - share(before, part, whole));
        part += parts;
        if (row.samples <= 0)
            continue;
        s->ops->row(s, RECORD_pc_sample, &row);
        p->samples += (uint64_t)row.samples;
    }
    k->reported = k->ns;
}

/* ---- counted instructions ---------------------------------------------------------------- */

static void put_metric(struct sim_profile *p, struct sink *s, struct sass_metric_row *row,
                       enum metric metric, int64_t value)
{
    row->metric = p->metrics[metric];
    row->value = value;
    s->ops->row(s, RECORD_sass_metric, row);
    p->rows++;
}

static void put_metrics(struct sim_profile *p, struct sim_drain *d, struct sink *s, int device,
                        unsigned kernel)
{
    struct sim_profiled *k = &p->kernels[device][kernel];
    int64_t warps = k->warps - k->counted;
    int64_t threads = has_fault(p, SIM_PLANT_DIVERGENCE, kernel) ? WARP / 4 : WARP;
    for (int i = 0; i < SIM_INSTRUCTIONS && warps > 0; i++) {
        bool global = i == 2 || i == 10, shared = i == 7 || i == 9;
        int64_t spread = has_fault(p, SIM_PLANT_UNCOALESCED, kernel) && i == 10 ? 8 : 1;
        int64_t ways = has_fault(p, SIM_PLANT_CONFLICTS, kernel) && i == 9 ? WARP : 1;
        struct sass_metric_row row = {
            .start = p->from,
            .duration = p->to - p->from,
            .device = d->devices[device],
            .function = function_id(p, s, kernel),
            .offset = (int64_t)i * STRIDE,
            .instances = SMS,
            .scope = CELL_NULL,
            .correlation = CELL_NULL,
        };
        put_metric(p, s, &row, INST, warps);
        put_metric(p, s, &row, THREADS, warps * (i > 4 && i < 8 ? threads : WARP));
        if (global) {
            put_metric(p, s, &row, SECTORS, warps * 4 * spread);
            put_metric(p, s, &row, SECTORS_IDEAL, warps * 4);
        }
        if (shared) {
            put_metric(p, s, &row, WAVES, warps * ways);
            put_metric(p, s, &row, WAVES_IDEAL, warps);
        }
    }
    k->counted = k->warps;
}

void sim_profile_drain(struct sim_profile *p, struct sim_drain *d, struct sink *s)
{
    if (!p->from)
        return;
    if (!p->described)
        describe(p, s);
    for (int device = 0; device < SIM_DEVICES_MAX; device++)
        for (unsigned kernel = 0; kernel < SIM_KERNEL_COUNT; kernel++) {
            if (p->engines & ENGINE_PC_SAMPLING)
                put_samples(p, d, s, device, kernel);
            if (p->engines & ENGINE_SASS_METRICS)
                put_metrics(p, d, s, device, kernel);
        }
    p->from = p->to = 0;
}
