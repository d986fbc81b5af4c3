/* main.c - `gpufl-agent`: run, which is the default, and the commands for a running agent. */
#include "agent/daemon/check.h"
#include "agent/daemon/daemon.h"
#include "agent/keep/restoring.h"
#include "base/clock.h"
#include "base/file/file.h"
#include "base/json.h"
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The exit codes are stable: docs/agent.md. */
enum {
    EXIT_FINE,
    EXIT_FAILED,        /* it could not be done */
    EXIT_USAGE,         /* options or configuration */
    EXIT_NO_AGENT,      /* no agent listens */
    EXIT_TAKEN,         /* another agent uses the state */
    EXIT_UNREACHED = 5, /* --check: the server does not answer, or does not take the key */
    EXIT_NOT_BUILT = 69,
};

static const char ABOUT[] =
    "Usage: gpufl-agent [run] --source DIR --server URL|--kafka BROKERS [options]\n"
    "       gpufl-agent --check [options]\n"
    "       gpufl-agent status | pause | resume | flush | drain | retry [--state DIR]\n"
    "       gpufl-agent restore --archive s3://BUCKET/PREFIX --into DIR SESSION | --since DAY\n"
    "\n"
    "Sends live and finished sessions below the source folders to a gpufl-server, or to\n"
    "Kafka, while it runs. Each line is sent once; data that cannot be sent yet stays on disk.\n"
    "`flush` sends the collected lines at once, `drain` sends everything and ends the agent,\n"
    "`retry` sends again the lines that the server had refused, `restore` fetches sessions\n"
    "from an archive and checks them.\n";

static volatile sig_atomic_t stop;
static volatile sig_atomic_t wake = -1; /* a descriptor */

/* A second signal ends the program. */
static void on_signal(int number)
{
    static const struct sigaction normal = {.sa_handler = SIG_DFL};
    static const uint64_t one = 1;
    int error = errno;
    stop = 1;
    sigaction(number, &normal, NULL);
    if (wake >= 0 && write((int)wake, &one, sizeof one) < 0)
        stop = 1;
    errno = error;
}

static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction a = {.sa_handler = on_signal};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &a, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Writes a line of the log: time, level, sentence. */
static void put_line(enum log_level level, const char *line)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    static const char *const leads[] = {"gpufl: ", "debug: ", "warning: ", "error: "};
    const char *text = line;
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
        text += strncmp(text, leads[i], strlen(leads[i])) ? 0 : strlen(leads[i]);
    int64_t now = clock_real();
    time_t seconds = now / 1000000000;
    struct tm tm;
    char when[32];
    gmtime_r(&seconds, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
    dprintf(STDERR_FILENO, "%s.%03dZ %s gpufl-agent: %s\n", when, (int)(now / 1000000 % 1000),
            names[level], text);
}

static int fail(int rc, const struct err *e)
{
    fprintf(stderr, "gpufl-agent: %s\n", e->text);
    if (rc == GPUFL_E_INVAL)
        fprintf(stderr, "Try `gpufl-agent --help`.\n");
    return rc == GPUFL_E_INVAL       ? EXIT_USAGE
           : rc == GPUFL_E_STATE     ? EXIT_TAKEN
           : rc == GPUFL_E_NOT_BUILT ? EXIT_NOT_BUILT
                                     : EXIT_FAILED;
}

static int finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_FINE;
    fprintf(stderr, "gpufl-agent: cannot write the output: %s\n", strerror(errno));
    return EXIT_FAILED;
}

/* ---- commands to one that runs -------------------------------------------------------------- */

struct answer {
    char state[32], why[416], error[256], server[256];
    char archive_hold[16], archive_why[416]; /* "": there is no archive */
    char orders_why[256];
    bool sent, has_sent, all_tried, has_orders;
    double success;  /* s since the Unix epoch; 0: no good answer yet */
    double retry_in; /* s; -1: nothing is waited for */
    int64_t sessions, done, blocked, waiting, letters, delivered, refused, to_archive;
};

static bool take_archive(struct json *j, const char *key, struct json_value v, void *to)
{
    struct answer *a = to;
    if (strcmp(key, "hold") == 0 && v.type == JSON_STRING)
        json_text(v, a->archive_hold, sizeof a->archive_hold);
    else if (strcmp(key, "why") == 0 && v.type == JSON_STRING)
        json_text(v, a->archive_why, sizeof a->archive_why);
    else if (strcmp(key, "to_archive") == 0 && v.type == JSON_INT)
        a->to_archive = v.integer;
    else
        return json_skip(j, v);
    return true;
}

