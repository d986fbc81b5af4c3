/* disassembler.c - see disassembler.h. */
#include "symbol/device/disassembler.h"

#include "backend/vendor.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/process/spawn.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LINE_MOST = 64 << 10,
    CHUNK = 64 << 10,
    NS_IN_MS = 1000000,
    TEXT_LEAST = 1 << 20, /* bytes of output that are allowed for every file */
    WORDS_MOST = 64 << 10,
};

/* ---- finding ----------------------------------------------------------------------------- */

static bool usable(char *path, size_t size, const char *dir, const char *rest, const char *program)
{
    int n = snprintf(path, size, "%s%s/%s", dir, rest, program);
    return n > 0 && (size_t)n < size && access(path, X_OK) == 0;
}

/* Calls fn for the folders of PATH, up to the first for which it is true. */
static bool in_path(bool (*fn)(const char *dir, void *arg), void *arg)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        char dir[PATH_MAX];
        size_t len = strcspn(at, ":");
        int n = snprintf(dir, sizeof dir, "%.*s", (int)len, at);
        if (len && n > 0 && (size_t)n < sizeof dir && fn(dir, arg))
            return true;
        at += len + (at[len] == ':');
    }
    return false;
}

struct search {
    const struct vendor_disassembler *d;
    char *path;
    size_t size;
    long version; /* the highest so far; -1: none */
};

static bool has_program(const char *dir, void *arg)
{
    const struct search *s = arg;
    return usable(s->path, s->size, dir, "", s->d->program);
}

/* Takes the highest version of a folder; never ends the walk. */
static bool take_version(const char *dir, void *arg)
{
    struct search *s = arg;
    char pattern[PATH_MAX + 64];
    glob_t g;
    snprintf(pattern, sizeof pattern, "%s/%s-[0-9]*", dir, s->d->program);
    if (glob(pattern, 0, NULL, &g) != 0)
        return false;
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *number = strrchr(g.gl_pathv[i], '-');
        char *end = NULL;
        long version = number ? strtol(number + 1, &end, 10) : -1;
        if (end && version > s->version && !*end && strlen(g.gl_pathv[i]) < s->size &&
            access(g.gl_pathv[i], X_OK) == 0) {
            s->version = version;
            memcpy(s->path, g.gl_pathv[i], strlen(g.gl_pathv[i]) + 1);
        }
    }
    globfree(&g);
    return false;
}

static bool find_in_toolkits(const struct vendor_disassembler *d, char *path, size_t size)
{
    bool found = false;
    glob_t g;
    for (const char *const *home = d->homes; *home; home++) {
        const char *root = getenv(*home);
        if (root && *root && usable(path, size, root, d->folder, d->program))
            return true;
    }
    if (glob(d->toolkits, 0, NULL, &g) != 0)
        return false;
    for (size_t i = 0; i < g.gl_pathc && !found; i++)
        found = usable(path, size, g.gl_pathv[i], d->folder, d->program);
    globfree(&g);
    return found;
}

int disassembler_find(const struct vendor_disassembler *d, char *path, size_t size, struct err *e)
{
    struct search s = {.d = d, .path = path, .size = size, .version = -1};
    const char *chosen = getenv(d->variable);
    if (chosen && *chosen) {
        int n = snprintf(path, size, "%s", chosen);
        if (n > 0 && (size_t)n < size && access(path, X_OK) == 0)
            return 0;
        return err_set(e, GPUFL_E_NOENT,
                       "%s=%.200s cannot be run: set it to the path of %s, or unset it",
                       d->variable, chosen, d->program);
    }
    if (d->versions && find_in_toolkits(d, path, size))
        return 0;
    if (d->versions && !in_path(take_version, &s) && s.version >= 0)
        return 0;
    if (in_path(has_program, &s) || (!d->versions && find_in_toolkits(d, path, size)))
        return 0;
    return err_set(e, GPUFL_E_NOENT, "%s", d->missing);
}

/* ---- running ----------------------------------------------------------------------------- */

/* Holds the end of the output so far, which is not a whole line. */
struct output {
    const struct disassembler_run *run;
    char line[LINE_MOST];
    size_t len;
    bool skipping; /* the rest of a line that is too long is being skipped */
    uint64_t room; /* bytes that may still come; the rest is refused */
};

static uint64_t text_most(const char *file)
{
    struct stat st;
    uint64_t size = stat(file, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    return TEXT_LEAST + size * DISASSEMBLER_TEXT_MOST;
}

static void take(struct output *o, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n') {
            o->line[o->len] = '\0';
            if (!o->skipping)
                o->run->line(o->run->arg, o->line);
            o->len = 0;
            o->skipping = false;
        } else if (o->len + 1 < sizeof o->line) {
            o->line[o->len++] = data[i];
        } else {
            o->skipping = true;
        }
    }
}

static int64_t left_ms(int64_t deadline)
{
    int64_t left = (deadline - clock_mono()) / NS_IN_MS;
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : left;
}

/* Reads the output to its end. 0; a negative code: the caller has to end the program. */
static int read_all(int fd, struct output *o, int64_t deadline)
{
    static char data[CHUNK]; /* owner's thread */
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int rc = poll(&p, 1, (int)left_ms(deadline));
        if (rc == 0)
            return GPUFL_E_TIMEOUT;
        if (rc < 0 && errno == EINTR)
            continue;
        ssize_t n = rc < 0 ? -1 : read(fd, data, sizeof data);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? GPUFL_E_IO : 0;
        if ((uint64_t)n > o->room)
            return GPUFL_E_FULL;
        o->room -= (uint64_t)n;
        take(o, data, (size_t)n);
    }
}

