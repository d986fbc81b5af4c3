/* workload.c - runs the training loop, as tables of steps and one interpreter.
 *
 * Every launch is done on all devices of the thread, as in a data-parallel program of one process.
 * Lanes are streams; they are rotated by the number of the step, so that all of them are used. */
#include "backend/sim/workload.h"

#include "backend/sim/machine.h"

enum { LAYERS = 6, EPOCH_STEPS = 20, DEPTH_MAX = 16, GRAPH_NODES = 24 };
enum { LANE_MAIN, LANE_COPY, LANE_AUX };

#define MIB (1ll << 20)

enum step_kind {
    STEP_END, /* of a table */
    STEP_KERNEL,
    STEP_OPEN,  /* a scope */
    STEP_CLOSE, /* the scope */
    STEP_CALL,  /* another table, n times */
    STEP_COPY,
    STEP_PEER, /* a copy to the next device, if there are several */
    STEP_FILL,
    STEP_GRAPH,
    STEP_SYNC,
    STEP_FORK, /* the auxiliary lane waits for the main one */
    STEP_JOIN, /* the main lane waits for the auxiliary one */
    STEP_HOST, /* the host computes */
};

struct step {
    enum step_kind kind;
    int lane;
    int64_t n; /* kernel, bytes, times, ns */
    int what;  /* kind of copy or wait */
    const struct step *table;
    const char *name, *tag; /* of a scope; of a table: the function it stands for */
    int line;               /* of the simulated program: the line of this step in this file */
};

/* This is the source of the simulated program, which is the tables below. */
static const char source[] = "/simulated/train.py";

#define KERNEL(id)                                                                                 \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_KERNEL, .n = SIM_KERNEL_##id                                \
    }
#define AUX(id)                                                                                    \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_KERNEL, .lane = LANE_AUX, .n = SIM_KERNEL_##id              \
    }
#define OPEN(text)                                                                                 \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_OPEN, .name = text                                          \
    }
#define OPEN_TAG(text, t)                                                                          \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_OPEN, .name = text, .tag = t                                \
    }
#define CLOSE                                                                                      \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_CLOSE                                                       \
    }
#define CALL(t, times)                                                                             \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_CALL, .table = t, .n = times, .name = #t                    \
    }
#define COPY(where, w, b)                                                                          \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_COPY, .lane = where, .what = w, .n = b                      \
    }
#define SYNC(where, w)                                                                             \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_SYNC, .lane = where, .what = w                              \
    }
#define PLAIN(k)                                                                                   \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_##k                                                         \
    }
#define AMOUNT(k, amount)                                                                          \
    {                                                                                              \
        .line = __LINE__, .kind = STEP_##k, .n = amount                                            \
    }

static const struct step layer_forward[] = {
    OPEN("attention"), KERNEL(LAYER_NORM),   KERNEL(GEMM_128x256),
    KERNEL(TRANSPOSE), KERNEL(FLASH),        KERNEL(GEMM_128x128),
    KERNEL(DROPOUT),   KERNEL(ADD_F16),      CLOSE,
    OPEN("mlp"),       KERNEL(LAYER_NORM),   KERNEL(GEMM_256x128),
    KERNEL(GELU),      KERNEL(GEMM_128x128), KERNEL(SPLITK_REDUCE),
    KERNEL(DROPOUT),   KERNEL(ADD_F16),      CLOSE,
    PLAIN(END),
};

static const struct step layer_backward[] = {
    KERNEL(GELU_GRAD),
    PLAIN(FORK),
    AUX(GEMM_BF16),
    KERNEL(GEMM_64x64),
    AUX(SUM),
    KERNEL(GEMM_256x128),
    AUX(GEMM_BF16),
    KERNEL(LAYER_NORM_GRAD),
    AUX(LAYER_NORM_PARAMS),
    KERNEL(FLASH_DQ),
    KERNEL(FLASH_DKV),
    KERNEL(CAT),
    AUX(GEMM_BF16),
    KERNEL(GEMM_128x128),
    KERNEL(TRANSPOSE),
    AUX(SUM),
    KERNEL(LAYER_NORM_GRAD),
    AUX(LAYER_NORM_PARAMS),
    KERNEL(ADD_F16),
    PLAIN(JOIN),
    PLAIN(END),
};

