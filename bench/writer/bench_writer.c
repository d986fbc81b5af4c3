/* bench_writer.c - what a kernel row costs on its way to disk.
 *
 *   bench_writer [ROWS [ROTATE_BYTES]]
 *
 * Writes kernel rows of a training-like stream (40 launch configurations, 4
 * streams, kernels of 2 to 60 us, a flush every 200 000 rows) into a directory
 * under TMPDIR and prints nanoseconds and bytes of a row. Time is the wall and
 * the CPU time of this thread from the first row to the last flush; the time of
 * making the rows is measured separately and subtracted. With ROTATE_BYTES the compressor runs
 * concurrently. Without it, the log is one part, which is then packed at levels 1, 4 and 6 to
 * measure bytes of a row. */
#include "base/clock.h"
#include "base/file/file.h"
#include "base/intern.h"
#include "capture/log/writer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONFIGS = 40, STREAMS = 4, FLUSH_ROWS = 200000 };

struct source {
    uint64_t random;
    struct kernel_row row;
};

static void source_next(struct source *s)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    uint64_t r = s->random >> 33;
    s->row.start += 700 + (int64_t)(r % 3000);
    s->row.duration = 2000 + (int64_t)((r >> 8) % 1024) * ((int64_t)(r >> 20) % 58);
    s->row.config = 1 + (int64_t)(r % CONFIGS);
    s->row.stream = 1 + (int64_t)((r >> 12) % 64 ? 0 : (r >> 5) % STREAMS);
    s->row.correlation += 1 + (int64_t)(r % 5);
    s->row.scope += (r >> 3) % 200 == 0;
}

static struct source source_make(void)
{
    return (struct source){.random = 1, .row = {.start = 5000000000000, .scope = 1}};
}

static void define_all(struct writer *w, struct intern *names)
{
    struct device_row device = {.id = 1, .name = intern_str(names, "Bench GPU")};
    writer_define(w, RECORD_device, &device.id);
    for (int i = 1; i <= STREAMS; i++) {
        struct stream_row stream = {.id = i, .device = 1, .context = 1, .number = i + 6};
        writer_define(w, RECORD_stream, &stream.id);
    }
    for (int i = 1; i <= CONFIGS; i++) {
        char name[160];
        snprintf(name, sizeof name,
                 "_ZN2at6native29vectorized_elementwise_kernelILi4E%dFunctorIfEEvi", i);
        struct config_row config = {
            .id = i, .device = 1, .grid_x = i * 12, .grid_y = 1, .grid_z = 1};
        config.name = intern_str(names, name);
        config.block_x = 256;
        config.registers = 32 + i;
        writer_define(w, RECORD_config, &config.id);
    }
}

/* The time that making one row takes, in ns. */
static double source_cost(int64_t rows)
{
    struct source s = source_make();
    int64_t sum = 0, begin = clock_thread_cpu();
    for (int64_t i = 0; i < rows; i++) {
        source_next(&s);
        sum += s.row.start ^ s.row.duration;
        __asm__ volatile("" : : "r"(sum));
    }
    return (double)(clock_thread_cpu() - begin) / (double)rows;
}

static void print_packed(const char *dir, int64_t rows, int64_t bytes)
{
    char plain[512], packed[512];
    snprintf(plain, sizeof plain, "%s/device.log", dir);
    snprintf(packed, sizeof packed, "%s/device.gz", dir);
    static const int levels[] = {1, 4, 6};
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++) {
        int64_t begin = clock_mono();
        if (file_gzip(plain, packed, levels[i], NULL))
            return;
        double seconds = (double)(clock_mono() - begin) / 1e9;
        printf("gzip level %d: %.2f bytes/row, %.0f MB/s\n", levels[i],
               (double)file_size(packed) / (double)rows, (double)bytes / 1e6 / seconds);
    }
}

static void remove_dir(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path); /* fails for . and .. */
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? atoll(argv[1]) : 5000000, rotate = argc > 2 ? atoll(argv[2]) : 0;
    char dir[256];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/bench_writer.XXXXXX", tmp ? tmp : "/tmp");
    struct intern *names;
    struct writer *w;
    struct err e;
    if (!mkdtemp(dir) || intern_open(&names, 1 << 20, 64 << 20))
        return 1;
    struct writer_config config = {.dir = dir, .rotate_bytes = rotate, .compress = true};
    config.header.app = "bench";
    if (writer_open(&w, &config, names, &e)) {
        fprintf(stderr, "bench_writer: %s\n", e.text);
        return 1;
    }
    define_all(w, names);
    double own = source_cost(rows);
    struct source s = source_make();
    int64_t wall = clock_mono(), cpu = clock_thread_cpu();
    for (int64_t i = 1; i <= rows; i++) {
        source_next(&s);
        writer_row(w, RECORD_kernel, &s.row.start);
        if (i % FLUSH_ROWS == 0)
            writer_flush(w);
    }
    int rc = writer_flush(w);
    wall = clock_mono() - wall;
    cpu = clock_thread_cpu() - cpu;
    struct writer_counts counts;
    writer_counts(w, &counts);
    if (rc || counts.rows[RECORD_kernel] != (uint64_t)rows)
        fprintf(stderr, "bench_writer: only %llu rows written: %s\n",
                (unsigned long long)counts.rows[RECORD_kernel], writer_stop_text(w));
    printf("%lld rows: %.1f ns/row wall, %.1f ns/row cpu, %.2f bytes/row\n", (long long)rows,
           (double)wall / (double)rows - own, (double)cpu / (double)rows - own,
           (double)counts.bytes / (double)rows);
    writer_close(w);
    if (!rotate)
        print_packed(dir, rows, (int64_t)counts.bytes);
    remove_dir(dir);
    intern_close(names);
    return rc ? 1 : 0;
}
