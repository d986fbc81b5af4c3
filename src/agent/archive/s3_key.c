/* s3_key.c - see s3_key.h. */
#include "agent/archive/s3_key.h"

#include "base/alloc.h"
#include "base/file/file.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MOST = 64 << 10 };

/* Says where a value is stored, its name in a file, and its name in the environment. */
struct row {
    const char *member, *variable;
    char *to;
    size_t size;
};

enum { ROWS = 3 };

static void rows_of(struct s3_key *k, struct row rows[ROWS])
{
    const struct row all[ROWS] = {
        {"aws_access_key_id", "AWS_ACCESS_KEY_ID", k->id, sizeof k->id},
        {"aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", k->secret, sizeof k->secret},
        {"aws_session_token", "AWS_SESSION_TOKEN", k->token, sizeof k->token},
    };
    memcpy(rows, all, sizeof all);
}

static bool take(const struct row *r, const char *value, size_t len)
{
    if (len >= r->size)
        return false;
    memcpy(r->to, value, len);
    r->to[len] = '\0';
    return true;
}

/* Takes "name = value" of a line; other lines are skipped. False: a value is too long. */
static bool take_line(const struct row rows[ROWS], const char *line, size_t len)
{
    const char *equals = memchr(line, '=', len);
    if (!equals)
        return true;
    size_t name = (size_t)(equals - line), from = name + 1;
    while (name && (line[name - 1] == ' ' || line[name - 1] == '\t'))
        name--;
    while (from < len && (line[from] == ' ' || line[from] == '\t'))
        from++;
    while (len > from && (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r'))
        len--;
    for (int i = 0; i < ROWS; i++)
        if (strlen(rows[i].member) == name && memcmp(line, rows[i].member, name) == 0)
            return take(&rows[i], line + from, len - from);
    return true;
}

/* Takes the lines before any section, and those of [default]. */
static bool take_lines(const struct row rows[ROWS], const char *text)
{
    bool wanted = true;
    while (*text) {
        size_t len = strcspn(text, "\n"), lead = strspn(text, " \t");
        const char *at = text + (lead < len ? lead : len);
        if (*at == '[')
            wanted = strncmp(at, "[default]", 9) == 0;
        else if (wanted && !take_line(rows, at, len - (size_t)(at - text)))
            return false;
        text += len + (text[len] == '\n');
    }
    return true;
}

static int from_file(const struct row rows[ROWS], const char *path, struct err *e)
{
    char *text = NULL;
    size_t len = 0;
    struct stat st;
    int rc = file_read_all(path, FILE_MOST, &text, &len, e);
    if (rc)
        return rc;
    if (stat(path, &st) == 0 && (st.st_mode & (S_IRGRP | S_IROTH)))
        log_warn("others on this machine can read %s; chmod 600 it", path);
    if (!take_lines(rows, text))
        rc = err_set(e, GPUFL_E_INVAL, "%s: a value is too long for a key", path);
    explicit_bzero(text, len);
    mem_free(text);
    return rc;
}

static bool is_sound(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

int s3_key_find(struct s3_key *k, const char *file, const char *option, struct err *e)
{
    struct row rows[ROWS];
    bool named = file && *file;
    memset(k, 0, sizeof *k);
    rows_of(k, rows);
    int rc = named ? from_file(rows, file, e) : 0;
    for (int i = 0; !rc && !named && i < ROWS; i++) {
        const char *value = getenv(rows[i].variable);
        if (value && !take(&rows[i], value, strlen(value)))
            rc = err_set(e, GPUFL_E_INVAL, "%s is too long for a key", rows[i].variable);
    }
    bool missing = !rc && (!*k->id || !*k->secret);
    if (missing && named)
        rc = err_set(e, GPUFL_E_INVAL,
                     "no key for the archive: %s needs the lines aws_access_key_id = … and "
                     "aws_secret_access_key = …",
                     file);
    else if (missing)
        rc = err_set(e, GPUFL_E_INVAL,
                     "no key for the archive: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY%s%s",
                     option ? ", or name a file with " : "", option ? option : "");
    if (!rc &&
        (!is_sound(k->id) || !is_sound(k->secret) || !is_sound(k->token) || strchr(k->id, ':')))
        rc = err_set(e, GPUFL_E_INVAL, "the key for the archive has characters that no key has");
    if (rc)
        s3_key_wipe(k);
    return rc;
}

void s3_key_wipe(struct s3_key *k)
{
    explicit_bzero(k, sizeof *k);
}
