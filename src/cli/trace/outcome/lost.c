/* lost.c - see lost.h.
 *
 * A folder of empty files belongs to the process whose mark says that its session began there. A
 * folder without a mark belongs to this run if the run made the directory around it: the process
 * ended before it could send the mark. Marks decide whether a folder is removed, but never name the
 * folder: only folders that were found here, with empty files, are removed. */
#include "cli/trace/outcome/lost.h"

#include "base/buf.h"
#include "base/file/file.h"
#include "cli/trace/outcome/here.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIDS_MOST = 8, SENTENCE_MAX = 1024 };

static const struct exits *exits_of(const struct finish *f)
{
    static const struct exits none;
    return f->evidence ? &f->evidence->marks.exits : &none;
}

/* Returns the folder of empty files of a session; NULL: none. */
static const char *blank_of(const struct sessions *s, const char *session)
{
    for (size_t i = 0; *session && i < s->blank; i++)
        if (strcmp(path_base(s->blanks[i]), session) == 0)
            return s->blanks[i];
    return NULL;
}

static bool has_records(const struct sessions *s, long pid)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].ours && s->items[i].pid == pid)
            return true;
    return false;
}

/* Finds the fate of the process with that index among the marks; false if it left records or a
 * reason. */
static bool lost_at(const struct finish *f, const struct sessions *s, size_t i,
                    struct exits_fate *fate)
{
    *fate = exits_fate(exits_of(f), i);
    if (fate->pid == f->child && f->ended) {
        fate->over = fate->known = true;
        fate->status = f->status;
    }
    if (*fate->session)
        return blank_of(s, fate->session) != NULL;
    return !fate->answered && !has_records(s, fate->pid);
}

static bool is_alike(const struct exits_fate *a, const struct exits_fate *b)
{
    return !*a->session == !*b->session && a->over == b->over && a->known == b->known &&
           (!a->known || a->status == b->status);
}

/* Returns true if a process before this one ended in the same way. */
static bool was_said(const struct finish *f, const struct sessions *s, size_t at,
                     const struct exits_fate *one)
{
    struct exits_fate other;
    for (size_t i = 0; i < at; i++)
        if (lost_at(f, s, i, &other) && is_alike(one, &other))
            return true;
    return false;
}

/* Counts the processes that ended in that way, and lists the first of them. */
static size_t count_alike(const struct finish *f, const struct sessions *s,
                          const struct exits_fate *one, struct buf *pids)
{
    struct exits_fate other;
    size_t n = 0;
    for (size_t i = 0; i < exits_of(f)->count; i++) {
        if (!lost_at(f, s, i, &other) || !is_alike(one, &other))
            continue;
        if (n++ < PIDS_MOST)
            buf_printf(pids, "%s%ld", n > 1 ? ", " : "", other.pid);
    }
    if (n > PIDS_MOST)
        buf_printf(pids, " and %zu more", n - PIDS_MOST);
    return n;
}

/* Writes " (signal 11, Segmentation fault)"; "" if it is unknown how the process ended. */
static const char *end_of(const struct exits_fate *fate, char *out, size_t size)
{
    *out = '\0';
    if (fate->known && WIFSIGNALED(fate->status))
        snprintf(out, size, " (signal %d, %s)", WTERMSIG(fate->status),
                 strsignal(WTERMSIG(fate->status)));
    else if (fate->known)
        snprintf(out, size, " (exit code %d)", WEXITSTATUS(fate->status));
    return out;
}

