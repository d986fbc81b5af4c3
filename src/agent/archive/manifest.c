/* manifest.c - see manifest.h. */
#include "agent/archive/manifest.h"

#include "base/alloc.h"
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 1, SHORT_SUM = 16 };

static const char FORMAT[] = "gpufl-archive", SEAL[] = ",\n\"manifest_sha256\":\"";
static const char WORD[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";

/* ---- names --------------------------------------------------------------------------------- */

bool manifest_takes(const char *name)
{
    char channel[PART_CHANNEL_MAX];
    int64_t number;
    if (strlen(name) >= MANIFEST_NAME || strchr(name, '/'))
        return false;
    return strncmp(name, ".gpufl-window.", 14) == 0 ||
           (*name != '.' && part_name_read(name, channel, &number));
}

bool manifest_is_session(const char *text)
{
    size_t n = strspn(text, WORD);
    return n && !text[n] && n < PART_ID_MAX;
}

void manifest_key(const char *session, char out[MANIFEST_KEY])
{
    snprintf(out, MANIFEST_KEY, "%s/manifest.json", session);
}

void manifest_file_key(const char *session, const struct manifest_file *f, char out[MANIFEST_KEY])
{
    int lead = snprintf(out, MANIFEST_KEY, "%s/%.*s-", session, SHORT_SUM, f->sha256);
    size_t at = (size_t)lead;
    for (const char *p = f->name; *p && at + 1 < MANIFEST_KEY; p++)
        out[at++] = strchr(WORD, *p) || *p == '.' ? *p : '_';
    out[at] = '\0';
}

/* ---- the list ------------------------------------------------------------------------------ */

void manifest_init(struct manifest *m)
{
    *m = (struct manifest){0};
}

void manifest_fini(struct manifest *m)
{
    mem_free(m->files);
    manifest_init(m);
}

int manifest_add(struct manifest *m, const char *name, struct manifest_file **out)
{
    int rc = mem_grow(&m->files, &m->cap, m->count + 1, sizeof *m->files, MANIFEST_FILES);
    if (rc)
        return rc;
    *out = &m->files[m->count++];
    **out = (struct manifest_file){0};
    snprintf((*out)->name, sizeof(*out)->name, "%s", name);
    return 0;
}

const struct manifest_file *manifest_find(const struct manifest *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->files[i].name, name) == 0)
            return &m->files[i];
    return NULL;
}

/* ---- the text ------------------------------------------------------------------------------ */

static void sum_of(const char *text, size_t len, char hex[SHA256_HEX])
{
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, text, len);
    sha256_end(&s, hex);
}

void manifest_write(const struct manifest *m, struct buf *out)
{
    char key[MANIFEST_KEY], sum[SHA256_HEX];
    buf_clear(out);
    buf_printf(out, "{\"format\":\"%s\",\"version\":%d,\"session\":", FORMAT, VERSION);
    buf_json_str(out, m->session);
    buf_str(out, ",\"app\":");
    buf_json_str(out, m->app);
    buf_str(out, ",\"host\":");
    buf_json_str(out, m->host);
    buf_printf(out, ",\"written\":%" PRId64 ",\"last\":%" PRId64 ",\n\"files\":[", m->written,
               m->last);
    for (size_t i = 0; i < m->count; i++) {
        const struct manifest_file *f = &m->files[i];
        manifest_file_key(m->session, f, key);
        buf_str(out, i ? ",\n{\"name\":" : "\n{\"name\":");
        buf_json_str(out, f->name);
        buf_printf(out,
                   ",\"object\":\"%s\",\"bytes\":%" PRId64
                   ",\"sha256\":\"%s\",\"modified\":%" PRId64 "}",
                   strchr(key, '/') + 1, f->bytes, f->sha256, f->modified);
    }
    buf_char(out, ']');
    sum_of(out->data, out->len, sum);
    buf_printf(out, "%s%s\"}\n", SEAL, sum);
}

struct reading {
    struct manifest *m;
    char format[32];
    int64_t version;
    bool damaged;
};

static bool take_file(struct json *j, const char *key, struct json_value v, void *to)
{
    struct manifest_file *f = to;
    if (strcmp(key, "name") == 0 && v.type == JSON_STRING) {
        size_t n = json_text(v, f->name, sizeof f->name);
        f->name[0] = n < sizeof f->name && strlen(f->name) == n ? f->name[0] : '\0';
    } else if (strcmp(key, "sha256") == 0 && v.type == JSON_STRING)
        json_text(v, f->sha256, sizeof f->sha256);
    else if (strcmp(key, "bytes") == 0 && v.type == JSON_INT)
        f->bytes = v.integer;
    else if (strcmp(key, "modified") == 0 && v.type == JSON_INT)
        f->modified = v.integer;
    else
        return json_skip(j, v);
    return true;
}

static bool take_files(struct json *j, struct reading *r)
{
    for (;;) {
        struct manifest_file *f;
        struct json_value v = json_next(j);
        if (v.type != JSON_OBJECT)
            return v.type == JSON_END;
        if (manifest_add(r->m, "", &f) || !json_members(j, take_file, f))
            return false;
        r->damaged |= !manifest_takes(f->name) || f->bytes < 0 ||
                      strspn(f->sha256, "0123456789abcdef") != SHA256_HEX - 1;
    }
}

static bool take_member(struct json *j, const char *key, struct json_value v, void *to)
{
    struct reading *r = to;
    struct manifest *m = r->m;
    const struct {
        const char *key;
        char *to;
        size_t size;
    } texts[] = {{"format", r->format, sizeof r->format},
                 {"session", m->session, sizeof m->session},
                 {"app", m->app, sizeof m->app},
                 {"host", m->host, sizeof m->host}};
    const struct {
        const char *key;
        int64_t *to;
    } numbers[] = {{"version", &r->version}, {"written", &m->written}, {"last", &m->last}};
    for (size_t i = 0; v.type == JSON_STRING && i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0) {
            json_text(v, texts[i].to, texts[i].size);
            return true;
        }
    for (size_t i = 0; v.type == JSON_INT && i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0) {
            *numbers[i].to = v.integer;
            return true;
        }
    if (strcmp(key, "files") == 0 && v.type == JSON_ARRAY)
        return take_files(j, r);
    return json_skip(j, v);
}

/* Returns true if the text ends in the checksum of the text before it. */
static bool is_sealed(const char *text, size_t len)
{
    char sum[SHA256_HEX], end[sizeof SEAL + SHA256_HEX + 4];
    size_t tail = strlen(SEAL) + SHA256_HEX - 1 + 3;
    if (len < tail)
        return false;
    sum_of(text, len - tail, sum);
    snprintf(end, sizeof end, "%s%s\"}\n", SEAL, sum);
    return memcmp(text + len - tail, end, tail) == 0;
}

int manifest_read(struct manifest *m, const char *text, size_t len, struct err *e)
{
    struct reading r = {.m = m};
    manifest_fini(m);
    if (!is_sealed(text, len))
        return err_set(e, GPUFL_E_INVAL, "its manifest is damaged: the checksum is not the text's");
    bool whole = json_document(text, len, take_member, &r);
    if (strcmp(r.format, FORMAT) != 0 || r.version != VERSION)
        return err_set(e, GPUFL_E_INVAL, "its manifest is of another format or version");
    if (!whole || r.damaged || !manifest_is_session(m->session))
        return err_set(e, GPUFL_E_INVAL, "its manifest has members that no archive has");
    return 0;
}
