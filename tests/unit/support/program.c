/* program.c - is a simple host and GPU whose log is known in advance. */
#include "tests/unit/support/program.h"

#include "tests/unit/support/tmpdir.h"
#include "wire/decode.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FUTEX = 202 /* of x86-64 */ };

void program_init(struct program *p, const char *session)
{
    *p = (struct program){.now = 1000000};
    make_log_init(&p->log, session);
    make_log_header(&p->log, "device", 1);
    program_name(p, "H200");
    program_name(p, "GPU-0");
    make_log_device(&p->log);
}

void program_fini(struct program *p)
{
    make_log_fini(&p->log);
}

int64_t program_name(struct program *p, const char *text)
{
    uint32_t id = ++p->names;
    size_t len = strlen(text);
    encode_names(&p->log.lines, &id, &text, &len, 1);
    return id;
}

void program_arch(struct program *p, int64_t device, const char *arch)
{
    struct device_row d;
    MAKE_UNKNOWN(d);
    d.id = device;
    d.index = device - 1;
    d.name = 1;
    d.arch = program_name(p, arch);
    d.uuid = device == 1 ? 2 : d.arch; /* device 1 has its UUID already */
    d.sm_count = 4;
    d.compute_major = 9;
    d.compute_minor = 0;
    make_log_rows(&p->log, RECORD_device, &d, 1);
}

int64_t program_config(struct program *p, const char *kernel, int64_t blocks)
{
    struct config_row c = {.id = ++p->configs,
                           .name = program_name(p, kernel),
                           .device = 1,
                           .grid_x = blocks,
                           .grid_y = 1,
                           .grid_z = 1,
                           .block_x = 128,
                           .block_y = 1,
                           .block_z = 1,
                           .occ_warps = CELL_NULL,
                           .occ_max_warps = CELL_NULL,
                           .occ_limiter = CELL_NULL};
    make_log_rows(&p->log, RECORD_config, &c, 1);
    return c.id;
}

static int64_t put_stack(struct program *p, int64_t parent, const struct frame_row *f)
{
    struct stack_row s = {.id = ++p->ids, .parent = parent, .frame = f->id, .depth = 1};
    make_log_rows(&p->log, RECORD_frame, f, 1);
    make_log_rows(&p->log, RECORD_stack, &s, 1);
    return s.id;
}

int64_t program_python(struct program *p, int64_t parent, const char *file, const char *function,
                       int64_t line)
{
    struct frame_row f = {.id = ++p->ids,
                          .kind = STACKS_PYTHON,
                          .function = program_name(p, function),
                          .file = program_name(p, file),
                          .line = line,
                          .first_line = 1};
    return put_stack(p, parent, &f);
}

int64_t program_native(struct program *p, int64_t parent, const char *module, int64_t offset,
                       int64_t *frame)
{
    struct module_row mod = {.id = ++p->ids, .path = program_name(p, module), .kind = 1};
    make_log_rows(&p->log, RECORD_module, &mod, 1);
    struct frame_row f = {.id = ++p->ids,
                          .kind = STACKS_NATIVE,
                          .module = mod.id,
                          .offset = offset,
                          .line = CELL_NULL};
    if (frame)
        *frame = f.id;
    return put_stack(p, parent, &f);
}

int64_t program_mark(struct program *p, int64_t parent, const char *text)
{
    struct frame_row f = {
        .id = ++p->ids, .kind = STACKS_MARK, .function = program_name(p, text), .line = CELL_NULL};
    return put_stack(p, parent, &f);
}

void program_symbol(struct program *p, int64_t frame, int64_t level, const char *function,
                    const char *file, int64_t line, int64_t status)
{
    struct symbol_row s = {.frame = frame,
                           .level = level,
                           .function = function ? program_name(p, function) : 0,
                           .file = file ? program_name(p, file) : 0,
                           .line = line,
                           .status = status};
    make_log_rows(&p->log, RECORD_symbol, &s, 1);
}

void program_launch(struct program *p, struct program_kernel k)
{
    struct kernel_row row = {.duration = k.ns,
                             .config = k.config,
                             .stream = 1,
                             .correlation = ++p->correlation,
                             .stack = k.stack,
                             .scope = k.scope,
                             .thread = p->reported ? (k.thread ? k.thread : 1) : CELL_NULL};
    p->launches[(k.thread ? k.thread : 1) & 15]++;
    p->now += 2000;
    row.start = p->gpu > p->now + 3000 ? p->gpu : p->now + 3000;
    p->gpu = row.start + k.ns;
    make_log_rows(&p->log, RECORD_kernel, &row, 1);
}

void program_capture(struct program *p, int64_t why, int64_t thread, int64_t stack)
{
    struct launch_row row = {.start = p->now,
                             .sum = why == 2 ? 500000 : CELL_NULL,
                             .why = why,
                             .correlation = p->correlation + 1,
                             .thread = thread,
                             .stack = stack};
    make_log_rows(&p->log, RECORD_launch, &row, 1);
}

void program_look(struct program *p, int64_t time, int64_t thread, int64_t stack, int64_t state)
{
    struct host_sample_row row = {.start = time,
                                  .thread = thread,
                                  .stack = stack,
                                  .state = state,
                                  .syscall = state == IDLE_BLOCKED ? FUTEX : CELL_NULL,
                                  .quality = stack ? 0 : CELL_NULL};
    make_log_rows(&p->log, RECORD_host_sample, &row, 1);
}

void program_look_fault(struct program *p, int64_t time, int64_t thread, int64_t stack)
{
    struct host_sample_row row = {.start = time,
                                  .thread = thread,
                                  .stack = stack,
                                  .state = IDLE_BLOCKED,
                                  .syscall = CELL_NULL};
    make_log_rows(&p->log, RECORD_host_sample, &row, 1);
}

