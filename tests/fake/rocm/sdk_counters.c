/* sdk_counters.c - has the fake librocprofiler-sdk.so: the dispatch counting service, under the
 * names that each release has. A kernel has a wavefront for each 64 work-items; its counts follow
 * from its launch. A configuration takes 4 counters of SQ, and 2 of others. */
#include "sdk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OK = 0,
    ERROR = 1,
    LOCKED = 12,
    EXCEEDS = 38,
    CONFIGS = 1024,
    IDS = 16,
    INSTANCES_MOST = 8,
    SQ_MOST = 4,
    OTHER_MOST = 2
};

#define FAIL_AS_ASKED                                                                              \
    if (fails(__func__ + strlen("rocprofiler_")))                                                  \
    return ERROR

static const struct {
    const char *name, *block;
    int instances;
    int on[2]; /* gfx90a, gfx1100 */
} counters[] = {
    {"GRBM_COUNT", "GRBM", 1, {1, 1}},   {"GRBM_GUI_ACTIVE", "GRBM", 1, {1, 1}},
    {"SQ_WAVES", "SQ", 8, {1, 1}},       {"SQ_BUSY_CYCLES", "SQ", 8, {1, 1}},
    {"SQ_WAVE_CYCLES", "SQ", 8, {1, 0}}, {"SQ_INSTS_VALU", "SQ", 8, {1, 1}},
    {"SQ_INSTS_SALU", "SQ", 8, {1, 1}},  {"FETCH_SIZE", "", 1, {1, 1}},
    {"SQ_NOTHING", "SQ", 2, {1, 1}},
};
enum { COUNTERS = sizeof counters / sizeof *counters };

static struct config {
    uint64_t agent, ids[IDS];
    size_t count;
} configs[CONFIGS];
static _Atomic int config_count;

/* Ids of the two GPUs' counters differ. */
static uint64_t id_of(uint64_t agent, int i)
{
    return (agent & 1 ? 0x100u : 0x200u) + (unsigned)i;
}

static int index_of(uint64_t agent, uint64_t id)
{
    int i = (int)(id & 0xff);
    return i < COUNTERS && id_of(agent, i) == id && counters[i].on[agent & 1 ? 0 : 1] ? i : -1;
}

int rocprofiler_query_counter_info(uint64_t id, int version, void *out)
{
    int i = (int)(id & 0xff);
    FAIL_AS_ASKED;
    if (version != 1 || i >= COUNTERS)
        return ERROR;
    uint64_t words[6] = {id, (uint64_t)(uintptr_t)counters[i].name, 0,
                         (uint64_t)(uintptr_t)counters[i].block};
    memcpy(out, words, sizeof words);
    return OK;
}

int rocprofiler_iterate_agent_supported_counters(uint64_t agent,
                                                 int (*fn)(uint64_t, uint64_t *, size_t, void *),
                                                 void *data)
{
    uint64_t ids[COUNTERS];
    size_t n = 0;
    FAIL_AS_ASKED;
    for (int i = 0; i < COUNTERS; i++)
        if (index_of(agent, id_of(agent, i)) >= 0)
            ids[n++] = id_of(agent, i);
    return fn(agent, ids, n, data);
}

/* The instance's number lies above the counter's. */
int rocprofiler_query_record_counter_id(uint64_t instance, uint64_t *id)
{
    FAIL_AS_ASKED;
    *id = instance & 0xffff;
    return OK;
}

static int create(uint64_t agent, const uint64_t *ids, size_t count, uint64_t *config)
{
    int sq = 0, other = 0, n = atomic_fetch_add(&config_count, 1);
    if (n >= CONFIGS - 1 || count > IDS || *config) /* the real one would extend *config */
        return ERROR;
    for (size_t i = 0; i < count; i++) {
        int at = index_of(agent, ids[i]);
        if (at < 0)
            return ERROR;
        *(strcmp(counters[at].block, "SQ") == 0 ? &sq : &other) += *counters[at].block != '\0';
    }
    if (sq > SQ_MOST || other > OTHER_MOST)
        return EXCEEDS;
    configs[n + 1].agent = agent;
    configs[n + 1].count = count;
    memcpy(configs[n + 1].ids, ids, count * sizeof *ids);
    *config = (uint64_t)n + 1;
    return OK;
}

static int configure(uint64_t context, uint64_t buffer, void *fn, void *data)
{
    if (sdk.up || buffer_index(buffer) < 0)
        return LOCKED;
    sdk.counting = (struct service){.context = context, .fn = fn, .data = data, .buffer = buffer};
    return OK;
}

/* The names of the release. */
#ifndef FAKE_ROCP_PLAIN
#if FAKE_ROCP_VERSION >= 10000
#define CREATE    rocprofiler_create_counter_config
#define CONFIGURE rocprofiler_configure_buffer_dispatch_counting_service
#elif FAKE_ROCP_VERSION >= 500
#define CREATE    rocprofiler_create_profile_config
#define CONFIGURE rocprofiler_configure_buffered_dispatch_counting_service
#else
#define CREATE    rocprofiler_create_profile_config
#define CONFIGURE rocprofiler_configure_buffered_dispatch_profile_counting_service
#endif

int CREATE(uint64_t agent, const uint64_t *ids, size_t count, uint64_t *config)
{
    if (fails("create_config"))
        return ERROR;
    return create(agent, ids, count, config);
}

