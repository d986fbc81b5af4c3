/* show.c - see show.h. */
#include "cli/upload/show.h"

#include "analyze/common/units.h"
#include "base/clock.h"
#include "base/printable.h"
#include "cli/cmd.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

enum { LEFT_OUT_MOST = 10, DRAW_MS = 200, LINES_MS = 5000, WAIT_MS = 10000, SILENT_MS = 5000 };

static const int64_t MILLI = 1000000, SECOND = 1000000000;

/* ---- lines --------------------------------------------------------------------------------- */

static void wipe(struct upload_show *s)
{
    if (s->open)
        fputs("\r\033[K", stderr);
    s->open = false;
}

/* Prints a sentence on stderr, without control characters. */
static void say(struct upload_show *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct upload_show *s, const char *fmt, ...)
{
    char line[1200];
    va_list ap;
    wipe(s);
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    printable_clean(line, strlen(line));
    fprintf(stderr, "gpufl upload: %s\n", line);
}

/* Returns how many bytes of an id, such as "5d0e3f7a", are enough to distinguish sessions. */
static int short_id(const struct upload_session *s)
{
    return (int)strnlen(s->id, 8);
}

/* ---- while it goes out --------------------------------------------------------------------- */

static void draw(struct upload_show *s, int64_t done, int64_t at)
{
    char part[UNITS_TEXT], of[UNITS_TEXT], rate[UNITS_TEXT], left[UNITS_TEXT], share[UNITS_TEXT];
    char line[200];
    int64_t total = s->session->bytes, sent = done - s->first, took = at - s->began;
    double seconds = (double)took / (double)SECOND;
    int64_t rest = sent > 0 ? (int64_t)((double)(total - done) / (double)sent * seconds) : 0;
    int n = snprintf(line, sizeof line, "%.*s  %s  %s of %s  %s", short_id(s->session),
                     s->session->id, units_percent(share, (double)done, (double)total),
                     units_bytes(part, done), units_bytes(of, total), units_rate(rate, sent, took));
    if (took > SECOND && sent > 0)
        n += snprintf(line + n, sizeof line - (size_t)n, "  %s left",
                      units_time(left, rest * SECOND));
    if (s->of > 1)
        snprintf(line + n, sizeof line - (size_t)n, "  (%zu of %zu)", s->index + 1, s->of);
    int width = cmd_width(stderr);
    fprintf(stderr, "\r\033[K%.*s", width - 1, line);
    s->open = true;
    s->drawn = at;
}

static void on_progress(void *arg, int64_t done)
{
    struct upload_show *s = arg;
    int64_t at = clock_mono();
    if (s->lines && at - (s->drawn ? s->drawn : s->began) >= LINES_MS * MILLI) {
        char part[UNITS_TEXT], of[UNITS_TEXT];
        say(s, "%.*s: %s of %s", short_id(s->session), s->session->id, units_bytes(part, done),
            units_bytes(of, s->session->bytes));
        s->drawn = at;
    }
    if (!s->live || at - s->drawn < DRAW_MS * MILLI)
        return;
    if (!s->drawn) { /* the server had the bytes before this already */
        s->first = done;
        s->began = at;
    }
    draw(s, done, at);
}

static void on_rejected(void *arg, const struct ship_part *p, const struct remote_error *line)
{
    struct upload_show *s = arg;
    if (s->left_out++ < LEFT_OUT_MOST)
        say(s, "%s: line %llu of what was sent%s%s%s was left out: %s", path_base(p->path),
            (unsigned long long)line->line, *line->type ? " (" : "", line->type,
            *line->type ? ")" : "", line->reason);
}

static void on_waiting(void *arg, int64_t ns, const char *why)
{
    struct upload_show *s = arg;
    char wait[UNITS_TEXT];
    int64_t at = clock_mono();
    if (s->quiet || (s->waited && at - s->waited < WAIT_MS * MILLI && strcmp(s->why, why) == 0))
        return;
    say(s, "%s; again in %s", why, units_time(wait, ns));
    snprintf(s->why, sizeof s->why, "%s", why);
    s->waited = at;
}

static void on_silent(void *arg, int64_t ns, int64_t most)
{
    struct upload_show *s = arg;
    char silent[UNITS_TEXT], limit[UNITS_TEXT];
    int64_t at = clock_mono();
    if (s->quiet || ns < SILENT_MS * MILLI ||
        (s->silence && at - s->silence < WAIT_MS * MILLI && at - s->silence < ns))
        return;
    s->silence = at;
    ns -= ns % SECOND;
    if (most)
        say(s, "waiting for %s: no answer for %s; it is given up after %s", s->server,
            units_time(silent, ns), units_time(limit, most));
    else
        say(s, "waiting for %s: no answer for %s", s->server, units_time(silent, ns));
}