void program_look_native(struct program *p, int64_t time, int64_t thread, int64_t stack)
{
    struct host_sample_row row = {.start = time,
                                  .thread = thread,
                                  .stack = stack,
                                  .state = stack ? IDLE_BLOCKED : IDLE_RUNNING,
                                  .syscall = stack ? FUTEX : CELL_NULL,
                                  .quality = stack ? 3 : CELL_NULL};
    make_log_rows(&p->log, RECORD_host_sample, &row, 1);
}

void program_look_torn(struct program *p, int64_t time, int64_t thread)
{
    struct host_sample_row row = {
        .start = time, .thread = thread, .state = IDLE_RUNNING, .syscall = CELL_NULL, .quality = 2};
    make_log_rows(&p->log, RECORD_host_sample, &row, 1);
}

void program_scope(struct program *p, int64_t instance, int64_t parent, const char *name)
{
    struct scope_row row = {.start = p->now,
                            .duration = 1000,
                            .instance = instance,
                            .parent = parent,
                            .name = program_name(p, name),
                            .thread = 1,
                            .depth = parent != 0};
    make_log_rows(&p->log, RECORD_scope, &row, 1);
}

void program_processes(struct program *p, int64_t processes)
{
    struct device_metric_row row;
    MAKE_UNKNOWN(row);
    row.time = p->now;
    row.device = 1;
    row.processes = processes;
    make_log_rows(&p->log, RECORD_device_metric, &row, 1);
}

void program_copy_back(struct program *p, int64_t ns)
{
    enum { PAGEABLE = 1, DEVICE = 3 };
    struct memcpy_row c;
    MAKE_UNKNOWN(c);
    c.start = p->gpu;
    c.duration = ns;
    c.bytes = ns;
    c.kind = PROGRAM_COPY_BACK;
    c.src_memory = DEVICE;
    c.dst_memory = PAGEABLE;
    c.stream = 1;
    p->gpu += ns;
    make_log_rows(&p->log, RECORD_memcpy, &c, 1);
}

void program_work(struct program *p, int64_t ns)
{
    p->now += ns;
}

void program_call(struct program *p, struct wait_row w)
{
    w.start = p->now;
    w.correlation = ++p->correlation;
    w.thread = w.thread ? w.thread : 1;
    w.launches = p->launches[w.thread & 15];
    p->now += w.duration;
    make_log_rows(&p->log, RECORD_wait, &w, 1);
}

void program_sync(struct program *p, int64_t call, int64_t stack, int64_t thread)
{
    int64_t until = p->gpu > p->now ? p->gpu + 5000 : p->now + 1000;
    program_call(p, (struct wait_row){.duration = until - p->now,
                                      .call = call,
                                      .stack = stack,
                                      .thread = thread,
                                      .bytes = CELL_NULL});
}

void program_end(struct program *p)
{
    int64_t last = p->gpu > p->now ? p->gpu : p->now;
    struct end_row e = {.time = last + 1000000, .reason = program_name(p, "exit")};
    make_log_rows(&p->log, RECORD_end, &e, 1);
}

void program_write(struct program *p)
{
    program_end(p);
    make_log_write(&p->log, tmpdir, "device.log");
    make_log_header(&p->log, "system", 1);
    make_log_write(&p->log, tmpdir, "system.log");
    program_fini(p);
}

/* ---- reading ---------------------------------------------------------------------------- */

static int take_header(void *arg, const struct wire_header *h)
{
    return model_header(arg, h);
}

static int take_name(void *arg, uint32_t id, const char *text, size_t len)
{
    return model_name(arg, id, text, len);
}

static int take_batch(void *arg, const struct wire_batch *b)
{
    return model_batch(arg, b);
}

struct wire_visitor program_visitor(struct model *m)
{
    return (struct wire_visitor){
        .arg = m, .header = take_header, .name = take_name, .batch = take_batch};
}

struct line {
    char *text;
    unsigned rank; /* lines of names and devices always come first */
};

static int compare(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : (x->text > y->text) - (x->text < y->text);
}

static unsigned rank_of(const char *text, unsigned number, unsigned seed)
{
    static const char *const first[] = {"\"type\":\"header\"", "\"type\":\"name",
                                        "\"type\":\"device\"", "\"type\":\"stream\"",
                                        "\"type\":\"config\""};
    for (unsigned i = 0; i < sizeof first / sizeof *first; i++)
        if (strstr(text, first[i]))
            return i;
    if (!seed)
        return 16;
    unsigned x = number * 2654435761u + seed * 40503u;
    return 16 + ((x ^ x >> 15) * 2246822519u >> 8);
}

void program_read_shuffled(struct program *p, struct model *m, unsigned seed)
{
    struct wire_visitor v = program_visitor(m);
    char *copy = strdup(buf_cstr(&p->log.lines)), *at = copy;
    size_t count = 0, cap = 1;
    for (const char *c = copy; *c; c++)
        cap += *c == '\n';
    struct line *lines = calloc(cap, sizeof *lines);
    struct decoder *d;
    if (!copy || !lines || decoder_open(&d))
        abort();
    for (char *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        lines[count] = (struct line){at, rank_of(at, (unsigned)count, seed)};
        count++;
    }
    if (seed)
        qsort(lines, count, sizeof *lines, compare);
    for (size_t i = 0; i < count; i++)
        if (decoder_feed(d, lines[i].text, strlen(lines[i].text), &v))
            abort();
    if (decoder_finish(d, &v) || decoder_stats(d)->damaged || model_finish(m))
        abort();
    decoder_close(d);
    free(lines);
    free(copy);
}

void program_read(struct program *p, struct model *m)
{
    program_read_shuffled(p, m, 0);
}