int CONFIGURE(uint64_t context, uint64_t buffer, void *fn, void *data)
{
    if (fails("counting_service"))
        return ERROR;
    return configure(context, buffer, fn, data);
}
#else
int (*const unused_create)(uint64_t, const uint64_t *, size_t, uint64_t *) = create;
int (*const unused_configure)(uint64_t, uint64_t, void *, void *) = configure;
#endif

/* ---- a kernel ------------------------------------------------------------------------ */

struct old_data {
    uint64_t words[19];
};

struct new_data {
    uint64_t words[21];
};

static bool has_times(void)
{
    return sdk.version >= 500;
}

/* Puts the dispatch's facts at the place that the release has for them. */
static void put_info(uint64_t *words, unsigned at, const uint64_t *dispatch)
{
    memcpy(words + at, dispatch + 7, 16 * sizeof *words);
}

uint64_t counters_ask(const uint64_t *dispatch)
{
    struct old_data o = {{152, dispatch[2], 0}};
    struct new_data n = {{168, dispatch[2], 0, 0, 0}};
    uint64_t config = 0, user = 0;
    if (!sdk.counting.context || !sdk.active[sdk.counting.context])
        return 0;
    put_info(o.words, 3, dispatch);
    put_info(n.words, 5, dispatch);
    if (has_times()) {
        void (*fn)(struct new_data, uint64_t *, uint64_t *, void *) = NULL;
        *(void **)&fn = sdk.counting.fn;
        fn(n, &config, &user, sdk.counting.data);
    } else {
        void (*fn)(struct old_data, uint64_t *, uint64_t *, void *) = NULL;
        *(void **)&fn = sdk.counting.fn;
        fn(o, &config, &user, sdk.counting.data);
    }
    if (config && (config >= CONFIGS || configs[config].agent != dispatch[8]))
        abort(); /* as the real library does */
    return config;
}

static double total(int counter, const struct fake_dispatch *d)
{
    double items = (double)d->grid[0] * d->grid[1] * d->grid[2], waves = ceil(items / 64);
    static const double a_wave[COUNTERS] = {[2] = 1, [3] = 100, [4] = 200, [5] = 40, [6] = 10};
    if (strcmp(counters[counter].name, "SQ_NOTHING") == 0)
        return NAN;
    if (*counters[counter].block == '\0')
        return items * 4 / 1024; /* KiB */
    return a_wave[counter] > 0 ? waves * a_wave[counter] : (double)d->kernel->duration;
}

/* The part of one instance: all have equal whole parts, and the first one has the rest, too. */
static double part(double all, int instance, int instances)
{
    double each = instances > 1 ? floor(all / instances) : all;
    return instance ? each : all - each * (instances - 1);
}

/* Counts of kernels that are kept back: `pieces` of each. */
static struct {
    pthread_mutex_t lock;
    struct item *items;
    size_t kernels, pieces;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Delivers the first piece of each kernel, then the second of each, and so on. */
static void hand_over(void)
{
    int64_t last = 0;
    for (size_t i = 0; i < held.kernels * held.pieces; i++)
        last = held.items[i].ready > last ? held.items[i].ready : last;
    for (size_t piece = 0; piece < held.pieces; piece++)
        for (size_t k = 0; k < held.kernels; k++) {
            struct item *one = &held.items[k * held.pieces + piece];
            one->ready = last;
            item_put(one, RECORD_WORDS - 1);
        }
    held.kernels = 0;
}

static void hold(const struct item *pieces, size_t count, size_t most)
{
    pthread_mutex_lock(&held.lock);
    held.pieces = count;
    held.items = realloc(held.items, (held.kernels + 1) * count * sizeof *pieces);
    memcpy(held.items + held.kernels++ * count, pieces, count * sizeof *pieces);
    if (held.kernels >= most)
        hand_over();
    pthread_mutex_unlock(&held.lock);
}

void counters_put(uint64_t config, const uint64_t *dispatch, const struct fake_dispatch *d)
{
    static _Atomic int64_t kernels;
    const struct config *c = &configs[config];
    struct item pieces[1 + IDS * INSTANCES_MOST];
    size_t count = 1;
    unsigned info = has_times() ? 6 : 4;
    bool empty = script("empty") > 0 && ++kernels % script("empty") == 0;
    for (size_t i = 0; i < c->count && !empty; i++) {
        int at = index_of(c->agent, c->ids[i]);
        for (int k = 0; k < counters[at].instances; k++) {
            double v = part(total(at, d), k, counters[at].instances);
            struct item *one = &pieces[count++];
            *one = (struct item){.category = 3, .kind = 2, .ready = d->end};
            one->words[0] = c->ids[i] | (uint64_t)k << 16;
            memcpy(&one->words[1], &v, sizeof v);
            one->words[2] = dispatch[11];
        }
    }
    uint64_t words[] = {
        has_times() ? 176 : 160, count - 1, dispatch[2], 0, dispatch[5], dispatch[6]};
    pieces[0] = (struct item){.category = 3, .kind = 1, .ready = d->end};
    memcpy(pieces[0].words, words, info * sizeof *words);
    put_info(pieces[0].words, info, dispatch);
    if (script("apart") > 0)
        hold(pieces, count, (size_t)script("apart"));
    else
        for (size_t i = 0; i < count; i++)
            item_put(&pieces[i], RECORD_WORDS - 1);
}
