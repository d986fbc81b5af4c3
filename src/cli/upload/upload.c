/* upload.c - `gpufl upload`: sends sessions to a server.
 *
 * agent/upload_sessions.h finds what to send, agent/ship.h sends it, and show.h prints the
 * progress. Ctrl-C ends the current request. The next run asks the server how far it is and goes on
 * there, so nothing about the progress is stored here. Called by one thread only. */
#include "cli/cmd.h"

#include "agent/api_key.h"
#include "agent/upload_sessions.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "cli/upload/show.h"

#include <gpufl/analysis.h>

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { WANTED_MAX = 256, LOOKS = 4, EXIT_PARTLY = 1, EXIT_NONE = 2 };

#define SECOND       INT64_C(1000000000)
#define CONNECT_MOST (10 * SECOND)

static const struct cmd_text text = {
    "upload",
    "[options] PATH",
    "Sends the sessions below PATH to a gpufl-server: only what the server does not\n"
    "have yet. PATH is a session's directory, or a directory of sessions, also of the\n"
    "public GPUFlight client. A session that ended, or whose program is gone, is\n"
    "marked as complete; a session that still runs is sent as far as it is written.\n"
    "After an interruption, run the same command again.\n",
    "The key that may send is the first line of --api-key-file, or GPUFL_API_KEY.\n"
    "GPUFL_BACKEND_URL names the server if --server is not given.\n"
    "\n"
    "Examples:\n"
    "  gpufl upload --server gpufl.example.org --api-key-file ~/.gpufl-key run1\n"
    "  gpufl upload --server http://127.0.0.1:8080 --session-id 5d0e3f7a run1\n"
    "\n"
    "Exit codes: 0 the server has all of it, marked as complete; 1 only a part; 2\n"
    "nothing, or bad usage; 69 libcurl is missing.\n",
};

struct arguments {
    const char *server, *key_file, *ca_file, *api_path;
    bool all, force, complete, insecure, quiet, json, progress, no_names, for_code;
    int64_t timeout, limit, unreachable, wait;
    struct opt_list wanted;
    const char *wanted_items[WANTED_MAX];
};

/* Describes a run of the command. */
struct upload {
    const struct arguments *a;
    const char *path;
    char key[API_KEY_MAX];
    struct remote *remote; /* owned */
    struct ship_config ship;
    struct upload_show show;
    size_t whole, some; /* sessions that the server has as a whole, and in part */
    bool over;          /* no other session need be tried */
};

static volatile sig_atomic_t stop;

/* The second one ends the program. */
static void on_signal(int signal)
{
    static const struct sigaction normal = {.sa_handler = SIG_DFL};
    stop = 1;
    sigaction(signal, &normal, NULL);
}

static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = on_signal}, was;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!sigaction(signals[i], NULL, &was) && was.sa_handler == SIG_DFL)
            sigaction(signals[i], &a, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- the server and the key --------------------------------------------------------------- */

static const char *server_of(const struct arguments *a)
{
    const char *server = a->server ? a->server : getenv("GPUFL_BACKEND_URL");
    return server && *server ? server : NULL;
}

static const struct ship_words *words_of(const struct arguments *a)
{
    return a->for_code ? &ship_words_code : &ship_words_command;
}

static int connect_remote(struct upload *u, struct err *e)
{
    const struct arguments *a = u->a;
    const char *path = a->api_path ? a->api_path : getenv("GPUFL_API_PATH");
    int64_t deadline = a->limit ? clock_mono() + a->limit : 0;
    struct remote_config c = {
        .http = {.url = server_of(a),
                 .key = u->key,
                 .ca_file = a->ca_file,
                 .ca_advice = words_of(a)->ca,
                 .insecure = a->insecure,
                 .agent = "gpufl/" GPUFL_VERSION,
                 .connect_timeout = a->unreachable < CONNECT_MOST ? a->unreachable : CONNECT_MOST,
                 .stall_timeout = a->timeout,
                 .deadline = deadline,
                 .stop = &stop},
        .api_path = path};
    bool exposed;
    int rc = api_key_find(a->key_file, u->key, &exposed, e);
    if (exposed)
        fprintf(stderr, "gpufl upload: others on this machine can read %s; chmod 600 it\n",
                a->key_file);
    if (!rc)
        rc = remote_open(&u->remote, &c, e);
    explicit_bzero(u->key, sizeof u->key);
    if (rc)
        return rc;
    const char *key = getenv("GPUFL_API_KEY");
    bool bearer = a->key_file || (key && *key);
    const char *proxy = remote_proxy(u->remote);
    if (bearer && http_client_in_clear(remote_url(u->remote)))
        fprintf(stderr,
                "gpufl upload: the key goes to %s unencrypted%s%s; https:// would hide it\n",
                remote_url(u->remote), *proxy ? ", through the proxy " : "", proxy);
    u->ship = (struct ship_config){.remote = u->remote,
                                   .words = words_of(a),
                                   .force = a->force,
                                   .deadline = deadline,
                                   .patience = a->wait,
                                   .unreachable = a->unreachable,
                                   .stop = &stop};
    return 0;
}

/* ---- a session ----------------------------------------------------------------------------- */

/* Adds names to the stacks of a session that has none yet: the server does not have the program's
 * files. */
static void add_names(const struct upload *u, const struct upload_session *s)
{
    struct gpufl_symbolized r = {.size = sizeof r};
    if (u->a->no_names || !s->ours || !upload_state_over(s->state))
        return;
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->parts[i].channel, "code") == 0)
            return;
    (void)gpufl_symbolize(s->dir, s->state == UPLOAD_DIED ? GPUFL_SYMBOLIZE_ENDED : 0, &r, NULL, 0);
}

