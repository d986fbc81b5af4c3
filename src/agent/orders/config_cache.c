/* config_cache.c - see config_cache.h. */
#include "agent/orders/config_cache.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file/file.h"
#include "base/json.h"
#include "base/log.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MOST = 64, CONFIGS_MOST = 1000, FILE_MOST = 256 << 10 };

static const char SUFFIX[] = ".json", UNFINISHED[] = ".gpufl-part";

/* This is the name of the row that repeats the configuration of this host; its note is the
 * configuration's name. */
static const char OF_HOST[] = "@host";

struct config {
    char name[NAME_MOST + 1], note[NAME_MOST + 1];
    int64_t version;
    const char *options; /* inside the answer */
    size_t options_len;
};

struct list {
    struct config *items; /* owned */
    size_t count, cap;
    bool has_rows, bad;
};

/* A name becomes a file's name: no slash, no leading dot. The library has the same rule. */
static bool is_name(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || (n && name[n] && strchr("._-", name[n])))
        n++;
    return n && !name[n] && n <= NAME_MOST;
}

static bool is_of_host(const struct config *c)
{
    return strcmp(c->name, OF_HOST) == 0;
}

/* ---- the answer ---------------------------------------------------------------------------- */

static bool take_config(struct json *j, const char *key, struct json_value v, void *to)
{
    struct config *c = to;
    if (strcmp(key, "id") == 0 && v.type == JSON_STRING) {
        if (json_text(v, c->name, sizeof c->name) > NAME_MOST)
            c->name[0] = '\0';
    } else if (strcmp(key, "note") == 0 && v.type == JSON_STRING) {
        if (json_text(v, c->note, sizeof c->note) > NAME_MOST)
            c->note[0] = '\0';
    } else if (strcmp(key, "version") == 0 && v.type == JSON_INT) {
        c->version = v.integer;
    } else if (strcmp(key, "options") == 0 && v.type == JSON_OBJECT) {
        const char *begin = v.raw;
        bool whole = json_skip(j, v);
        c->options = begin;
        c->options_len = (size_t)(j->at - begin);
        return whole;
    }
    return json_skip(j, v);
}

static bool take_rows(struct json *j, const char *key, struct json_value v, void *to)
{
    struct list *l = to;
    if (strcmp(key, "rows") != 0 || v.type != JSON_ARRAY)
        return json_skip(j, v);
    l->has_rows = true;
    while ((v = json_next(j)).type == JSON_OBJECT) {
        struct config c = {0};
        l->bad |= !json_members(j, take_config, &c) || !is_name(is_of_host(&c) ? c.note : c.name) ||
                  c.version < 1 || !c.options ||
                  mem_grow(&l->items, &l->cap, l->count + 1, sizeof c, CONFIGS_MOST) != 0;
        if (l->bad)
            return false;
        l->items[l->count++] = c;
    }
    l->bad |= v.type != JSON_END;
    return !l->bad;
}

/* ---- files --------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int write_file(const char *path, const struct buf *text, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return err_set_vendor(e, err_from_errno(errno), errno, "cannot write %.300s", path);
    int error = file_write_all(fd, text->data, text->len);
    if (!error && fchmod(fd, 0644)) /* programs of other users read it, whatever the umask is */
        error = -errno;
    if (!error && fsync(fd))
        error = -errno;
    if (close(fd) && !error)
        error = -errno;
    return error ? err_set_vendor(e, err_from_errno(-error), -error, "cannot write %.300s", path)
                 : 0;
}

static bool is_the_same(const char *path, const struct buf *text)
{
    char *data = NULL;
    size_t len = 0;
    struct err quiet = {0};
    if (file_read_all(path, FILE_MOST, &data, &len, &quiet))
        return false;
    bool same = len == text->len && memcmp(data, text->data, len) == 0;
    mem_free(data);
    return same;
}

/* Returns true if this module wrote the file: its text begins with the name that the file has. The
 * folder may have other files, which are neither replaced nor removed. */
