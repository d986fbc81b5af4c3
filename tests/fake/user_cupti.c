/* user_cupti.c - see user.h. Calls CUPTI as it is linked; with LOOK it finds each function with
 * dlsym at the first call, as XLA and Triton do. */
#include "user.h"

#include "backend/nvidia/abi/cupti.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback_fn fn, void *user);
int cuptiUnsubscribe(cupti_subscriber subscriber);
int cuptiActivityRegisterCallbacks(cupti_request_fn request, cupti_complete_fn complete);
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flags);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
int cuptiGetTimestamp(uint64_t *ns);

#ifdef LOOK
static void *look(const char *name)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function)
        abort();
    return function;
}
#define CUPTI(name) ((__typeof__(&name))look(#name))
#else
#define CUPTI(name) name
#endif

enum { BUFFERS = 64, BUFFER_BYTES = 1 << 18 };

static uint8_t *given[BUFFERS];
static int given_count;
static struct user_result result;
static uint64_t begun;
static cupti_subscriber subscriber;

/* The time by CUPTI's clock, whichever that is. */
static uint64_t now(void)
{
    uint64_t ns = 0;
    CUPTI(cuptiGetTimestamp)(&ns);
    return ns;
}

static void on_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = given_count < BUFFERS ? aligned_alloc(8, BUFFER_BYTES) : NULL;
    *size = BUFFER_BYTES;
    *max_records = 0;
    if (*buffer)
        given[given_count++] = *buffer;
}

static bool is_mine(const uint8_t *buffer)
{
    for (int i = 0; i < given_count; i++)
        if (given[i] == buffer)
            return true;
    return false;
}

static void on_completed(cuda_context context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid)
{
    (void)context, (void)stream, (void)size;
    void *record = NULL;
    if (!is_mine(buffer)) {
        result.foreign++;
        return;
    }
    while (CUPTI(cuptiActivityGetNextRecord)(buffer, valid, &record) == CUPTI_OK) {
        struct cupti_kernel k;
        memcpy(&k, record, sizeof k);
        if (k.kind != CUPTI_KIND_KERNEL)
            continue;
        result.kernels++;
        result.in_time += k.start >= begun && k.end <= now() && k.start <= k.end;
    }
}

static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

int user_begin(void)
{
    result = (struct user_result){0};
    int rc = CUPTI(cuptiSubscribe)(&subscriber, on_callback, NULL);
    begun = now();
    rc = rc ? rc : CUPTI(cuptiActivityRegisterCallbacks)(on_requested, on_completed);
    return rc ? rc : CUPTI(cuptiActivityEnable)(CUPTI_KIND_KERNEL);
}

void user_end(struct user_result *out)
{
    CUPTI(cuptiActivityFlushAll)(0);
    CUPTI(cuptiActivityFlushAll)(CUPTI_FLUSH_FORCED);
    CUPTI(cuptiActivityDisable)(CUPTI_KIND_KERNEL);
    CUPTI(cuptiUnsubscribe)(subscriber);
    *out = result;
}
