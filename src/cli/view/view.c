/* view.c - `gpufl view`: shows sessions in the browser.
 *
 * view starts a gpufl-server for this user alone (server.h) with a folder that is kept for the next
 * time (cache.h), opens the browser, and sends the sessions to the server as `gpufl upload` does.
 * What the folder already has is not loaded again. What running programs write meanwhile is sent,
 * too, and so are sessions that begin later. The page opens at once, and fills while sessions are
 * loaded. The command ends with the page, or with Ctrl-C. Called by one thread only. */
#include "cli/cmd.h"

#include "agent/upload_sessions.h"
#include "base/clock.h"
#include "cli/view/cache.h"
#include "cli/view/server.h"

#include <gpufl/analysis.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FOLLOW_MS = 1000,
    LOOK_MS = 3000 /* while nothing runs */,
    PORT_MOST = 65535,
    EXTRA_MAX = 32
};

static const struct cmd_text view_text = {
    "view",
    "[options] PATH [-- options of gpufl-server]",
    "Opens the sessions below PATH in the browser. They are served from this machine,\n"
    "to this user alone, by gpufl-server, which ends when the page is closed, or with\n"
    "Ctrl-C. What was loaded is kept next to the sessions, or in the user's cache, so\n"
    "that the next start is quick. The page follows running programs, and shows\n"
    "sessions that begin later. One session is opened, several are listed. If\n"
    "only one process of a command used the GPU, its session is opened.\n",
    "Examples:\n"
    "  gpufl view run1                    in the browser\n"
    "  gpufl view --no-browser run1       prints the address, for a tunnel\n"
    "\n"
    "Exit codes: 0 sessions were shown, 1 a failure, 2 bad usage, 69 there is no\n"
    "gpufl-server.\n",
};

struct arguments {
    const char *cache;
    bool no_browser, no_names;
    int64_t port, cache_max;
};

/* Describes a run of the command. */
struct view {
    const struct arguments *a;
    const char *path;
    struct upload_sessions sessions;
    struct view_cache cache;
    struct view_server server;
    struct remote *remote;                            /* owned */
    char said[sizeof((struct ship_result *)0)->text]; /* the last error */
};

static volatile sig_atomic_t stop;
static pid_t server_pid; /* set before the handlers are */

/* The second one ends the program. */
static void on_signal(int signal)
{
    static const struct sigaction normal = {.sa_handler = SIG_DFL};
    stop = 1;
    sigaction(signal, &normal, NULL);
}

/* Handles the end of a child, the server or a browser: a server that has ended is not asked
 * again. */
static void on_child(int signal)
{
    int was = errno;
    siginfo_t ended = {0};
    (void)signal;
    if (waitid(P_PID, (id_t)server_pid, &ended, WEXITED | WNOHANG | WNOWAIT) || ended.si_pid)
        stop = 1;
    errno = was;
}

static void catch_signals(pid_t server)
{
    const struct sigaction a = {.sa_handler = on_signal};
    const struct sigaction child = {.sa_handler = on_child};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    server_pid = server;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &a, NULL);
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGCHLD, &child, NULL);
    on_child(SIGCHLD); /* it may have been before */
}

/* ---- sending sessions ---------------------------------------------------------------------- */

static int connect_server(struct view *v, struct err *e)
{
    const struct remote_config c = {.http = {.url = v->server.url,
                                             .key = v->server.key,
                                             .agent = "gpufl/" GPUFL_VERSION,
                                             .stop = &stop}};
    return remote_open(&v->remote, &c, e);
}

/* Sends the part of a session that the server lacks. False: the command should end. */
static bool load_one(struct view *v, struct upload_session *s, bool complete)
{
    const struct ship_config c = {.remote = v->remote, .near = true, .stop = &stop};
    const struct ship_session session = {
        .id = s->id, .host = s->host, .ours = s->ours, .parts = s->parts, .count = s->count};
    struct ship_result r;
    ship(&c, &session, &r);
    if (r.end == SHIP_STOPPED || stop)
        return false;
    if (r.end != SHIP_ALL && !r.moved && strcmp(r.text, v->said) != 0) {
        cmd_fail("view", "session %s: %s", s->id, r.text);
        memcpy(v->said, r.text, sizeof v->said); /* printed once, not at each try */
    }
    if (r.end == SHIP_ALL && complete && upload_state_over(s->state)) {
        ship_complete(&c, &session, &r);
        s->settled = r.end == SHIP_ALL;
    }
    return r.end != SHIP_REFUSED;
}