static const struct step unfused_adam[] = {
    KERNEL(LERP), KERNEL(MUL_F32), KERNEL(SQRT), KERNEL(DIV), KERNEL(ADD_F32), PLAIN(END),
};

static const struct step train_step[] = {
    OPEN("step"),
    OPEN("data"),
    AMOUNT(HOST, 40000),
    COPY(LANE_COPY, SIM_HTOD, 12 * MIB),
    SYNC(LANE_COPY, SIM_WAIT_EVENT),
    CLOSE,
    AMOUNT(FILL, 96 * MIB),
    OPEN("forward"),
    KERNEL(CAST_F16),
    KERNEL(EMBEDDING),
    CALL(layer_forward, LAYERS),
    OPEN("loss"),
    KERNEL(LAYER_NORM),
    KERNEL(GEMM_128x256),
    KERNEL(LOG_SOFTMAX),
    KERNEL(NLL),
    KERNEL(SUM),
    CLOSE,
    CLOSE,
    OPEN("backward"),
    KERNEL(FILL),
    KERNEL(NLL_GRAD),
    KERNEL(LOG_SOFTMAX_GRAD),
    CALL(layer_backward, LAYERS),
    KERNEL(EMBEDDING_GRAD),
    KERNEL(CAST_F32),
    AMOUNT(PEER, 48 * MIB),
    CLOSE,
    OPEN("optimizer"),
    KERNEL(UNSCALE),
    KERNEL(NORM2),
    KERNEL(SCALE),
    CALL(unfused_adam, 8),
    PLAIN(GRAPH),
    CLOSE,
    COPY(LANE_MAIN, SIM_DTOH, 4),
    SYNC(LANE_MAIN, SIM_WAIT_STREAM),
    CLOSE,
    PLAIN(END),
};

static const struct step evaluate[] = {
    OPEN_TAG("evaluate", "validation"),
    COPY(LANE_MAIN, SIM_HTOD, 3 * MIB),
    KERNEL(EMBEDDING),
    CALL(layer_forward, 2),
    KERNEL(SOFTMAX),
    KERNEL(SOFTMAX_GRAD),
    KERNEL(MAX),
    COPY(LANE_MAIN, SIM_DTOD, 64 * MIB),
    COPY(LANE_MAIN, SIM_DTOH, 1 * MIB),
    SYNC(LANE_MAIN, SIM_WAIT_CONTEXT),
    CLOSE,
    PLAIN(END),
};

struct run {
    struct sim_thread *thread;
    const struct sim_workload *w;
    int64_t launched; /* kernels */
    int64_t began;    /* time */
    int64_t step;     /* number, rotates the lanes */
    unsigned divide;  /* grids of this step are the usual ones divided by this */
    unsigned graph;   /* number of the optimizer's graph; 0: none */
    bool over;
    int depth;
    struct {
        uint64_t handle;
        int64_t start;
    } scopes[DEPTH_MAX];
};

static struct sim_at at(const struct run *r, int device, int lane)
{
    int stream = (int)((lane + r->step) % r->w->streams);
    return (struct sim_at){r->w->devices[device], r->w->first_stream + stream};
}

static struct sim_work work_of(const struct run *r, unsigned kernel)
{
    const struct sim_kernel_info *k = &sim_kernels[kernel];
    uint32_t grid = k->grid / r->divide;
    return (struct sim_work){
        .kernel = kernel,
        .grid = {grid ? grid : 1, 1, 1},
        .block = {k->block, 1, 1},
        .shared = k->shared_dynamic,
    };
}