static bool is_ours(const char *path)
{
    char head[NAME_MAX + 16], want[NAME_MAX + 16];
    struct stat st;
    const char *name = path_base(path);
    int n = snprintf(want, sizeof want, "{\"name\":\"%.*s\",", (int)(strlen(name) - strlen(SUFFIX)),
                     name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                pread(fd, head, (size_t)n, 0) == n && memcmp(head, want, (size_t)n) == 0;
    if (fd >= 0)
        close(fd);
    return ours;
}

static bool is_of_others(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && !is_ours(path);
}

static int put_config(const char *dir, const struct config *c, struct err *e)
{
    char name[NAME_MOST + 16], path[PATH_MAX], part[PATH_MAX];
    struct buf text;
    snprintf(name, sizeof name, "%s%s", c->name, SUFFIX);
    int rc = path_join(path, sizeof path, dir, name);
    snprintf(name, sizeof name, ".%s%s", c->name, UNFINISHED);
    if (rc || path_join(part, sizeof part, dir, name))
        return err_set(e, GPUFL_E_INVAL, "%.100s: the path is too long", dir);
    if (is_of_others(path)) {
        log_each(LOG_WARN,
                 "%s is left as it is, and configuration %s is not kept: the agent did not write "
                 "that file; give --config-cache a folder of its own",
                 path, c->name);
        return 0;
    }
    buf_init(&text, FILE_MOST);
    buf_printf(&text, "{\"name\":\"%s\",", c->name);
    if (is_of_host(c))
        buf_printf(&text, "\"config\":\"%s\",", c->note);
    buf_printf(&text, "\"version\":%" PRId64 ",\"options\":", c->version);
    buf_put(&text, c->options, c->options_len);
    buf_str(&text, "}\n");
    rc = buf_error(&text) ? err_nomem(e) : 0;
    if (!rc && !is_the_same(path, &text)) {
        rc = write_file(part, &text, e);
        if (!rc && rename(part, path))
            rc = err_set_vendor(e, err_from_errno(errno), errno, "cannot write %.300s", path);
        if (rc)
            unlink(part);
        else
            log_note("configuration %s, version %" PRId64 ", is in %s", c->name, c->version, dir);
    }
    buf_fini(&text);
    return rc;
}

static bool is_listed(const struct list *l, const char *file)
{
    size_t len = strlen(file) - strlen(SUFFIX), i = 0;
    while (i < l->count &&
           (strlen(l->items[i].name) != len || memcmp(l->items[i].name, file, len) != 0))
        i++;
    return i < l->count;
}

static void remove_others(const char *dir, const struct list *l)
{
    char path[PATH_MAX];
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (ends_with(entry->d_name, SUFFIX) && !is_listed(l, entry->d_name) &&
            path_join(path, sizeof path, dir, entry->d_name) == 0 && is_ours(path) &&
            unlink(path) == 0)
            log_note("%s is gone: the server has no such configuration any more", path);
    if (d)
        closedir(d);
}

int config_cache_open(const char *dir, struct err *e)
{
    bool there = access(dir, F_OK) == 0;
    int rc = file_mkdirs(dir, 0755, e);
    if (!rc && !there && chmod(dir, 0755))
        rc = err_set_vendor(e, err_from_errno(errno), errno, "cannot open %.300s to others", dir);
    int tried = rc ? 0 : file_try_dir(dir);
    if (tried)
        rc = err_set_vendor(e, err_from_errno(-tried), -tried,
                            "cannot write the configurations' folder %.300s", dir);
    if (!rc)
        file_remove_named(dir, ".", UNFINISHED);
    return rc;
}

int config_cache_take(const char *dir, const char *json, size_t len, struct err *e)
{
    struct list l = {0};
    bool whole = json_document(json, len, take_rows, &l);
    int rc = whole && l.has_rows && !l.bad
                 ? 0
                 : err_set(e, GPUFL_E_CORRUPT, "the server's answer is no list of configurations");
    for (size_t i = 0; i < l.count && !rc; i++)
        rc = put_config(dir, &l.items[i], e);
    if (!rc)
        remove_others(dir, &l);
    mem_free(l.items);
    return rc;
}