static int ended(struct spawned *p, int rc, int64_t deadline, const struct disassembler_run *r,
                 struct err *e)
{
    const char *name = path_base(r->program), *file = path_base(r->file);
    int status = 0;
    if (rc)
        spawn_signal(p, SIGKILL);
    int waited = spawn_wait(p, rc ? INT64_MAX : deadline, &status);
    if (waited == ETIMEDOUT) {
        spawn_signal(p, SIGKILL);
        spawn_wait(p, INT64_MAX, &status);
        rc = GPUFL_E_TIMEOUT;
    }
    spawn_close(p);
    if (rc == GPUFL_E_TIMEOUT)
        return err_set(e, rc, "%.64s took too long for %.200s", name, file);
    if (rc == GPUFL_E_FULL)
        return err_set(e, GPUFL_E_CORRUPT, "%.64s prints more for %.64s than such a file holds: %s",
                       name, file, r->advice);
    if (rc)
        return err_set(e, rc, "the output of %.64s cannot be read", name);
    if (status && WIFSIGNALED(status) &&
        (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM))
        return err_set(e, GPUFL_E_IO,
                       "%.64s was killed (signal %d) while it read %.64s: the machine may be short "
                       "of memory",
                       name, WTERMSIG(status), file);
    if (status && WIFSIGNALED(status))
        return err_set(e, GPUFL_E_CORRUPT, "%.64s crashes (signal %d) when it reads %.64s: %s",
                       name, WTERMSIG(status), file, r->advice);
    if (status)
        return err_set(e, GPUFL_E_CORRUPT, "%.64s cannot read %.200s: %s", name, file, r->advice);
    return 0;
}

/* A program that runs, and the pipe from which its output comes. */
struct running {
    struct spawned process;
    int output;
};

/* Starts the program. 0, or a code with a sentence. */
static int start(const struct disassembler_run *r, struct running *out, struct err *e)
{
    int ends[2];
    int rc = spawn_pipe(ends);
    if (rc)
        return err_set(e, GPUFL_E_IO, "no pipe for %.64s: %s", path_base(r->program), strerror(rc));
    *out = (struct running){.process = SPAWNED_NONE, .output = ends[0]};
    struct spawn s = {.program = r->program,
                      .argv = r->argv,
                      .fds = {SPAWN_NULL, ends[1], SPAWN_NULL},
                      .own_group = true};
    rc = spawn_open(&out->process, &s);
    close(ends[1]);
    if (!rc)
        return 0;
    close(ends[0]);
    return err_set(e, GPUFL_E_NOENT, "%.200s cannot be run: %s", r->program, strerror(rc));
}

/* ---- ahead ------------------------------------------------------------------------------- */

static struct ahead {
    char *words; /* owned: of the program's arguments; NULL: free */
    struct running running;
} ahead[DISASSEMBLERS_AHEAD];

/* Returns the arguments with LFs between them; NULL: out of memory. */
static char *words_of(const struct disassembler_run *r)
{
    struct buf b;
    buf_init(&b, WORDS_MOST);
    buf_str(&b, r->program);
    for (char *const *word = r->argv; *word; word++) {
        buf_char(&b, '\n');
        buf_str(&b, *word);
    }
    char *words = buf_error(&b) ? NULL : mem_strdup(buf_cstr(&b));
    buf_fini(&b);
    return words;
}

void disassembler_ahead(const struct disassembler_run *r)
{
    struct err e;
    size_t i = 0;
    while (i < DISASSEMBLERS_AHEAD && ahead[i].words)
        i++;
    if (i == DISASSEMBLERS_AHEAD)
        return;
    ahead[i].words = words_of(r);
    if (ahead[i].words && start(r, &ahead[i].running, &e) != 0) {
        mem_free(ahead[i].words);
        ahead[i].words = NULL;
    }
}

/* Takes the program that was started for this run. False: there is none. */
static bool take_ahead(const struct disassembler_run *r, struct running *out)
{
    char *words = words_of(r);
    bool found = false;
    for (size_t i = 0; words && i < DISASSEMBLERS_AHEAD && !found; i++) {
        found = ahead[i].words && !strcmp(ahead[i].words, words);
        if (!found)
            continue;
        *out = ahead[i].running;
        mem_free(ahead[i].words);
        ahead[i].words = NULL;
    }
    mem_free(words);
    return found;
}

void disassembler_forget(void)
{
    int status;
    for (size_t i = 0; i < DISASSEMBLERS_AHEAD; i++) {
        struct ahead *a = &ahead[i];
        if (!a->words)
            continue;
        spawn_signal(&a->running.process, SIGKILL);
        spawn_wait(&a->running.process, INT64_MAX, &status);
        spawn_close(&a->running.process);
        close(a->running.output);
        mem_free(a->words);
        a->words = NULL;
    }
}

int disassembler_run(const struct disassembler_run *r, int64_t deadline, struct err *e)
{
    static struct output o; /* owner's thread */
    struct running now = {.process = SPAWNED_NONE, .output = -1};
    o.run = r;
    o.len = 0;
    o.skipping = false;
    o.room = text_most(r->file);
    int rc = take_ahead(r, &now) ? 0 : start(r, &now, e);
    if (rc)
        return rc;
    rc = ended(&now.process, read_all(now.output, &o, deadline), deadline, r, e);
    close(now.output);
    return rc;
}