static bool take_answer(struct json *j, const char *key, struct json_value v, void *to)
{
    struct answer *a = to;
    const struct {
        const char *key;
        int64_t *number;
    } numbers[] = {{"sessions", &a->sessions},    {"done", &a->done},
                   {"blocked", &a->blocked},      {"waiting_bytes", &a->waiting},
                   {"dead_letters", &a->letters}, {"kept", &a->letters},
                   {"delivered", &a->delivered},  {"refused", &a->refused}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0 && v.type == JSON_INT) {
            *numbers[i].number = v.integer;
            return true;
        }
    if (strcmp(key, "archive") == 0 && v.type == JSON_OBJECT)
        return json_members(j, take_archive, a);
    if (strcmp(key, "state") == 0 && v.type == JSON_STRING)
        json_text(v, a->state, sizeof a->state);
    else if (strcmp(key, "orders_why") == 0 && v.type == JSON_STRING)
        a->has_orders = true, json_text(v, a->orders_why, sizeof a->orders_why);
    else if (strcmp(key, "server") == 0 && v.type == JSON_STRING)
        json_text(v, a->server, sizeof a->server);
    else if (strcmp(key, "last_success") == 0 && (v.type == JSON_DOUBLE || v.type == JSON_INT))
        a->success = v.number;
    else if (strcmp(key, "retry_in") == 0 && (v.type == JSON_DOUBLE || v.type == JSON_INT))
        a->retry_in = v.number;
    else if (strcmp(key, "why") == 0 && v.type == JSON_STRING)
        json_text(v, a->why, sizeof a->why);
    else if (strcmp(key, "error") == 0 && v.type == JSON_STRING)
        json_text(v, a->error, sizeof a->error);
    else if (strcmp(key, "sent") == 0 && v.type == JSON_BOOL)
        a->has_sent = true, a->sent = v.boolean;
    else if (strcmp(key, "all_tried") == 0 && v.type == JSON_BOOL)
        a->all_tried = v.boolean;
    else
        return json_skip(j, v);
    return true;
}

