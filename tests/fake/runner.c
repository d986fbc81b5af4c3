/* runner.c - see runner.h. */
#include "tests/fake/runner.h"

#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ARGS_MOST = 64, DEADLINE_S = 120, PAUSE_NS = 20000000, COPY_BYTES = 1 << 30 };

/* ---- running ----------------------------------------------------------------------------- */

const char *built_file(const char *name)
{
    static char paths[8][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, PATH_MAX, "%s/%s", getenv("GPUFL_BINARY_DIR"), name);
    return path;
}

static int put_list(const char **out, int n, const char *const *list)
{
    for (; list && *list; list++) {
        assert_true(n < ARGS_MOST);
        out[n++] = *list;
    }
    out[n] = NULL;
    return n;
}

static void copy_file(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    ssize_t n;
    assert_true(in >= 0 && out >= 0);
    while ((n = sendfile(out, in, NULL, COPY_BYTES)) > 0)
        continue;
    assert_int_equal(n, 0);
    close(in);
    assert_int_equal(close(out), 0);
}

/* The variable that names the run's own copy of libgpufl.so. */
static const char *own_library(const struct run *r)
{
    static char variable[PATH_MAX + 32];
    snprintf(variable, sizeof variable, "GPUFL_LIBRARY=%.4000s/libgpufl.so", r->w.dir);
    copy_file(built_file("lib/libgpufl.so"), strchr(variable, '=') + 1);
    return variable;
}

/* The variable that names the file with the calls of a function that is to fail; "": none. */
static char called_variable[64];

/* The gpufl that runs the program. It has one thread, so that ThreadSanitizer cannot find anything
 * in it: in that build only the program and its library are instrumented. */
static const char *launcher(void)
{
#ifdef __SANITIZE_THREAD__
    return path_reader();
#else
    return path_gpufl();
#endif
}

void run_start(struct run *r, const struct run_setup *s)
{
    static char libraries[PATH_MAX + 32], cupti[PATH_MAX + 32], device[32], ours[PATH_MAX + 32];
    const char *argv[ARGS_MOST + 1], *env[ARGS_MOST + 1];
    memset(r, 0, sizeof *r);
    world_open(&r->w);
    r->top = s->top ? s->top : "0";
    snprintf(r->logs, sizeof r->logs, "%.4000s/logs", r->w.dir);
    snprintf(libraries, sizeof libraries, "LD_LIBRARY_PATH=%s", built_file("fake"));
    /* The fake library is named, since a search would find a toolkit of this machine first. */
    snprintf(cupti, sizeof cupti, "GPUFL_CUPTI_PATH=%s", built_file("fake"));
    snprintf(device, sizeof device, "FAKE_DEVICE=%08x", (unsigned)getpid());
    int n = put_list(
        env, 0,
        LIST(libraries, cupti, device, "GPUFL_BACKEND=Auto", "ASAN_OPTIONS=detect_leaks=1"));
    snprintf(ours, sizeof ours, "GPUFL_LIBRARY=%s", built_file("lib/libgpufl.so"));
    if (!s->alone)
        n = put_list(env, n, LIST(ours));
    if (*called_variable)
        n = put_list(env, n, LIST(called_variable));
    if (s->own_library)
        n = put_list(env, n, LIST(own_library(r)));
    put_list(env, n, s->env);
    n = 0;
    if (!s->alone) {
        n = put_list(argv, n, LIST(launcher(), "trace", "-o", r->logs));
        if (!s->reported)
            n = put_list(argv, n, LIST("--no-report"));
        n = put_list(argv, n, s->options);
        n = put_list(argv, n, LIST("--"));
    }
    n = put_list(argv, n,
                 LIST(built_file(s->binary   ? s->binary
                                 : s->linked ? "fake/fake_linked"
                                             : "fake/fake_program")));
    put_list(argv, n, s->program ? s->program : LIST("1000"));
    child_start(&r->c, &(struct child_setup){.dir = r->w.dir, .argv = argv, .env = env});
}