/* Waits so that the run keeps its rate. False: the run ends. */
static bool go_on(struct run *r)
{
    const struct sim_workload *w = r->w;
    int64_t now = sim_now(r->thread);
    if (w->rate && !r->over) {
        int64_t due = r->began + (int64_t)((double)r->launched * 1e9 / (double)w->rate);
        if (due - now > 2000000) {
            r->over = w->pause && !w->pause(due - now);
            sim_until(r->thread, due);
            now = sim_now(r->thread);
        }
    }
    if (r->launched >= w->kernels || (w->duration && now - r->began >= w->duration))
        r->over = true;
    return !r->over;
}

static void run_kernel(struct run *r, int lane, unsigned kernel)
{
    struct sim_work work = work_of(r, kernel);
    for (int d = 0; d < r->w->device_count && go_on(r); d++) {
        sim_launch(r->thread, at(r, d, lane), &work);
        r->launched++;
    }
}

static void run_graph(struct run *r)
{
    for (int d = 0; d < r->w->device_count && go_on(r); d++) {
        if (r->graph && r->w->kernels - r->launched >= GRAPH_NODES) {
            sim_graph_launch(r->thread, at(r, d, LANE_MAIN), r->graph);
            r->launched += GRAPH_NODES;
        } else {
            run_kernel(r, LANE_MAIN, SIM_KERNEL_ADAMW);
        }
    }
}

static void scope_open(struct run *r, const struct step *s)
{
    if (!r->w->scope_begin)
        return;
    sim_pace(r->thread, 2);
    sim_host(r->thread, 150);
    r->scopes[r->depth].start = sim_now(r->thread);
    r->scopes[r->depth++].handle = r->w->scope_begin(s->name, s->tag);
    sim_tally_enter(sim_thread_tally(r->thread), s->name);
}

static void scope_close(struct run *r)
{
    if (!r->w->scope_begin)
        return;
    sim_host(r->thread, 150);
    r->depth--;
    sim_tally_leave(sim_thread_tally(r->thread), sim_now(r->thread) - r->scopes[r->depth].start);
    r->w->scope_end(r->scopes[r->depth].handle);
}

/* Runs a step that every device does on its own. */
static void run_device_step(struct run *r, const struct step *s, int d)
{
    struct sim_thread *t = r->thread;
    struct sim_at where = at(r, d, s->lane);
    int devices = r->w->device_count;
    switch (s->kind) {
    case STEP_COPY:
        sim_memcpy(t, where, (enum sim_copy)s->what, s->n, true, -1);
        break;
    case STEP_PEER:
        if (devices > 1)
            sim_memcpy(t, where, SIM_PTOP, s->n, true, r->w->devices[(d + 1) % devices]);
        break;
    case STEP_FILL:
        sim_memset(t, where, s->n, 0);
        break;
    case STEP_SYNC:
        sim_sync(t, where, (enum sim_wait)s->what, -1);
        break;
    case STEP_FORK:
        sim_sync(t, at(r, d, LANE_AUX), SIM_WAIT_STREAM_EVENT, at(r, d, LANE_MAIN).stream);
        break;
    case STEP_JOIN:
        sim_sync(t, at(r, d, LANE_MAIN), SIM_WAIT_STREAM_EVENT, at(r, d, LANE_AUX).stream);
        break;
    default:
        break;
    }
}

static void run_table(struct run *r, const char *function, const struct step *s)
{
    sim_enter(r->thread, function, source);
    for (; s->kind != STEP_END; s++) {
        sim_line(r->thread, s->line);
        if (s->kind == STEP_OPEN)
            scope_open(r, s);
        else if (s->kind == STEP_CLOSE)
            scope_close(r);
        else if (r->over)
            continue; /* at the end scopes are still opened and closed, so that they balance */
        else if (s->kind == STEP_KERNEL)
            run_kernel(r, s->lane, (unsigned)s->n);
        else if (s->kind == STEP_GRAPH)
            run_graph(r);
        else if (s->kind == STEP_HOST)
            sim_host(r->thread, s->n * r->thread->stretch_others / SIM_STRETCH_ONE);
        else if (s->kind == STEP_CALL)
            for (int64_t i = 0; i < s->n && !r->over; i++)
                run_table(r, s->name, s->table);
        else
            for (int d = 0; d < r->w->device_count; d++)
                run_device_step(r, s, d);
    }
    sim_leave(r->thread);
}