static void show_status(const struct answer *a)
{
    char when[64] = "none since the agent began";
    time_t seconds = (time_t)a->success;
    struct tm tm;
    if (a->success > 0 && gmtime_r(&seconds, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
    printf("%s%s%s", a->state, *a->why ? ": " : "", a->why);
    if (a->retry_in >= 0)
        printf("; next try in %.0f s", a->retry_in);
    printf("\nsends to: %s; last good answer: %s\n", a->server, when);
    printf("sessions: %lld, of them on the server: %lld; channels that cannot go on: %lld\n",
           (long long)a->sessions, (long long)a->done, (long long)a->blocked);
    printf("bytes that wait: %lld; dead letters: %lld\n", (long long)a->waiting,
           (long long)a->letters);
    if (a->has_orders)
        printf("configurations and captures: %s\n", *a->orders_why ? a->orders_why : "ready");
    if (*a->archive_hold)
        printf("archive: %s%s%s; sessions that wait for it: %lld\n",
               strcmp(a->archive_hold, "none") ? a->archive_hold : "ready",
               *a->archive_why ? ": " : "", a->archive_why, (long long)a->to_archive);
}

static int show(const char *command, const struct answer *a)
{
    if (*a->error || (a->has_sent && !a->sent)) {
        fprintf(stderr, "gpufl-agent: %s\n", *a->error ? a->error : a->why);
        return EXIT_FAILED;
    }
    if (strcmp(command, "status") == 0) {
        show_status(a);
    } else if (strcmp(command, "retry") == 0) {
        printf("dead letters delivered: %lld, refused again: %lld, kept: %lld\n",
               (long long)a->delivered, (long long)a->refused, (long long)a->letters);
        if (!a->all_tried)
            fprintf(stderr, "gpufl-agent: not all of them could be tried: see the agent's log\n");
        return a->letters ? EXIT_FAILED : finish_output();
    }
    return finish_output();
}

static int command_ask(const char *command, const struct options *o)
{
    char path[PATH_MAX];
    struct buf b;
    struct err e = {0};
    struct answer a = {.retry_in = -1};
    if (path_join(path, sizeof path, o->state, "control.sock"))
        return EXIT_USAGE;
    buf_init(&b, 1 << 20);
    int rc = control_ask(o->control ? o->control : path, command, &b, &e);
    if (rc) {
        fprintf(stderr, "gpufl-agent: %s\n", e.text);
        buf_fini(&b);
        return rc == GPUFL_E_NOENT ? EXIT_NO_AGENT : rc == GPUFL_E_INVAL ? EXIT_USAGE : EXIT_FAILED;
    }
    json_document(b.data, b.len, take_answer, &a);
    if (o->json)
        fwrite(b.data, 1, b.len, stdout);
    int exit_code = o->json ? *a.error ? EXIT_FAILED : finish_output() : show(command, &a);
    buf_fini(&b);
    return exit_code;
}

/* ---- running -------------------------------------------------------------------------------- */

static int command_run(const struct options *o)
{
    static struct daemon d; /* large */
    struct err e = {0};
    catch_signals();
    int rc = daemon_open(&d, o, &stop, &e);
    if (rc)
        return fail(rc, &e);
    wake = d.control.wake;
    log_note("sends to %s; state in %s", remote_url(d.courier.remote), o->state);
    rc = daemon_run(&d, &e);
    wake = -1;
    daemon_close(&d);
    if (rc)
        return fail(rc, &e);
    log_note("ended");
    return EXIT_FINE;
}

static int command_check(const struct options *o)
{
    struct err e = {0};
    int rc = check_run(o, &e);
    if (!rc)
        return finish_output();
    fflush(stdout);
    int exit_code = fail(rc, &e);
    return rc == GPUFL_E_UNAVAILABLE || (rc == GPUFL_E_PERM && exit_code == EXIT_FAILED)
               ? EXIT_UNREACHED
               : exit_code;
}

static int check_run_options(const struct options *o, struct err *e)
{
    if (!o->source.count)
        return err_set(e, GPUFL_E_INVAL, "which folders? --source DIR, or GPUFL_AGENT_SOURCE");
    if (!o->kafka && (!o->server || !*o->server))
        return err_set(e, GPUFL_E_INVAL,
                       "to which server? --server URL, GPUFL_AGENT_SERVER or GPUFL_BACKEND_URL; or "
                       "--kafka BROKERS");
    return 0;
}

static int command_restore(const struct options *o, const char *session)
{
    struct err e = {0};
    catch_signals();
    int rc = restoring_run(o, session, &stop, &e);
    if (rc)
        return fail(rc, &e);
    return finish_output();
}

static int dispatch(const struct options *o, const char *command)
{
    static const char *const asks[] = {"status", "pause", "resume", "flush", "drain", "retry"};
    struct err e = {0};
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
        if (strcmp(command, asks[i]) == 0)
            return command_ask(command, o);
    int rc = strcmp(command, "run") == 0
                 ? check_run_options(o, &e)
                 : err_set(&e, GPUFL_E_INVAL,
                           "there is no command '%.40s'; the commands are run, status, pause, "
                           "resume, flush, drain, retry and restore",
                           command);
    if (rc)
        return fail(rc, &e);
    return o->check ? command_check(o) : command_run(o);
}

int main(int argc, char **argv)
{
    static struct options o;
    struct err e = {0};
    int operands = 0;
    log_set_sink(put_line);
    if (argc == 3 && strcmp(argv[1], "names") == 0)
        return names_child(argv[2]);
    int rc = options_read(&o, argc, argv, &operands, &e), exit_code;
    if (rc) {
        exit_code = fail(GPUFL_E_INVAL, &e);
    } else if (o.help) {
        printf("%s\nOptions (each also as GPUFL_AGENT_… and in the file of --config, see "
               "gpufl-agent(1); defaults are in parentheses):\n",
               ABOUT);
        options_help(stdout);
        exit_code = finish_output();
    } else if (o.version) {
        printf("gpufl-agent %s\n", GPUFL_VERSION);
        exit_code = finish_output();
    } else if (operands && strcmp(argv[1], "restore") == 0 && operands <= 2) {
        exit_code = command_restore(&o, operands > 1 ? argv[2] : NULL);
    } else if (operands > 2 && strcmp(argv[1], "restore") == 0) {
        err_set(&e, GPUFL_E_INVAL, "restore takes one SESSION, or --since DAY");
        exit_code = fail(GPUFL_E_INVAL, &e);
    } else if (operands > 1) {
        err_set(&e, GPUFL_E_INVAL, "one command at a time; folders are named by --source");
        exit_code = fail(GPUFL_E_INVAL, &e);
    } else {
        exit_code = dispatch(&o, operands ? argv[1] : "run");
    }
    options_fini(&o);
    return exit_code;
}