/* Every line that the program printed, as JSON. */
static json_t *parse_lines(const struct run *r)
{
    json_t *all = json_array();
    char *copy = strdup(r->c.text[CHILD_OUT].data), *save;
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_error_t e;
        json_t *said = json_loads(line, 0, &e);
        if (!said)
            fail_msg("the program's stdout is not its own: %s", line);
        json_array_append_new(all, said);
    }
    free(copy);
    return all;
}

/* Removes messages about the machine, not the run: that it was too busy to sample threads in time;
 * and, under ThreadSanitizer, whose threads share their descriptors, that the states of threads
 * cannot be read. */
static void drop_late(json_t *report)
{
#ifdef __SANITIZE_THREAD__
    static const bool shared = true;
#else
    static const bool shared = false;
#endif
    size_t i;
    json_t *message, *messages = json_object_get(report, "messages");
    json_array_foreach(messages, i, message)
    {
        const char *code = json_string_value(json_object_get(message, "code"));
        if (code &&
            (!strcmp(code, "host_samples_late") || (shared && !strcmp(code, "host_samples_state"))))
            json_array_remove(messages, i--);
    }
}

json_t *run_report(const struct run *r)
{
    struct child c;
    json_error_t e;
    struct stat st;
    if (stat(r->logs, &st))
        return NULL;
    const char *const argv[] = {path_reader(), "report", "--json", "--top", r->top, r->logs, NULL};
    child_start(&c, &(struct child_setup){.dir = r->w.dir, .argv = argv});
    int code = child_end(&c);
    json_t *report = code == 0 ? json_loads(c.text[CHILD_OUT].data, 0, &e) : NULL;
    if (code == 0 && !report)
        fail_msg("the report is not JSON: %s at line %d", e.text, e.line);
    child_free(&c);
    drop_late(report);
    return report;
}

void run_end(struct run *r)
{
    r->code = child_end(&r->c);
    r->said = parse_lines(r);
    r->report = run_report(r);
}

void run_all(struct run *r, const struct run_setup *s)
{
    run_start(r, s);
    run_end(r);
}

void run_free(struct run *r)
{
    json_decref(r->said);
    json_decref(r->report);
    child_free(&r->c);
    world_close(&r->w);
}

/* ---- reading ----------------------------------------------------------------------------- */

static json_t *find(json_t *document, const char *path)
{
    char copy[256], *save;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *key = strtok_r(copy, ".", &save); key && document; key = strtok_r(NULL, ".", &save))
        document = json_is_array(document) ? json_array_get(document, (size_t)atoi(key))
                                           : json_object_get(document, key);
    return document;
}

json_t *at(json_t *document, const char *path)
{
    json_t *found = find(document, path);
    if (!found)
        fail_msg("there is no %s", path);
    return found;
}

int64_t int_at(json_t *document, const char *path)
{
    json_t *found = at(document, path);
    if (!json_is_integer(found))
        fail_msg("%s is no integer", path);
    return json_integer_value(found);
}

int64_t idle_of_engine(const struct run *r)
{
    size_t i;
    json_t *row;
    /* null if no steps were found */
    int64_t ns = json_integer_value(at(r->report, "steps.start_up_engine_ns"));
    json_array_foreach(at(r->report, "idle.causes"), i, row)
    {
        if (!strcmp(text_at(row, "cause"), "engine"))
            ns += int_at(row, "idle_ns");
    }
    return ns;
}

bool unknown_at(json_t *document, const char *path)
{
    return json_is_null(at(document, path));
}

const char *text_at(json_t *document, const char *path)
{
    const char *text = json_string_value(at(document, path));
    return text ? text : "";
}