/* Adds the sessions that were found later to those found before. */
static void add_result(struct ship_result *sum, const struct ship_result *r)
{
    sum->accepted += r->accepted;
    sum->rejected += r->rejected;
    sum->bodies += r->bodies;
    sum->sent += r->sent;
    sum->before = r->before > sum->before ? r->before : sum->before;
    sum->end = r->end;
    sum->moved = r->moved;
    memcpy(sum->text, r->text, sizeof sum->text);
}

/* Sends a session. If its parts were renamed meanwhile, as those of a running program are, they are
 * searched for again. */
static void send_session(struct upload *u, const struct upload_session *s, struct ship_result *out)
{
    const char *wanted[] = {s->id};
    struct upload_sessions again = {0};
    struct ship_result one;
    *out = (struct ship_result){0};
    for (int look = 0; look < LOOKS; look++) {
        struct ship_session session = {
            .id = s->id, .host = s->host, .ours = s->ours, .parts = s->parts, .count = s->count};
        ship(&u->ship, &session, &one);
        add_result(out, &one);
        upload_sessions_close(&again);
        if (!one.moved || one.end == SHIP_STOPPED || one.end == SHIP_REFUSED ||
            upload_sessions_open(&again, u->path, wanted, 1, NULL))
            break;
        s = &again.items[0];
    }
    upload_sessions_close(&again);
}

/* Tells the server that a complete session is complete; remarks go to note. */
static bool complete_session(struct upload *u, const struct upload_session *s,
                             struct ship_result *sent, char *note, size_t size)
{
    struct ship_session session = {.id = s->id, .host = s->host, .ours = s->ours};
    struct ship_result r;
    note[0] = '\0';
    if (s->state != UPLOAD_ENDED)
        snprintf(note, size, "%s", upload_state_text(s->state));
    if (!upload_state_over(s->state) && !u->a->complete) {
        snprintf(note, size, "%s: what there is so far was sent%s", upload_state_text(s->state),
                 s->state == UPLOAD_UNKNOWN ? "; --complete says that nothing follows" : "");
        return false;
    }
    if (sent->end != SHIP_ALL && !sent->rejected)
        return false; /* what is missing can still come */
    ship_complete(&u->ship, &session, &r);
    if (r.end == SHIP_ALL)
        return true;
    sent->end = r.end;
    memcpy(sent->text, r.text, sizeof sent->text);
    return false;
}

/* Adds to the note which files were not sent, since they are damaged from the start. */
static void note_unread(const struct upload_session *s, char *note, size_t size)
{
    size_t n = strlen(note);
    if (!s->unread)
        return;
    snprintf(note + n, size - n, "%s%.255s%s damaged from the first line on, and not sent",
             n ? "; " : "", path_base(s->unread_path),
             s->unread > 1 ? " and other files are" : " is");
}

static void upload_one(struct upload *u, const struct upload_session *s, size_t index, size_t of)
{
    struct ship_result sent;
    char note[640];
    upload_show_begin(&u->show, s, index, of);
    send_session(u, s, &sent);
    bool there = sent.bodies || sent.before || (sent.end == SHIP_ALL && s->count);
    bool completed = complete_session(u, s, &sent, note, sizeof note);
    note_unread(s, note, sizeof note);
    struct upload_outcome o = {.session = s, .sent = &sent, .completed = completed, .note = note};
    upload_show_outcome(&u->show, &o);
    bool whole = sent.end == SHIP_ALL && completed && !s->unread;
    u->whole += whole;
    u->some += there && !whole;
    u->over = sent.end == SHIP_STOPPED || sent.end == SHIP_REFUSED;
}

/* ---- the command --------------------------------------------------------------------------- */

static int send_all(struct upload *u, const struct upload_sessions *list)
{
    size_t i = 0;
    for (; i < list->count && !u->over; i++)
        upload_one(u, &list->items[i], i, list->count);
    if (i < list->count)
        fprintf(stderr, "gpufl upload: %zu of %zu sessions were not tried\n", list->count - i,
                list->count);
    int rc = u->whole == list->count ? CMD_OK : u->whole + u->some ? EXIT_PARTLY : EXIT_NONE;
    static const char *const words[] = {"all", "partly", "none"};
    if (upload_show_close(&u->show, words[rc]) || cmd_finish_output("upload"))
        return rc ? rc : EXIT_PARTLY;
    return rc;
}

static int fail(int rc, const struct err *e)
{
    cmd_fail("upload", "%s", e->text);
    return rc == GPUFL_E_NOT_BUILT ? CMD_NOT_BUILT : EXIT_NONE;
}

