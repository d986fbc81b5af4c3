/* Tests the messages of a session about missing metrics, and the last sample of a session. */
#include "tests/test.h"
#include "tests/unit/support/session_log.h"

#include "base/file/file.h"
#include "base/log.h"
#include "base/process/fd_thread.h"
#include "tests/unit/support/tmpdir.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/wait.h>

/* ---- a sampler that starts late -------------------------------------------------------------- */

static _Atomic bool hold; /* the sampler's thread stays in its first call */
static sem_t waited_for;  /* posted when a thread waits for its end */
static pthread_t files;   /* a thread that ends at once if it gets no descriptors of its own */
static _Atomic bool files_run;

/* Replaces libc's, which is the first call of each thread of ours. */
int pthread_setname_np(pthread_t thread, const char *name)
{
    int (*real)(pthread_t, const char *) =
        (int (*)(pthread_t, const char *))dlsym(RTLD_NEXT, "pthread_setname_np");
    if (!strcmp(name, FD_THREAD_NAME)) {
        files = thread;
        atomic_store(&files_run, true);
    }
    if (atomic_load(&hold) && !strcmp(name, "gpufl-sample"))
        sem_wait(&waited_for);
    return real(thread, name);
}

/* Replaces libc's. Except `files`, the first thread that a session joins is the sampler's. */
int pthread_join(pthread_t thread, void **result)
{
    int (*real)(pthread_t, void **) = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, "pthread_join");
    if (atomic_load(&files_run) && pthread_equal(thread, files))
        atomic_store(&files_run, false);
    else if (atomic_exchange(&hold, false))
        sem_post(&waited_for);
    return real(thread, result);
}

/* ---- the log --------------------------------------------------------------------------------- */

static char last_said[1100];

static void receive(enum log_level level, const char *line)
{
    (void)level;
    snprintf(last_said, sizeof last_said, "%s", line);
}

static int setup(void **state)
{
    last_said[0] = '\0';
    log_set_sink(receive);
    return tmpdir_open(state);
}

static int teardown(void **state)
{
    gpufl_shutdown();
    log_set_sink(NULL);
    return tmpdir_close(state);
}

/* Returns true if the system channel of the last session contains the text. */
static bool log_says(const char *text)
{
    char path[PATH_MAX], *data;
    size_t len;
    snprintf(path, sizeof path, "%s/system.log", gpufl_session_dir());
    if (file_read_all(path, 1 << 20, &data, &len, NULL))
        return false;
    bool found = strstr(data, text) != NULL;
    free(data);
    return found;
}

static struct gpufl_options continuous_options(void)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.continuous_system_sampling = true;
    o.system_sample_rate_ms = 100;
    return o;
}

/* The sampler's thread begins only when the session waits for its end. */
TEST(test_a_session_that_ends_at_once_has_a_sample)
{
    struct gpufl_options o = continuous_options();
    assert_int_equal(sem_init(&waited_for, 0, 0), 0);
    atomic_store(&hold, true);
    assert_int_equal(gpufl_init(&o), 0);
    gpufl_shutdown();
    assert_false(atomic_load(&hold));
    assert_true(log_says("{\"type\":\"host_metric\""));
}

TEST(test_no_scope_was_open)
{
    struct gpufl_options o = session_options(tmpdir_path("logs"));
    o.system_sample_rate_ms = 100;
    assert_int_equal(gpufl_init(&o), 0);
    gpufl_shutdown();
    assert_true(log_says("\"no scope or window was open long enough\""));
}

/* ---- no /proc -------------------------------------------------------------------------------- */

enum { NOT_ALLOWED = 77 };

static int without_proc(void)
{
    struct gpufl_options o = continuous_options();
    if ((unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", "/proc", "tmpfs", 0, "size=4k"))
        return NOT_ALLOWED;
    if (gpufl_init(&o))
        return 1;
    bool said = strstr(last_said, "/proc is not mounted") != NULL;
    gpufl_scope_end(gpufl_scope_begin("a", NULL));
    gpufl_shutdown();
    if (!said || !log_says("\"no_proc\"") || !log_says("mount -t proc proc /proc"))
        return 2;
    if (!log_says("\"/proc is not mounted\"") || log_says("long enough"))
        return 3;
    return 0;
}

TEST(test_without_proc)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(without_proc());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_ALLOWED)
        skip(); /* mounting is not permitted here */
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_without_proc),
        CASE(test_a_session_that_ends_at_once_has_a_sample),
        CASE(test_no_scope_was_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
