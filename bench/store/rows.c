/* rows.c - see rows.h. A step of the loop is a scope of some hundred launches over
 * four streams; most durations are near the mean of their configuration, some are much longer. */
#include "rows.h"

#include <stdio.h>
#include <string.h>

enum { LAUNCHES_A_STEP = 400 };

void rows_start(struct rows_made *r)
{
    memset(r, 0, sizeof *r);
    r->random = 88172645463325252u;
    r->batch = (struct wire_batch){.type = RECORD_kernel, .record = &records[RECORD_kernel]};
    for (int i = 0; i < ROWS_STREAMS; i++)
        r->clock[i] = 1000000000000;
    for (unsigned i = 0; i < COL_kernel_COUNT; i++)
        r->batch.col[i] = r->cells[i];
    r->batch.col[COL_kernel_inherited] = NULL;
}

static uint64_t next(struct rows_made *r)
{
    r->random ^= r->random << 13;
    r->random ^= r->random >> 7;
    return r->random ^= r->random << 17;
}

static void one(struct rows_made *r, size_t i)
{
    uint64_t x = next(r);
    int64_t place = r->step++ % LAUNCHES_A_STEP;
    int64_t config = place * 7 % ROWS_CONFIGS, stream = place % 16 < 13 ? 0 : 1 + place % 3;
    int64_t mean = 2000 + config * config * 2;
    int64_t duration = mean - mean / 20 + (int64_t)(x % (uint64_t)(mean / 10 + 1));
    if (x >> 57 == 0) /* one in 128 takes longer */
        duration += (int64_t)(x >> 20 & 0xffff);
    r->scope += place == 0;
    r->correlation += 1 + (int64_t)(x >> 60 == 0);
    r->clock[stream] += duration + 500 + (int64_t)(x >> 40 & 1023);
    const int64_t cells[COL_kernel_COUNT] = {
        [COL_kernel_start] = r->clock[stream] - duration,
        [COL_kernel_duration] = duration,
        [COL_kernel_config] = config + 1,
        [COL_kernel_stream] = stream + 1,
        [COL_kernel_correlation] = r->correlation,
        [COL_kernel_scope] = r->scope,
        [COL_kernel_stack] = 1 + place % 90,
        [COL_kernel_thread] = 4711,
    };
    if (place == LAUNCHES_A_STEP - 1) /* the other streams wait for stream 0 */
        for (int k = 0; k < ROWS_STREAMS; k++)
            r->clock[k] = r->clock[0] > r->clock[k] ? r->clock[0] : r->clock[k];
    for (unsigned c = 0; c < COL_kernel_COUNT; c++)
        r->cells[c][i] = cells[c];
}

const struct wire_batch *rows_next(struct rows_made *r, size_t n)
{
    r->batch.rows = n;
    for (size_t i = 0; i < n; i++)
        one(r, i);
    return &r->batch;
}

const struct wire_batch *rows_configs(void)
{
    static int64_t ids[ROWS_CONFIGS], names[ROWS_CONFIGS];
    static struct wire_batch b;
    b = (struct wire_batch){
        .type = RECORD_config, .record = &records[RECORD_config], .rows = ROWS_CONFIGS};
    for (int64_t i = 0; i < ROWS_CONFIGS; i++) {
        ids[i] = i + 1;
        names[i] = i % ROWS_NAMES + 1;
    }
    b.col[COL_config_id] = ids;
    b.col[COL_config_name] = names;
    return &b;
}

const char *rows_name(uint32_t id)
{
    static char text[128];
    snprintf(text, sizeof text,
             "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_%uCUDAFunctor_addIfEEEEvi", id);
    return text;
}
