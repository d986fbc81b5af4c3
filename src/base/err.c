/* err.c - has names of the codes, and sentences for people.
 *
 * The table comes from GPUFL_ERRORS, so a new code needs no change here. A text
 * that does not fit is cut at a character's boundary and ends in "...". */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct code_row {
    int code;         /* enum gpufl_error */
    const char *name; /* without prefix */
    const char *text; /* sentence without full stop */
};

static const struct code_row CODES[] = {{GPUFL_OK, "OK", "no error"},
#define CODE_ROW(name, value, text) {value, #name, text},
                                        GPUFL_ERRORS(CODE_ROW)
#undef CODE_ROW
};

static const struct code_row *code_find(int code)
{
    for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++)
        if (CODES[i].code == code)
            return &CODES[i];
    return NULL;
}

const char *err_name(int code)
{
    const struct code_row *row = code_find(code);
    return row ? row->name : "?";
}

const char *err_text(int code)
{
    const struct code_row *row = code_find(code);
    return row ? row->text : "unknown error";
}

/* Ends a text that was cut in "...", without leaving half a UTF-8 character. */
static void text_cut(char *text, size_t size)
{
    static const char dots[] = "...";
    size_t at = size - sizeof dots;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    memcpy(text + at, dots, sizeof dots);
}

static void err_fill(struct err *e, int code, long vendor, const char *fmt, va_list args)
{
    int n = vsnprintf(e->text, sizeof e->text, fmt, args);
    if (n < 0)
        e->text[0] = '\0';
    else if ((size_t)n >= sizeof e->text)
        text_cut(e->text, sizeof e->text);
    e->code = code;
    e->vendor = vendor;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (e)
        err_fill(e, code, 0, fmt, args);
    va_end(args);
    return code;
}

static bool code_takes_errno(int code)
{
    return code == GPUFL_E_IO || code == GPUFL_E_PERM || code == GPUFL_E_NOENT ||
           code == GPUFL_E_FULL;
}

int err_set_vendor(struct err *e, int code, long vendor, const char *fmt, ...)
{
    if (!e)
        return code;
    va_list args;
    va_start(args, fmt);
    err_fill(e, code, vendor, fmt, args);
    va_end(args);
    if (code_takes_errno(code) && vendor > 0) {
        char reason[128];
        const char *why = strerror_r((int)vendor, reason, sizeof reason);
        size_t len = strlen(e->text);
        int n = snprintf(e->text + len, sizeof e->text - len, ": %s", why);
        if (n > 0 && (size_t)n >= sizeof e->text - len)
            text_cut(e->text, sizeof e->text);
    }
    return code;
}

bool err_disk_full(const struct err *e)
{
    return e && (e->code == GPUFL_E_IO || e->code == GPUFL_E_FULL) &&
           (e->vendor == ENOSPC || e->vendor == EDQUOT);
}

int err_from_errno(int errnum)
{
    switch (errnum) {
    case 0:
        return GPUFL_OK;
    case ENOMEM:
        return GPUFL_E_NOMEM;
    case EINVAL:
    case ENAMETOOLONG:
        return GPUFL_E_INVAL;
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
        return GPUFL_E_NOENT;
    case EACCES:
    case EPERM:
    case EROFS:
        return GPUFL_E_PERM;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return GPUFL_E_FULL;
    case EILSEQ:
    case EBADMSG:
        return GPUFL_E_CORRUPT;
    case ENOSYS:
    case EOPNOTSUPP:
    case ENODEV:
    case ENXIO:
        return GPUFL_E_UNAVAILABLE;
    case ETIMEDOUT:
        return GPUFL_E_TIMEOUT;
    default:
        return GPUFL_E_IO;
    }
}
