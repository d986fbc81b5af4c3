/* bench_wire.c - what a kernel row costs: encoding it (ns, plain bytes) and
 * reading it back (MB/s of plain text), on one core.
 *
 * Rows are like those of a training step: short kernels back to back, 240 configurations that
 * repeat in order, one stream, correlation ids that count up, scopes that change now and then.
 * Prints JSON.
 *
 *   bench_wire [batches of 4096 rows]        default 512 */
#include "wire/decode.h"
#include "wire/encode.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISTINCT = 16 }; /* different batches, so that branches cannot be predicted */

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static void fill(struct kernel_row *rows, size_t n)
{
    static int64_t time = 1234567890123, correlation = 1000, scope = 10;
    for (size_t i = 0; i < n; i++) {
        int64_t kernel = (int64_t)(i % 897);
        int64_t duration = 1200 + kernel * 37 % 9000 + (int64_t)(random_next() % 256);
        scope += kernel == 0;
        rows[i] = (struct kernel_row){
            .start = time,
            .duration = duration,
            .config = 1 + kernel * 7 % 240,
            .stream = 1,
            .correlation = correlation,
            .scope = scope,
        };
        time += duration + 600 + (int64_t)(random_next() % 3000);
        correlation += 1 + (int64_t)(random_next() % 3);
    }
}

static int sum_batch(void *arg, const struct wire_batch *b)
{
    int64_t *sum = arg;
    const int64_t *duration = b->col[COL_kernel_duration];
    for (size_t i = 0; duration && i < b->rows; i++)
        *sum += duration[i];
    return 0;
}

int main(int argc, char **argv)
{
    size_t batches = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
    static struct kernel_row rows[DISTINCT][WIRE_MAX_ROWS];
    static size_t length[DISTINCT];
    int64_t expected = 0, sum = 0;
    for (int d = 0; d < DISTINCT; d++) {
        fill(rows[d], WIRE_MAX_ROWS);
        for (int i = 0; i < WIRE_MAX_ROWS; i++)
            expected += rows[d][i].duration;
    }

    struct buf one, all;
    buf_init(&one, WIRE_MAX_LINE * 2);
    buf_init(&all, (size_t)WIRE_MAX_LINE * DISTINCT);
    int64_t begin = clock_thread_cpu();
    size_t bytes = 0;
    for (size_t i = 0; i < batches; i++) {
        buf_clear(&one);
        encode_rows(&one, RECORD_kernel, (const int64_t *)rows[i % DISTINCT], WIRE_MAX_ROWS);
        bytes += one.len;
    }
    double encode_ns = (double)(clock_thread_cpu() - begin);

    for (int d = 0; d < DISTINCT; d++) {
        size_t before = all.len;
        encode_rows(&all, RECORD_kernel, (const int64_t *)rows[d], WIRE_MAX_ROWS);
        length[d] = all.len - before;
    }
    struct decoder *decoder;
    if (buf_error(&one) || buf_error(&all) || decoder_open(&decoder))
        return 1;
    const struct wire_visitor v = {.arg = &sum, .batch = sum_batch};
    size_t decoded = 0, rounds = batches / DISTINCT ? batches / DISTINCT : 1;
    begin = clock_thread_cpu();
    for (size_t r = 0; r < rounds; r++) {
        char *line = all.data;
        for (int d = 0; d < DISTINCT; line += length[d++])
            decoder_feed(decoder, line, length[d] - 1, &v);
        decoded += all.len;
    }
    double decode_ns = (double)(clock_thread_cpu() - begin);
    double total = (double)batches * WIRE_MAX_ROWS;
    printf("{\"rows\": %.0f, \"encode_ns_per_row\": %.1f, \"plain_bytes_per_row\": %.2f, "
           "\"decode_mb_per_s\": %.0f, \"decode_ns_per_row\": %.1f}\n",
           total, encode_ns / total, (double)bytes / total, (double)decoded / decode_ns * 1e3,
           decode_ns / ((double)rounds * DISTINCT * WIRE_MAX_ROWS));
    bool right = sum == expected * (int64_t)rounds && decoder_stats(decoder)->damaged == 0;
    if (!right)
        fprintf(stderr, "bench_wire: the rows read back differ from those written\n");
    decoder_close(decoder);
    buf_fini(&one);
    buf_fini(&all);
    return right ? 0 : 1;
}
