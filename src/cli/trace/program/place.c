/* place.c - where a run of `gpufl trace` finds the library and puts its sessions.
 *
 * The directory's name has the program and the time, by which a person finds it, and eight digits
 * of the run's id, so that runs started in one second never share a directory. Paths given to the
 * program are absolute: it may change its directory before it first uses the GPU. Called by one
 * thread only. */
#include "cli/trace/program/place.h"

#include "base/file/file.h"
#include "cli/cmd.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Says where `ninja install` puts the library; set by CMake. */
#ifndef GPUFL_INSTALL_LIBDIR
#define GPUFL_INSTALL_LIBDIR "/usr/local/lib"
#endif
#ifndef GPUFL_LIB_FROM_BIN
#define GPUFL_LIB_FROM_BIN "../lib"
#endif

enum { SLUG_SIZE = 49, TRIES = 16 };

#define LIBRARY "libgpufl.so"

/* A Python wheel has no links, so the library has only the name that the loader asks for. */
static const char *const library_names[] = {LIBRARY, LIBRARY ".0"};

/* ---- names ------------------------------------------------------------------------------ */

/* Makes a random UUID, version 4. */
static int make_id(char out[PLACE_ID_SIZE], struct err *e)
{
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != sizeof b)
        return err_set_vendor(e, GPUFL_E_IO, errno, "cannot get random numbers for the run's id");
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    char *at = out;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        at += snprintf(at, 3, "%02x", b[i]);
    }
    return GPUFL_OK;
}

static bool is_interpreter(const char *base)
{
    static const char *const names[] = {"python", "pypy", "bash", "sh", "perl", "ruby", "node"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(base, names[i], n) == 0 && strspn(base + n, "0123456789.") == strlen(base + n))
            return true;
    }
    return false;
}

/* Returns the script or module that an interpreter is to run; NULL if none is seen: `python -c`. */
static const char *script_of(char *const *args)
{
    for (; *args; args++) {
        if (strcmp(*args, "-m") == 0)
            return args[1];
        if (strcmp(*args, "-c") == 0)
            return NULL;
        if (strcmp(*args, "-W") == 0 || strcmp(*args, "-X") == 0) {
            if (!*++args)
                return NULL;
        } else if (**args != '-') {
            return *args;
        }
    }
    return NULL;
}

/* Cuts the ending of a script's file name. */
static void cut_ending(char *name)
{
    static const char *const endings[] = {".py", ".sh", ".pl", ".rb", ".js"};
    char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && dot != name && i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(dot, endings[i]) == 0) {
            *dot = '\0';
            return;
        }
}

void place_name_command(char *const *command, char *out, size_t size)
{
    const char *base = path_base(command[0]);
    const char *script = is_interpreter(base) ? script_of(command + 1) : NULL;
    if (script && *path_base(script))
        base = path_base(script);
    snprintf(out, size, "%s", *base ? base : "program");
    if (script)
        cut_ending(out);
    for (char *c = out; *c; c++)
        if (*c == '\n')
            *c = ' ';
}

int place_identify(struct place *p, const char *given, char *const *command, struct err *e)
{
    *p = (struct place){0};
    if (given && *given)
        snprintf(p->name, sizeof p->name, "%s", given);
    else
        place_name_command(command, p->name, sizeof p->name);
    return make_id(p->run, e);
}

/* Keeps the characters of a name that a file name can have. */
static void make_slug(const char *name, char out[SLUG_SIZE])
{
    size_t n = 0;
    for (; *name && n < SLUG_SIZE - 1; name++) {
        bool plain = isalnum((unsigned char)*name) || strchr("._-", *name);
        out[n++] = plain ? *name : '_';
    }
    out[n] = '\0';
}

/* ---- the library ------------------------------------------------------------------------ */

/* Returns true, and puts the absolute path in p, if the file is there. */
static bool take_library(struct place *p, const char *path)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return false;
    memcpy(p->library, real, strlen(real) + 1);
    return true;
}

static bool take_library_in(struct place *p, const char *folder)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof library_names / sizeof library_names[0]; i++)
        if (!path_join(path, sizeof path, folder, library_names[i]) && take_library(p, path))
            return true;
    return false;
}

