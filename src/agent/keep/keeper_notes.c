/* keeper_notes.c - see keeper_notes.h. */
#include "agent/keep/keeper_notes.h"

#include "agent/part_head.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "base/keyed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SESSIONS_MOST = 1 << 20,
    FILE_MOST = 512 << 20, /* bytes */
    LINE_MOST = PATH_MAX + PART_ID_MAX + 32,
    REWRITE_BYTES = 1 << 20, /* bytes appended after which the file is rewritten */
};

struct note {
    char session[PART_ID_MAX]; /* the key */
    int64_t stamp;             /* its stamp when it was archived; 0: it was not */
    /* Owned: hidden name under which it is being removed; NULL: it is not. */
    char *hidden;
    bool gone;
};

struct keeper_notes {
    char path[PATH_MAX], target[LINE_MOST];
    struct keyed table; /* of struct note */
    int fd;             /* appends; negative: to be opened */
    size_t added;       /* bytes */
};

/* ---- the table ----------------------------------------------------------------------------- */

static struct note *find(const struct keeper_notes *n, const char *session)
{
    char key[PART_ID_MAX] = {0};
    snprintf(key, sizeof key, "%s", session);
    uint32_t i = keyed_find(&n->table, key);
    return i ? keyed_at(&n->table, i) : NULL;
}

static struct note *put(struct keeper_notes *n, const char *session)
{
    char key[PART_ID_MAX] = {0};
    uint32_t i = 0;
    snprintf(key, sizeof key, "%s", session);
    return keyed_put(&n->table, key, &i, NULL) || !i ? NULL : keyed_at(&n->table, i);
}

static void free_table(struct keyed *t)
{
    for (size_t i = 1; i < t->count; i++)
        mem_free(((struct note *)keyed_at(t, i))->hidden);
    keyed_fini(t);
}

/* ---- the file ------------------------------------------------------------------------------ */

static void take_line(struct keeper_notes *n, char *line, bool *ours)
{
    struct note *at;
    char *space = strchr(line, ' '), *second = space ? strchr(space + 1, ' ') : NULL;
    if (!space)
        return;
    *space++ = '\0';
    if (strcmp(line, "for") == 0)
        *ours = strcmp(space, n->target) == 0;
    else if (strcmp(line, "archived") == 0 && second && *ours && (at = put(n, second + 1))) {
        at->stamp = strtoll(space, NULL, 10);
        at->gone = false;
    } else if (strcmp(line, "removing") == 0 && second) {
        *second++ = '\0';
        if ((at = put(n, space))) {
            mem_free(at->hidden);
            at->hidden = mem_strdup(second);
        }
    } else if (strcmp(line, "removed") == 0 && (at = put(n, space))) {
        mem_free(at->hidden);
        at->hidden = NULL;
        at->gone = true;
    }
}

static int read_file(struct keeper_notes *n, struct err *e)
{
    char *text = NULL, *lf;
    size_t len = 0;
    bool ours = false;
    if (!file_exists(n->path))
        return 0;
    int rc = file_read_all(n->path, FILE_MOST, &text, &len, e);
    if (rc)
        return rc;
    for (char *at = text; (lf = memchr(at, '\n', len - (size_t)(at - text))); at = lf + 1) {
        *lf = '\0';
        take_line(n, at, &ours);
    }
    mem_free(text);
    return 0;
}

/* Writes all valid notes to a new file, which then replaces the old one. */
static int write_whole(struct keeper_notes *n, struct err *e)
{
    char part[PATH_MAX];
    struct buf b;
    struct keyed kept;
    if ((size_t)snprintf(part, sizeof part, "%s.part", n->path) >= sizeof part)
        return err_set(e, GPUFL_E_INVAL, "%s: the path is too long", n->path);
    keyed_init(&kept, sizeof(struct note), PART_ID_MAX, SESSIONS_MOST);
    buf_init(&b, FILE_MOST);
    buf_printf(&b, "for %s\n", n->target);
    for (size_t i = 1; i < n->table.count; i++) {
        struct note *at = keyed_at(&n->table, i), *to;
        uint32_t index = 0;
        if (at->gone || (keyed_put(&kept, at->session, &index, NULL) || !index))
            continue;
        to = keyed_at(&kept, index);
        *to = *at;
        at->hidden = NULL;
        if (to->stamp)
            buf_printf(&b, "archived %" PRId64 " %s\n", to->stamp, to->session);
        if (to->hidden)
            buf_printf(&b, "removing %s %s\n", to->session, to->hidden);
    }
    free_table(&n->table);
    n->table = kept;
    int fd = buf_error(&b) ? -1 : open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int error = fd < 0 ? errno : -file_write_shielded(fd, b.data, b.len);
    if (!error && (fsync(fd) || rename(part, n->path)))
        error = errno;
    buf_fini(&b);
    if (n->fd >= 0)
        close(n->fd);
    n->fd = error ? -1 : fd;
    n->added = 0;
    if (!error)
        return 0;
    if (fd >= 0)
        close(fd);
    (void)unlink(part);
    return err_set_vendor(e, err_from_errno(error), error, "%s cannot be written", n->path);
}

