/* part_head.c - see part_head.h. */
#include "agent/part_head.h"

#include "base/packed/lines.h"
#include "wire/decode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_LINES = 64 }; /* the public client's header need not be its first line */

static int take_header(void *arg, const struct wire_header *w)
{
    struct part_head *h = arg;
    snprintf(h->session, sizeof h->session, "%s", w->session);
    snprintf(h->channel, sizeof h->channel, "%s", w->channel);
    snprintf(h->app, sizeof h->app, "%s", w->app);
    snprintf(h->host, sizeof h->host, "%s", w->host);
    snprintf(h->run, sizeof h->run, "%s", w->run);
    h->pass = w->pass;
    h->passes = w->passes;
    h->part = w->part;
    h->offset = w->offset;
    h->pid = w->pid;
    h->start = w->start;
    return 0;
}

static int identify(const char *path, struct file_id *id, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot read %s", path);
    *id = file_id_born(fd);
    close(fd);
    return 0;
}

int part_head_read(const char *path, struct part_head *h, struct err *e)
{
    struct wire_visitor visitor = {.arg = h, .header = take_header};
    struct decoder *decoder = NULL;
    struct lines *lines = NULL;
    char *line;
    size_t len;
    bool complete;
    *h = (struct part_head){0};
    int rc = identify(path, &h->file, e);
    if (rc)
        return rc;
    rc = decoder_open(&decoder);
    if (rc)
        return err_nomem(e);
    rc = lines_open(&lines, path, WIRE_MAX_LINE, e);
    for (int i = 0;
         !rc && i < HEAD_LINES && !h->session[0] && lines_next(lines, &line, &len, &complete);
         i++) {
        rc = decoder_feed(decoder, line, len, &visitor);
        h->ours |= i == 0 && h->session[0] && decoder_stats(decoder)->foreign == 0;
    }
    if (lines)
        lines_close(lines);
    decoder_close(decoder);
    struct file_id again = {0};
    if (!rc && !identify(path, &again, NULL) &&
        (again.device != h->file.device || again.inode != h->file.inode ||
         again.birth != h->file.birth))
        rc = err_set(e, GPUFL_E_NOENT, "%s got another name while it was read", path);
    if (!h->ours)
        h->channel[0] = '\0';
    return rc;
}

/* Cuts the suffix off; false if it is not there. */
static bool cut(const char *name, size_t *len, const char *suffix)
{
    size_t n = strlen(suffix);
    if (*len < n || memcmp(name + *len - n, suffix, n) != 0)
        return false;
    *len -= n;
    return true;
}

bool part_name_read(const char *path, char channel[PART_CHANNEL_MAX], int64_t *number)
{
    const char *name = path_base(path);
    size_t len = strlen(name), digits = 0;
    *number = 0;
    if (!cut(name, &len, ".zst"))
        cut(name, &len, ".gz");
    if (!cut(name, &len, ".log") || !len)
        return false;
    while (digits < len && digits < 18 && name[len - digits - 1] >= '0' &&
           name[len - digits - 1] <= '9')
        digits++;
    if (digits && digits < len && name[len - digits - 1] == '.') {
        for (size_t i = len - digits; i < len; i++)
            *number = *number * 10 + (name[i] - '0');
        len -= digits + 1;
    }
    size_t from = len;
    while (from && name[from - 1] != '.')
        from--;
    if (len == from || len - from >= PART_CHANNEL_MAX)
        return false;
    memcpy(channel, name + from, len - from);
    channel[len - from] = '\0';
    return true;
}
