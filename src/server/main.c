/* main.c - `gpufl-server`: serve by default, and the few other commands. */
#include "base/clock.h"
#include "server/common/logs.h"
#include "server/local.h"
#include "server/offline.h"
#include "server/request/openapi.h"
#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_FINE, EXIT_FAILED, EXIT_USAGE };

static struct local local = {.wake = {-1, -1}};

static const char ABOUT[] =
    "Usage: gpufl-server [serve] [options]\n"
    "       gpufl-server check | migrate [--data DIR]\n"
    "       gpufl-server restore BACKUP --data DIR\n"
    "       gpufl-server aside list | load [--data DIR]\n"
    "       gpufl-server openapi\n"
    "       gpufl-server version\n"
    "\n"
    "Receives sessions from many hosts, stores them, and answers questions about them.\n"
    "`check` opens everything that is stored and says what is damaged, `migrate` brings the\n"
    "small tables up to date, `restore` makes a data folder from a backup, `aside` lists\n"
    "or loads what could not be loaded before, `openapi` prints the description of the API.\n";

static int say_usage(const char *text)
{
    fprintf(stderr, "gpufl-server: %s\nTry `gpufl-server --help`.\n", text);
    return EXIT_USAGE;
}

static int finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_FINE;
    fprintf(stderr, "gpufl-server: cannot write the output: %s\n", strerror(errno));
    return EXIT_FAILED;
}

/* Blocks signals for all threads, which inherit the mask: signals are taken by server_run alone. */
static void block_signals(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Writes an address like "http://127.0.0.1:8080": how a browser on this host, or as --public-url
 * says, gets here. */
static void own_url(const struct server *s, char *out, size_t size)
{
    const char *scheme = s->tls_cert ? "https" : "http";
    bool any = strcmp(s->address, "0.0.0.0") == 0 || strcmp(s->address, "::") == 0;
    bool v6 = strchr(s->address, ':') != NULL;
    if (s->origin.url[0])
        snprintf(out, size, "%s", s->origin.url);
    else if (any)
        snprintf(out, size, "%s://localhost:%u", scheme, s->port);
    else
        snprintf(out, size, "%s://%s%s%s:%u", scheme, v6 ? "[" : "", s->address, v6 ? "]" : "",
                 s->port);
}

/* Prints the server's address, and the link for the first user. The part after '#' stays in the
 * browser and gets into no log. */
static int say_where(struct server *s, struct err *e)
{
    char url[320], token[SECRET_TOKEN];
    bool needed = false;
    own_url(s, url, sizeof url);
    int rc = s->options.local ? auth_local_ticket(&s->auth, clock_real(), token, e)
                              : auth_setup_ticket(&s->auth, clock_real(), token, &needed, e);
    if (rc == 0 && s->options.local)
        rc = local_start(&local, s->meta, s->hub,
                         e); /* a reader of the lines below may use its key */
    if (rc)
        return rc;
    printf("gpufl-server: listening on %s\n", url);
    if (s->options.local)
        printf("gpufl-server: open %s/api/v1/auth/open?token=%s\n", url, token);
    else if (needed)
        printf("gpufl-server: first run: make the first account at %s/setup#token=%s\n", url,
               token);
    fflush(stdout);
    return 0;
}

/* A bad value that is found only by the part that uses it is bad usage, too. */
static int say_failure(int rc, const struct err *e)
{
    if (rc == GPUFL_E_INVAL)
        return say_usage(e->text);
    fprintf(stderr, "gpufl-server: %s\n", e->text);
    return EXIT_FAILED;
}

static int serve(const struct options *o)
{
    static struct server server; /* large */
    struct err e = {0};
    block_signals();
    logs_open((enum logs_format)o->log_format, (enum log_level)o->log_level);
    int rc = server_open(&server, o, &e);
    if (rc == 0) {
        rc = say_where(&server, &e);
        if (rc) {
            local_stop(&local);
            server_close(&server);
        }
    }
    if (rc)
        return say_failure(rc, &e);
    rc = server_run(&server);
    local_stop(&local);
    if (rc == GPUFL_E_STATE)
        _exit(EXIT_FAILED); /* requests still use the parts that would be closed */
    server_close(&server);
    return rc ? EXIT_FAILED : EXIT_FINE;
}

static int command_openapi(void)
{
    struct buf b;
    buf_init(&b, 16 << 20);
    openapi_put(&b);
    int failed = buf_error(&b);
    if (!failed)
        fwrite(b.data, 1, b.len, stdout);
    buf_fini(&b);
    return failed ? EXIT_FAILED : finish_output();
}

/* Ends a command, with a sentence if it failed. */
static int finish(int rc, const struct err *e)
{
    if (rc == 0)
        return finish_output();
    fflush(stdout);
    return say_failure(rc, e);
}

static int command_aside(const char *what, const struct options *o)
{
    struct err e = {0};
    if (strcmp(what, "list") == 0)
        return finish(offline_aside_list(o, &e), &e);
    if (strcmp(what, "load") == 0)
        return finish(offline_aside_load(o, &e), &e);
    return say_usage("aside takes list or load");
}

int main(int argc, char **argv)
{
    struct options o;
    struct err e = {0};
    int operands = 0;
    if (argc == 2 && strcmp(argv[1], STORE_SELECT_WORD) == 0)
        return store_select_child();
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        argv[1] = "version";
    if (options_read(&o, argc, argv, &operands, &e))
        return say_usage(e.text);
    const char *command = operands ? argv[1] : "serve";
    if (o.help) {
        printf("%s\nOptions (each also as GPUFL_SERVER_…, see gpufl-server(1)):\n", ABOUT);
        options_help(stdout);
        return finish_output();
    }
    bool restore = strcmp(command, "restore") == 0, aside = strcmp(command, "aside") == 0;
    if (operands != (restore || aside ? 2 : 1) && operands)
        return say_usage(restore ? "restore takes a backup's folder"
                         : aside ? "aside takes list or load"
                                 : "one command at a time, please");
    if (strcmp(command, "serve") == 0)
        return serve(&o);
    if (strcmp(command, "check") == 0)
        return finish(offline_check(&o, &e), &e);
    if (strcmp(command, "migrate") == 0)
        return finish(offline_migrate(&o, &e), &e);
    if (restore)
        return finish(offline_restore(argv[2], &o, &e), &e);
    if (aside)
        return command_aside(argv[2], &o);
    if (strcmp(command, "openapi") == 0)
        return command_openapi();
    if (strcmp(command, "version") == 0) {
        printf("gpufl-server %s\n", GPUFL_VERSION);
        return finish_output();
    }
    return say_usage("unknown command; the commands are serve, check, migrate, restore, aside, "
                     "openapi and version");
}
