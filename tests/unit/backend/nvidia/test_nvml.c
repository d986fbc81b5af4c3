/* test_nvml.c - users of the management library are counted, and a child of fork
 * neither waits for a lock of its parent nor shuts down the parent's library. */

#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/nvidia/library/nvml.h"
#include "base/process/dl.h"
#include "tests/test.h"

/* ---- the library, in place of dl.c ------------------------------------------------------- */

static int inits, shutdowns, init_result;
static bool slow; /* init says that it began, then waits to go on */
static sem_t began, go_on;

static int fake_init(void)
{
    if (slow) {
        sem_post(&began);
        sem_wait(&go_on);
    }
    inits++;
    return init_result;
}

static int fake_shutdown(void)
{
    shutdowns++;
    return NVML_OK;
}

static const char *fake_error(int result)
{
    (void)result;
    return "no";
}

void *dl_open_first(const char *const *candidates, char *path, size_t size, struct err *e)
{
    (void)candidates, (void)path, (void)size, (void)e;
    return &inits;
}

int dl_fill(void *handle, const struct dl_symbol *symbols, size_t count, void *table, struct err *e)
{
    struct nvml *n = table;
    (void)handle, (void)symbols, (void)count, (void)e;
    n->nvmlInit_v2 = fake_init;
    n->nvmlShutdown = fake_shutdown;
    n->nvmlErrorString = fake_error;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    inits = shutdowns = 0;
    init_result = NVML_OK;
    return 0;
}

/* ---- tests ----------------------------------------------------------------------------- */

TEST(users_are_counted)
{
    const struct nvml *a, *b;
    struct err e = {0};
    init_result = NVML_E_NO_PERMISSION;
    assert_int_equal(nvml_get(&a, &e), GPUFL_E_PERM);
    assert_null(a);
    init_result = NVML_OK;
    assert_int_equal(nvml_get(&a, &e), 0);
    assert_int_equal(nvml_get(&b, &e), 0);
    assert_ptr_equal(a, b);
    assert_int_equal(inits, 2);
    nvml_put();
    assert_int_equal(shutdowns, 0);
    nvml_put();
    nvml_put(); /* one too many */
    assert_int_equal(shutdowns, 1);
}

/* Runs the function in a child of fork, for at most ten seconds; returns its result. */
static int in_child(int (*run)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(10);
        _exit(run());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int child_starts_again(void)
{
    const struct nvml *n;
    nvml_put(); /* the parent's use */
    if (shutdowns || nvml_get(&n, NULL) != 0 || inits != 2)
        return 1;
    nvml_put();
    return shutdowns != 1;
}

TEST(a_child_initializes_for_itself)
{
    const struct nvml *n;
    assert_int_equal(nvml_get(&n, NULL), 0);
    assert_int_equal(in_child(child_starts_again), 0);
    nvml_put();
    assert_int_equal(inits, 1);
    assert_int_equal(shutdowns, 1);
}

static int child_is_refused(void)
{
    const struct nvml *n;
    struct err e = {0};
    int rc = nvml_get(&n, &e);
    nvml_put();
    return rc != GPUFL_E_STATE || n || !strstr(e.text, "forked");
}

static void *get_and_put(void *arg)
{
    const struct nvml *n;
    *(int *)arg = nvml_get(&n, NULL);
    nvml_put();
    return NULL;
}

TEST(a_child_does_not_wait_for_a_thread_of_its_parent)
{
    pthread_t thread;
    int result = -1;
    slow = true;
    assert_int_equal(sem_init(&began, 0, 0) | sem_init(&go_on, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, get_and_put, &result), 0);
    sem_wait(&began);
    int refused = in_child(child_is_refused);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    slow = false;
    assert_int_equal(refused, 0);
    assert_int_equal(result, 0);
    assert_int_equal(shutdowns, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(users_are_counted, setup),
        cmocka_unit_test_setup(a_child_initializes_for_itself, setup),
        cmocka_unit_test_setup(a_child_does_not_wait_for_a_thread_of_its_parent, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
