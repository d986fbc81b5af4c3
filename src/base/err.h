/* err.h - describes errors: the codes of gpufl.h, and a text for the person who must act.
 *
 * Functions return 0 or a negative enum gpufl_error. Where a human must act the last parameter is a
 * struct err *, which may be NULL. Called by any thread. */
#ifndef GPUFL_BASE_ERR_H
#define GPUFL_BASE_ERR_H

#include <gpufl/gpufl.h>

#include <stdbool.h>

/* This value of vendor says that the text has words of a database, which are for the log, not for a
 * client. */
#define ERR_ENGINE (-1L)

struct err {
    int code;       /* enum gpufl_error */
    long vendor;    /* errno, CUresult, CUptiResult, nvmlReturn_t, ERR_ENGINE; 0: none */
    char text[384]; /* one sentence that says what happened and what to do */
};

/* Returns the code's name without prefix ("NOMEM"); "?" for others. [any] */
const char *err_name(int code); /* for tests */

/* Returns the sentence of a code; never NULL. [any] */
const char *err_text(int code);

/* Fills *e (if not NULL) and returns code. [any] */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Does what err_set does, with a vendor's or errno's value. With IO, PERM, NOENT and FULL a
 * positive vendor is an errno, whose text is appended. [any] */
int err_set_vendor(struct err *e, int code, long vendor, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Does what err_set does, with NOMEM and its sentence. [any] */
static inline int err_nomem(struct err *e)
{
    (void)err_set(e, GPUFL_E_NOMEM, "%s", err_text(GPUFL_E_NOMEM));
    return GPUFL_E_NOMEM;
}

/* Returns true if the error is that of a full disk, whatever its code is. [any] */
bool err_disk_full(const struct err *e);

/* Returns the gpufl code that fits an errno. [any] */
int err_from_errno(int errnum);

#endif