int place_find_library(struct place *p, struct err *e)
{
    static const char *const folders[] = {GPUFL_LIB_FROM_BIN, "../lib", "../lib64", "."};
    char dir[PATH_MAX], folder[PATH_MAX];
    const char *given = getenv("GPUFL_LIBRARY");
    if (given && *given) {
        if (take_library(p, given))
            return GPUFL_OK;
        return err_set_vendor(e, GPUFL_E_NOENT, errno,
                              "GPUFL_LIBRARY names %s, which does not open", given);
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (cmd_exe_dir(dir, sizeof dir) && !path_join(folder, sizeof folder, dir, folders[i]) &&
            take_library_in(p, folder))
            return GPUFL_OK;
    if (take_library_in(p, GPUFL_INSTALL_LIBDIR))
        return GPUFL_OK;
    return err_set(e, GPUFL_E_NOENT,
                   LIBRARY " is neither in ../lib next to gpufl nor in " GPUFL_INSTALL_LIBDIR
                           "; reinstall, or set GPUFL_LIBRARY to its path");
}

/* ---- the directory ---------------------------------------------------------------------- */

/* Makes one new directory in the current one; returns -1 and errno, EEXIST: the name is taken. */
static int make_new(struct place *p, const char *slug, const char *stamp)
{
    char name[NAME_MAX];
    snprintf(name, sizeof name, "gpufl-%s-%s-%.8s", slug, stamp, p->run);
    snprintf(p->shown, sizeof p->shown, "./%s", name);
    return mkdir(name, 0777);
}

static int make_default(struct place *p, struct err *e)
{
    char slug[SLUG_SIZE], stamp[32] = "";
    struct tm now;
    time_t t = time(NULL);
    make_slug(p->name, slug);
    if (localtime_r(&t, &now))
        strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &now);
    for (int i = 0; i < TRIES; i++) {
        if (make_new(p, slug, stamp) == 0) {
            p->created = true;
            return GPUFL_OK;
        }
        if (errno != EEXIST)
            break;
        int rc = make_id(p->run, e);
        if (rc)
            return rc;
    }
    return err_set(e, err_from_errno(errno),
                   "cannot make a directory for the session logs here: %s; name one that can be "
                   "written with -o DIR",
                   strerror(errno));
}

static int make_given(struct place *p, const char *output, struct err *e)
{
    bool there = file_exists(output);
    struct err why = {0};
    int rc = file_mkdirs(output, 0777, &why);
    if (rc)
        return err_set(e, rc, "%s; name another directory with -o DIR", why.text);
    p->created = !there;
    snprintf(p->shown, sizeof p->shown, "%s", output);
    if (access(output, W_OK | X_OK) != 0)
        return err_set(e, err_from_errno(errno),
                       "cannot write to %s: %s; name another directory with -o DIR", output,
                       strerror(errno));
    return GPUFL_OK;
}

int place_make_dir(struct place *p, const char *output, struct err *e)
{
    int rc = output ? make_given(p, output, e) : make_default(p, e);
    if (rc)
        return rc;
    if (realpath(p->shown, p->dir) && !strchr(p->dir, '\n'))
        return GPUFL_OK;
    p->dir[0] = '\0';
    return err_set(e, GPUFL_E_INVAL,
                   "the path of %s cannot be used (does it hold a line break?); name another "
                   "directory with -o DIR",
                   p->shown);
}

int place_make_pass(const struct place *run, unsigned number, const char *engine, struct place *p,
                    struct err *e)
{
    char name[NAME_MAX];
    *p = *run;
    p->created = false;
    snprintf(name, sizeof name, "%u-%s", number, engine);
    int rc = path_join(p->dir, sizeof p->dir, run->dir, name);
    rc = rc ? rc : path_join(p->shown, sizeof p->shown, run->shown, name);
    if (rc)
        return err_set(e, rc, "the path of %s is too long; name another directory with -o DIR",
                       run->shown);
    p->created = mkdir(p->dir, 0777) == 0;
    if (p->created)
        return GPUFL_OK;
    if (errno == EEXIST)
        return err_set(e, GPUFL_E_STATE,
                       "%s is there already, with passes of another run; name another directory "
                       "with -o DIR",
                       p->shown);
    return err_set(e, err_from_errno(errno),
                   "cannot make %s: %s; name another directory with -o DIR", p->shown,
                   strerror(errno));
}

void place_drop_empty(struct place *p)
{
    if (p->created && p->dir[0] && rmdir(p->dir) == 0)
        p->dir[0] = '\0';
}