static bool load_all(struct view *v, bool complete)
{
    for (size_t i = 0; i < v->sessions.count; i++)
        if (!v->sessions.items[i].settled && !load_one(v, &v->sessions.items[i], complete))
            return false;
    return true;
}

/* Keeps settled sessions settled while nothing is written to them. */
static void keep_settled(const struct upload_sessions *was, struct upload_sessions *now)
{
    for (size_t i = 0; i < now->count; i++)
        for (size_t k = 0; k < was->count; k++) {
            const struct upload_session *old = &was->items[k];
            struct upload_session *s = &now->items[i];
            if (old->settled && old->bytes == s->bytes && old->count == s->count &&
                old->state == s->state && strcmp(old->id, s->id) == 0)
                s->settled = true;
        }
}

static bool look_again(struct view *v)
{
    struct upload_sessions now;
    if (upload_sessions_open(&now, v->path, NULL, 0, NULL))
        return false; /* for the moment, or for good: what is loaded stays */
    keep_settled(&v->sessions, &now);
    upload_sessions_close(&v->sessions);
    v->sessions = now;
    return true;
}

/* Adds names to the stacks of sessions that are over and have no names. The names are written into
 * the sessions and loaded with them. */
static void add_names(struct view *v)
{
    bool added = false;
    for (size_t i = 0; i < v->sessions.count && !stop && !v->a->no_names; i++) {
        const struct upload_session *s = &v->sessions.items[i];
        struct gpufl_symbolized r = {.size = sizeof r};
        bool known = s->settled || !s->ours || !upload_state_over(s->state);
        for (size_t k = 0; k < s->count; k++)
            known |= strcmp(s->parts[k].channel, "code") == 0;
        if (!known)
            added |= gpufl_symbolize(s->dir, s->state == UPLOAD_DIED ? GPUFL_SYMBOLIZE_ENDED : 0,
                                     &r, NULL, 0) == 0;
    }
    if (added)
        (void)look_again(v);
}

static bool anything_runs(const struct view *v)
{
    for (size_t i = 0; i < v->sessions.count; i++)
        if (!upload_state_over(v->sessions.items[i].state))
            return true;
    return false;
}

static bool all_settled(const struct view *v)
{
    for (size_t i = 0; i < v->sessions.count; i++)
        if (!v->sessions.items[i].settled)
            return false;
    return true;
}

/* Rows first, then names; a session is over for the server when it has both. */
static bool hand_over(struct view *v)
{
    bool names = !v->a->no_names;
    if (!load_all(v, !names))
        return false;
    if (names)
        add_names(v);
    return !names || load_all(v, true);
}

/* Waits for output of the server, as poll does. A signal before or during the wait ends it. */
static int wait_for_server(const struct view *v, int ms)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    struct pollfd p = {.fd = v->server.out, .events = POLLIN};
    sigset_t blocked, usual;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&blocked, signals[i]);
    sigprocmask(SIG_BLOCK, &blocked, &usual);
    int n = stop ? -1 : ppoll(&p, 1, &time, &usual);
    sigprocmask(SIG_SETMASK, &usual, NULL);
    return n;
}

/* Runs until the server ends or a signal asks for the end. The server ends when its page is
 * closed. */
static void attend(struct view *v)
{
    while (!stop && !view_server_ended(&v->server)) {
        char said[512];
        int n = wait_for_server(v, anything_runs(v) ? FOLLOW_MS : LOOK_MS);
        if (n > 0 && read(v->server.out, said, sizeof said) <= 0)
            return; /* its stdout is closed: it has ended */
        if (n == 0 && look_again(v) && !all_settled(v) && hand_over(v))
            (void)view_cache_keep(&v->cache, &v->sessions);
    }
}

/* Notes what is loaded before loading it: if loading is interrupted, the rest is loaded next
 * time. */