static void say_one(const struct finish *f, const struct exits_fate *fate, size_t n,
                    const char *pids, FILE *out)
{
    char runtime[64];
    here_runtime(here_backend(f->request), runtime, sizeof runtime);
    bool one = n == 1;
    char end[96];
    if (!fate->over)
        fprintf(out,
                "gpufl: in %zu process%s capture has begun, and no record is written so far: %s "
                "still run%s, or ended in a way that is not known",
                n, one ? "" : "es", one ? "it" : "they", one ? "s" : "");
    else if (*fate->session)
        fprintf(out,
                "gpufl: %zu process%s ended%s before %s first records were written: right after %s "
                "had initialized %s",
                n, one ? "" : "es", end_of(fate, end, sizeof end), one ? "its" : "their",
                one ? "it" : "they", runtime);
    else
        fprintf(
            out,
            "gpufl: %zu process%s ended%s while capture began: right after %s had initialized %s",
            n, one ? "" : "es", end_of(fate, end, sizeof end), one ? "it" : "they", runtime);
    fprintf(out, " (pid%s %s)\n", one ? "" : "s", pids);
}

/* ---- folders ------------------------------------------------------------------------------- */

/* Finds the process whose session began in that folder, as its index among the marks; false:
 * none. */
static bool owner_of(const struct finish *f, const char *dir, struct exits_fate *fate)
{
    for (size_t i = 0; i < exits_of(f)->count; i++) {
        *fate = exits_fate(exits_of(f), i);
        if (*fate->session && strcmp(path_base(dir), fate->session) == 0)
            return true;
    }
    return false;
}

/* Returns true if there is a process without a mark that says where its session began. */
static bool has_unplaced(const struct finish *f, const struct sessions *s, bool running)
{
    struct exits_fate fate;
    for (size_t i = 0; i < exits_of(f)->count; i++)
        if (lost_at(f, s, i, &fate) && !*fate.session && (!running || !fate.over))
            return true;
    return false;
}

static bool is_of_run(const struct finish *f, const char *dir)
{
    struct exits_fate fate;
    return owner_of(f, dir, &fate) || f->place->created;
}

static bool may_drop(const struct finish *f, const struct sessions *s, const char *dir)
{
    struct exits_fate fate;
    if (owner_of(f, dir, &fate))
        return fate.over || (fate.pid == f->child && f->ended);
    return f->place->created && has_unplaced(f, s, false) && !has_unplaced(f, s, true);
}

static void drop(const char *dir)
{
    char path[PATH_MAX];
    struct dirent *file;
    DIR *d = opendir(dir);
    while (d && (file = readdir(d)))
        if (path_join(path, sizeof path, dir, file->d_name) == 0 && file_size(path) == 0)
            (void)unlink(path);
    if (d)
        closedir(d);
    (void)rmdir(dir);
}

/* ---- calls --------------------------------------------------------------------------------- */

size_t lost_others(const struct finish *f, const struct sessions *s)
{
    struct exits_fate fate;
    size_t n = 0;
    for (size_t i = 0; i < exits_of(f)->count; i++)
        n += lost_at(f, s, i, &fate) && fate.pid != f->child;
    return n;
}

size_t lost_folders(const struct finish *f, const struct sessions *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->blank; i++)
        n += is_of_run(f, s->blanks[i]);
    return n;
}

void lost_say(const struct finish *f, const struct sessions *s, FILE *out)
{
    struct exits_fate fate;
    struct buf pids;
    size_t nameless = 0;
    buf_init(&pids, SENTENCE_MAX);
    for (size_t i = 0; i < exits_of(f)->count; i++) {
        if (!lost_at(f, s, i, &fate) || was_said(f, s, i, &fate))
            continue;
        buf_clear(&pids);
        size_t n = count_alike(f, s, &fate, &pids);
        say_one(f, &fate, n, buf_cstr(&pids), out);
    }
    for (size_t i = 0; i < s->blank && !has_unplaced(f, s, false); i++)
        nameless += f->place->created && !owner_of(f, s->blanks[i], &fate);
    if (nameless)
        fprintf(out,
                "gpufl: the files of %zu session%s are empty: nothing that %s process%s did is "
                "known\n",
                nameless, nameless == 1 ? "" : "s", nameless == 1 ? "its" : "their",
                nameless == 1 ? "" : "es");
    buf_fini(&pids);
}

void lost_drop(const struct finish *f, const struct sessions *s)
{
    for (size_t i = 0; i < s->blank; i++)
        if (may_drop(f, s, s->blanks[i]))
            drop(s->blanks[i]);
}
