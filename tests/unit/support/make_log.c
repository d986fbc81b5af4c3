/* make_log.c - writes session logs line by line. */
#include "tests/unit/support/make_log.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

void make_log_init(struct make_log *l, const char *session)
{
    *l = (struct make_log){.session = session,
                           .run = "",
                           .engine = "Trace",
                           .host = "node7",
                           .app = "train",
                           .real = 1700000000000000000};
    buf_init(&l->lines, 1u << 30);
}

void make_log_fini(struct make_log *l)
{
    buf_fini(&l->lines);
}

void make_log_header(struct make_log *l, const char *channel, int64_t part)
{
    struct wire_header h = {.session = l->session,
                            .channel = channel,
                            .part = part,
                            .app = l->app,
                            .pid = 42,
                            .host = l->host,
                            .run = l->run,
                            .pass = l->pass,
                            .passes = l->passes,
                            .command = "./train --epochs 1",
                            .engine = l->engine,
                            .backend = l->simulated ? "sim" : "nvidia",
                            .simulated = l->simulated,
                            .version = "0.1.0",
                            .system = "Linux 6.1 x86_64",
                            .start = 1000,
                            .clock_monotonic = 1000,
                            .clock_real = l->real + 1000,
                            .clock_uncertainty = 100};
    encode_header(&l->lines, &h);
}

void make_log_names(struct make_log *l, ...)
{
    const char *text;
    va_list ap;
    va_start(ap, l);
    for (uint32_t id = 1; (text = va_arg(ap, const char *)); id++) {
        size_t len = strlen(text);
        encode_names(&l->lines, &id, &text, &len, 1);
    }
    va_end(ap);
}

void make_log_rows(struct make_log *l, enum record_type type, const void *rows, size_t n)
{
    encode_rows(&l->lines, type, rows, n);
}

void make_log_text(struct make_log *l, const char *text)
{
    buf_str(&l->lines, text);
}

void make_log_write(struct make_log *l, const char *dir, const char *file)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, l->session);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", dir, l->session, file);
    bool gz = strstr(file, ".gz") != NULL;
    gzFile f = gzopen(path, gz ? "wb1" : "wbT");
    if (!f || buf_error(&l->lines) ||
        (l->lines.len && gzwrite(f, l->lines.data, (unsigned)l->lines.len) != (int)l->lines.len) ||
        gzclose(f) != Z_OK)
        abort();
    buf_clear(&l->lines);
}

void make_log_device(struct make_log *l)
{
    struct device_row d;
    MAKE_UNKNOWN(d);
    d.id = 1;
    d.index = 0;
    d.name = 1;
    d.uuid = 2;
    d.sm_count = 4;
    d.compute_major = 9;
    d.compute_minor = 0;
    make_log_rows(l, RECORD_device, &d, 1);
    make_log_rows(l, RECORD_stream, &(struct stream_row){1, 1, 1, 7}, 1);
}

void make_log_config(struct make_log *l, int64_t id, int64_t name)
{
    struct config_row c = {.id = id,
                           .name = name,
                           .device = 1,
                           .grid_x = 16,
                           .grid_y = 1,
                           .grid_z = 1,
                           .block_x = 128,
                           .block_y = 1,
                           .block_z = 1,
                           .registers = 32,
                           .occ_blocks = 8,
                           .occ_limit_warps = 16,
                           .occ_limit_regs = 16,
                           .occ_limit_shared = CELL_NULL,
                           .occ_limit_blocks = 32,
                           .occ_warps = 32,
                           .occ_max_warps = 64};
    make_log_rows(l, RECORD_config, &c, 1);
}

void make_log_kernel(struct make_log *l, int64_t start, int64_t duration, int64_t config,
                     int64_t scope)
{
    struct kernel_row k = {
        .start = start, .duration = duration, .config = config, .stream = 1, .scope = scope};
    make_log_rows(l, RECORD_kernel, &k, 1);
}
