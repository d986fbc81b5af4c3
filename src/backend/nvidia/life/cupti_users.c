/* cupti_users.c - see cupti_users.h.
 *
 * Each function of the table has a replacement that calls the real function. The real function is
 * found in the copy of libcupti that the program has loaded, or is the result of dlsym for the
 * program. A second copy has other addresses: its functions are not replaced, and looking them up
 * counts as their use, because programs look them up when they begin to use CUPTI.
 *
 * Threads: replacements run on the program's threads; after the first use, a call takes a load and
 * a jump more. `lock` is held while the first use is handled, by that thread only. */
#include "backend/nvidia/life/cupti_users.h"

#include "base/file/file.h"
#include "base/process/dl.h"
#include "base/process/plt.h"
#include "base/process/thread.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Lists calls with which programs begin to use CUPTI: name, parameters, arguments. Left out are
 * calls that only ask (for versions, times, names of metrics), and calls that come after one of
 * these. */
#define BEGINNINGS(CALL)                                                                           \
    CALL(cuptiSubscribe, (void **subscriber, void *callback, void *user),                          \
         (subscriber, callback, user))                                                             \
    CALL(cuptiSubscribe_v2, (void **subscriber, void *callback, void *user, void *params),         \
         (subscriber, callback, user, params))                                                     \
    CALL(cuptiActivityRegisterCallbacks, (void *requested, void *completed),                       \
         (requested, completed))                                                                   \
    CALL(cuptiActivityEnable, (int kind), (kind))                                                  \
    CALL(cuptiActivityEnableContext, (void *context, int kind), (context, kind))                   \
    CALL(cuptiEventGroupCreate, (void *context, void **group, uint32_t flags),                     \
         (context, group, flags))                                                                  \
    CALL(cuptiEventGroupSetsCreate, (void *context, size_t bytes, void *ids, void **sets),         \
         (context, bytes, ids, sets))                                                              \
    CALL(cuptiProfilerBeginSession, (void *params), (params))                                      \
    CALL(cuptiRangeProfilerEnable, (void *params), (params))                                       \
    CALL(cuptiPCSamplingEnable, (void *params), (params))                                          \
    CALL(cuptiPmSamplingEnable, (void *params), (params))                                          \
    CALL(cuptiSassMetricsSetConfig, (void *params), (params))                                      \
    CALL(cuptiSassMetricsEnable, (void *params), (params))

enum {
#define NUMBER(name, params, args) USE_##name,
    BEGINNINGS(NUMBER)
#undef NUMBER
        USES
};

static const char *const names[] = {
#define NAME(name, params, args) #name,
    BEGINNINGS(NAME)
#undef NAME
};

static struct {
    _Atomic(void *) real[USES];               /* release; acquire. Each is written once */
    void (*when_begun)(const char *function); /* written before the first replacement is made */
    pthread_mutex_t lock;
    _Atomic bool began;      /* release under lock; acquire */
    _Atomic int owner;       /* process that watches: a fork's child handles nothing. Relaxed */
    unsigned long long seen; /* plt_loaded() at the last look [owner, then collector] */
    char copy[64]; /* soname of the copy whose functions are known; "": none [as `seen`] */
} me = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- replacements ---------------------------------------------------------------------- */

/* A use begins. Calls on CUPTI's threads and on ours are not uses of the program. */
static void begin(const char *function)
{
    if (atomic_load_explicit(&me.began, memory_order_acquire) || thread_is_ours() ||
        atomic_load_explicit(&me.owner, memory_order_relaxed) != getpid())
        return;
    pthread_mutex_lock(&me.lock);
    if (!atomic_load_explicit(&me.began, memory_order_relaxed)) {
        me.when_begun(function);
        atomic_store_explicit(&me.began, true, memory_order_release);
    }
    pthread_mutex_unlock(&me.lock);
}

