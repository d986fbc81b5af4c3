/* inbound.c - see inbound.h. */
#include "server/kafka/inbound.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int bad(struct err *e, const char *name)
{
    return err_set(e, GPUFL_E_INVAL, "the header %s is missing, or cannot be used", name);
}

static const char *find(const struct kafka_header *headers, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(headers[i].name, name) == 0)
            return headers[i].value;
    return "";
}

static bool copy(char *out, size_t size, const char *text)
{
    size_t n = strlen(text);
    if (n >= size)
        return false;
    memcpy(out, text, n + 1);
    return true;
}

/* Reads a number of 0 and more; none if the text is empty. False: the text is something else. */
static bool number(const char *text, int64_t none, int64_t *out)
{
    char *end;
    *out = none;
    if (!*text)
        return true;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return !*end && !errno;
}

/* Reads a list like "device=123 system=45". */
static bool read_ends(const char *text, struct inbound *out)
{
    while (*text) {
        size_t n = strcspn(text, " ");
        const char *equals = memchr(text, '=', n);
        char digits[24] = "";
        struct inbound_end *end = &out->ends[out->end_count];
        if (!equals || out->end_count == INBOUND_ENDS ||
            (size_t)(equals - text) >= sizeof end->channel ||
            (size_t)(text + n - equals - 1) >= sizeof digits)
            return false;
        memcpy(end->channel, text, (size_t)(equals - text));
        memcpy(digits, equals + 1, (size_t)(text + n - equals - 1));
        if (!sessions_id_ok(end->channel, sizeof end->channel) || !*digits ||
            !number(digits, 0, &end->offset))
            return false;
        out->end_count++;
        text += n + (text[n] == ' ');
    }
    return true;
}

static bool read_kind(const char *text, enum inbound_kind *out)
{
    static const char *const names[] = {
        [INBOUND_LINES] = "lines", [INBOUND_WINDOW] = "window", [INBOUND_COMPLETE] = "complete"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum inbound_kind)i;
            return true;
        }
    return false;
}

static bool read_encoding(const char *text, enum ingest_encoding *out)
{
    static const struct {
        const char *name;
        enum ingest_encoding encoding;
    } rows[] = {{"", INGEST_PLAIN}, {"gzip", INGEST_GZIP}, {"zstd", INGEST_ZSTD}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(text, rows[i].name) == 0) {
            *out = rows[i].encoding;
            return true;
        }
    return false;
}

int inbound_read(const struct kafka_header *headers, unsigned count, struct inbound *out,
                 struct err *e)
{
#define HEADER(name) find(headers, count, name)
    *out = (struct inbound){.offset = -1};
    if (!read_kind(HEADER("gpufl-kind"), &out->kind))
        return bad(e, "gpufl-kind");
    if (!copy(out->session, sizeof out->session, HEADER("gpufl-session")) ||
        !sessions_id_ok(out->session, sizeof out->session))
        return bad(e, "gpufl-session");
    if (out->kind == INBOUND_COMPLETE)
        return read_ends(HEADER("gpufl-ends"), out) ? 0 : bad(e, "gpufl-ends");
    if (!copy(out->channel, sizeof out->channel, HEADER("gpufl-channel")) ||
        !sessions_id_ok(out->channel, sizeof out->channel))
        return bad(e, "gpufl-channel");
    if (!read_encoding(HEADER("gpufl-encoding"), &out->encoding))
        return bad(e, "gpufl-encoding");
    if (!copy(out->host, sizeof out->host, HEADER("gpufl-host")))
        return bad(e, "gpufl-host");
    if (!number(HEADER("gpufl-offset"), -1, &out->offset) ||
        (out->kind == INBOUND_LINES) != (out->offset >= 0))
        return bad(e, "gpufl-offset");
    if (!number(HEADER("gpufl-length"), -1, &out->length))
        return bad(e, "gpufl-length");
    if (!copy(out->window_id, sizeof out->window_id, HEADER("gpufl-window-id")))
        return bad(e, "gpufl-window-id");
    if (!number(HEADER("gpufl-window-sequence"), INGEST_NO_SEQUENCE, &out->window_sequence))
        return bad(e, "gpufl-window-sequence");
    if (!number(HEADER("gpufl-window-crc32"), -1, &out->window_crc32))
        return bad(e, "gpufl-window-crc32");
#undef HEADER
    return 0;
}