void run_expect(struct run *r, const char *path, int64_t least)
{
    time_t until = time(NULL) + DEADLINE_S;
    int64_t last = -1;
    while (time(NULL) < until) {
        json_t *report = run_report(r), *found = find(report, path);
        last = json_is_integer(found) ? json_integer_value(found) : -1;
        json_decref(report);
        if (last >= least)
            return;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    fail_msg("%s is %lld, never %lld", path, (long long)last, (long long)least);
}

const char *message_of(const struct run *r, const char *code)
{
    size_t i;
    json_t *message;
    json_array_foreach(at(r->report, "messages"), i, message)
    {
        if (!strcmp(text_at(message, "code"), code))
            return text_at(message, "text");
    }
    return NULL;
}

const char *capability_of(const struct run *r, const char *feature, const char *key)
{
    size_t i;
    json_t *row;
    json_array_foreach(at(r->report, "capabilities"), i, row)
    {
        if (!strcmp(text_at(row, "feature"), feature))
            return text_at(row, key);
    }
    return "";
}

/* ---- checking ---------------------------------------------------------------------------- */

static void fail_run(const struct run *r, const char *what)
{
    char *report = r->report ? json_dumps(at(r->report, "ledger"), JSON_INDENT(1)) : NULL;
    char *messages = r->report ? json_dumps(at(r->report, "messages"), JSON_INDENT(1)) : NULL;
    fail_msg("%s\n--- exit code %d, stdout\n%s--- stderr\n%s--- ledger\n%s\n--- messages\n%s", what,
             r->code, r->c.text[CHILD_OUT].data, r->c.text[CHILD_ERR].data,
             report ? report : "no session", messages ? messages : "");
}

void check_contains(const struct run *r, const char *where, const char *text)
{
    char what[1024];
    if (where && strstr(where, text))
        return;
    snprintf(what, sizeof what, "\"%s\" lacks \"%s\"", where ? where : "(nothing)", text);
    fail_run(r, what);
}

void check_section(const struct run *r, const char *section, const char *text)
{
    struct child c;
    const char *const argv[] = {path_reader(), "report", "--section", section, r->logs, NULL};
    child_start(&c, &(struct child_setup){.dir = r->w.dir, .argv = argv});
    child_end(&c);
    char *to = c.text[CHILD_OUT].data;
    for (const char *from = to; *from; from++) /* lines are joined, with one space */
        if (!strchr(" \n", *from) || (to > c.text[CHILD_OUT].data && to[-1] != ' '))
            *to++ = *from == '\n' ? ' ' : *from;
    *to = '\0';
    check_contains(r, c.text[CHILD_OUT].data, text);
    child_free(&c);
}

void check_program(const struct run *r, int code)
{
    const char *err = r->c.text[CHILD_ERR].data;
    if (r->code != code)
        fail_run(r, "the exit code is not the program's");
    if (strstr(err, "Sanitizer") || strstr(err, "runtime error:"))
        fail_run(r, "a sanitizer complains");
    if (json_array_size(r->said) == 0)
        fail_run(r, "the program did not end by itself");
}

const char *setting_of_engine(const struct run *r, const char *engine, const char *name)
{
    size_t i;
    json_t *row;
    const char *found = "";
    json_array_foreach(at(r->report, "settings"), i, row)
    {
        if (!strcmp(text_at(row, "engine"), engine) && !strcmp(text_at(row, "name"), name))
            found = text_at(row, "value");
    }
    return found;
}

void check_every_kernel(const struct run *r)
{
    assert_int_equal(int_at(r->report, "kernels.count"), int_at(r->said, "0.launches"));
    assert_int_equal(int_at(r->report, "ledger.kernels_recorded"), int_at(r->said, "0.launches"));
    assert_string_equal(capability_of(r, "kernels", "status"), "collected");
}

void check_instead(const struct run *r, const struct engine_case *c, int exit_code)
{
    char code[64];
    snprintf(code, sizeof code, "%s.unavailable", c->code ? c->code : c->feature);
    check_program(r, exit_code);
    check_contains(r, message_of(r, code), c->sentence);
    check_contains(r, capability_of(r, c->feature, "reason"), c->sentence);
    check_contains(r, setting_of_engine(r, c->engine, "why"), c->sentence);
    assert_string_equal(setting_of_engine(r, c->engine, "ran_as"),
                        c->instead ? c->instead : "Trace");
}

void check_refused(const struct run *r, const struct engine_case *c, int exit_code)
{
    check_instead(r, c, exit_code);
    check_every_kernel(r);
}

/* Runs a program whose nth call of the function fails. Returns how often it called the function. */
static int64_t run_fault(const char *function, int nth, void (*one)(const char *script))
{
    enum { ERROR = 999 };
    char script[128], path[] = "/tmp/gpufl-fake-called-XXXXXX";
    struct stat st;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    snprintf(script, sizeof script, "FAKE_CUPTI=fail=%s:%d:%d", function, nth, ERROR);
    snprintf(called_variable, sizeof called_variable, "FAKE_CALLED=%s", path);
    print_message("%s\n", script);
    one(script);
    assert_int_equal(fstat(fd, &st), 0);
    close(fd);
    unlink(path);
    *called_variable = '\0';
    return st.st_size;
}

void each_fault(const char *const *functions, int last, void (*one)(const char *script))
{
    for (; *functions; functions++) {
        int64_t calls = run_fault(*functions, 1, one);
        if (calls > 1)
            run_fault(*functions, EVERY_CALL, one);
        for (int nth = 2; nth <= last && calls >= nth - 1; nth++)
            calls = run_fault(*functions, nth, one);
    }
}

static void check_equal(const struct run *r, const char *path, int64_t expected)
{
    char what[256];
    int64_t value = int_at(r->report, path);
    snprintf(what, sizeof what, "%s is %lld, not %lld", path, (long long)value,
             (long long)expected);
    if (value != expected)
        fail_run(r, what);
}

/* The sum of a number over all lines of the program. */
static int64_t said_sum(const struct run *r, const char *key)
{
    size_t i;
    json_t *line;
    int64_t sum = 0;
    json_array_foreach(r->said, i, line) sum += int_at(line, key);
    return sum;
}

/* Returns true if the session's engine samples program counters, and so records no copies. */
static bool samples_counters(const struct run *r)
{
    const char *engine = text_at(r->report, "session.engine");
    return !strcmp(engine, "PcSampling") || !strcmp(engine, "Deep");
}

void check_complete(const struct run *r)
{
    static const char *const none[] = {"lost_driver", "lost_pool",   "lost_time",
                                       "lost_spool",  "lost_memory", "joins_lost"};
    if (!r->report)
        fail_run(r, "there is no session");
    int64_t direct = said_sum(r, "launches"), graphs = said_sum(r, "graph_launches"),
            in_graphs = said_sum(r, "graph_kernels"), copies = said_sum(r, "copies");
    if (strcmp(text_at(r->report, "ledger.verdict"), "complete") != 0)
        fail_run(r, "the ledger is not complete");
    check_equal(r, "ledger.launches", direct);
    check_equal(r, "ledger.graph_launches", graphs);
    check_equal(r, "ledger.graph_kernels", in_graphs);
    check_equal(r, "ledger.graph_unknown", 0);
    check_equal(r, "ledger.kernels_recorded", direct + in_graphs);
    check_equal(r, "ledger.kernels_written", direct + in_graphs);
    check_equal(r, "kernels.count", direct + in_graphs);
    if (samples_counters(r)) {
        if (!json_is_null(at(r->report, "copies.count")))
            fail_run(r, "copies are known although program counters were sampled");
    } else {
        check_equal(r, "ledger.copies_written", copies);
        check_equal(r, "copies.by_kind.HtoD.bytes", said_sum(r, "htod"));
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        char path[64];
        snprintf(path, sizeof path, "ledger.%s", none[i]);
        check_equal(r, path, 0);
    }
}
