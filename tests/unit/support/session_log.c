/* session_log.c - see session_log.h. */
#include "tests/unit/support/session_log.h"

#include "base/packed/lines.h"
#include "tests/test.h"
#include "wire/decode.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct gpufl_options session_options(const char *dir)
{
    struct gpufl_options o;
    gpufl_options_init(&o, sizeof o);
    o.log_path = dir;
    o.backend = GPUFL_BACKEND_NONE;
    return o;
}

static void on_row(void *arg, enum record_type type, const int64_t *cells)
{
    struct session_log *s = arg;
    const struct scope_row *scope = (const void *)cells;
    switch (type) {
    case RECORD_ledger:
        memcpy(&s->ledger, cells, sizeof s->ledger);
        break;
    case RECORD_scope:
        s->scope_time += scope->duration;
        s->negative += scope->duration < 0;
        s->orphans += (scope->depth == 0) != (scope->parent == 0) || scope->instance <= 0 ||
                      scope->parent >= scope->instance;
        break;
    case RECORD_clock:
        s->clocks++;
        break;
    case RECORD_message:
        s->errors += cells[COL_message_severity] == 3;
        break;
    default:
        break;
    }
}

struct ending {
    struct session_log *log;
    uint32_t id; /* name of the reason, once the end row was read */
    struct {
        uint32_t id;
        char text[32];
    } names[512];
    int count;
};

static int on_name(void *arg, uint32_t id, const char *text, size_t len)
{
    struct ending *e = arg;
    e->names[e->count % 512].id = id;
    snprintf(e->names[e->count++ % 512].text, 32, "%.*s", (int)(len < 31 ? len : 31), text);
    return 0;
}

static int on_batch(void *arg, const struct wire_batch *b)
{
    struct ending *e = arg;
    if (b->type == RECORD_end && b->col[COL_end_reason])
        e->id = (uint32_t)b->col[COL_end_reason][0];
    return 0;
}

/* The reason is in the last part of the system channel. */
static void read_reason(const char *dir, struct session_log *out)
{
    char path[PATH_MAX], *line;
    size_t len;
    bool complete;
    static struct ending e;
    struct decoder *d;
    struct lines *l;
    const struct wire_visitor v = {.arg = &e, .name = on_name, .batch = on_batch};
    e = (struct ending){.log = out};
    snprintf(path, sizeof path, "%s/system.log", dir);
    if (lines_open(&l, path, WIRE_MAX_LINE, NULL))
        return;
    assert_int_equal(decoder_open(&d), 0);
    while (lines_next(l, &line, &len, &complete))
        assert_int_equal(decoder_feed(d, line, len, &v), 0);
    for (int i = 0; i < 512 && i < e.count; i++)
        if (e.id && e.names[i].id == e.id)
            snprintf(out->reason, sizeof out->reason, "%s", e.names[i].text);
    decoder_close(d);
    lines_close(l);
}

void session_log_read(const char *session_dir, struct session_log *out)
{
    *out = (struct session_log){.parts = {.row = on_row}};
    out->parts.arg = out;
    parts_read_all(session_dir, &out->parts);
    assert_int_equal(out->parts.damaged, 0);
    assert_int_equal(out->parts.unresolved, 0);
    assert_int_equal(out->parts.headers_bad, 0);
    assert_int_equal(out->parts.torn, 0);
    assert_int_equal(out->negative, 0);
    assert_int_equal(out->orphans, 0);
    read_reason(session_dir, out);
}

static int scan(const char *dir, char *last, size_t size)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && ++n)
            snprintf(last, size, "%s/%s", dir, e->d_name);
    if (d)
        closedir(d);
    return n;
}

int session_count(const char *dir)
{
    char path[PATH_MAX];
    return scan(dir, path, sizeof path);
}

const char *session_only(const char *dir)
{
    static char path[PATH_MAX];
    assert_int_equal(scan(dir, path, sizeof path), 1);
    return path;
}