#define REPLACEMENT(name, params, args)                                                            \
    static int use_##name params                                                                   \
    {                                                                                              \
        int(*function) params;                                                                     \
        *(void **)&function = atomic_load_explicit(&me.real[USE_##name], memory_order_acquire);    \
        begin(#name);                                                                              \
        return function args;                                                                      \
    }
BEGINNINGS(REPLACEMENT)
#undef REPLACEMENT

static void *const replacements[] = {
#define ADDRESS(name, params, args) (void *)(uintptr_t)use_##name,
    BEGINNINGS(ADDRESS)
#undef ADDRESS
};

/* ---- functions that are looked up ------------------------------------------------------ */

/* This is the real dlsym, for the code below. */
__attribute__((visibility("hidden"))) void *cupti_users_dlsym_real;
__attribute__((visibility("hidden"))) void *cupti_users_look(void *handle, const char *name);
void cupti_users_dlsym(void);

/* Returns the result for dlsym(handle, name); NULL: the result of the real dlsym. */
void *cupti_users_look(void *handle, const char *name)
{
    static const char prefix[] = "cupti";
    size_t i = 0;
    if (!name || handle == RTLD_NEXT || strncmp(name, prefix, sizeof prefix - 1) != 0)
        return NULL;
    while (i < USES && strcmp(names[i], name) != 0)
        i++;
    if (i == USES || thread_is_ours())
        return NULL;
    void *(*look)(void *, const char *);
    *(void **)&look = cupti_users_dlsym_real;
    void *found = look(handle, name), *known = NULL;
    if (!found)
        return NULL;
    if (atomic_compare_exchange_strong(&me.real[i], &known, found) || known == found)
        return replacements[i];
    if (found != replacements[i])
        begin(name);
    return NULL;
}

/* Replaces dlsym. For all names except CUPTI's functions it jumps to dlsym with unchanged arguments
 * and return address: for RTLD_NEXT and RTLD_DEFAULT dlsym looks at its caller. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".hidden cupti_users_dlsym\n"
        ".globl cupti_users_dlsym\n"
        ".type cupti_users_dlsym, @function\n"
        "cupti_users_dlsym:\n"
        ".cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "    call cupti_users_look\n"
        "    addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        ".cfi_adjust_cfa_offset -8\n"
        "    testq %rax, %rax\n"
        "    je 1f\n"
        "    ret\n"
        "1:  jmp *cupti_users_dlsym_real(%rip)\n"
        ".cfi_endproc\n"
        ".size cupti_users_dlsym, . - cupti_users_dlsym\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
        ".hidden cupti_users_dlsym\n"
        ".globl cupti_users_dlsym\n"
        ".type cupti_users_dlsym, %function\n"
        "cupti_users_dlsym:\n"
        ".cfi_startproc\n"
        "    stp x29, x30, [sp, #-32]!\n"
        ".cfi_def_cfa_offset 32\n"
        ".cfi_offset x29, -32\n"
        ".cfi_offset x30, -24\n"
        "    mov x29, sp\n"
        "    stp x0, x1, [sp, #16]\n"
        "    bl cupti_users_look\n"
        "    mov x9, x0\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        ".cfi_def_cfa_offset 0\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        "    cbz x9, 1f\n"
        "    mov x0, x9\n"
        "    ret\n"
        "1:  adrp x9, cupti_users_dlsym_real\n"
        "    ldr x9, [x9, :lo12:cupti_users_dlsym_real]\n"
        "    br x9\n"
        ".cfi_endproc\n"
        ".size cupti_users_dlsym, . - cupti_users_dlsym\n"
        ".popsection\n");
#else
#error "gpufl runs on x86-64 and arm64"
#endif

/* ---- watching ---------------------------------------------------------------------------- */

bool cupti_users_linked(char *out, size_t size)
{
    return plt_program_needs("libcupti.so", out, size);
}

/* Returns false for libraries whose calls do not count as uses by the program: CUPTI, the driver,
 * the C library, the sanitizers, and ours. */
static bool is_led(const char *path)
{
    static const char *const left[] = {"libcupti", "libnvperf", "libcuda.so", "libnvidia-",
                                       "libgpufl", "libc.so",   "ld-linux",   "linux-vdso",
                                       "libasan",  "libtsan",   "libubsan"};
    const char *name = path_base(path);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (strncmp(name, left[i], strlen(left[i])) == 0)
            return false;
    return true;
}

/* Finds the functions of the copy that the program has loaded. */
static void find_real(void)
{
    char path[PATH_MAX];
    void *handle = dl_find_loaded("libcupti.so", path, sizeof path);
    if (handle && !*me.copy && !plt_soname(path, me.copy, sizeof me.copy))
        me.copy[0] = '\0';
    for (size_t i = 0; handle && i < USES; i++) {
        void *known = NULL, *found = dlsym(handle, names[i]);
        if (found)
            atomic_compare_exchange_strong(&me.real[i], &known, found);
    }
    if (handle)
        dlclose(handle); /* the program keeps it loaded */
}

/* Replaces only functions whose real function is known: a replacement has to call it. */
static void lead(void)
{
    struct plt_hook hooks[USES + 1];
    size_t count = 0;
    find_real();
    for (size_t i = 0; *me.copy && i < USES; i++)
        if (atomic_load_explicit(&me.real[i], memory_order_acquire))
            hooks[count++] = (struct plt_hook){names[i], me.copy, replacements[i]};
    hooks[count++] = (struct plt_hook){"dlsym", NULL, (void *)(uintptr_t)cupti_users_dlsym};
    plt_hook(hooks, count, is_led);
}

void cupti_users_watch(void (*begins)(const char *function))
{
    me.when_begun = begins;
    cupti_users_dlsym_real = (void *)(uintptr_t)dlsym;
    atomic_store_explicit(&me.owner, getpid(), memory_order_relaxed);
    me.seen = plt_loaded();
    lead();
}

void cupti_users_watch_new(void)
{
    unsigned long long now = plt_loaded();
    if (!me.when_begun || now == me.seen || cupti_users_began())
        return;
    me.seen = now;
    lead();
}

bool cupti_users_began(void)
{
    return atomic_load_explicit(&me.began, memory_order_acquire);
}