static int add_line(struct keeper_notes *n, const char *line, struct err *e)
{
    if (n->fd < 0 || n->added > REWRITE_BYTES)
        return write_whole(n, e); /* the table has the contents of the line */
    int error = -file_write_shielded(n->fd, line, strlen(line));
    if (!error && fdatasync(n->fd))
        error = errno;
    n->added += strlen(line);
    if (!error)
        return 0;
    close(n->fd); /* half a line may be there: the next one begins a new file */
    n->fd = -1;
    return err_set_vendor(e, err_from_errno(error), error, "%s cannot be written", n->path);
}

/* ---- open and close ------------------------------------------------------------------------ */

int keeper_notes_open(struct keeper_notes **out, const char *state, const char *target,
                      struct err *e)
{
    struct keeper_notes *n = mem_zalloc(sizeof *n);
    *out = NULL;
    if (!n)
        return err_nomem(e);
    n->fd = -1;
    keyed_init(&n->table, sizeof(struct note), PART_ID_MAX, SESSIONS_MOST);
    int rc = 0;
    if (path_join(n->path, sizeof n->path, state, "archive.notes") ||
        (size_t)snprintf(n->target, sizeof n->target, "%s", target) >= sizeof n->target)
        rc = err_set(e, GPUFL_E_INVAL, "%s: the path is too long", state);
    if (!rc)
        rc = read_file(n, e);
    if (!rc)
        rc = write_whole(n, e);
    if (rc)
        keeper_notes_close(n);
    else
        *out = n;
    return rc;
}

void keeper_notes_close(struct keeper_notes *n)
{
    if (!n)
        return;
    if (n->fd >= 0)
        close(n->fd);
    free_table(&n->table);
    mem_free(n);
}

/* ---- notes --------------------------------------------------------------------------------- */

bool keeper_notes_has(const struct keeper_notes *n, const char *session, int64_t stamp)
{
    const struct note *at = find(n, session);
    return at && !at->gone && at->stamp == stamp;
}

int keeper_notes_archived(struct keeper_notes *n, const char *session, int64_t stamp, struct err *e)
{
    char line[LINE_MOST];
    struct note *at = put(n, session);
    if (!at)
        return err_nomem(e);
    at->stamp = stamp;
    at->gone = false;
    snprintf(line, sizeof line, "archived %" PRId64 " %s\n", stamp, session);
    return add_line(n, line, e);
}

int keeper_notes_removing(struct keeper_notes *n, const char *session, const char *hidden,
                          struct err *e)
{
    char line[LINE_MOST];
    struct note *at = put(n, session);
    char *copy = mem_strdup(hidden);
    if (!at || !copy) {
        mem_free(copy);
        return err_nomem(e);
    }
    mem_free(at->hidden);
    at->hidden = copy;
    at->gone = false;
    snprintf(line, sizeof line, "removing %s %s\n", session, hidden);
    return add_line(n, line, e);
}

int keeper_notes_removed(struct keeper_notes *n, const char *session, struct err *e)
{
    char line[LINE_MOST];
    struct note *at = find(n, session);
    if (!at)
        return 0;
    mem_free(at->hidden);
    at->hidden = NULL;
    at->gone = true;
    snprintf(line, sizeof line, "removed %s\n", session);
    return add_line(n, line, e);
}

void keeper_notes_unended(struct keeper_notes *n,
                          void (*take)(void *arg, const char *session, const char *hidden),
                          void *arg)
{
    for (size_t i = 1; i < n->table.count; i++) {
        const struct note *at = keyed_at(&n->table, i);
        if (at->hidden)
            take(arg, at->session, at->hidden);
    }
}