static void load(struct view *v)
{
    (void)view_cache_keep(&v->cache, &v->sessions);
    if (hand_over(v) && view_cache_keep(&v->cache, &v->sessions))
        cmd_fail("view", "what was loaded cannot be kept for the next time");
}

/* ---- the command --------------------------------------------------------------------------- */

/* The page opens the only session there is. It lists several, unless only one process of their
 * command used the GPU. What follows # stays in the browser: the page reads it
 * (web/src/pages/fleet/LocalHome.tsx). */
static void put_link(const struct view *v, char *link, size_t size)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.";
    const char *id = v->sessions.count == 1 ? v->sessions.items[0].id : "";
    bool plain = *id && id[strspn(id, letters)] == '\0';
    if (v->sessions.count > 1)
        snprintf(link, size, "%s#sessions=%zu", v->server.link, v->sessions.count);
    else
        snprintf(link, size, "%s%s%s", v->server.link, plain ? "#session=" : "", plain ? id : "");
}

static int say(const struct view *v)
{
    char link[2 * VIEW_URL_SIZE];
    put_link(v, link, sizeof link);
    printf("%s\n", link);
    int rc = cmd_finish_output("view");
    if (v->a->no_browser || view_open_browser(link))
        return rc;
    fputs("gpufl view: no browser to open here; open the address above\n", stderr);
    return rc;
}

static int run(struct view *v, char *const *extra)
{
    struct err e = {0};
    int rc = upload_sessions_open(&v->sessions, v->path, NULL, 0, &e);
    if (!rc)
        rc = view_cache_open(&v->cache, v->path, v->a->cache, &v->sessions, v->a->cache_max, &e);
    if (!rc)
        rc = view_server_start(&v->server, v->cache.data, (int)v->a->port, extra, &e);
    if (!rc)
        rc = connect_server(v, &e);
    if (rc) {
        cmd_fail("view", "%s", e.text);
        return rc == GPUFL_E_NOENT && *v->cache.root ? CMD_NOT_BUILT : CMD_FAILED;
    }
    catch_signals(v->server.process.pid);
    rc = say(v);
    load(v);
    attend(v);
    return rc;
}

int cmd_view(int argc, char **argv)
{
    static struct view v;
    struct arguments a = {.cache_max = (int64_t)10 << 30};
    const struct opt table[] = {
        {"port", 'p', OPT_INT, &a.port, "N", NULL,
         "Port on 127.0.0.1; 0, the default: a free one."},
        {"no-browser", 0, OPT_FLAG, &a.no_browser, NULL, NULL, "Only print the address."},
        {"no-names", 0, OPT_FLAG, &a.no_names, NULL, NULL, "Do not look up the names of stacks."},
        {"cache", 0, OPT_STRING, &a.cache, "DIR", NULL, "Keep loaded sessions in this folder."},
        {"cache-max", 0, OPT_SIZE, &a.cache_max, "SIZE", NULL,
         "Size of the user's cache; the sessions unused for longest are removed (10G)."},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int operands = 0, rc = cmd_parse(&view_text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (operands < 1 || !*argv[1])
        return cmd_usage("view", "PATH is missing: a session, or a directory of them");
    if (operands > EXTRA_MAX || (operands > 1 && argv[2][0] != '-'))
        return cmd_usage("view", "one PATH at a time, please");
    if (a.port > PORT_MOST)
        return cmd_usage("view", "ports go from 0 to %d", PORT_MOST);
    char *extra[EXTRA_MAX] = {0};
    memcpy(extra, argv + 2, (size_t)(operands - 1) * sizeof *extra);
    v = (struct view){.a = &a,
                      .path = argv[1],
                      .cache = {.lock = -1},
                      .server = {.process = SPAWNED_NONE, .alive = -1, .out = -1}};
    rc = run(&v, extra);
    remote_close(v.remote);
    int ended = view_server_stop(&v.server);
    view_cache_close(&v.cache);
    upload_sessions_close(&v.sessions);
    if (!rc && ended > 128)
        rc = cmd_fail("view", "gpufl-server was ended by signal %d (%s)", ended - 128,
                      strsignal(ended - 128));
    else if (!rc && ended)
        rc = CMD_FAILED; /* the server has said why */
    return rc;
}
