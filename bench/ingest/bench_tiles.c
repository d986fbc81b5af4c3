/* bench_tiles.c - what decoding a session's lines costs (MB/s of plain text, ns a row), and
 * what the timeline's pyramid costs on top (million events/s), on one core.
 *
 *   bench_tiles FILE...     uncompressed parts of a session's log; prints JSON */
#include "analyze/model/tiles.h"
#include "base/clock.h"
#include "base/file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3, FLUSH_ROWS = 1000000 };

struct work {
    struct tiles *tiles;
    struct tiles_sink sink;
    uint64_t events, since; /* since the last flush */
    uint64_t tiles_out, spans_out;
    int64_t tile_ns;
};

static int take_tiles(void *arg, int level, const struct tile *rows, size_t n)
{
    struct work *w = arg;
    (void)level;
    (void)rows;
    w->tiles_out += n;
    return 0;
}

static int take_spans(void *arg, int level, const struct tile_span *rows, size_t n)
{
    struct work *w = arg;
    (void)level;
    (void)rows;
    w->spans_out += n;
    return 0;
}

static int take_batch(void *arg, const struct wire_batch *b)
{
    struct work *w = arg;
    bool event = b->record->kind == RECORD_KIND_EVENT;
    if (!w->tiles)
        return 0; /* this pass only decodes */
    w->events += event ? b->rows : 0;
    w->since += b->rows;
    int64_t from = clock_thread_cpu();
    int rc = tiles_batch(w->tiles, b, &w->sink);
    if (!rc && w->since >= FLUSH_ROWS) {
        rc = tiles_flush(w->tiles, &w->sink);
        w->since = 0;
    }
    w->tile_ns += clock_thread_cpu() - from;
    return rc;
}

/* Decodes the text once; returns ns of processor time, or -1. */
static int64_t pass(struct work *w, char *text, size_t len)
{
    struct decoder *d;
    const struct wire_visitor v = {.arg = w, .batch = take_batch};
    if (decoder_open(&d))
        return -1;
    int64_t from = clock_thread_cpu();
    int rc = 0;
    for (size_t at = 0; !rc && at < len;) {
        char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        rc = decoder_feed(d, text + at, n, &v);
        at += n + 1;
    }
    int64_t ns = clock_thread_cpu() - from;
    decoder_close(d);
    return rc ? -1 : ns;
}

int main(int argc, char **argv)
{
    double plain_best = 0, tile_best = 0;
    struct work w = {0};
    size_t bytes = 0;
    for (int r = 0; r < ROUNDS; r++) {
        int64_t decode_ns = 0;
        w = (struct work){0};
        w.sink = (struct tiles_sink){&w, take_tiles, take_spans};
        bytes = 0;
        for (int i = 1; i < argc; i++) {
            struct err e;
            char *text;
            size_t len;
            if (file_read_all(argv[i], 1u << 31, &text, &len, &e)) {
                fprintf(stderr, "bench_tiles: %s\n", e.text);
                return 1;
            }
            int64_t plain = pass(&w, text, len);
            if (!w.tiles && tiles_open(&w.tiles))
                return 1;
            if (plain < 0 || pass(&w, text, len) < 0)
                return 1;
            tiles_flush(w.tiles, &w.sink);
            tiles_close(w.tiles);
            w.tiles = NULL;
            decode_ns += plain;
            bytes += len;
            free(text);
        }
        double rate = (double)bytes / (double)decode_ns * 1e3;
        double events = w.tile_ns ? (double)w.events / (double)w.tile_ns * 1e3 : 0;
        plain_best = rate > plain_best ? rate : plain_best;
        tile_best = events > tile_best ? events : tile_best;
    }
    printf("{\"bytes\": %zu, \"events\": %llu, \"decode_mb_per_s\": %.0f, "
           "\"tile_million_events_per_s\": %.1f, \"tile_rows\": %llu, \"span_rows\": %llu}\n",
           bytes, (unsigned long long)w.events, plain_best, tile_best,
           (unsigned long long)w.tiles_out, (unsigned long long)w.spans_out);
    return 0;
}
