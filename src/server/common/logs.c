/* logs.c - writes lines of key and value.
 *
 * A line that does not fit its 2 KiB is cut between fields, and a text within one at
 * 512 bytes: the log is for finding things, the request itself is elsewhere. */
#include "server/common/logs.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/printable.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { VALUE_MAX = 512, WAIT_MS = 100 };

static enum logs_format format;
static enum log_level least = LOG_NOTE;
static atomic_uint_fast64_t lost;

static const char *const LEVELS[] = {"debug", "info", "warning", "error"};

/* Writes "2026-01-02T03:04:05.678Z" of now. */
static void put_time(char out[32])
{
    int64_t now = clock_real();
    time_t seconds = (time_t)(now / 1000000000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, 32 - n, ".%03dZ", (int)(now / 1000000 % 1000));
}

/* Appends a piece if all of it fits; one byte is reserved for the LF, one for the brace. */
static void put(struct logs_line *l, const char *text, size_t n)
{
    if (!l->off && l->len + n + 2 <= sizeof l->text) {
        memcpy(l->text + l->len, text, n);
        l->len += n;
    }
}

/* Writes key and value in the line's form; quoted: as a JSON string, in text only where it must
 * be. */
static void field(struct logs_line *l, const char *key, const char *value, size_t n, bool quoted)
{
    struct buf b;
    if (l->off)
        return;
    buf_init(&b, sizeof l->text);
    if (format == LOGS_JSON)
        buf_printf(&b, ",\"%s\":", key);
    else
        buf_printf(&b, " %s=", key);
    bool plain = format == LOGS_TEXT && n && strcspn(value, " \"\\=") >= n;
    for (size_t i = 0; i < n && plain; i++)
        plain = (unsigned char)value[i] > 0x20 && (unsigned char)value[i] < 0x7f;
    if (quoted && !plain)
        buf_json(&b, value, n);
    else
        buf_put(&b, value, n);
    if (!buf_error(&b))
        put(l, b.data, b.len);
    buf_fini(&b);
}

void logs_begin(struct logs_line *l, enum log_level level, const char *event)
{
    char when[32], head[160];
    l->level = level;
    l->off = level < least;
    l->len = 0;
    if (l->off)
        return;
    put_time(when);
    int n = snprintf(head, sizeof head,
                     format == LOGS_JSON ? "{\"time\":\"%s\",\"level\":\"%s\",\"event\":\"%s\""
                                         : "%s %s %s",
                     when, LEVELS[level], event);
    put(l, head, (size_t)n);
}

void logs_text(struct logs_line *l, const char *key, const char *value)
{
    if (value)
        field(l, key, value, printable_cut(value, strlen(value), VALUE_MAX), true);
}

void logs_int(struct logs_line *l, const char *key, int64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)value);
    field(l, key, text, (size_t)n, false);
}

void logs_ms(struct logs_line *l, const char *key, int64_t ns)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%lld.%03d", (long long)(ns / 1000000),
                     (int)(ns / 1000 % 1000));
    field(l, key, text, (size_t)n, false);
}

void logs_end(struct logs_line *l)
{
    if (l->off)
        return;
    if (format == LOGS_JSON)
        l->text[l->len++] = '}';
    l->text[l->len++] = '\n';
    /* A pipe that polls writable takes 4 KiB at once: lines never mix, and never wait for long. */
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&fd, 1, WAIT_MS) <= 0 || write(STDERR_FILENO, l->text, l->len) < 0)
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
}

void logs_say(enum log_level level, const char *event, const char *fmt, ...)
{
    char text[1024];
    struct logs_line l;
    va_list args;
    text[0] = '\0';
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    logs_begin(&l, level, event);
    logs_text(&l, "text", text);
    logs_end(&l);
}

/* Writes a line of base/log.h, without its own prefix. */
static void sink(enum log_level level, const char *line)
{
    const char *text = strstr(line, ": ");
    struct logs_line l;
    logs_begin(&l, level, "log");
    logs_text(&l, "text", text ? text + 2 : line);
    logs_end(&l);
}

void logs_open(enum logs_format f, enum log_level level)
{
    format = f;
    least = level;
    log_set_debug(level == LOG_DEBUG);
    log_set_sink(sink);
}

uint64_t logs_lost(void)
{
    return atomic_load_explicit(&lost, memory_order_relaxed);
}
