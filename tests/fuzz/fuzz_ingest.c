/* fuzz_ingest.c - feeds any bytes as request bodies: all of them are answered, in bounded memory,
 * and the frames in the journal can be read back and decoded.
 *
 * The first bytes of an input choose the encoding, how the body is cut, and its sender's
 * headers; the rest is the body. */
#include "base/file/file.h"
#include "server/intake/ingest.h"
#include "tests/fuzz/check.h"
#include "wire/decode.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLACES = 4096, HEAD = 4 };

/* Frames that became durable. */
static struct {
    pthread_mutex_t lock;
    struct journal_place places[PLACES];
    size_t count;
} durable = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct journal *journal;
static struct journal_reader *reader;
static struct sessions *sessions;
static struct ingest *ingest;
static char folder[] = "/dev/shm/gpufl-fuzz-XXXXXX"; /* its own while it runs */

static void take_frame(void *arg, const struct journal_frame *f, struct journal_place p)
{
    (void)arg;
    (void)f;
    pthread_mutex_lock(&durable.lock);
    CHECK(durable.count < PLACES);
    durable.places[durable.count++] = p;
    pthread_mutex_unlock(&durable.lock);
}

/* No session is in the store. */
static int get_none(struct store *s, const char *workspace, const char *session, bool create,
                    struct store_session **out, struct err *e)
{
    (void)s;
    (void)workspace;
    (void)create;
    *out = NULL;
    return err_set(e, GPUFL_E_NOENT, "no session %s", session);
}

static void close_all(void)
{
    ingest_stop(ingest);
    journal_reader_close(reader);
    journal_close(journal);
    sessions_close(sessions);
    file_remove_tree(folder);
}

static void open_all(void)
{
    static const struct store_ops none = {.get = get_none};
    static char kept[64], frames[64];
    struct err e = {0};
    CHECK(mkdtemp(folder));
    snprintf(kept, sizeof kept, "%s/kept", folder);
    snprintf(frames, sizeof frames, "%s/journal", folder);
    const struct sessions_config s = {.ops = &none, .folder = kept};
    const struct journal_config j = {
        .folder = frames, .segment_bytes = 1 << 20, .keep_free = 1, .durable = take_frame};
    CHECK(!sessions_open(&sessions, &s, &e));
    CHECK(!journal_open(&journal, &j, &e));
    CHECK(!journal_reader_open(&reader, journal));
    const struct ingest_config c = {.journal = journal, .sessions = sessions};
    CHECK(!ingest_start(&ingest, &c, &e));
    CHECK(!atexit(close_all));
}

/* The journal can be read, and the decoder takes every line of it. */
static void check_frames(void)
{
    static const struct wire_visitor nobody = {0};
    CHECK(!journal_wait(journal, 0, NULL));
    for (size_t i = 0; i < durable.count; i++) {
        struct journal_frame f;
        struct err e = {0};
        struct decoder *d;
        char *text;
        uint64_t lines = 0;
        CHECK(!journal_read(reader, durable.places[i], &f, &text, &e));
        CHECK(!decoder_open(&d));
        for (size_t at = 0; at < f.plain; lines++) {
            const char *lf = memchr(text + at, '\n', f.plain - at);
            CHECK(lf);
            CHECK(!decoder_feed(d, text + at, (size_t)(lf - text) - at, &nobody));
            at = (size_t)(lf - text) + 1;
        }
        CHECK(lines == f.lines && decoder_stats(d)->damaged == 0);
        decoder_close(d);
        journal_release(journal, durable.places[i]);
    }
    durable.count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned number;
    char session[32];
    struct ingest_body *b;
    struct ingest_answer a;
    struct buf json;
    if (size < HEAD)
        return 0;
    if (!ingest)
        open_all();
    snprintf(session, sizeof session, "s%u", number++);
    struct ingest_request r = {.workspace = "w",
                               .session = data[1] & 1 ? session : NULL,
                               .channel = data[1] & 2 ? "device" : NULL,
                               .offset = data[1] & 4 ? data[3] & 3 : INGEST_NO_OFFSET,
                               .encoding = (enum ingest_encoding)(data[0] % 3),
                               .size = -1,
                               .window_sequence = data[1] & 8 ? 1 : INGEST_NO_SEQUENCE,
                               .window_crc32 = -1};
    size_t piece = 1u + data[2] * (data[2] & 1 ? 1u : 97u);
    if (!ingest_open(ingest, &r, &b, &a)) {
        int stopped = 0;
        for (size_t at = HEAD; at < size && !stopped; at += piece) {
            size_t n = size - at < piece ? size - at : piece;
            char *copy = malloc(n); /* ends where the heap block ends */
            CHECK(copy);
            memcpy(copy, data + at, n);
            stopped = ingest_data(b, copy, n);
            free(copy);
        }
        ingest_finish(b, &a);
        ingest_close(b);
    }
    CHECK(a.status == 200 || (a.status >= 400 && a.status < 500));
    CHECK(a.status == 200 || *a.text);
    buf_init(&json, 1 << 20);
    ingest_answer_json(&a, &json);
    CHECK(!buf_error(&json));
    buf_fini(&json);
    check_frames();
    sessions_sweep(sessions, 0);
    return 0;
}
