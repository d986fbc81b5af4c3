/* profile_log.c - see profile_log.h. */
#include "tests/unit/support/profile_log.h"

#include <stdio.h>

enum { INSTRUCTIONS = 8, STRIDE = 16, FIRST_LINE = 10 };

int64_t profile_kernel_of(struct program *p, const char *name, int64_t ms)
{
    char file[128];
    struct code_object_row o = {.id = ++p->ids, .crc = p->ids, .size = CELL_NULL};
    snprintf(file, sizeof file, "/src/%s.cu", name);
    make_log_rows(&p->log, RECORD_code_object, &o, 1);
    int64_t text = program_name(p, name), path = program_name(p, file);
    struct function_row f = {.id = ++p->ids, .object = o.id, .name = text, .index = CELL_NULL};
    make_log_rows(&p->log, RECORD_function, &f, 1);
    for (int i = 0; i < INSTRUCTIONS; i++) {
        struct instruction_row r = {.function = f.id,
                                    .offset = i * STRIDE,
                                    .text = program_name(p, "NOP ;"),
                                    .file = path,
                                    .line = FIRST_LINE + i};
        make_log_rows(&p->log, RECORD_instruction, &r, 1);
    }
    if (ms > 0) {
        make_log_config(&p->log, ++p->ids, text);
        program_launch(p, (struct program_kernel){.ns = ms * 1000000, .config = p->ids});
    }
    return f.id;
}

static void put_sample(struct program *p, int64_t function, int64_t instruction, const char *reason,
                       int64_t issued, int64_t samples, int64_t scope)
{
    struct stall_reason_row r = {.id = 1 + p->ids++ % 60000,
                                 .name = program_name(p, reason),
                                 .index = CELL_NULL,
                                 .issued = issued};
    struct pc_sample_row s = {.start = p->now,
                              .duration = 1000,
                              .device = 1,
                              .function = function,
                              .offset = instruction * STRIDE,
                              .reason = r.id,
                              .samples = samples,
                              .scope = scope,
                              .correlation = CELL_NULL};
    make_log_rows(&p->log, RECORD_stall_reason, &r, 1);
    make_log_rows(&p->log, RECORD_pc_sample, &s, 1);
}

void profile_sample(struct program *p, int64_t function, int64_t instruction, const char *reason,
                    int64_t issued, int64_t samples)
{
    put_sample(p, function, instruction, reason, issued, samples, CELL_NULL);
}

void profile_sample_in(struct program *p, int64_t function, int64_t instruction, const char *reason,
                       int64_t samples, int64_t scope)
{
    put_sample(p, function, instruction, reason, CELL_NULL, samples, scope);
}

void profile_metric(struct program *p, int64_t function, int64_t instruction, const char *metric,
                    int64_t value, int64_t scope)
{
    struct sass_metric_row r = {.start = p->now,
                                .device = 1,
                                .function = function,
                                .offset = instruction * STRIDE,
                                .metric = program_name(p, metric),
                                .value = value,
                                .scope = scope};
    make_log_rows(&p->log, RECORD_sass_metric, &r, 1);
}

int64_t profile_scope(struct program *p, const char *name)
{
    struct scope_row s = {.start = p->now,
                          .duration = 1000000,
                          .instance = ++p->ids,
                          .name = program_name(p, name),
                          .thread = CELL_NULL};
    make_log_rows(&p->log, RECORD_scope, &s, 1);
    return s.instance;
}
