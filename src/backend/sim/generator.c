/* generator.c - see generator.h.
 *
 * Its kernels belong to no scope: a scope contains the launches of its own thread, and no thread of
 * the program launches these. */
#include "backend/sim/generator.h"

#include "backend/sim/workload.h"
#include "base/process/thread.h"

static struct {
    pthread_mutex_t lock;
    unsigned references;  /* guarded by lock */
    struct thread thread; /* guarded by lock */
    struct wakeup stop;
    struct sim_machine *machine;
} generator = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Sleeps for ns; false: end. */
static bool pause_for(int64_t ns)
{
    return !wakeup_wait(&generator.stop, ns);
}

static void *generate(void *arg)
{
    struct sim_machine *m = arg;
    struct sim_thread *t;
    if (sim_thread_open(&t, 0))
        return NULL;
    struct sim_workload w = {
        .kernels = INT64_MAX,
        .rate = m->config.rate,
        .streams = (int)m->config.streams,
        .device_count = (int)m->config.devices,
        .pause = pause_for,
    };
    for (int i = 0; i < w.device_count; i++)
        w.devices[i] = i;
    sim_workload_run(t, &w);
    sim_thread_close(t);
    return NULL;
}

int sim_generator_get(struct sim_machine *m, struct err *e)
{
    int rc = 0;
    pthread_mutex_lock(&generator.lock);
    if (generator.references == 0 && !m->driven && m->config.rate > 0) {
        rc = wakeup_init(&generator.stop);
        if (!rc) {
            rc = thread_start(&generator.thread, "gpufl-sim", 0, generate, m);
            if (rc)
                wakeup_fini(&generator.stop);
        }
        if (rc)
            err_set(e, rc, "the simulated workload's thread did not start");
    }
    generator.references += rc == 0;
    pthread_mutex_unlock(&generator.lock);
    return rc;
}

void sim_generator_forget(void)
{
    pthread_mutex_init(&generator.lock, NULL);
    generator.references = 0;
    generator.thread.running = false;
}

void sim_generator_put(void)
{
    pthread_mutex_lock(&generator.lock);
    if (generator.references > 0 && --generator.references == 0 && generator.thread.running) {
        wakeup_signal(&generator.stop);
        thread_join(&generator.thread);
        wakeup_fini(&generator.stop);
    }
    pthread_mutex_unlock(&generator.lock);
}
