/* main.c - `gpufl-monitor`: options, ending by a signal, and output for people. */
#include "base/log.h"
#include "monitor/steady.h"
#include "monitord/monitor.h"
#include "net/server/metrics_page.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The exit codes are documented in docs/man/gpufl-monitor.1. */
enum { EXIT_FINE, EXIT_FAILED, EXIT_USAGE, EXIT_NO_DRIVER, EXIT_BUSY };

static const char ABOUT[] =
    "Usage: gpufl-monitor [options]\n"
    "\n"
    "Samples every GPU and this host, and writes the samples to session logs, which\n"
    "`gpufl report` and the server read. Runs until SIGTERM; SIGHUP begins another session.\n";

static int say(int exit_code, const char *text)
{
    fprintf(stderr, "gpufl-monitor: %s\n%s", text,
            exit_code == EXIT_USAGE ? "Try `gpufl-monitor --help`.\n" : "");
    return exit_code;
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static int finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_FINE;
    return say(EXIT_FAILED, strerror(errno));
}

/* All threads inherit the mask: only the main thread takes signals. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

/* Writes the rows that come until a signal ends it. */
static void run(struct monitor *m, const sigset_t *set)
{
    int64_t due = steady_ns() + m->options->write_interval;
    for (;;) {
        int64_t wait = due - steady_ns();
        struct timespec t = steady_timespec(wait > 0 ? wait : 0);
        int got = sigtimedwait(set, NULL, &t);
        if (got == SIGTERM || got == SIGINT)
            return;
        journal_flush(&m->journal, got == SIGHUP);
        due = steady_ns() + m->options->write_interval;
    }
}

static bool put_health(void *arg, struct buf *page)
{
    char why[256] = "";
    bool well = page_healthy(arg, why, sizeof why);
    buf_printf(page, "%s\n", well ? "ok" : why);
    return well;
}

static int open_page(struct monitor *m, struct metrics_page **out, struct err *e)
{
    struct metrics_page_config c = {.listen = m->options->listen,
                                    .arg = &m->page,
                                    .fill = page_fill,
                                    .health = put_health,
                                    .health_type = "text/plain; charset=utf-8"};
    *out = NULL;
    return c.listen && *c.listen ? metrics_page_open(out, &c, e) : 0;
}

static void say_where(const struct monitor *m, const struct metrics_page *page)
{
    char url[160];
    if (m->options->quiet)
        return;
    printf("gpufl-monitor: samples %d GPU%s%s%s\n", m->gpus.count, plural(m->gpus.count),
           *m->journal.dir ? " to " : "", m->journal.dir);
    if (page) {
        metrics_page_url(page, url, sizeof url);
        printf("gpufl-monitor: listening on %s\n", url);
    }
    fflush(stdout);
}

/* Begins the rounds, after the log was opened. */
static int begin(struct monitor *m, struct err *e)
{
    if (announced_open(&m->announced, m->rundir.path, e))
        log_warn("sessions of other users are not known here: %s", e->text);
    int rc =
        live_open(&m->live, m->rundir.path, &m->page, &m->journal, &m->announced, m->options, e);
    /* The program that started it gets no values, and could not end it. */
    if (rc && m->options->until_eof)
        return rc;
    if (rc)
        log_warn("gpufl monitor cannot take samples here: %s", e->text);
    rc = monitor_start(m);
    return rc ? err_set(e, rc, "%s", thread_refusal()) : 0;
}

/* A program that starts a monitor without logs for itself gives it a folder of its own. The program
 * may have been killed since. */
static void leave_folder(struct monitor *m)
{
    if (m->options->until_eof && m->options->no_log)
        rundir_remove(&m->rundir);
    else
        rundir_close(&m->rundir);
}

/* Runs to the end, after everything that can fail was opened. */
static int sample(struct monitor *m, const sigset_t *set, struct metrics_page *page, struct err *e)
{
    int rc = begin(m, e);
    if (rc) {
        journal_close(&m->journal, "failed");
        return say(EXIT_FAILED, e->text);
    }
    say_where(m, page);
    run(m, set);
    live_close(&m->live);
    metrics_page_close(page);
    if (!monitor_stop(m)) { /* its thread is in a call of the driver, and uses the rest */
        journal_end(&m->journal, "signal");
        int64_t left = events_waiting(&m->events);
        log_warn("the driver did not answer: ended without it");
        if (left)
            log_warn("%" PRId64 " event%s of GPUs %s not in the log", left, plural(left),
                     left == 1 ? "is" : "are");
        _exit(EXIT_FINE);
    }
    journal_close(&m->journal, "signal");
    monitor_fini(m);
    leave_folder(m);
    return EXIT_FINE;
}