/* Sums up the mean usual time of the kernels of a table, for the load that a rate makes. */
static void table_sum(const struct step *s, int64_t times, int64_t *kernels, int64_t *ns)
{
    for (; s->kind != STEP_END; s++) {
        if (s->kind == STEP_CALL) {
            table_sum(s->table, times * s->n, kernels, ns);
        } else if (s->kind == STEP_KERNEL) {
            *kernels += times;
            *ns += times * sim_kernels[s->n].usual;
        }
    }
}

/* If a rate is given, kernels get the duration that makes the wanted load, and everything else is
 * made fast enough for the rate. */
static void set_load(struct run *r)
{
    int64_t kernels = 0, ns = 0;
    table_sum(train_step, 1, &kernels, &ns);
    double mean = (double)ns / (double)kernels;
    double each = 1e9 * r->w->device_count / (double)r->w->rate;
    double share = (double)r->thread->machine->config.load / 100;
    double stretch = each * share / mean;
    stretch = stretch < 0.02 ? 0.02 : stretch > 500 ? 500 : stretch;
    double others = 5e8 / (double)r->w->rate / SIM_LAUNCH_COST; /* half of what a launch may take */
    others = others > 1 ? 1 : others;
    sim_stretch(r->thread, (int64_t)(stretch * SIM_STRETCH_ONE),
                (int64_t)(others * SIM_STRETCH_ONE));
}

static void make_graph(struct run *r)
{
    struct sim_work nodes[GRAPH_NODES];
    for (int i = 0; i < GRAPH_NODES; i++)
        nodes[i] = work_of(r, i % 4 == 3 ? SIM_KERNEL_CAST_F16 : SIM_KERNEL_ADAMW);
    r->graph = sim_graph_create(nodes, GRAPH_NODES);
}

/* Returns the bytes of activations in an epoch, which grow from epoch to epoch for six epochs, and
 * then begin again. */
static int64_t epoch_bytes(const struct run *r, int64_t epoch)
{
    return r->thread->machine->config.memory / 100 * (18 + 13 * (epoch % 6));
}

static void run_epoch(struct run *r, int64_t epoch)
{
    static const struct step scope = OPEN_TAG("epoch", "train");
    const struct sim_workload *w = r->w;
    uint64_t memory[SIM_DEVICES_MAX];
    int64_t bytes = epoch_bytes(r, epoch);
    sim_enter(r->thread, "run_epoch", source);
    scope_open(r, &scope);
    for (int d = 0; d < w->device_count; d++)
        memory[d] = sim_alloc(r->thread, w->devices[d], bytes);
    for (int i = 0; i < EPOCH_STEPS && go_on(r); i++) {
        r->divide = i == EPOCH_STEPS - 1 ? 2 : 1; /* the last batch is a small one */
        sim_line(r->thread, __LINE__);
        run_table(r, "train_step", train_step);
        r->step++;
    }
    sim_line(r->thread, __LINE__);
    if (go_on(r))
        run_table(r, "evaluate", evaluate);
    for (int d = 0; d < w->device_count; d++)
        sim_free(r->thread, w->devices[d], memory[d], bytes);
    scope_close(r);
    sim_leave(r->thread);
}

void sim_workload_run(struct sim_thread *t, const struct sim_workload *w)
{
    struct run r = {.thread = t, .w = w, .began = sim_now(t), .divide = 1};
    sim_thread_meet(t);
    if (w->rate)
        set_load(&r);
    make_graph(&r);
    sim_enter(t, "main", source);
    sim_line(t, __LINE__);
    for (int64_t epoch = 0; go_on(&r); epoch++)
        run_epoch(&r, epoch);
    sim_line(t, __LINE__);
    for (int d = 0; d < w->device_count; d++)
        sim_sync(t, at(&r, d, LANE_MAIN), SIM_WAIT_CONTEXT, -1);
    sim_leave(t);
}
