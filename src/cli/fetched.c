/* fetched.c - see fetched.h. */
#include "cli/fetched.h"

#include "agent/archive/archive.h"
#include "base/file/file.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SESSIONS_MOST = 16, SIGNAL_LEAD = 128 };

static const char SCHEME[] = "s3://";
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static struct {
    char folder[PATH_MAX]; /* of all of them */
    char paths[SESSIONS_MOST][PATH_MAX];
    const char *urls[SESSIONS_MOST]; /* in argv */
    size_t count;
} me;

static volatile sig_atomic_t stop, child;

/* SIGINT comes from a terminal, which sends it to the child as well. */
static void on_signal(int number)
{
    stop = 1;
    if (child > 0 && number != SIGINT)
        kill((pid_t)child, number);
}

static void catch_signals(void (*handler)(int))
{
    struct sigaction a = {.sa_handler = handler};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &a, NULL);
}

const char *fetched_shown(const char *path)
{
    for (size_t i = 0; i < me.count; i++)
        if (strcmp(path, me.paths[i]) == 0)
            return me.urls[i];
    return path;
}

/* ---- fetching ------------------------------------------------------------------------------ */

/* Gets one session into a folder of its own; *path is where it then is. */
static int fetch(const char *url, const char *into, char path[PATH_MAX], struct err *e)
{
    char place_url[S3_NAME_MAX];
    struct s3_place place;
    struct archive_counts n = {0};
    struct s3 *s = NULL;
    const struct s3_config c = {.agent = "gpufl/" GPUFL_VERSION, .stop = &stop};
    size_t len = strlen(url);
    while (len && url[len - 1] == '/')
        len--;
    size_t name = len;
    while (name && url[name - 1] != '/')
        name--;
    char session[PART_ID_MAX] = "";
    if (len - name < sizeof session && name < sizeof place_url && name > strlen(SCHEME)) {
        memcpy(session, url + name, len - name);
        session[len - name] = '\0';
        snprintf(place_url, sizeof place_url, "%.*s", (int)name, url);
    }
    if (!manifest_is_session(session))
        return err_set(e, GPUFL_E_INVAL, "'%.120s' names no session: s3://BUCKET/PREFIX/SESSION",
                       url);
    int rc = s3_place_read(place_url, &place, e);
    if (!rc && path_join(path, PATH_MAX, into, session))
        rc = err_set(e, GPUFL_E_INVAL, "the path of the temporary folder is too long");
    if (!rc)
        rc = s3_open(&s, &c, &place, e);
    if (!rc)
        rc = archive_get(s, session, into, &n, &stop, e);
    s3_close(s);
    return rc;
}

static int make_folder(struct err *e)
{
    const char *top = getenv("TMPDIR");
    if (path_join(me.folder, sizeof me.folder, top && *top ? top : "/tmp", "gpufl-s3-XXXXXX"))
        return err_set(e, GPUFL_E_INVAL, "the path of the temporary folder is too long");
    if (mkdtemp(me.folder))
        return 0;
    int error = errno;
    rmdir(me.folder);
    me.folder[0] = '\0';
    return err_set_vendor(e, err_from_errno(error), error, "a temporary folder cannot be made");
}

static int fetch_all(int argc, char **argv, struct err *e)
{
    int rc = make_folder(e);
    for (int i = 1; !rc && i < argc; i++) {
        char into[PATH_MAX], number[16];
        if (strncmp(argv[i], SCHEME, strlen(SCHEME)) != 0)
            continue;
        if (me.count == SESSIONS_MOST)
            return err_set(e, GPUFL_E_INVAL, "at most %d sessions of archives", SESSIONS_MOST);
        snprintf(number, sizeof number, "%zu", me.count);
        if (path_join(into, sizeof into, me.folder, number))
            return err_set(e, GPUFL_E_INVAL, "the path of the temporary folder is too long");
        rc = fetch(argv[i], into, me.paths[me.count], e);
        if (!rc) {
            me.urls[me.count] = argv[i];
            argv[i] = me.paths[me.count++];
        } else if (e->code) {
            struct err why = *e;
            err_set(e, rc, "%.120s: %s", argv[i], why.text);
        }
    }
    return rc;
}

/* ---- running ------------------------------------------------------------------------------- */

static int run_child(const struct cmd *c, int argc, char **argv)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        return cmd_fail(c->name, "no process can be started: %s", strerror(errno));
    if (pid == 0) {
        catch_signals(SIG_DFL);
        exit(c->run(argc, argv));
    }
    child = pid;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    return WIFSIGNALED(status) ? SIGNAL_LEAD + WTERMSIG(status) : WEXITSTATUS(status);
}

int fetched_run(const struct cmd *c, int argc, char **argv)
{
    struct err e = {0};
    int i = 1;
    while (i < argc && strncmp(argv[i], SCHEME, strlen(SCHEME)) != 0)
        i++;
    if (!c->reads || i == argc)
        return c->run(argc, argv);
    catch_signals(on_signal);
    int rc = fetch_all(argc, argv, &e), code;
    if (!rc && !stop)
        code = run_child(c, argc, argv);
    else if (stop)
        code = cmd_fail(c->name, "stopped");
    else if (rc == GPUFL_E_NOT_BUILT)
        code = (cmd_fail(c->name, "%s", e.text), CMD_NOT_BUILT);
    else
        code = cmd_fail(c->name, "%s", e.text);
    if (*me.folder)
        file_remove_tree(me.folder);
    return code;
}