/* Finds where the page would listen, with the run folder open: so that the port is not that of a
 * monitor that runs here. */
static int check_page(struct monitor *m, char *url, size_t size, struct err *e)
{
    struct metrics_page *page;
    int rc = open_page(m, &page, e);
    url[0] = '\0';
    if (page)
        metrics_page_url(page, url, size);
    metrics_page_close(page);
    return rc == GPUFL_E_INVAL ? EXIT_USAGE : rc ? EXIT_FAILED : EXIT_FINE;
}

/* Opens, for `--check`, everything that can fail, and prints what it would do. */
static int check(struct monitor *m, int driver, struct err *e)
{
    char url[160];
    const struct monitor_options *o = m->options;
    int rc = o->no_log ? 0 : journal_check(o, e);
    if (rc)
        return say(EXIT_FAILED, e->text);
    rc = rundir_open(&m->rundir, o->run_dir, e);
    if (rc)
        return say(rc == GPUFL_E_BUSY ? EXIT_BUSY : EXIT_FAILED, e->text);
    int exit_code = check_page(m, url, sizeof url, e);
    rundir_close(&m->rundir);
    if (exit_code)
        return say(exit_code, e->text);
    if (driver && !o->wait_for_driver)
        return say(EXIT_NO_DRIVER, m->gpus.problem);
    if (driver)
        fprintf(stderr, "gpufl-monitor: would sample the host alone for now: %s\n",
                m->gpus.problem);
    if (!o->quiet)
        printf("gpufl-monitor: would sample %d GPU%s%s%s%s%s\n", m->gpus.count,
               plural(m->gpus.count), o->no_log ? "" : " to ", o->no_log ? "" : o->log_path,
               *url ? ", and answer at " : "", url);
    return finish_output();
}

static int monitor(const struct monitor_options *o)
{
    static struct monitor m; /* large */
    sigset_t set;
    char backend[32];
    struct err e = {0};
    block_signals(&set);
    int driver = monitor_init(&m, o, &all_devices);
    if (driver == GPUFL_E_NOMEM)
        return say(EXIT_FAILED, err_text(driver));
    if (o->check)
        return check(&m, driver, &e);
    int rc = rundir_open(&m.rundir, o->run_dir, &e);
    if (rc)
        return say(rc == GPUFL_E_BUSY ? EXIT_BUSY : EXIT_FAILED, e.text);
    if (driver && !o->wait_for_driver)
        return say(EXIT_NO_DRIVER, m.gpus.problem);
    if (driver)
        fprintf(stderr, "gpufl-monitor: samples the host alone for now: %s\n", m.gpus.problem);
    all_devices_name(m.gpus.devices, backend, sizeof backend);
    const char *caution = all_devices_caution(m.gpus.devices);
    if (caution)
        fprintf(stderr, "gpufl-monitor: %s\n", caution);
    struct metrics_page *page; /* before the log: if the port is taken, no session is left */
    rc = open_page(&m, &page, &e);
    if (rc)
        return say(rc == GPUFL_E_INVAL ? EXIT_USAGE : EXIT_FAILED, e.text);
    rc = journal_open(&m.journal, o, backend, caution, &e);
    if (rc)
        return say(EXIT_FAILED, e.text);
    return sample(&m, &set, page, &e);
}

int main(int argc, char **argv)
{
    struct monitor_options o;
    struct err e = {0};
    int rc = EXIT_FINE;
    if (monitor_options_read(&o, argc, argv, &e)) {
        rc = say(EXIT_USAGE, e.text);
    } else if (o.help) {
        printf("%s\nOptions (each also as GPUFL_MONITOR_…, see gpufl-monitor(1)):\n", ABOUT);
        monitor_options_help(stdout);
        rc = finish_output();
    } else if (o.version) {
        printf("gpufl-monitor %s\n", GPUFL_VERSION);
        rc = finish_output();
    } else {
        rc = monitor(&o);
    }
    monitor_options_free(&o);
    return rc;
}