static int run(struct upload *u)
{
    struct upload_sessions list;
    struct err e = {0};
    const struct arguments *a = u->a;
    int rc = connect_remote(u, &e);
    if (!rc)
        rc = upload_sessions_open(&list, u->path, a->wanted.items, a->wanted.count, &e);
    if (rc)
        return fail(rc, &e);
    for (size_t i = 0; i < list.count; i++)
        add_names(u, &list.items[i]);
    upload_sessions_close(&list); /* the names have become parts */
    rc = upload_sessions_open(&list, u->path, a->wanted.items, a->wanted.count, &e);
    if (rc)
        return fail(rc, &e);
    upload_show_open(&u->show, remote_url(u->remote), a->quiet, a->json);
    u->show.lines = a->progress && !a->quiet && !u->show.live;
    u->ship.watch = upload_show_watch(&u->show);
    rc = send_all(u, &list);
    if (list.found.losses)
        fprintf(stderr, "gpufl upload: the public client marked %llu losses of its own there\n",
                (unsigned long long)list.found.losses);
    upload_sessions_close(&list);
    return rc;
}

static int check(const struct arguments *a, int operands, char **argv)
{
    int rc = cmd_one_path("upload", operands, argv);
    if (rc)
        return rc;
    if (a->all && a->wanted.count)
        return cmd_usage("upload", "--all-sessions and --session-id exclude each other");
    if (!server_of(a))
        return cmd_usage("upload", "to which server? %s", words_of(a)->server);
    if (a->unreachable <= 0)
        return cmd_usage("upload", "--unreachable must be longer than 0");
    if (a->wait <= 0)
        return cmd_usage("upload", "--wait must be longer than 0");
    return CMD_OK;
}

int cmd_upload(int argc, char **argv)
{
    static struct arguments a;
    static struct upload u;
    a = (struct arguments){.unreachable = 15 * SECOND,
                           .wait = 3600 * SECOND,
                           .wanted = {.items = a.wanted_items, .max = WANTED_MAX}};
    const struct opt table[] = {
        {"server", 0, OPT_STRING, &a.server, "URL", NULL,
         "Address of the server; https unless it begins with http:// (GPUFL_BACKEND_URL)."},
        {"api-key-file", 0, OPT_STRING, &a.key_file, "FILE", NULL,
         "File whose first line is the key (GPUFL_API_KEY)."},
        {"session-id", 0, OPT_LIST, &a.wanted, "ID", NULL,
         "Only this session; the beginning of its id will do. May be repeated."},
        {"all-sessions", 0, OPT_FLAG, &a.all, NULL, NULL, "All sessions below PATH (default)."},
        {"force", 0, OPT_FLAG, &a.force, NULL, NULL,
         "Send from the start, even what the server has."},
        {"complete", 0, OPT_FLAG, &a.complete, NULL, NULL,
         "Mark sessions as complete although their end is not known."},
        {"no-names", 0, OPT_FLAG, &a.no_names, NULL, NULL,
         "Do not look up the names of functions in stacks before sending."},
        {"timeout", 0, OPT_DURATION, &a.timeout, "TIME", NULL,
         "Repeat a request in which no data has moved for this time (60s)."},
        {"time-limit", 0, OPT_DURATION, &a.limit, "TIME", NULL,
         "End after this time, whatever is left to send (no limit)."},
        {"wait", 0, OPT_DURATION, &a.wait, "TIME", NULL,
         "Give up a server that has said 'not now' for this time (1h)."},
        {"unreachable", 0, OPT_DURATION, &a.unreachable, "TIME", NULL,
         "Give up a server that has not answered at all for this time (15s)."},
        {"ca-file", 0, OPT_STRING, &a.ca_file, "FILE", NULL,
         "PEM file with the authorities to trust instead of the system's."},
        {"insecure", 0, OPT_FLAG, &a.insecure, NULL, NULL,
         "Do not check the server's certificate."},
        {"api-path", 0, OPT_STRING, &a.api_path, "PATH", NULL,
         "Path at which the server's API begins (/api/v1, GPUFL_API_PATH)."},
        {"json", 0, OPT_FLAG, &a.json, NULL, NULL, "Print the result of each session as JSON."},
        {"progress", 0, OPT_FLAG, &a.progress, NULL, NULL,
         "Print the progress every few seconds, also if stderr is not a terminal."},
        {"quiet", 'q', OPT_FLAG, &a.quiet, NULL, NULL, "Print only errors."},
        {"backend-url", 0, OPT_STRING, &a.server, "URL", NULL, NULL},
        /* gpufl_upload_logs runs the command: its caller reads the sentences. */
        {"for-code", 0, OPT_FLAG, &a.for_code, NULL, NULL, NULL},
        {NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL},
    };
    int operands = 0, rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    rc = check(&a, operands, argv);
    if (rc)
        return rc;
    u = (struct upload){.a = &a, .path = argv[1]};
    catch_signals();
    rc = run(&u);
    remote_close(u.remote);
    return rc;
}
