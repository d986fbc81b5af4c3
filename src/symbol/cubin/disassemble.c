/* disassemble.c - finding and running the vendor's disassembler. */
#include "symbol/cubin/disassemble.h"

#include "backend/vendor.h"
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
#include <unistd.h>

enum { LINE_MOST = 64 << 10, LIST_MOST = 16 << 10, CHUNK = 64 << 10, NS_IN_MS = 1000000 };

/* ---- finding ----------------------------------------------------------------------------- */

static bool usable(char *path, size_t size, const char *dir, const char *rest, const char *program)
{
    int n = snprintf(path, size, "%s%s/%s", dir, rest, program);
    return n > 0 && (size_t)n < size && access(path, X_OK) == 0;
}

static bool find_in_path(const struct vendor_disassembler *d, char *path, size_t size)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        char dir[PATH_MAX];
        size_t len = strcspn(at, ":");
        int n = snprintf(dir, sizeof dir, "%.*s", (int)len, at);
        if (len && n > 0 && (size_t)n < sizeof dir && usable(path, size, dir, "", d->program))
            return true;
        at += len + (at[len] == ':');
    }
    return false;
}

static bool find_in_toolkits(const struct vendor_disassembler *d, char *path, size_t size)
{
    bool found = false;
    glob_t g;
    for (const char *const *home = d->homes; *home; home++) {
        const char *root = getenv(*home);
        if (root && *root && usable(path, size, root, "/bin", d->program))
            return true;
    }
    if (glob(d->toolkits, 0, NULL, &g) != 0)
        return false;
    for (size_t i = 0; i < g.gl_pathc && !found; i++)
        found = usable(path, size, g.gl_pathv[i], "/bin", d->program);
    globfree(&g);
    return found;
}

static int find(const struct vendor_disassembler *d, char *path, size_t size, struct err *e)
{
    const char *chosen = getenv(d->variable);
    if (chosen && *chosen) {
        int n = snprintf(path, size, "%s", chosen);
        if (n > 0 && (size_t)n < size && access(path, X_OK) == 0)
            return 0;
        return err_set(e, GPUFL_E_NOENT,
                       "%s=%.200s cannot be run: set it to the path of %s, or unset it",
                       d->variable, chosen, d->program);
    }
    if (find_in_path(d, path, size) || find_in_toolkits(d, path, size))
        return 0;
    return err_set(e, GPUFL_E_NOENT, "%s", d->missing);
}

/* The first vendor that has one: its text is what disassemble_text.c reads. */
int disassemble_find(char *path, size_t size, struct err *e)
{
    for (const struct vendor *const *v = vendors; *v; v++)
        if ((*v)->disassembler.program)
            return find(&(*v)->disassembler, path, size, e);
    return err_set(e, GPUFL_E_NOENT, "no vendor of this build has a disassembler");
}

/* ---- running ----------------------------------------------------------------------------- */

/* The output of nvdisasm that is no whole line yet. */
struct output {
    struct disassembly *text;
    char line[LINE_MOST];
    size_t len;
    bool skipping; /* the rest of a line that is too long */
};

static void take(struct output *o, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n') {
            o->line[o->len] = '\0';
            if (!o->skipping)
                disassembly_line(o->text, o->line);
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

/* Reads up to the end of the output. 0, or a negative code: the program has to be ended. */
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
        take(o, data, (size_t)n);
    }
}

static int ended(struct spawned *p, int rc, int64_t deadline, const char *cubin, struct err *e)
{
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
        return err_set(e, rc, "nvdisasm took too long for %.200s", path_base(cubin));
    if (rc)
        return err_set(e, rc, "the output of nvdisasm cannot be read");
    if (status)
        return err_set(
            e, GPUFL_E_CORRUPT,
            "nvdisasm cannot read %.200s: it is damaged, or of a newer device than nvdisasm knows",
            path_base(cubin));
    return 0;
}

/* The numbers of the functions as nvdisasm takes them: "12,148". */
static void put_numbers(const struct disassemble_request *q, char *list, size_t size)
{
    size_t at = 0;
    *list = '\0';
    for (size_t i = 0; i < q->count && at + 16 < size; i++)
        at += (size_t)snprintf(list + at, size - at, "%s%u", i ? "," : "", q->functions[i]);
}

int disassemble(const char *program, const struct disassemble_request *q, int64_t deadline,
                struct err *e)
{
    static struct output o; /* owner's thread */
    char list[LIST_MOST];
    int ends[2];
    put_numbers(q, list, sizeof list);
    char *argv[] = {(char *)program, "-c", "-gi", "-fun", list, (char *)q->cubin, NULL};
    o.text = disassembly_open(q->fn, q->arg);
    o.len = 0;
    o.skipping = false;
    if (!o.text)
        return err_nomem(e);
    int rc = spawn_pipe(ends);
    if (rc) {
        rc = err_set(e, GPUFL_E_IO, "no pipe for nvdisasm: %s", strerror(rc));
        goto done;
    }
    struct spawned p = SPAWNED_NONE;
    struct spawn s = {.program = program,
                      .argv = argv,
                      .fds = {SPAWN_NULL, ends[1], SPAWN_NULL},
                      .own_group = true};
    rc = spawn_open(&p, &s);
    close(ends[1]);
    if (rc)
        rc = err_set(e, GPUFL_E_NOENT, "%.200s cannot be run: %s", program, strerror(rc));
    else
        rc = ended(&p, read_all(ends[0], &o, deadline), deadline, q->cubin, e);
    close(ends[0]);
done:
    disassembly_close(o.text);
    return rc;
}