struct ship_watch upload_show_watch(struct upload_show *s)
{
    return (struct ship_watch){.arg = s,
                               .progress = on_progress,
                               .rejected = on_rejected,
                               .waiting = on_waiting,
                               .silent = on_silent};
}

void upload_show_begin(struct upload_show *s, const struct upload_session *session, size_t index,
                       size_t of)
{
    s->session = session;
    s->index = index;
    s->of = of;
    s->began = clock_mono();
    s->drawn = 0;
    s->left_out = 0;
    s->waited = s->silence = 0;
}

/* ---- results ------------------------------------------------------------------------------- */

static const char *const end_names[] = {
    [SHIP_ALL] = "all",         [SHIP_SOME] = "partly",     [SHIP_FAILED] = "none",
    [SHIP_STOPPED] = "stopped", [SHIP_REFUSED] = "refused",
};

static void put_json(struct upload_show *s, const struct upload_outcome *o)
{
    struct json_out *j = &s->out;
    json_out_object(j, NULL);
    json_out_text(j, "session", o->session->id);
    json_out_text_or_null(j, "app", o->session->app);
    json_out_text_or_null(j, "host", o->session->host);
    json_out_text(j, "path", o->session->dir);
    json_out_text(j, "state", upload_state_name(o->session->state));
    json_out_text(j, "result", end_names[o->sent->end]);
    json_out_bool(j, "complete", o->completed);
    json_out_text_or_null(j, "message", o->sent->text);
    json_out_text_or_null(j, "note", o->note);
    json_out_int(j, "bytes", o->session->bytes);
    json_out_int(j, "bytes_before", o->sent->before);
    json_out_int(j, "bytes_sent", o->sent->sent);
    json_out_count(j, "lines_accepted", o->sent->accepted);
    json_out_count(j, "lines_rejected", o->sent->rejected);
    json_out_close_object(j);
}

/* Writes "sent 12.3 MiB, 1,204 lines, complete", or what came in between. */
static void describe(const struct upload_outcome *o, char *out, size_t size)
{
    char bytes[UNITS_TEXT], lines[UNITS_TEXT];
    const struct ship_result *r = o->sent;
    int n = 0;
    if (r->accepted || r->bodies)
        n = snprintf(out, size, "%s sent, %s lines", units_bytes(bytes, r->sent),
                     units_count(lines, (int64_t)r->accepted));
    else if (r->end == SHIP_ALL)
        n = snprintf(out, size, "all there already");
    else
        n = snprintf(out, size, "nothing sent");
    if (r->rejected)
        n += snprintf(out + n, size - (size_t)n, ", %s left out",
                      units_count(lines, (int64_t)r->rejected));
    if (o->completed)
        n += snprintf(out + n, size - (size_t)n, ", complete");
    snprintf(out + n, size - (size_t)n, "%s%s%s%s", *r->text ? "; " : "", r->text,
             *o->note ? "; " : "", o->note);
}

void upload_show_outcome(struct upload_show *s, const struct upload_outcome *o)
{
    char text[1600];
    wipe(s);
    if (s->left_out > LEFT_OUT_MOST)
        say(s, "%llu more lines were left out", (unsigned long long)(s->left_out - LEFT_OUT_MOST));
    if (s->json) {
        put_json(s, o);
        return;
    }
    bool failed = o->sent->end != SHIP_ALL;
    if (s->quiet && !failed)
        return;
    describe(o, text, sizeof text);
    printable_clean(text, strlen(text));
    fprintf(failed ? stderr : stdout, "%s  %s%s%s\n", o->session->id, o->session->app,
            *o->session->app ? ": " : "", text);
}

void upload_show_open(struct upload_show *s, const char *server, bool quiet, bool json)
{
    *s = (struct upload_show){.quiet = quiet,
                              .json = json,
                              .live = !quiet && !json && isatty(STDERR_FILENO),
                              .server = server};
    if (!json)
        return;
    json_out_init(&s->out, stdout);
    json_out_object(&s->out, NULL);
    json_out_text(&s->out, "server", server);
    json_out_array(&s->out, "sessions");
}

int upload_show_close(struct upload_show *s, const char *result)
{
    wipe(s);
    if (!s->json)
        return 0;
    json_out_close_array(&s->out);
    json_out_text(&s->out, "result", result);
    json_out_close_object(&s->out);
    return json_out_finish(&s->out);
}
