/* remote.c - reads a configuration of the server from the agent's cache (file.h).
 *
 * The file NAME.json in the cache is {"name": …, "version": …, "options": {…}}. @host.json repeats
 * the configuration of this host; its member "config" has that configuration's name. Only the agent
 * (as root or as its own user) or this user may have written the file: a file that all users may
 * write is not read. The members of "options" are read once the whole text is known to be
 * well-formed, so that a damaged file sets nothing. */
#include "capture/options/file.h"

#include "base/alloc.h"
#include "base/file/file.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MAX = 256 << 10, NAME_MAX_BYTES = OPTIONS_REMOTE_NAME };

/* This is the name for the configuration that was assigned to this host on the server. */
static const char OF_HOST[] = "@host";

struct reading {
    struct options *o; /* NULL: only check the text */
    const struct options_say *say;
    struct options_origin from;
    char name[NAME_MAX_BYTES + 1], config[NAME_MAX_BYTES + 1];
    int64_t version;
    bool has_options;
    int rc; /* the first failure */
};

/* Returns true for a name that is safe in a path: letters, digits, '.', '_' and '-', first a letter
 * or digit. */
static bool is_name(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || (n && name[n] && strchr("._-", name[n])))
        n++;
    return n && !name[n] && n <= NAME_MAX_BYTES;
}

static bool take_option(struct json *j, const char *key, struct json_value v, void *to)
{
    struct reading *r = to;
    if (r->o)
        r->rc = options_member(r->o, &r->from, key, v, r->say);
    return r->rc == 0 && json_skip(j, v);
}

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct reading *r = to;
    if (strcmp(key, "options") == 0 && v.type == JSON_OBJECT) {
        r->has_options = true;
        return json_members(j, take_option, r);
    }
    if (strcmp(key, "version") == 0 && v.type == JSON_INT)
        r->version = v.integer;
    else if (strcmp(key, "name") == 0 && v.type == JSON_STRING)
        json_text(v, r->name, sizeof r->name);
    else if (strcmp(key, "config") == 0 && v.type == JSON_STRING)
        json_text(v, r->config, sizeof r->config);
    return json_skip(j, v);
}

static void complain(const struct reading *r, const char *fmt, const char *what)
{
    char text[700], sentence[512];
    snprintf(sentence, sizeof sentence, fmt, what);
    snprintf(text, sizeof text, "%s %.80s: %s", r->from.kind, r->from.name, sentence);
    r->say->fn(r->say->arg, SEVERITY_WARNING, "remote_config", text);
}

/* Returns true for a file that nobody but its owner and its group may write. */
static bool is_guarded(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IWOTH) == 0;
}

static int take_text(struct reading *r, struct options *o, const char *data, size_t len)
{
    bool whole = json_document(data, len, take_member, r);
    const char *name = strcmp(r->from.name, OF_HOST) == 0 ? r->config : r->name;
    if (!whole || !r->has_options || r->version < 1 || strcmp(r->name, r->from.name) != 0 ||
        !is_name(name)) {
        complain(r, "%s", "the cached file is damaged; none of its options is set");
        return 0;
    }
    r->o = o;
    (void)json_document(data, len, take_member, r);
    if (!r->rc) {
        o->remote_version = r->version;
        snprintf(o->remote_name, sizeof o->remote_name, "%s", name);
    }
    return r->rc;
}

int options_remote_read(struct options *o, const char *dir, const char *name,
                        const struct options_say *s)
{
    struct reading r = {.say = s,
                        .from = {"remote configuration", name, SOURCE_REMOTE_CONFIG, true}};
    char path[PATH_MAX], file[NAME_MAX_BYTES + 8], *data = NULL;
    size_t len = 0;
    struct err e = {0};
    bool of_host = strcmp(name, OF_HOST) == 0;
    if (!of_host && !is_name(name)) {
        complain(&r, "%s", "that is no name of a configuration; none of its options is set");
        return 0;
    }
    snprintf(file, sizeof file, "%.*s.json", NAME_MAX_BYTES, name);
    if (path_join(path, sizeof path, dir, file)) {
        complain(&r, "%s", "remote_config_dir is too long; none of its options is set");
        return 0;
    }
    if (!file_exists(path)) {
        complain(&r,
                 of_host ? "%.300s does not exist: was a configuration assigned to this host, and "
                           "does a gpufl-agent with --config-cache run here? No option is set"
                         : "%.300s does not exist: is there such a configuration, and does a "
                           "gpufl-agent with --config-cache run here? None of its options is set",
                 path);
        return 0;
    }
    if (!is_guarded(path)) {
        complain(&r,
                 "%.300s is no file, or one that everybody may write; none of its options is "
                 "set",
                 path);
        return 0;
    }
    int rc = file_read_all(path, FILE_MAX, &data, &len, &e);
    if (rc == GPUFL_E_NOMEM)
        return rc;
    if (rc) {
        complain(&r, "none of its options is set: %.300s", e.text);
        return 0;
    }
    rc = take_text(&r, o, data, len);
    mem_free(data);
    return rc;
}
